/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_show.c - what an instance may reach, and what presets there are
 */
#include "control/cli/cmd_policy.h"

#include <string.h>
#include <time.h>

#include "control/cli/cmd_instance.h"
#include "control/cli/host.h"
#include "control/cli/table.h"
#include "control/shared/json.h"
#include "lib/buf.h"
#include "lib/str.h"

#define SHOWN_MAX 4u /* names of one rule; --json has them all */
#define JOINED_MAX (64u * 1024)

/* Behind what is in @out, after a comma. */
static int join(struct buf *out, const json_t *list)
{
	size_t i, n = json_array_size(list);
	int rc = 0;

	for (i = 0; rc >= 0 && i < n && i < SHOWN_MAX; i++) {
		const char *s = json_string_value(json_array_get(list, i));

		rc = buf_printf(out, "%s%s", buf_len(out) ? ", " : "",
				s ? s : "?");
	}
	if (rc >= 0 && n > SHOWN_MAX)
		rc = buf_printf(out, " and %zu more", n - SHOWN_MAX);
	return rc < 0 ? rc : 0;
}

/* Both lists by commas, @none when they are empty; caller frees. */
static char *joined(const json_t *list, const json_t *more, const char *none)
{
	char *text = NULL;
	struct buf out;

	buf_init(&out, JOINED_MAX);
	if (join(&out, list) == 0 && join(&out, more) == 0 &&
	    (buf_len(&out) > 0 || buf_printf(&out, "%s", none) >= 0) &&
	    slice_dup_str(buf_slice(&out), &text) < 0)
		text = NULL;
	buf_done(&out);
	return text;
}

static int add_pair(struct table *t, const char *what, const char *value)
{
	const char *cells[] = { what, value };

	return value ? table_row(t, cells) : -ENOMEM;
}

static int add_expiry(struct table *t, const json_t *rules)
{
	time_t at = (time_t)json_count(rules, "expires");
	struct tm tm = { 0 };
	char text[32] = "";

	if (at <= 0 || !localtime_r(&at, &tm) ||
	    !strftime(text, sizeof(text), "%F %T", &tm))
		return 0;
	return add_pair(t, "expires", text);
}

static int print_head(const struct cli *cli, const json_t *policy,
		      struct err *err)
{
	static const struct table_col cols[] = { { "POLICY", 0 },
						 { "", TABLE_CUT } };
	const json_t *all = json_object_get(policy, "effective");
	bool bound = json_is_true(json_object_get(policy, "bound"));
	SCOPED_STR presets =
		joined(json_object_get(all, "presets"), NULL, "none");
	struct table *t = table_new(cli, cols, ARRAY_SIZE(cols));
	const char *mode = json_text(all, "mode");
	int bad = !t;

	if (!bad)
		bad = add_pair(t, "of", json_text(policy, "name")) < 0 ||
		      add_pair(t, "mode", mode) < 0;
	if (!bad && strcmp(mode, "open") == 0)
		table_paint(t, 1, TABLE_YELLOW);
	if (!bad)
		bad = add_pair(t, "presets", presets) < 0 ||
		      add_pair(t, "holds",
			       bound ? "now" : "from its next run on") < 0 ||
		      add_expiry(t, json_object_get(policy, "rules")) < 0;
	bad = bad ? err_nomem(err) : table_print(t, err);
	table_free(t);
	return bad;
}

/* One for tunnels says nothing new. */
static char *use_words(const json_t *rule)
{
	const char *proto = json_text(rule, "proto");

	return str_printf("%s%s%s", json_text(rule, "use"), *proto ? " " : "",
			  proto);
}

/* Two presets may have a rule of the same name. */
static char *rule_words(const json_t *rule)
{
	const char *source = json_text(rule, "source");
	bool own = !*source || strcmp(source, "agent") == 0;

	return str_printf("%s%s%s", own ? "" : source, own ? "" : "/",
			  json_text(rule, "id"));
}

static const char *source_words(const json_t *rule)
{
	const char *source = json_text(rule, "source");

	return strcmp(source, "agent") == 0 ? "its own" :
	       strcmp(source, "deny") == 0  ? "policy.yaml" :
					      source;
}

static int add_rule(struct table *t, const json_t *rule)
{
	SCOPED_STR names = joined(json_object_get(rule, "names"),
				  json_object_get(rule, "ips"), "any");
	SCOPED_STR ports = joined(json_object_get(rule, "ports"), NULL, "any");
	SCOPED_STR use = use_words(rule);
	SCOPED_STR id = rule_words(rule);
	const char *cells[] = { id, names, ports, use };

	return names && ports && use && id ? table_row(t, cells) : -ENOMEM;
}

static int add_denial(struct table *t, const json_t *rule)
{
	SCOPED_STR names = joined(json_object_get(rule, "names"),
				  json_object_get(rule, "ips"), "any");
	SCOPED_STR ports = joined(json_object_get(rule, "ports"), NULL, "any");
	const char *cells[] = { json_text(rule, "id"), names, ports,
				source_words(rule) };

	return names && ports ? table_row(t, cells) : -ENOMEM;
}

static int print_policy(const struct cli *cli, const json_t *policy,
			struct err *err)
{
	static const struct table_col allow[] = {
		{ "RULE", 0 },
		{ "NAMES", TABLE_CUT },
		{ "PORTS", 0 },
		{ "USE", 0 },
	};
	static const struct table_col deny[] = {
		{ "DENIED BY", 0 },
		{ "NAMES", TABLE_CUT },
		{ "PORTS", 0 },
		{ "SOURCE", 0 },
	};
	const json_t *rules = json_object_get(policy, "rules");
	const json_t *denials = json_object_get(rules, "deny");
	int rc = print_head(cli, policy, err);

	if (rc < 0)
		return rc;
	putchar('\n');
	rc = table_print_list(cli, allow, ARRAY_SIZE(allow),
			      json_object_get(rules, "rules"), add_rule, err);
	if (rc == 0 && json_array_size(denials) > 0) {
		putchar('\n');
		rc = table_print_list(cli, deny, ARRAY_SIZE(deny), denials,
				      add_denial, err);
	}
	if (rc == 0 && json_is_true(json_object_get(rules, "cut")))
		say_info(cli, "there are more rules than are shown");
	if (*json_text(policy, "problem"))
		say_info(cli, "it cannot be used as it is: %s",
			 json_text(policy, "problem"));
	return rc;
}

int cmd_policy_show(const struct cli *cli, const struct args *a,
		    struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON policy = NULL;
	int rc = host_client(cli, true, &c, err);

	if (rc == 0)
		rc = instance_call(c, "GET", a->words[0], "/policy", NULL,
				   &policy, err);
	if (rc < 0)
		return rc;
	say_warnings(policy);
	return cli->json ? cli_print_json(policy, false, err) :
			   print_policy(cli, policy, err);
}

/* Set-up writes `packages`, beside the user's own files. */
static const char *preset_source(const json_t *preset)
{
	const char *source = json_text(preset, "source");
	bool ours = strcmp(json_text(preset, "name"), "packages") == 0 &&
		    strcmp(source, "you") == 0;

	return ours ? "machine" : source;
}

static int add_preset(struct table *t, const json_t *p)
{
	const char *cells[] = { json_text(p, "name"), preset_source(p),
				json_text(p, "description") };

	return table_row(t, cells);
}

static int print_presets(const struct cli *cli, const json_t *list,
			 struct err *err)
{
	static const struct table_col cols[] = {
		{ "PRESET", 0 },
		{ "FROM", 0 },
		{ "DESCRIPTION", TABLE_CUT },
	};
	int rc = table_print_list(cli, cols, ARRAY_SIZE(cols), list, add_preset,
				  err);

	if (rc == 0)
		say_info(cli,
			 "the files: %s/blueprints/presets/NAME.yaml (ac), "
			 "%s/policy (you, machine)",
			 cli->share, cli->home);
	return rc;
}

int cmd_policy_presets(const struct cli *cli, const struct args *a,
		       struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON all = NULL;
	const json_t *list;
	size_t i;
	int rc = host_client(cli, true, &c, err);

	(void)a;
	if (rc == 0)
		rc = client_call(c, "GET", "/v1/policy/presets", NULL, &all,
				 err);
	if (rc < 0)
		return rc;
	list = json_object_get(all, "presets");
	if (cli->json)
		return cli_print_json(list ? list : all, false, err);
	if (!cli->quiet)
		return print_presets(cli, list, err);
	for (i = 0; i < json_array_size(list); i++)
		puts(json_text(json_array_get(list, i), "name"));
	return 0;
}
