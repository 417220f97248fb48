/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_offline.c - commands that need no running gateway, or can do without
 *
 * `check` and `show` read the files named by --policy and --agents, or ask the
 * running gateway if none are named; the output is the same.
 */
#include "ottergate/run/cli.h"

#include <string.h>

#include "lib/jsonr.h"
#include "lib/jsonw.h"
#include "lib/log.h"
#include "ottergate/admin/lint_json.h"
#include "ottergate/audit/audit.h"
#include "ottergate/policy/net/own.h"
#include "ottergate/policy/load.h"
#include "ottergate/conn/table.h"
#include "ottergate/audit/usage_log.h"

#define TEXT_MAX (256u * 1024 * 1024)
#define SINCE_MAX 253402300799u /* the end of the year 9999 */

static void print_text(struct buf *text)
{
	struct slice s = buf_slice(text);

	if (s.len > 0)
		fwrite(s.ptr, 1, s.len, stdout);
	if (s.len > 0 && s.ptr[s.len - 1] != '\n')
		putchar('\n');
	buf_done(text);
}

static size_t lint_print(const struct lint *lint, FILE *to)
{
	size_t count[3] = { 0 };

	for (size_t i = 0; i < lint->n; i++) {
		const struct lint_item *it = &lint->v[i];

		if (it->form) /* printed as the reason of the failure */
			continue;
		count[it->level]++;
		fprintf(to, "%s [%s: %s]\n", it->text,
			lint_level_name(it->level), it->code);
	}
	if (lint->dropped)
		fprintf(to, "and %zu more\n", lint->dropped);
	fprintf(to, "%zu errors, %zu warnings, %zu infos\n", count[LINT_ERROR],
		count[LINT_WARNING], count[LINT_INFO]);
	return count[LINT_ERROR];
}

/* Prints the findings as JSON, in the format of a reload's answer. */
static void lint_print_json(const struct lint *lint, const struct err *err)
{
	struct jsonw w;
	struct buf out;

	buf_init(&out, TEXT_MAX);
	jsonw_init(&w, &out);
	jsonw_open(&w, NULL, '{');
	jsonw_bool(&w, "ok", err->code >= 0);
	lint_json(&w, lint, err);
	jsonw_close(&w, '}');
	print_text(&out);
}

/* Prepares @lint for --called; *ret_path, which the caller frees, must outlive
 * it. */
static int lint_begin(const struct cli *cli, struct lint *lint, char **ret_path,
		      struct err *err)
{
	const char *mark = cli->called ? strchr(cli->called, '=') : NULL;

	if (!cli->called)
		return 0;
	if (!mark || !mark[1])
		return err_set(err, -EINVAL, "--called '%s' is not PATH=NAME",
			       cli->called);
	*ret_path = strndup(cli->called, (size_t)(mark - cli->called));
	if (!*ret_path)
		return err_nomem(err);
	lint->path = *ret_path;
	lint->called = mark + 1;
	return 0;
}

int cli_lint(const struct cli *cli, struct err *err)
{
	struct policy *policy = NULL;
	struct lint lint = { 0 };
	SCOPED_STR path = NULL;
	size_t errors;
	int rc;

	if (cli->n_words == 0)
		return err_set(err, -EINVAL, "--check needs a file");
	rc = lint_begin(cli, &lint, &path, err);
	if (rc < 0)
		return rc;
	rc = policy_load(cli->words, &policy, &lint, err);
	if (cli->json)
		lint_print_json(&lint, err);
	errors = cli->json ? 0 : lint_print(&lint, stdout);
	lint_done(&lint);
	if (rc >= 0)
		policy_unref(policy);
	else if (errors == 0)
		return rc; /* a syntax error, which is no finding */
	return rc < 0 ? CLI_FAILED : 0;
}

static bool has_files(const struct cli *cli)
{
	return cli->gate.policy.n > 0 || cli->gate.agents;
}

/* Loads the named files and finds the agent in them. */
static int agent_load(const struct cli *cli, const char *id,
		      struct gate_state **ret,
		      const struct agent_policy **agent, struct err *err)
{
	const struct table_entry *e;
	struct gate_state *s = NULL;
	struct lint lint = { 0 };
	SCOPED_STR path = NULL;
	int rc = lint_begin(cli, &lint, &path, err);

	if (rc < 0)
		return rc;
	rc = gate_state_load(&cli->gate, &s, &lint, err);
	if (rc < 0) {
		if (cli->json)
			lint_print_json(&lint, err);
		lint_done(&lint);
		return rc;
	}
	e = table_find_id(gate_state_table(s), id);
	if (!e) {
		err_set(err, -ENOENT, "no agent %s", id);
		for (size_t i = 0; i < lint.n; i++)
			if (lint.v[i].level == LINT_ERROR)
				fprintf(stderr, "%s\n", lint.v[i].text);
		if (cli->json)
			lint_print_json(&lint, err);
		gate_state_free(s);
	} else {
		*agent = e->policy;
		*ret = s;
	}
	lint_done(&lint);
	return e ? 0 : -ENOENT;
}

/* Sets *@ret to the value of @key in an object of ours: a string without its
 * quotes, any other value as it is written. Returns false if it is missing, null
 * or empty. */
static bool json_value(struct slice json, const char *key, struct slice *ret)
{
	struct slice name, value;
	struct jsonr j;

	jsonr_init(&j, json);
	if (jsonr_open(&j, '{') < 0)
		return false;
	while (jsonr_next(&j, &name) > 0) {
		int kind = jsonr_peek(&j);
		const uint8_t *at = j.in.ptr;
		int rc = kind == JSONR_STRING ? jsonr_string(&j, &value) :
						jsonr_skip(&j);

		if (rc < 0)
			return false;
		if (kind != JSONR_STRING)
			value = slice_of(at, (size_t)(j.in.ptr - at));
		if (!jsonr_is(name, key))
			continue;
		*ret = value;
		return kind != JSONR_NULL && value.len > 0;
	}
	return false;
}

static void print_value(const char *label, struct slice json, const char *key)
{
	struct slice v;

	if (json_value(json, key, &v))
		printf("%s%.*s", label, (int)v.len, (const char *)v.ptr);
}

/* Prints the verdict for people; with --explain everything. */
static void verdict_print(const struct cli *cli, struct slice json, bool allow)
{
	static const char *const keys[] = { "rule", "source", "use", "proto",
					    "mode" };

	if (cli->json) {
		printf("%.*s\n", (int)json.len, (const char *)json.ptr);
		return;
	}
	printf("%s", allow ? "allowed: " : "denied: ");
	printf("%s", cli->words[0]);
	print_value(" (", json, "reason");
	print_value(": ", json, "text");
	printf(")\n");
	for (size_t i = 0; cli->explain && i < ARRAY_SIZE(keys); i++) {
		struct slice v;

		if (json_value(json, keys[i], &v))
			printf("  %s: %.*s\n", keys[i], (int)v.len,
			       (const char *)v.ptr);
	}
	if (!allow) {
		struct slice hint;

		if (json_value(json, "hint", &hint))
			printf("allow it with: %.*s\n", (int)hint.len,
			       (const char *)hint.ptr);
	}
}

static int check_files(const struct cli *cli, struct buf *out, struct err *err)
{
	const struct agent_policy *agent = NULL;
	struct gate_state *s = NULL;
	/* Addresses that only this namespace has are denied too. */
	int rc = cli->resolve ? own_open(err) : 0;

	if (rc >= 0)
		rc = agent_load(cli, cli->agent, &s, &agent, err);
	if (rc < 0)
		return rc;
	rc = cli->resolve ?
		     gate_check_places(agent, cli->words[0],
				       &policy_settings(gate_state_policy(s))
						->dns_upstream,
				       out, err) :
		     gate_check(agent, cli->words[0], out, err);
	gate_state_free(s);
	return rc < 0 ? rc : 0;
}

int cli_check(const struct cli *cli, struct err *err)
{
	struct check_target target;
	struct slice json, allow;
	struct buf out;
	bool allowed;
	int rc;

	if (!cli->agent)
		return err_set(err, -EINVAL, "check needs --as AGENT");
	/* The first word of the command line is the target. */
	rc = check_target_parse(cli->words[0], &target, err);
	if (rc == -EINVAL) {
		const struct lint none = { 0 };

		if (cli->json)
			lint_print_json(&none, err);
		log_error("%s", err->msg);
		return CLI_USAGE;
	}
	if (rc < 0)
		return rc;
	buf_init(&out, ADMIN_FRAME_MAX);
	rc = has_files(cli) ? check_files(cli, &out, err) :
			      cli_ask(cli, ADMIN_CHECK, cli->agent,
				      slice_str(cli->words[0]), &out, err);
	json = buf_slice(&out);
	allowed = rc >= 0 && json_value(json, "allow", &allow) &&
		  slice_eq(allow, slice_str("true"));
	if (rc >= 0)
		verdict_print(cli, json, allowed);
	buf_done(&out);
	if (rc < 0)
		return rc;
	return allowed ? 0 : CLI_DENIED;
}

int cli_show(const struct cli *cli, struct err *err)
{
	const struct agent_policy *agent = NULL;
	struct gate_state *s = NULL;
	const char *what = cli->words[0];
	struct buf out;
	int rc;

	buf_init(&out, TEXT_MAX);
	if (strcmp(what, "builtin") == 0) {
		rc = policy_show_builtin(&out);
	} else if (!has_files(cli)) {
		rc = cli_ask(cli, ADMIN_SHOW, what, slice_str(""), &out, err);
	} else {
		rc = agent_load(cli, what, &s, &agent, err);
		if (rc >= 0)
			rc = agent_policy_json(agent, &out);
		gate_state_free(s);
	}
	if (rc < 0 && err->code == 0)
		err_set(err, rc, "%s", err_text(rc));
	if (rc >= 0)
		print_text(&out);
	buf_done(&out);
	return rc < 0 ? rc : 0;
}

int cli_verify(const struct cli *cli, struct err *err)
{
	int rc = audit_verify(cli->words[0], err);

	if (rc < 0)
		return rc;
	printf("%s: the chain holds\n", cli->words[0]);
	return 0;
}

int cli_schema(const struct cli *cli, struct err *err)
{
	struct buf out;
	int rc;

	(void)cli;
	buf_init(&out, TEXT_MAX);
	rc = schema_print(&policy_schema, POLICY_SCHEMA_TITLE, &out);
	if (rc < 0)
		rc = err_set(err, rc, "write the schema: %s", err_text(rc));
	else
		print_text(&out);
	buf_done(&out);
	return rc;
}

int cli_observe(const struct cli *cli, struct err *err)
{
	SCOPED_FILE in = fopen(cli->words[0], "re");

	if (!in)
		return err_sys(err, "open %s", cli->words[0]);
	return policy_from_audit(in, cli->agent, stdout, err);
}

int cli_model_usage(const struct cli *cli, struct err *err)
{
	struct usage_ask ask = { .agent = cli->agent };
	struct buf out;
	int rc;

	if (cli->since &&
	    str_parse_u64(cli->since, 0, SINCE_MAX, &ask.since) < 0)
		return err_set(err, -EINVAL,
			       "--since is in seconds since 1970");
	buf_init(&out, TEXT_MAX);
	rc = usage_from_audit(cli->words[0], &ask, &out, err);
	if (rc >= 0)
		print_text(&out);
	buf_done(&out);
	return rc;
}
