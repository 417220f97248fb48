/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.c - changes, checks and texts of policies
 */
#include "control/cli/cmd/policy/policy.h"

#include <string.h>

#include "control/cli/host/self_addresses.h"
#include "control/cli/cmd/instance.h"
#include "control/cli/host/host.h"
#include "control/shared/infer.h"
#include "control/cli/core/lines.h"
#include "control/cli/cmd/policy/log.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/str.h"

#define LINE_MAX_BYTES (64u * 1024)
#define YAML_MAX (8u * 1024 * 1024)
#define LINT_FILE_MAX (768u * 1024) /* acd takes bodies of 1 MiB */

/* ---- changes ---- */

/* Asks acd to make the change in @body; *ret is the instance's record. */
static int change(struct client *c, const char *word, const json_t *body,
		  json_t **ret, struct err *err)
{
	return instance_call(c, "POST", word, "/policy", body, ret, err);
}

/* Prints the linter's findings about a change that was made. */
static void tell_items(const struct cli *cli, const json_t *items)
{
	size_t i;

	for (i = 0; i < json_array_size(items); i++) {
		const json_t *it = json_array_get(items, i);
		const char *level = json_text(it, "level");

		if (strcmp(level, "error") == 0 ||
		    strcmp(level, "warning") == 0)
			say_error("%s: %s", level, json_text(it, "text"));
		else
			say_info(cli, "%s", json_text(it, "text"));
	}
}

static int tell(const struct cli *cli, const json_t *rec, const char *what,
		struct err *err)
{
	bool runs = instance_runs(rec);

	tell_items(cli, json_object_get(rec, "items"));
	if (cli->json)
		return cli_print_json(rec, false, err);
	say_info(cli, "%s: %s, %s", json_text(rec, "name"), what,
		 runs ? "from now on" : "from its next run on");
	return 0;
}

#define TOLD_HOSTS 3u

/* Returns "allowed a, b, c and 2 more"; the caller frees it. NULL: out of
 * memory. */
static char *change_words(const char *what, const struct args *a)
{
	size_t n = a->n_words - 1, shown = n < TOLD_HOSTS ? n : TOLD_HOSTS;
	SCOPED_STR more = n > shown ? str_printf(" and %zu more", n - shown) :
				      strdup("");

	return more ? str_printf("%s %s%s%s%s%s%s", what, a->words[1],
				 shown > 1 ? ", " : "",
				 shown > 1 ? a->words[2] : "",
				 shown > 2 ? ", " : "",
				 shown > 2 ? a->words[3] : "", more) :
		      NULL;
}

/* Runs allow and deny; the words after the name are hosts. */
static int change_hosts(const struct cli *cli, const struct args *a,
			const char *key, const char *what, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON body = json_object();
	SCOPED_JSON rec = NULL;
	SCOPED_STR words = change_words(what, a);
	struct strv hosts = { 0 };
	size_t i;
	int rc = 0;

	for (i = 1; rc == 0 && i < a->n_words; i++)
		rc = reach_add_targets(&hosts, "HOST", a->words[i], err);
	if (rc == 0 &&
	    (!words ||
	     json_object_set_new(body, key, jsonx_from_strv(&hosts)) < 0))
		rc = err_nomem(err);
	strv_done(&hosts);
	if (rc < 0)
		return cli_usage(err);
	if (rc == 0)
		rc = host_client(cli, true, &c, err);
	if (rc == 0)
		rc = change(c, a->words[0], body, &rec, err);
	return rc < 0 ? rc : tell(cli, rec, words, err);
}

static int allow_last(const struct cli *cli, const struct args *a,
		      struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON body = NULL;
	SCOPED_JSON rec = NULL;
	SCOPED_STR what = NULL;
	char name[AC_NAME_MAX + 1], hint[GATELOG_HINT_MAX];
	int rc = infer_instance(a->words[0], name, err);

	if (rc == 0)
		rc = host_client(cli, true, &c, err);
	if (rc == 0) /* the instance exists */
		rc = instance_call(c, "GET", name, "", NULL, &rec, err);
	if (rc == 0)
		rc = denials_last(c, name, hint, err);
	if (rc == 0)
		rc = denials_agree(cli, args_has(a, ARG_YES), name, hint, err);
	if (rc != 0)
		return rc;
	json_decref(ptr_take(&rec));
	body = json_pack("{s:[o]}", "allow", jsonx_text(hint));
	what = str_printf("allowed %s", hint);
	rc = body && what ? change(c, name, body, &rec, err) : err_nomem(err);
	return rc < 0 ? rc : tell(cli, rec, what, err);
}

int cmd_policy_allow(const struct cli *cli, const struct args *a,
		     struct err *err)
{
	const char *usage = "ac policy allow NAME HOST[:PORT]...|--last";
	bool last = args_has(a, ARG_LAST);

	if (a->n_words == 1 && last)
		return allow_last(cli, a, err);
	if (a->n_words > 1 && !last)
		return change_hosts(cli, a, "allow", "allowed", err);
	if (last)
		err_set(err, -EINVAL,
			"--last is what was blocked last, or name the hosts: "
			"not both");
	else
		err_set(err, -EINVAL, "HOST[:PORT]... is missing: %s", usage);
	return cli_usage(err);
}

int cmd_policy_deny(const struct cli *cli, const struct args *a,
		    struct err *err)
{
	return change_hosts(cli, a, "deny", "denied", err);
}

/*
 * Returns a request for @mode with the presets of @now: acd takes both as one.
 */
static json_t *mode_body(const char *mode, const json_t *now)
{
	const json_t *presets =
		json_object_get(json_object_get(now, "egress"), "presets");
	SCOPED_JSON words = json_array();
	size_t i;

	if (!words || json_array_append_new(words, jsonx_text(mode)) < 0)
		return NULL;
	for (i = 0; i < json_array_size(presets); i++)
		if (json_array_append(words, json_array_get(presets, i)) < 0)
			return NULL;
	return json_pack("{s:O}", "egress", words);
}

int cmd_policy_mode(const struct cli *cli, const struct args *a,
		    struct err *err)
{
	const char *mode = a->words[1];
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON now = NULL;
	SCOPED_JSON body = NULL;
	SCOPED_JSON rec = NULL;
	SCOPED_STR what = str_printf("mode %s", mode);
	int rc = reach_check_mode(mode, err);

	if (rc < 0)
		return cli_usage(err);
	rc = host_client(cli, true, &c, err);
	if (rc == 0)
		rc = instance_call(c, "GET", a->words[0], "/policy", NULL, &now,
				   err);
	if (rc < 0)
		return rc;
	body = mode_body(mode, now);
	rc = body && what ? change(c, a->words[0], body, &rec, err) :
			    err_nomem(err);
	if (rc < 0)
		return rc;
	if (strcmp(mode, "open") == 0)
		say_info(cli, "open: it reaches every host that is not denied, "
			      "and all of that is written down");
	return tell(cli, rec, what, err);
}

int cmd_policy_push(const struct cli *cli, const struct args *a,
		    struct err *err)
{
	const char *word = a->words[1];
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON body = json_pack("{s:o}", "push", jsonx_text(word));
	SCOPED_JSON rec = NULL;
	SCOPED_STR what = str_printf("git push: %s", word);
	int rc = body && what ? 0 : err_nomem(err);

	if (rc == 0 && strcmp(word, "allow") != 0 && strcmp(word, "ask") != 0 &&
	    strcmp(word, "deny") != 0) {
		err_set(err, -EINVAL, "'%s' is neither allow, ask nor deny",
			word);
		return cli_usage(err);
	}
	if (rc == 0)
		rc = host_client(cli, true, &c, err);
	if (rc == 0)
		rc = change(c, a->words[0], body, &rec, err);
	return rc < 0 ? rc : tell(cli, rec, what, err);
}

int cmd_policy_reset(const struct cli *cli, const struct args *a,
		     struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON body = json_pack("{s:b}", "egress_reset", 1);
	SCOPED_JSON rec = NULL;
	int rc = body ? host_client(cli, true, &c, err) : err_nomem(err);

	if (rc == 0)
		rc = change(c, a->words[0], body, &rec, err);
	return rc < 0 ? rc : tell(cli, rec, "as its blueprint says", err);
}

/* ---- lint, reload ---- */

/* Prints the linter's findings. Returns the exit code. */
static int print_lint(const struct cli *cli, const json_t *answer,
		      struct err *err)
{
	const json_t *items = json_object_get(answer, "items");
	bool good = json_is_true(json_object_get(answer, "ok"));
	size_t i;
	int rc = cli->json ? cli_print_json(answer, false, err) : 0;

	if (rc < 0)
		return rc;
	for (i = 0; !cli->json && i < json_array_size(items); i++) {
		const json_t *it = json_array_get(items, i);
		SCOPED_STR line = str_printf("%s [%s: %s]",
					     json_text(it, "text"),
					     json_text(it, "level"),
					     json_text(it, "code"));

		if (!line)
			return err_nomem(err);
		policy_print_clean(line);
	}
	return good ? 0 : CLI_EXIT_FAIL;
}

/* Reads all of stdin and adds a NUL; the caller frees *ret. */
static int read_stdin(char **ret, size_t *ret_len, struct err *err)
{
	SCOPED_STR text = malloc(LINT_FILE_MAX + 1);
	size_t len;

	if (!text)
		return err_nomem(err);
	len = fread(text, 1, LINT_FILE_MAX + 1, stdin);
	if (ferror(stdin))
		return err_sys(err, "cannot read stdin");
	if (len > LINT_FILE_MAX)
		return err_set(err, -EFBIG,
			       "stdin is no policy of at most "
			       "768 KiB");
	text[len] = '\0';
	*ret = ptr_take(&text);
	*ret_len = len;
	return 0;
}

static int lint_body(const struct args *a, json_t **ret, struct err *err)
{
	const char *path = a->n_words ? a->words[0] : NULL;
	SCOPED_STR text = NULL;
	size_t len = 0;
	int rc = 0;

	if (path && strcmp(path, "-") == 0)
		rc = read_stdin(&text, &len, err);
	else if (path)
		rc = file_read(path, LINT_FILE_MAX, &text, &len);
	if (rc == 0 && len > 0 && memchr(text, '\0', len))
		return err_set(err, -EINVAL,
			       "%s is no policy: there is a NUL in it, byte "
			       "%zu",
			       strcmp(path, "-") == 0 ? "stdin" : path,
			       strlen(text) + 1);
	if (rc < 0)
		return err->code ?
			       rc :
			       err_set(err, rc, "%s: %s", path, err_text(rc));
	*ret = text ? json_pack("{s:o, s:o}", "text", jsonx_text(text), "name",
				jsonx_text(*path == '-' ? "stdin" : path)) :
		      json_object();
	return *ret ? 0 : err_nomem(err);
}

int cmd_policy_lint(const struct cli *cli, const struct args *a,
		    struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON body = NULL;
	SCOPED_JSON answer = NULL;
	int rc = lint_body(a, &body, err);

	if (rc == 0)
		rc = host_client(cli, false, &c, err);
	if (rc == 0)
		rc = client_call(c, "POST", "/v1/policy/lint", body, &answer,
				 err);
	if (rc == 0)
		rc = print_lint(cli, answer, err);
	if (rc == 0 && !cli->json)
		say_info(cli, "the policy is good");
	return rc;
}

static bool is_down(const json_t *answer)
{
	const json_t *items = json_object_get(answer, "items");
	size_t i;

	for (i = 0; i < json_array_size(items); i++)
		if (strcmp(json_text(json_array_get(items, i), "code"),
			   "gateway-down") == 0)
			return true;
	return false;
}

int cmd_policy_reload(const struct cli *cli, const struct args *a,
		      struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON body = json_object();
	SCOPED_JSON answer = NULL;
	int rc = body ? host_client(cli, false, &c, err) : err_nomem(err);

	(void)a;
	if (rc == 0)
		rc = client_call(c, "POST", "/v1/policy/reload", body, &answer,
				 err);
	if (rc == 0)
		rc = print_lint(cli, answer, err);
	if (rc == CLI_EXIT_FAIL)
		say_error(is_down(answer) ?
				  "the gateway stays down, and nothing leaves "
				  "any sandbox" :
				  "the policy is refused; the one before still "
				  "holds");
	else if (rc == 0 && !cli->json)
		say_info(cli, "the policy is loaded");
	return rc;
}

/* ---- texts ---- */

static int print_line(void *arg, const char *line, size_t len)
{
	SCOPED_STR text = str_printf("%.*s", (int)len, line);

	(void)arg;
	if (!text)
		return -ENOMEM;
	policy_print_clean(text);
	return ferror(stdout) ? -EPIPE : 0;
}

static int print_piece(void *arg, const char *data, size_t len)
{
	return lines_feed(arg, data, len, print_line, NULL);
}

/* Prints an answer that is text, with a newline at its end. */
static int print_text(struct client *c, const char *path, struct err *err)
{
	struct buf held;
	int rc;

	buf_init(&held, LINE_MAX_BYTES);
	rc = client_stream(c, "GET", path, NULL, print_piece, &held, err);
	if (rc == 0 && buf_len(&held) > 0)
		rc = lines_feed(&held, "\n", 1, print_line, NULL);
	buf_done(&held);
	if (rc < 0 && err->code == 0)
		err_set(err, rc, "cannot print the answer: %s", err_text(rc));
	return rc;
}

static int keep_piece(void *arg, const char *data, size_t len)
{
	return buf_append(arg, data, len);
}

/* Prints it as {"yaml": "…"}. */
static int print_yaml(struct client *c, const char *path, struct err *err)
{
	SCOPED_JSON doc = NULL;
	SCOPED_STR text = NULL;
	struct buf all;
	int rc;

	buf_init(&all, YAML_MAX);
	rc = client_stream(c, "GET", path, NULL, keep_piece, &all, err);
	if (rc == 0)
		rc = slice_dup_str(buf_slice(&all), &text);
	buf_done(&all);
	if (rc < 0)
		return err->code ?
			       rc :
			       err_set(err, rc, "cannot print the answer: %s",
				       err_text(rc));
	doc = json_pack("{s:o}", "yaml", jsonx_text(text));
	return doc ? cli_print_json(doc, false, err) : err_nomem(err);
}

int cmd_policy_learn(const struct cli *cli, const struct args *a,
		     struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_STR path = NULL;
	char name[AC_NAME_MAX + 1];
	int rc = infer_instance(a->words[0], name, err);

	if (rc == 0)
		rc = host_client(cli, false, &c, err);
	if (rc < 0)
		return rc;
	path = client_path("/v1/instances/", name, "/policy/learn");
	if (!path)
		return err_nomem(err);
	return cli->json ? print_yaml(c, path, err) : print_text(c, path, err);
}

int cmd_metrics(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	int rc = host_client(cli, false, &c, err);

	(void)a;
	return rc < 0 ? rc : print_text(c, "/v1/metrics", err);
}
