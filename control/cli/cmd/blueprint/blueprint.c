/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blueprint.c - `ac blueprint`: what a blueprint says, and whether it is good
 */
#include "control/cli/cmd/blueprint/blueprint.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "control/cli/cmd/blueprint/lines.h"
#include "control/cli/core/project_file.h"
#include "control/cli/host/host.h"
#include "control/cli/wire/client.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/str.h"

#define FILE_BYTES_MAX (64u * 1024) /* as acd has it */
#define LINE_SHOWN_MAX 4096u /* bytes of a line with paths */

/* ---- show ---- */

int cmd_blueprint_show(const struct cli *cli, const struct args *a,
		       struct err *err)
{
	SCOPED_STR path = client_path("/v1/blueprints/", a->words[0], "");
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON answer = NULL;
	int rc = path ? host_client(cli, false, &c, err) : err_nomem(err);

	if (rc == 0)
		rc = client_call(c, "GET", path, NULL, &answer, err);
	if (rc < 0)
		return rc;
	if (cli->json)
		return cli_print_json(answer, true, err);
	if (!args_has(a, ARG_RESOLVED)) {
		fputs(json_text(answer, "text"), stdout);
		return 0;
	}
	blueprint_lines_print(cli, json_object_get(answer, "lines"));
	return blueprint_presets_print(c, answer, err);
}

/* ---- check ---- */

/* Returns true if @word is a path and not a blueprint's name. */
static bool is_path(const char *word)
{
	return strchr(word, '/') || strcmp(word, "-") == 0 ||
	       str_ends(word, ".yaml") || str_ends(word, ".yml");
}

/* Returns true for the file that a project brings along. */
static bool is_projects(const char *path)
{
	return strcmp(path, PROJECT_FILE) == 0 ||
	       str_ends(path, "/" PROJECT_FILE);
}

static int read_stdin(char **ret, size_t *ret_len, struct err *err)
{
	SCOPED_STR text = malloc(FILE_BYTES_MAX + 1);
	size_t len;

	if (!text)
		return err_nomem(err);
	len = fread(text, 1, FILE_BYTES_MAX + 1, stdin);
	if (ferror(stdin))
		return err_sys(err, "cannot read stdin");
	if (len > FILE_BYTES_MAX)
		return err_set(err, -EFBIG,
			       "stdin is no blueprint of at most 64 KiB");
	text[len] = '\0';
	*ret = ptr_take(&text);
	*ret_len = len;
	return 0;
}

/* Returns the file that is meant, which in a directory is blueprint.yaml; to be
 * freed, or NULL without memory. */
static char *file_meant(const char *word)
{
	struct stat st;

	if (stat(word, &st) == 0 && S_ISDIR(st.st_mode))
		return str_printf("%s%sblueprint.yaml", word,
				  str_ends(word, "/") ? "" : "/");
	return strdup(word);
}

static int text_body(const char *word, json_t **ret, struct err *err)
{
	bool is_stdin = strcmp(word, "-") == 0;
	SCOPED_STR path = file_meant(is_stdin ? "stdin" : word);
	SCOPED_STR text = NULL;
	size_t len = 0;
	int rc;

	if (!path)
		return err_nomem(err);
	rc = is_stdin ? read_stdin(&text, &len, err) :
			file_read(path, FILE_BYTES_MAX, &text, &len);
	if (rc == -EFBIG && !is_stdin)
		return err_set(err, rc, "%s: a blueprint has at most 64 KiB",
			       path);
	if (rc < 0)
		return is_stdin ?
			       rc :
			       err_set(err, rc, "%s: %s", path, err_text(rc));
	if (memchr(text, '\0', len))
		return err_set(err, -EINVAL,
			       "%s is no blueprint: there is a NUL in it, byte "
			       "%zu",
			       path, strlen(text) + 1);
	*ret = json_pack("{s:o, s:o, s:b}", "file", jsonx_text(path), "text",
			 json_stringn(text, len), "project", is_projects(path));
	return *ret ? 0 : err_set(err, -EINVAL, "%s is no UTF-8 text", path);
}

int blueprint_body(const char *word, json_t **ret, struct err *err)
{
	if (is_path(word))
		return text_body(word, ret, err);
	*ret = json_pack("{s:o}", "name", jsonx_text(word));
	return *ret ? 0 : err_nomem(err);
}

static int print_judged(const struct cli *cli, const json_t *answer,
			struct err *err)
{
	const json_t *errors = json_object_get(answer, "errors");
	bool good = json_is_true(json_object_get(answer, "ok"));
	char shown[LINE_SHOWN_MAX], clean[LINE_SHOWN_MAX];
	const json_t *one;
	size_t i;

	if (cli->json) {
		int rc = cli_print_json(answer, false, err);

		return rc < 0 ? rc : good ? 0 : CLI_EXIT_FAIL;
	}
	json_array_foreach (errors, i, one) {
		cli_user_paths(cli, shown, sizeof(shown),
			       json_text(one, "message"));
		puts(cli_clean(clean, sizeof(clean), shown));
	}
	if (json_is_true(json_object_get(answer, "more")))
		puts("there are more mistakes than are shown here");
	if (good)
		say_info(cli, "the blueprint is good");
	return good ? 0 : CLI_EXIT_FAIL;
}

int cmd_blueprint_check(const struct cli *cli, const struct args *a,
			struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON body = NULL;
	SCOPED_JSON answer = NULL;
	int rc = blueprint_body(a->words[0], &body, err);

	if (rc == 0)
		rc = host_client(cli, false, &c, err);
	if (rc == 0)
		rc = client_call(c, "POST", "/v1/blueprints/check", body,
				 &answer, err);
	return rc < 0 ? rc : print_judged(cli, answer, err);
}
