/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh.c - ssh-config, ssh-proxy
 */
#include "control/cli/cmd/ssh.h"

#include <string.h>

#include "control/cli/cmd/instance.h"
#include "control/cli/host/host.h"
#include "control/cli/host/stopped.h"
#include "control/cli/ssh/config_text.h"
#include "control/cli/ssh/server.h"
#include "control/cli/wire/client.h"
#include "control/shared/infer.h"
#include "control/shared/json.h"
#include "lib/file.h"

/* ---- ssh-config ---- */

/* Returns the path by which ssh starts this program again, to be freed: that of
 * the launcher beside the build, if that is what runs. */
static char *own_path(void)
{
	const char *root = getenv("AC_ROOT");
	SCOPED_STR self = realpath("/proc/self/exe", NULL);
	SCOPED_STR build = root ? str_printf("%s/build/ac", root) : NULL;

	if (self && build && strcmp(self, build) == 0)
		return str_printf("%s/ac", root);
	return ptr_take(&self);
}

static int names_all(const struct cli *cli, struct strv *ret, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON list = NULL;
	size_t i;
	const json_t *one;
	int rc = stopped_client(cli, &c, err);

	if (rc == 0)
		rc = c ? instance_get_list(c, "instances", &list, err) :
			 stopped_instances(cli, &list, err);
	json_array_foreach (list, i, one)
		if (rc == 0 && strv_push(ret, json_text(one, "name")) < 0)
			rc = err_nomem(err);
	return rc;
}

static int names_given(const struct args *a, struct strv *ret, struct err *err)
{
	char name[AC_NAME_MAX + 1];
	int rc = 0;

	for (size_t i = 0; i < a->n_words && rc == 0; i++) {
		rc = infer_instance(a->words[i], name, err);
		if (rc == 0 && strv_push(ret, name) < 0)
			rc = err_nomem(err);
	}
	return rc;
}

static int print_text(struct slice text, struct err *err)
{
	if (fwrite(text.ptr, 1, text.len, stdout) == text.len)
		return 0;
	return cli_stdout_failed(err);
}

static int write_text(const struct cli *cli, struct slice text, struct err *err)
{
	SCOPED_STR path = str_printf("%s/" HOSTKEY_DIR "/config", cli->home);
	int rc = path ? file_write_atomic(path, text.ptr, text.len, 0600) :
			-ENOMEM;

	if (rc < 0)
		return err_set(err, rc, "cannot write %s: %s", path,
			       err_text(rc));
	printf("Include \"%s\"\n", path);
	say_info(cli, "put this line at the top of ~/.ssh/config; `ac "
		      "ssh-config --write` lists new instances for editors, "
		      "and names with a dot for ssh");
	return 0;
}

int cmd_ssh_config(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_STR program = own_path();
	struct strv names = { 0 };
	struct hostkey key = { 0 };
	struct buf text;
	int rc = program ? hostkey_load(cli->home, &key, err) : err_nomem(err);

	buf_init(&text, CONFIG_TEXT_MAX);
	if (rc == 0)
		rc = a->n_words > 0 ? names_given(a, &names, err) :
				      names_all(cli, &names, err);
	if (rc == 0) {
		const struct config_text ct = { .home = cli->home,
						.program = program,
						.names = &names,
						.all = a->n_words == 0 };

		rc = config_text_put(&ct, &text, err);
	}
	if (rc == 0)
		rc = args_has(a, ARG_WRITE) ?
			     write_text(cli, buf_slice(&text), err) :
			     print_text(buf_slice(&text), err);
	buf_done(&text);
	strv_done(&names);
	hostkey_done(&key);
	return rc;
}

/* ---- ssh-proxy ---- */

/* Fails, with what to do, if a command could not be run in the instance. ssh shows
 * no more of a failure than what is said here. */
static int check_running(const struct cli *cli, const char *name,
			 struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON rec = NULL;
	const char *state;
	int rc = host_client(cli, false, &c, err);

	if (rc == 0)
		rc = instance_call(c, "GET", name, "", NULL, &rec, err);
	if (rc < 0)
		return rc;
	state = json_text(rec, "state");
	if (strcmp(state, "paused") == 0)
		return err_set(err, -ENOTCONN,
			       "'%s' is paused: `ac resume %s` lets it go on",
			       name, name);
	if (!instance_runs(rec))
		return err_set(
			err, -ENOTCONN,
			"'%s' does not run: `ac run %s` starts its "
			"agent, `ac run %s -d -- sleep infinity` nothing "
			"else",
			name, name, name);
	return 0;
}

int cmd_ssh_proxy(const struct cli *cli, const struct args *a, struct err *err)
{
	char name[AC_NAME_MAX + 1];
	struct hostkey key = { 0 };
	struct server_opts o = { .in = STDIN_FILENO,
				 .out = STDOUT_FILENO,
				 .sock = cli->sock,
				 .name = name,
				 .key = &key };
	int rc = config_text_instance(a->words[0], name, err);

	if (rc == 0 && isatty(STDIN_FILENO) == 1) {
		err_set(err, -EINVAL,
			"ssh starts this, by the entries of `ac ssh-config`");
		return cli_usage(err);
	}
	if (rc == 0)
		rc = check_running(cli, name, err);
	if (rc == 0)
		rc = hostkey_load(cli->home, &key, err);
	if (rc == 0)
		rc = server_run(&o, err);
	hostkey_done(&key);
	return rc;
}
