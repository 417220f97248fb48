/* SPDX-License-Identifier: Apache-2.0 */
/*
 * presets.c - `ac presets`: which there are, and what one opens or says
 */
#include "control/cli/cmd/presets.h"

#include <string.h>

#include "control/cli/core/table.h"
#include "control/cli/host/host.h"
#include "control/shared/json.h"
#include "lib/buf.h"
#include "lib/str.h"

#define WORDS_MAX (16u * 1024) /* bytes of the requests of a rule */

static int get_all(const struct cli *cli, json_t **ret, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON all = NULL;
	int rc = host_client(cli, false, &c, err);

	if (rc == 0)
		rc = client_call(c, "GET", "/v1/presets", NULL, &all, err);
	if (rc == 0)
		*ret = json_incref(json_object_get(all, "presets"));
	return rc;
}

/* ---- the list ---- */

static int add_preset(struct table *t, const json_t *p)
{
	const char *broken = json_text(p, "error");
	SCOPED_STR why = str_printf("broken: %s", broken);
	bool risk = *json_text(p, "risk");
	const char *cells[] = { json_text(p, "kind"), json_text(p, "name"),
				json_text(p, "source"), risk ? "yes" : "-",
				*broken ? why : json_text(p, "description") };

	if (!why || table_row(t, cells) < 0)
		return -ENOMEM;
	table_paint(t, 3, risk ? TABLE_YELLOW : TABLE_PLAIN);
	table_paint(t, 4, *broken ? TABLE_RED : TABLE_PLAIN);
	return 0;
}

int cmd_presets_ls(const struct cli *cli, const struct args *a, struct err *err)
{
	static const struct table_col cols[] = {
		{ "KIND", 0 },
		{ "PRESET", 0 },
		{ "FROM", 0 },
		{ "RISK", 0 },
		{ "DESCRIPTION", TABLE_CUT },
	};
	SCOPED_JSON list = NULL;
	int rc = get_all(cli, &list, err);

	(void)a;
	if (rc < 0)
		return rc;
	if (cli->json)
		return cli_print_json(list, false, err);
	for (size_t i = 0; cli->quiet && i < json_array_size(list); i++)
		puts(json_text(json_array_get(list, i), "name"));
	if (cli->quiet)
		return 0;
	rc = table_print_list(cli, cols, ARRAY_SIZE(cols), list, add_preset,
			      err);
	if (rc == 0)
		say_info(cli,
			 "the files: %s/blueprints/presets (ac); "
			 "%s/policy (machine; you, egress), %s/presets (you)",
			 cli->share, cli->home, cli->home);
	return rc;
}

/* ---- one ---- */

/* Appends the words of @list, with @sep before all but the first. */
static int put_words(struct buf *out, const json_t *list, const char *sep)
{
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < json_array_size(list); i++) {
		const char *s = json_string_value(json_array_get(list, i));

		rc = buf_printf(out, "%s%s", i ? sep : "", s ? s : "?");
	}
	return rc;
}

/* Appends the requests of @list: "GET, HEAD; POST /a /b". */
static int put_requests(struct buf *out, const json_t *list)
{
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < json_array_size(list); i++) {
		const json_t *r = json_array_get(list, i);
		const json_t *methods = json_object_get(r, "methods");
		const json_t *paths = json_object_get(r, "paths");

		rc = buf_printf(out, "%s%s", i ? "; " : "",
				json_array_size(methods) ? "" : "any method");
		if (rc >= 0)
			rc = put_words(out, methods, ", ");
		if (rc >= 0 && json_array_size(paths) > 0)
			rc = buf_printf(out, " ");
		if (rc >= 0)
			rc = put_words(out, paths, " ");
	}
	return rc;
}

/* Returns what of a rule's requests passes, to be freed. */
static char *requests_words(const json_t *rule)
{
	const json_t *allow = json_object_get(rule, "allow");
	const json_t *deny = json_object_get(rule, "deny");
	char *text = NULL;
	struct buf out;
	int rc = 0;

	buf_init(&out, WORDS_MAX);
	if (json_array_size(allow) == 0)
		rc = buf_printf(&out, "any");
	else
		rc = put_requests(&out, allow);
	if (rc >= 0 && json_array_size(deny) > 0)
		rc = buf_printf(&out, "; not ");
	if (rc >= 0)
		rc = put_requests(&out, deny);
	if (rc < 0 || slice_dup_str(buf_slice(&out), &text) < 0)
		text = NULL;
	buf_done(&out);
	return text;
}

static char *ports_words(const json_t *rule)
{
	const json_t *ports = json_object_get(rule, "ports");
	char *text = NULL;
	struct buf out;
	int rc;

	buf_init(&out, WORDS_MAX);
	rc = json_array_size(ports) ? put_words(&out, ports, ", ") :
				      buf_printf(&out, "443");
	if (rc < 0 || slice_dup_str(buf_slice(&out), &text) < 0)
		text = NULL;
	buf_done(&out);
	return text;
}

/* Adds a row for each host. What they share is in the first. */
static int add_rule(struct table *t, const json_t *rule)
{
	const json_t *hosts = json_object_get(rule, "hosts");
	SCOPED_STR requests = requests_words(rule);
	SCOPED_STR ports = ports_words(rule);
	int rc = requests && ports ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < json_array_size(hosts); i++) {
		const char *host = json_string_value(json_array_get(hosts, i));
		const char *cells[] = { i ? "" : json_text(rule, "id"), host,
					ports, json_text(rule, "use"),
					i ? "" : requests };

		rc = table_row(t, cells) < 0 ? -ENOMEM : 0;
	}
	return rc;
}

static int add_pair(struct table *t, const char *what, const char *value)
{
	const char *cells[] = { what, value };

	return *value ? table_row(t, cells) : 0;
}

/* Adds the packages, or the presets, of tools. */
static int add_list(struct table *t, const json_t *p, const char *key)
{
	const json_t *list = json_object_get(p, key);
	SCOPED_STR text = NULL;
	struct buf out;
	int rc;

	buf_init(&out, WORDS_MAX);
	rc = put_words(&out, list, ", ");
	if (rc >= 0)
		rc = slice_dup_str(buf_slice(&out), &text);
	buf_done(&out);
	return rc < 0 ? -ENOMEM : add_pair(t, key, text);
}

static int print_head(const struct cli *cli, const json_t *p, struct err *err)
{
	const struct table_col cols[] = { { "PRESET", 0 },
					  { json_text(p, "name"), 0 } };
	struct table *t = table_new(cli, cols, ARRAY_SIZE(cols));
	static const char *const lists[] = { "apt", "npm", "pip", "egress" };
	const char *risk = json_text(p, "risk");
	int rc = t ? add_pair(t, "kind", json_text(p, "kind")) : -ENOMEM;

	if (rc == 0)
		rc = add_pair(t, "from", json_text(p, "source"));
	if (rc == 0)
		rc = add_pair(t, "description", json_text(p, "description"));
	if (rc == 0)
		rc = add_pair(t, "broken", json_text(p, "error"));
	if (rc == 0)
		rc = add_pair(t, "risk", risk);
	if (rc == 0 && *risk)
		table_paint(t, 1, TABLE_YELLOW);
	for (size_t i = 0; i < ARRAY_SIZE(lists) && rc == 0; i++)
		rc = add_list(t, p, lists[i]);
	rc = rc < 0 ? err_nomem(err) : table_print(t, err);
	table_free(t);
	return rc;
}

static int print_preset(const struct cli *cli, const json_t *p, struct err *err)
{
	static const struct table_col cols[] = {
		{ "RULE", 0 },
		{ "HOST", 0 },
		{ "PORTS", 0 },
		{ "USE", 0 },
		{ "REQUESTS", TABLE_CUT },
	};
	const json_t *rules = json_object_get(p, "rules");
	const char *text = json_text(p, "text");
	int rc = print_head(cli, p, err);

	if (rc == 0 && rules) {
		putchar('\n');
		rc = table_print_list(cli, cols, ARRAY_SIZE(cols), rules,
				      add_rule, err);
	}
	if (rc == 0 && *text) {
		putchar('\n');
		fputs(text, stdout);
	}
	return rc;
}

int cmd_presets_show(const struct cli *cli, const struct args *a,
		     struct err *err)
{
	SCOPED_JSON all = NULL;
	SCOPED_JSON found = json_array();
	int rc = found ? get_all(cli, &all, err) : err_nomem(err);

	for (size_t i = 0; rc == 0 && i < json_array_size(all); i++) {
		json_t *p = json_array_get(all, i);

		if (strcmp(json_text(p, "name"), a->words[0]) == 0 &&
		    json_array_append(found, p) < 0)
			rc = err_nomem(err);
	}
	if (rc < 0)
		return rc;
	if (json_array_size(found) == 0)
		return err_set(err, -ENOENT,
			       "there is no preset '%s'; `ac presets` lists "
			       "what there is",
			       a->words[0]);
	if (cli->json)
		return cli_print_json(found, false, err);
	for (size_t i = 0; rc == 0 && i < json_array_size(found); i++) {
		if (i)
			putchar('\n');
		rc = print_preset(cli, json_array_get(found, i), err);
	}
	return rc;
}
