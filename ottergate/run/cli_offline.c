/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_offline.c - commands that need no running gateway, or can do without
 *
 * `check` and `show` read the files that are named by --policy and --agents,
 * and ask the running gateway when none are: what they print is the same.
 */
#include "ottergate/run/cli.h"

#include <string.h>

#include "lib/jsonw.h"
#include "lib/log.h"
#include "ottergate/admin/lint_json.h"
#include "ottergate/audit/audit.h"
#include "ottergate/policy/own.h"
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

		if (it->form) /* told as what ended the load */
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

/* All of it for a program that asked for JSON, as a reload answers. */
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

int cli_lint(const struct cli *cli, struct err *err)
{
	struct policy *policy = NULL;
	struct lint lint = { 0 };
	size_t errors;
	int r;

	if (cli->n_words == 0)
		return err_set(err, -EINVAL, "--check needs a file");
	r = policy_load(cli->words, &policy, &lint, err);
	if (cli->json)
		lint_print_json(&lint, err);
	errors = cli->json ? 0 : lint_print(&lint, stdout);
	lint_done(&lint);
	if (r >= 0)
		policy_unref(policy);
	else if (errors == 0)
		return r; /* a fault of form, which is no finding */
	return r < 0 ? CLI_FAILED : 0;
}

static bool has_files(const struct cli *cli)
{
	return cli->gate.policy.n > 0 || cli->gate.agents;
}

/* Loads the files that are named and finds the agent in them. */
static int agent_load(const struct cli *cli, const char *id,
		      struct gate_state **ret,
		      const struct agent_policy **agent, struct err *err)
{
	const struct table_entry *e;
	struct gate_state *s = NULL;
	struct lint lint = { 0 };
	int r = gate_state_load(&cli->gate, &s, &lint, err);

	if (r < 0) {
		if (cli->json)
			lint_print_json(&lint, err);
		lint_done(&lint);
		return r;
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

/* "key":value of our own flat object, unquoted; false: it is not there. */
static bool json_value(struct slice json, const char *key, struct slice *ret)
{
	char quoted[64];
	int len = snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	const uint8_t *at, *end = json.ptr + json.len;
	bool text;

	at = json.len ? memmem(json.ptr, json.len, quoted, (size_t)len) : NULL;
	if (!at)
		return false;
	at += len;
	text = at < end && *at == '"';
	at += text;
	ret->ptr = at;
	while (at < end && (text ? *at != '"' : *at != ',' && *at != '}'))
		at += *at == '\\' && end - at > 1 ? 2 : 1;
	ret->len = (size_t)(at - ret->ptr);
	return ret->len > 0;
}

static void print_value(const char *label, struct slice json, const char *key)
{
	struct slice v;

	if (json_value(json, key, &v) && !slice_eq(v, slice_str("null")))
		printf("%s%.*s", label, (int)v.len, (const char *)v.ptr);
}

/* The verdict for people; all of it with --explain. */
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

		if (json_value(json, keys[i], &v) &&
		    !slice_eq(v, slice_str("null")))
			printf("  %s: %.*s\n", keys[i], (int)v.len,
			       (const char *)v.ptr);
	}
	if (!allow) {
		struct slice hint;

		if (json_value(json, "hint", &hint) &&
		    !slice_eq(hint, slice_str("null")))
			printf("allow it with: %.*s\n", (int)hint.len,
			       (const char *)hint.ptr);
	}
}

static int check_files(const struct cli *cli, struct buf *out, struct err *err)
{
	const struct agent_policy *agent = NULL;
	struct gate_state *s = NULL;
	/* What only this namespace has is denied as well. */
	int r = cli->resolve ? own_open(err) : 0;

	if (r >= 0)
		r = agent_load(cli, cli->agent, &s, &agent, err);
	if (r < 0)
		return r;
	r = cli->resolve ?
		    gate_check_places(agent, cli->words[0],
				      &policy_settings(gate_state_policy(s))
					       ->dns_upstream,
				      out, err) :
		    gate_check(agent, cli->words[0], out, err);
	gate_state_free(s);
	return r < 0 ? r : 0;
}

int cli_check(const struct cli *cli, struct err *err)
{
	struct check_target target;
	struct slice json, allow;
	struct buf out;
	bool allowed;
	int r;

	if (!cli->agent)
		return err_set(err, -EINVAL, "check needs --as AGENT");
	/* What is asked about is a word of the command line. */
	r = check_target_parse(cli->words[0], &target, err);
	if (r == -EINVAL) {
		const struct lint none = { 0 };

		if (cli->json)
			lint_print_json(&none, err);
		log_error("%s", err->msg);
		return CLI_USAGE;
	}
	if (r < 0)
		return r;
	buf_init(&out, ADMIN_FRAME_MAX);
	r = has_files(cli) ? check_files(cli, &out, err) :
			     cli_ask(cli, ADMIN_CHECK, cli->agent,
				     slice_str(cli->words[0]), &out, err);
	json = buf_slice(&out);
	allowed = r >= 0 && json_value(json, "allow", &allow) &&
		  slice_eq(allow, slice_str("true"));
	if (r >= 0)
		verdict_print(cli, json, allowed);
	buf_done(&out);
	if (r < 0)
		return r;
	return allowed ? 0 : CLI_DENIED;
}

int cli_show(const struct cli *cli, struct err *err)
{
	const struct agent_policy *agent = NULL;
	struct gate_state *s = NULL;
	const char *what = cli->words[0];
	struct buf out;
	int r;

	buf_init(&out, TEXT_MAX);
	if (strcmp(what, "builtin") == 0) {
		r = policy_show_builtin(&out);
	} else if (!has_files(cli)) {
		r = cli_ask(cli, ADMIN_SHOW, what, slice_str(""), &out, err);
	} else {
		r = agent_load(cli, what, &s, &agent, err);
		if (r >= 0)
			r = agent_policy_json(agent, &out);
		gate_state_free(s);
	}
	if (r < 0 && err->code == 0)
		err_set(err, r, "%s", err_text(r));
	if (r >= 0)
		print_text(&out);
	buf_done(&out);
	return r < 0 ? r : 0;
}

int cli_verify(const struct cli *cli, struct err *err)
{
	int r = audit_verify(cli->words[0], err);

	if (r < 0)
		return r;
	printf("%s: the chain holds\n", cli->words[0]);
	return 0;
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
	int r;

	if (cli->since &&
	    str_parse_u64(cli->since, 0, SINCE_MAX, &ask.since) < 0)
		return err_set(err, -EINVAL,
			       "--since is in seconds since the epoch");
	buf_init(&out, TEXT_MAX);
	r = usage_from_audit(cli->words[0], &ask, &out, err);
	if (r >= 0)
		print_text(&out);
	buf_done(&out);
	return r;
}
