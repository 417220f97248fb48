/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show.c - policies of instances
 */
#include "control/cli/cmd/policy/policy.h"

#include <string.h>
#include <time.h>

#include "control/cli/cmd/instance.h"
#include "control/cli/host/host.h"
#include "control/cli/core/table.h"
#include "control/shared/json.h"
#include "lib/buf.h"
#include "lib/str.h"

#define SHOWN_MAX 4u /* names of one rule; --json has them all */
#define JOINED_MAX (64u * 1024)

/* Appends @list to @out, separated by commas. */
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

/* Returns both lists separated by commas, @none if they are empty; the caller
 * frees it. */
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

/* ---- requests ---- */

static bool has_word(const json_t *list, const char *word)
{
	const char *s;
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		s = json_string_value(json_array_get(list, i));
		if (s && strcmp(s, word) == 0)
			return true;
	}
	return false;
}

/*
 * Returns true if @match has a path to which git pushes (gitprotocol-http(5)).
 */
static bool is_push(const json_t *match)
{
	const json_t *paths = json_object_get(match, "paths");

	for (size_t i = 0; i < json_array_size(paths); i++) {
		const char *s = json_string_value(json_array_get(paths, i));

		if (s && str_ends(s, "/git-receive-pack"))
			return true;
	}
	return false;
}

/* Returns true if an entry of @matches is about pushes. Only denials that `ac
 * policy push` lifts have the mark "push". */
static bool has_push(const json_t *matches, bool marked)
{
	for (size_t i = 0; i < json_array_size(matches); i++) {
		const json_t *m = json_array_get(matches, i);

		if (is_push(m) &&
		    (!marked || json_is_true(json_object_get(m, "push"))))
			return true;
	}
	return false;
}

/* Adds the row "git push" if a rule or an option is about it. */
static int add_push(struct table *t, const json_t *policy)
{
	const json_t *rules =
		json_object_get(json_object_get(policy, "rules"), "rules");
	const char *said =
		json_text(json_object_get(policy, "effective"), "push");
	bool allowed = false, denied = false;
	SCOPED_STR text = NULL;
	size_t i;

	for (i = 0; i < json_array_size(rules); i++) {
		const json_t *rule = json_array_get(rules, i);
		const json_t *http = json_object_get(rule, "http");
		bool no = has_push(json_object_get(http, "deny"), true);

		denied |= no;
		allowed |= !no &&
			   has_push(json_object_get(http, "allow"), false);
	}
	if (!allowed && !denied && !*said)
		return 0;
	text = !allowed && !denied ?
		       str_printf("%s, for credentials of git: it has none",
				  said) :
	       denied ? str_printf("%s; `ac policy push %s allow` lets it",
				   allowed ? "denied by some rules" : "denied",
				   json_text(policy, "name")) :
			strdup("allowed");
	return add_pair(t, "git push", text);
}

/* Returns true if @match is for every path. */
static bool is_wide(const json_t *match)
{
	const json_t *paths = json_object_get(match, "paths");

	return json_array_size(paths) == 0 || has_word(paths, "/**");
}

/* Adds the methods of @match to the set @all. */
static int add_methods(json_t *all, const json_t *match)
{
	const json_t *list = json_object_get(match, "methods");
	int bad = 0;
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		json_t *word = json_array_get(list, i);

		if (!has_word(all, json_string_value(word)))
			bad |= json_array_append(all, word);
	}
	return bad;
}

char *policy_methods(const json_t *rule)
{
	const json_t *http = json_object_get(rule, "http");
	const json_t *allow = json_object_get(http, "allow");
	bool denials = json_array_size(json_object_get(http, "deny")) > 0;
	SCOPED_JSON wide = json_array();
	SCOPED_STR words = NULL;
	bool any = !allow, narrow = false;
	size_t i;

	if (strcmp(json_text(rule, "use"), "inspect") != 0)
		return strdup("");
	for (i = 0; i < json_array_size(allow); i++) {
		const json_t *m = json_array_get(allow, i);

		if (!is_wide(m))
			narrow = true;
		else if (json_array_size(json_object_get(m, "methods")) == 0)
			any = true;
		else if (add_methods(wide, m))
			return NULL;
	}
	any |= has_word(wide, "*");
	words = any ? strdup("any") : joined(wide, NULL, "");
	if (!words)
		return NULL;
	if (!*words)
		return str_printf("on some paths%s",
				  denials ? ", not all" : "");
	return str_printf("%s%s%s", words,
			  narrow && !any ? ", others on some paths" : "",
			  denials ? "; not on all paths" : "");
}

static int print_head(const struct cli *cli, const json_t *policy,
		      struct err *err)
{
	const struct table_col cols[] = {
		{ "POLICY", 0 }, { json_text(policy, "name"), TABLE_CUT }
	};
	const json_t *all = json_object_get(policy, "effective");
	bool bound = json_is_true(json_object_get(policy, "bound"));
	SCOPED_STR presets =
		joined(json_object_get(all, "presets"), NULL, "none");
	struct table *t = table_new(cli, cols, ARRAY_SIZE(cols));
	const char *mode = json_text(all, "mode");
	int bad = !t;

	if (!bad)
		bad = add_pair(t, "mode", mode) < 0;
	if (!bad && strcmp(mode, "open") == 0)
		table_paint(t, 1, TABLE_YELLOW);
	if (!bad)
		bad = add_pair(t, "presets", presets) < 0 ||
		      add_pair(t, "holds",
			       bound ? "now" : "from its next run on") < 0 ||
		      add_push(t, policy) < 0 ||
		      add_expiry(t, json_object_get(policy, "rules")) < 0;
	bad = bad ? err_nomem(err) : table_print(t, err);
	table_free(t);
	return bad;
}

/* Returns the words for how a rule is used; the caller frees them. */
static char *use_words(const json_t *rule)
{
	const char *proto = json_text(rule, "proto");

	return str_printf("%s%s%s", json_text(rule, "use"), *proto ? " " : "",
			  proto);
}

/* Returns the name of a rule. It has the preset's name, since two presets may
 * have a rule of the same name. The caller frees it. */
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

/* Returns the names of a rule, and the address of a service; the caller frees
 * it. */
static char *names_words(const json_t *rule)
{
	SCOPED_STR names = joined(json_object_get(rule, "names"),
				  json_object_get(rule, "ips"), "any");
	const char *at = json_text(rule, "ip");
	bool own = *json_text(rule, "socket") != '\0';

	return !names || !*at ? ptr_take(&names) :
				str_printf("%s at %s%s", names, at,
					   own ? " of this machine" : "");
}

static int add_rule(struct table *t, const json_t *rule)
{
	SCOPED_STR names = names_words(rule);
	SCOPED_STR ports = joined(json_object_get(rule, "ports"), NULL, "any");
	SCOPED_STR use = use_words(rule);
	SCOPED_STR id = rule_words(rule);
	SCOPED_STR methods = policy_methods(rule);
	const char *cells[] = {
		id, names, ports, use, json_text(rule, "credential"), methods
	};

	return names && ports && use && id && methods ? table_row(t, cells) :
							-ENOMEM;
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

/* Returns true if a rule inspects. */
static bool any_inspects(const json_t *rules)
{
	size_t i;

	for (i = 0; i < json_array_size(rules); i++)
		if (strcmp(json_text(json_array_get(rules, i), "use"),
			   "inspect") == 0)
			return true;
	return false;
}

static int print_policy(const struct cli *cli, const json_t *policy,
			struct err *err)
{
	static const struct table_col allow[] = {
		{ "RULE", 0 },
		{ "NAMES", TABLE_CUT },
		{ "PORTS", 0 },
		{ "USE", 0 },
		/* only if a rule inspects */
		{ "CREDENTIAL", 0 },
		{ "METHODS", TABLE_CUT },
	};
	static const struct table_col deny[] = {
		{ "DENIED BY", 0 },
		{ "NAMES", TABLE_CUT },
		{ "PORTS", 0 },
		{ "SOURCE", 0 },
	};
	const json_t *rules = json_object_get(policy, "rules");
	const json_t *list = json_object_get(rules, "rules");
	const json_t *denials = json_object_get(rules, "deny");
	int rc = print_head(cli, policy, err);

	if (rc < 0)
		return rc;
	putchar('\n');
	rc = table_print_list(cli, allow,
			      ARRAY_SIZE(allow) - (any_inspects(list) ? 0 : 2),
			      list, add_rule, err);
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
	int rc = host_client(cli, false, &c, err);

	if (rc == 0)
		rc = instance_call(c, "GET", a->words[0], "/policy", NULL,
				   &policy, err);
	if (rc < 0)
		return rc;
	say_warnings(policy);
	return cli->json ? cli_print_json(policy, false, err) :
			   print_policy(cli, policy, err);
}
