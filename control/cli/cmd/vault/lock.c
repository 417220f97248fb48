/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock.c - passphrase, lock and exports of the vault
 */
#include <fcntl.h>
#include <libgen.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>

#include "control/cli/cmd/vault/vault.h"
#include "control/cli/host/host.h"
#include "control/shared/json.h"
#include "lib/file.h"

#define EXPORT_MAX (1024u * 1024) /* bytes; acd takes less */

static int put_passphrase(json_t *body, const struct vault_input *in)
{
	return json_object_set_new(body, "passphrase",
				   vault_base64(in->value, in->len));
}

/* Prints the new state with --json. */
static int print_state(const struct cli *cli, const char *key,
		       const char *value, struct err *err)
{
	SCOPED_JSON j = NULL;

	if (!cli->json)
		return 0;
	j = json_pack("{s:s}", key, value);
	return j ? cli_print_json(j, false, err) : err_nomem(err);
}

/* Returns 1 if the vault is open (*ret_file: by a key file), 0 if it is locked,
 * or a negative errno with @err. */
static int is_open(struct client *c, bool *ret_file, struct err *err)
{
	SCOPED_JSON all = NULL;
	struct err why = { 0 };
	int rc = client_call(c, "GET", "/v1/vault", NULL, &all, &why);

	if (rc < 0 && strcmp(client_error(c)->code, "vault_locked") == 0)
		return 0;
	if (rc < 0) {
		*err = why;
		return rc;
	}
	*ret_file = strcmp(json_text(all, "key"), "file") == 0;
	return 1;
}

/* Asks for a passphrase and posts it to @path, added to @body. */
static int ask_and_post(struct client *c, const char *path, const char *prompt,
			bool twice, json_t *body, json_t **ret, struct err *err)
{
	SCOPED_INPUT in = { 0 };
	int rc = body ? vault_input_guard(err) : err_nomem(err);

	if (rc == 0)
		rc = vault_input_passphrase(prompt, 1, twice, &in, err);
	if (rc == 0 && put_passphrase(body, &in))
		rc = err_nomem(err);
	return rc == 0 ? client_call(c, "POST", path, body, ret, err) : rc;
}

static int post(const struct cli *cli, const char *path, const char *prompt,
		bool twice, json_t *body, json_t **ret, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	int rc = host_client(cli, true, &c, err);

	return rc == 0 ? ask_and_post(c, path, prompt, twice, body, ret, err) :
			 rc;
}

int cmd_vault_unlock(const struct cli *cli, const struct args *a,
		     struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON body = NULL;
	bool file = false;
	int rc = vault_input_guard(err);

	(void)a;
	if (rc == 0)
		rc = host_client(cli, true, &c, err);
	if (rc == 0)
		rc = is_open(c, &file, err);
	if (rc < 0)
		return rc;
	if (rc > 0) {
		say_info(cli,
			 file ? "the vault is open: it has a key file and no "
				"passphrase (`ac vault passphrase` gives it "
				"one)" :
				"the vault is open already; `ac vault lock` "
				"closes it");
		return print_state(cli, "state", "open", err);
	}
	body = json_object();
	rc = ask_and_post(c, "/v1/vault/unlock", "passphrase", false, body,
			  NULL, err);
	if (rc == 0)
		say_info(cli, "the vault is open until ac-host stops, or `ac "
			      "vault lock`");
	return rc == 0 ? print_state(cli, "state", "open", err) : rc;
}

void vault_unlock_ask(const struct cli *cli, struct client *c)
{
	SCOPED_JSON body = NULL;
	struct err err = { 0 };
	int rc = -ENOTTY;

	if (!cli->json && !cli->quiet && isatty(STDIN_FILENO)) {
		say_info(cli, "the vault is locked; an empty passphrase leaves "
			      "it so");
		body = json_object();
		rc = ask_and_post(c, "/v1/vault/unlock", "its passphrase",
				  false, body, NULL, &err);
	}
	if (rc < 0 && client_error(c)->status >= 400)
		say_error("%s", err.msg);
	say_info(cli, rc < 0 ? "the vault is locked: `ac vault unlock`" :
			       "the vault is open until ac-host stops, or `ac "
			       "vault lock`");
}

int cmd_vault_lock(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	int rc = host_client(cli, true, &c, err);

	(void)a;
	if (rc == 0)
		rc = client_call(c, "POST", "/v1/vault/lock", NULL, NULL, err);
	if (rc == 0)
		say_info(cli, "the vault is locked: what runs goes on, a new "
			      "run with a credential is refused until `ac "
			      "vault unlock`");
	return rc == 0 ? print_state(cli, "state", "locked", err) : rc;
}

/* Asks for the present passphrase, if there is one, to prevent mistakes such as
 * at an unattended terminal. It is no protection: while the vault is open, an
 * export has all of it under any passphrase. */
static int put_old(struct client *c, json_t *body, struct err *err)
{
	SCOPED_INPUT in = { 0 };
	SCOPED_JSON vault = NULL;
	int rc = client_call(c, "GET", "/v1/vault", NULL, &vault, err);

	if (rc < 0 || strcmp(json_text(vault, "key"), "passphrase") != 0)
		return rc;
	rc = vault_input_passphrase("the passphrase that it has now", 1, false,
				    &in, err);
	if (rc == 0 &&
	    json_object_set_new(body, "old", vault_base64(in.value, in.len)))
		rc = err_nomem(err);
	return rc;
}

/*
 * Seals the vault with a new passphrase, which it asks for, or with a key file.
 */
static int reseal(const struct cli *cli, bool with_passphrase, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON body = NULL;
	SCOPED_INPUT in = { 0 };
	int rc = vault_input_guard(err);

	if (rc == 0)
		rc = host_client(cli, true, &c, err);
	if (rc < 0)
		return rc;
	body = json_pack("{s:n}", "passphrase");
	rc = body ? put_old(c, body, err) : err_nomem(err);
	if (rc == 0 && with_passphrase)
		rc = vault_input_passphrase(
			"the new passphrase",
			json_object_get(body, "old") ? 2 : 1, true, &in, err);
	if (rc == 0 && with_passphrase && put_passphrase(body, &in))
		rc = err_nomem(err);
	return rc == 0 ? client_call(c, "POST", "/v1/vault/passphrase", body,
				     NULL, err) :
			 rc;
}

int cmd_vault_passphrase(const struct cli *cli, const struct args *a,
			 struct err *err)
{
	int rc = reseal(cli, true, err);

	(void)a;
	if (rc == 0)
		say_info(cli, "the vault has a passphrase; without it no one "
			      "can read it, not even you");
	return rc == 0 ? print_state(cli, "key", "passphrase", err) : rc;
}

int cmd_vault_keyfile(const struct cli *cli, const struct args *a,
		      struct err *err)
{
	int rc = reseal(cli, false, err);

	(void)a;
	if (rc == 0)
		say_info(cli,
			 "the vault has a key file, %s/vault/key, and opens by "
			 "itself: who can read that file and the store can "
			 "read the tokens. Back it up",
			 cli->home);
	return rc == 0 ? print_state(cli, "key", "file", err) : rc;
}

/* ---- export, import ---- */

static int write_new(const char *path, const void *data, size_t len,
		     struct err *err)
{
	SCOPED_FD fd = -1;
	int rc;

	if (strcmp(path, "-") == 0) {
		rc = fd_write_all(STDOUT_FILENO, data, len);
		return rc < 0 ? err_set(err, rc, "stdout: %s", err_text(rc)) :
				0;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(err, "%s", path);
	rc = fd_write_all(fd, data, len);
	if (rc == 0 && fsync(fd) < 0)
		rc = -errno;
	if (rc < 0) {
		unlink(path);
		return err_set(err, rc, "%s: %s", path, err_text(rc));
	}
	return 0;
}

/* Checks the destination before a passphrase is typed twice. */
static int check_new(const char *path, struct err *err)
{
	SCOPED_STR copy = strdup(path);

	if (!copy)
		return err_nomem(err);
	if (strcmp(path, "-") == 0)
		return 0;
	if (access(path, F_OK) == 0)
		return err_set(err, -EEXIST, "%s is there already", path);
	if (access(dirname(copy), W_OK | X_OK) < 0)
		return err_sys(err, "%s", path);
	return 0;
}

int cmd_vault_export(const struct cli *cli, const struct args *a,
		     struct err *err)
{
	const char *path = a->words[0];
	SCOPED_JSON body = NULL;
	SCOPED_JSON res = NULL;
	SCOPED_MEM image = NULL;
	const char *text;
	size_t len = 0;
	int rc = vault_input_guard(err);

	if (rc < 0)
		return rc;
	if (strcmp(path, "-") == 0 && cli->out_tty) {
		err_set(err, -EINVAL, "an export is nothing for a terminal");
		return cli_usage(err);
	}
	if (strcmp(path, "-") == 0 && cli->json) {
		err_set(err, -EINVAL,
			"with - stdout is the export, and has no "
			"place for --json");
		return cli_usage(err);
	}
	rc = check_new(path, err);
	if (rc < 0)
		return rc;
	body = json_object();
	rc = post(cli, "/v1/vault/export", "a passphrase for the export", true,
		  body, &res, err);
	if (rc < 0)
		return rc;
	text = json_text(res, "data");
	image = malloc(strlen(text) + 1);
	if (!image)
		return err_nomem(err);
	if (sodium_base642bin(image, strlen(text) + 1, text, strlen(text), NULL,
			      &len, NULL,
			      sodium_base64_VARIANT_ORIGINAL) != 0 ||
	    len == 0)
		return err_set(err, -EPROTO, "acd answered without an export");
	rc = write_new(path, image, len, err);
	if (rc == 0)
		say_info(cli, "exported; without its passphrase it is worth "
			      "nothing");
	return rc == 0 ? print_state(cli, "file", path, err) : rc;
}

/*
 * Reads an export. "-" and a directory are refused with messages of their own.
 */
static int import_read(const char *path, char **ret, size_t *ret_len,
		       struct err *err)
{
	struct stat st;
	int rc;

	if (strcmp(path, "-") == 0)
		return err_set(err, -EINVAL,
			       "an export is read from a file: stdin is where "
			       "its passphrase may come from");
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return err_set(
			err, -EINVAL,
			"%s is a directory: name the file that `ac vault "
			"export` wrote",
			path);
	rc = file_read(path, EXPORT_MAX, ret, ret_len);
	return rc < 0 ? err_set(err, rc, "%s: %s", path, err_text(rc)) : 0;
}

int cmd_vault_import(const struct cli *cli, const struct args *a,
		     struct err *err)
{
	SCOPED_JSON body = NULL;
	SCOPED_JSON res = NULL;
	SCOPED_STR image = NULL;
	size_t len = 0;
	int rc = vault_input_guard(err);

	if (rc == 0)
		rc = import_read(a->words[0], &image, &len, err);
	if (rc < 0)
		return cli_usage(err);
	body = json_object();
	if (json_object_set_new(body, "data", vault_base64(image, len)) ||
	    json_object_set_new(body, "replace",
				json_boolean(args_has(a, ARG_REPLACE))))
		return err_nomem(err);
	rc = post(cli, "/v1/vault/import", "the passphrase of the export",
		  false, body, &res, err);
	if (rc < 0)
		return rc;
	if (cli->json)
		return cli_print_json(res, false, err);
	say_info(cli, "%lld added, %lld replaced, %lld kept as they were",
		 json_count(res, "added"), json_count(res, "replaced"),
		 json_count(res, "kept"));
	return 0;
}
