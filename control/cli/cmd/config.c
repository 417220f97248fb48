/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.c - config get, set, unset, ls, edit
 */
#include "control/cli/cmd/config.h"

#include <limits.h>
#include <string.h>

#include "control/cli/wire/client.h"
#include "control/cli/host/config_file.h"
#include "control/cli/host/host_start.h"
#include "control/cli/core/table.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/proc.h"
#include "lib/str.h"

#define EDITOR_DEFAULT "vi"

/* Returns the value of @key that applies, NULL if none; *ret_from names its
 * source. */
static const char *value_of(const struct config *c,
			    const struct config_key *key, const char **ret_from)
{
	const char *own = c->value[key - config_keys];
	const char *set = key->variable ? getenv(key->variable) : NULL;

	*ret_from = set ? key->variable : own ? "config.yaml" : "";
	return set ? set : own;
}

/* ---- ls, get ---- */

static int ls_json(const struct config *c, struct err *err)
{
	SCOPED_JSON list = json_array();

	for (size_t i = 0; list && i < CONFIG_KEYS; i++) {
		const char *from;
		const char *value = value_of(c, &config_keys[i], &from);

		if (json_array_append_new(
			    list, json_pack("{s:s, s:o, s:o}", "key",
					    config_keys[i].name, "value",
					    jsonx_text(value), "from",
					    jsonx_text(*from ? from : NULL))))
			return err_nomem(err);
	}
	return list ? cli_print_json(list, false, err) : err_nomem(err);
}

static int ls_table(const struct cli *cli, const struct config *c,
		    struct err *err)
{
	static const struct table_col cols[] = { { "KEY", 0 },
						 { "VALUE", 0 },
						 { "FROM", 0 },
						 { "WHAT", TABLE_CUT } };
	struct table *t = table_new(cli, cols, ARRAY_SIZE(cols));
	int rc = t ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < CONFIG_KEYS; i++) {
		const char *from;
		const char *value = value_of(c, &config_keys[i], &from);
		const char *cells[] = { config_keys[i].name,
					value ? value : "-", value ? from : "-",
					config_keys[i].help };

		rc = table_row(t, cells);
	}
	rc = rc < 0 ? err_nomem(err) : table_print(t, err);
	table_free(t);
	return rc;
}

int cmd_config_ls(const struct cli *cli, const struct args *a, struct err *err)
{
	struct config c = { 0 };
	int rc = config_load(cli, &c, err);

	(void)a;
	if (rc == 0)
		rc = cli->json ? ls_json(&c, err) : ls_table(cli, &c, err);
	config_done(&c);
	return rc;
}

static int print_value(const struct cli *cli, const struct config *c,
		       const struct config_key *key, struct err *err)
{
	const char *from;
	const char *value = value_of(c, key, &from);
	char text[8192];

	if (cli->json) {
		SCOPED_JSON v = json_pack("{s:s, s:o, s:o}", "key", key->name,
					  "value", jsonx_text(value), "from",
					  jsonx_text(*from ? from : NULL));

		return v ? cli_print_json(v, false, err) : err_nomem(err);
	}
	if (!value) {
		say_info(cli, "%s is not set", key->name);
		return CLI_EXIT_FAIL;
	}
	puts(cli_clean(text, sizeof(text), value));
	return 0;
}

int cmd_config_get(const struct cli *cli, const struct args *a, struct err *err)
{
	const struct config_key *key = config_find(a->words[0], err);
	struct config c = { 0 };
	int rc;

	if (!key)
		return cli_usage(err);
	rc = config_load(cli, &c, err);
	if (rc == 0)
		rc = print_value(cli, &c, key, err);
	config_done(&c);
	return rc;
}

/* ---- set, unset ---- */

/* Reads the configuration. *ret_path is the file to write, with a symbolic link
 * of the user resolved. */
static int read_text(const struct cli *cli, char **ret_path, char **ret,
		     struct err *err)
{
	SCOPED_STR path = str_printf("%s/config.yaml", cli->home);
	SCOPED_STR text = NULL;
	char real[PATH_MAX];
	int rc;

	if (!path)
		return err_nomem(err);
	if (realpath(path, real)) {
		free(path);
		path = strdup(real);
	}
	rc = path ? file_read(path, CONFIG_BYTES_MAX, &text, NULL) : -ENOMEM;
	if (rc == -ENOENT) {
		text = strdup("");
		rc = text ? file_mkdir_p(cli->home, 0700) : -ENOMEM;
	}
	if (rc < 0)
		return err_set(err, rc, "%s: %s", path ? path : "config.yaml",
			       err_text(rc));
	*ret_path = ptr_take(&path);
	*ret = ptr_take(&text);
	return 0;
}

static int write_text(const char *path, const char *text, struct err *err)
{
	int rc = file_write_atomic(path, text, strlen(text), 0600);

	return rc < 0 ? err_set(err, rc, "write %s: %s", path, err_text(rc)) :
			0;
}

/* Tells the user when the change of @key takes effect. */
static void tell_when(const struct cli *cli, const struct config_key *key)
{
	SCOPED_CLIENT c = client_new(cli->sock, "acd");
	struct host_probe probe = { .up = false };
	struct err ignored = { 0 };

	if (!key->variable) {
		say_info(cli, "it holds for instances that are made from now "
			      "on");
		return;
	}
	if (c && host_probe(c, &probe, &ignored) == 0 && probe.up)
		say_info(cli, "%s runs: `ac restart` makes it hold", cli->host);
	if (getenv(key->variable))
		say_info(cli, "%s is set, and holds instead", key->variable);
}

static int put(const struct cli *cli, const char *name, const char *value,
	       struct err *err)
{
	const struct config_key *key = config_find(name, err);
	SCOPED_STR path = NULL;
	SCOPED_STR text = NULL;
	SCOPED_STR changed = NULL;
	struct err why = { 0 };
	int rc;

	if (!key)
		return cli_usage(err);
	if (value && config_check(key, value, &why) < 0) {
		err_set(err, -EINVAL, "%s: %s", name, why.msg);
		return cli_usage(err);
	}
	rc = read_text(cli, &path, &text, err);
	if (rc == 0)
		rc = config_edit(path, text, key, value, &changed, err);
	if (rc == 0 && text && changed && strcmp(text, changed) != 0)
		rc = write_text(path, changed, err);
	if (rc < 0 || !text || !changed)
		return rc;
	if (strcmp(text, changed) != 0)
		tell_when(cli, key);
	else if (value)
		say_info(cli, "%s is so already", name);
	else
		say_info(cli, "%s is not set in %s: nothing is changed", name,
			 path);
	return 0;
}

int cmd_config_set(const struct cli *cli, const struct args *a, struct err *err)
{
	return put(cli, a->words[0], a->words[1], err);
}

int cmd_config_unset(const struct cli *cli, const struct args *a,
		     struct err *err)
{
	return put(cli, a->words[0], NULL, err);
}

/* ---- edit ---- */

/* Returns the editor in VISUAL or EDITOR, NULL if neither is set. */
static const char *editor_chosen(void)
{
	const char *editor = getenv("VISUAL");

	if (!editor || !*editor)
		editor = getenv("EDITOR");
	return editor && *editor ? editor : NULL;
}

static int run_editor(const char *file, struct err *err)
{
	const char *editor = editor_chosen();
	const char *argv[] = { "sh", "-c", NULL, "sh", file, NULL };
	const struct proc_opts opts = { .argv = argv,
					.fd = { STDIN_FILENO, STDOUT_FILENO,
						STDERR_FILENO } };
	SCOPED_STR words = NULL;
	int rc;

	/* The value may have options, as in "code -w". */
	words = str_printf("%s \"$1\"", editor ? editor : EDITOR_DEFAULT);
	if (!words)
		return err_nomem(err);
	argv[2] = words;
	rc = proc_run(&opts, err);
	if (rc > 0)
		return err_set(err, -ECANCELED,
			       "the editor ended with code %d: nothing is "
			       "changed",
			       rc);
	return rc;
}

/* Returns true if an editor can be started. One that the user chose may need no
 * terminal. */
static bool can_edit(void)
{
	return editor_chosen() ||
	       (isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1);
}

/* Replaces @path by the edited text if that is valid. */
static int take_edited(const struct cli *cli, const char *path,
		       const char *before, const char *file, struct err *err)
{
	struct config c = { 0 };
	SCOPED_STR text = NULL;
	int rc = file_read(file, CONFIG_BYTES_MAX, &text, NULL);

	if (rc < 0)
		return err_set(err, rc, "%s: %s", file, err_text(rc));
	rc = config_parse(file, text, strlen(text), &c, err);
	config_done(&c);
	if (rc < 0) {
		say_error("%s", err->msg);
		return err_set(err, rc,
			       "%s stays as it was; what you wrote is in %s",
			       path, file);
	}
	if (strcmp(text, before) == 0)
		say_info(cli, "nothing is changed");
	else
		rc = write_text(path, text, err);
	if (rc == 0)
		unlink(file);
	return rc;
}

static const char first_lines[] =
	"# What is true of this machine: `ac config ls` lists the keys.\n";

int cmd_config_edit(const struct cli *cli, const struct args *a,
		    struct err *err)
{
	SCOPED_STR path = NULL;
	SCOPED_STR text = NULL;
	SCOPED_STR file = NULL;
	int rc = read_text(cli, &path, &text, err);

	(void)a;
	if (rc == 0 && !can_edit())
		return err_set(err, -ENOTTY,
			       "there is no terminal to edit on: `ac config "
			       "set KEY VALUE` and `ac config unset KEY` "
			       "change %s, or EDITOR names what needs none",
			       path);
	if (rc < 0 || !text)
		return rc;
	file = str_printf("%s/config.edit.yaml", cli->home);
	if (!file)
		return err_nomem(err);
	rc = write_text(file, *text ? text : first_lines, err);
	if (rc == 0)
		rc = run_editor(file, err);
	return rc < 0 ? rc : take_edited(cli, path, text, file, err);
}
