/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.c - requests of instances to models
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "control/cli/cmd/policy/policy.h"
#include "control/cli/host/host.h"
#include "control/shared/infer.h"
#include "control/cli/core/table.h"
#include "control/shared/json.h"

#define CELL_MAX 32u

/* Parses "24h" (ago), or a date: its start in local time. */
static int since_parse(const char *text, uint64_t now, uint64_t *ret,
		       struct err *err)
{
	struct tm tm = { .tm_isdst = -1 };
	const char *end = strptime(text, "%Y-%m-%d", &tm);
	uint64_t ms;
	time_t t;

	if (str_parse_duration(text, &ms) == 0) {
		*ret = ms / 1000 < now ? now - ms / 1000 : 0;
		return 0;
	}
	t = end && !*end ? mktime(&tm) : -1;
	if (t < 0)
		return err_set(err, -EINVAL,
			       "--since '%s' is no time (24h) and no date "
			       "(2026-01-31)",
			       text);
	*ret = (uint64_t)t;
	return 0;
}

static char *path_of(const char *name, uint64_t since)
{
	SCOPED_STR head = str_printf("/v1/usage?since=%" PRIu64 "%s", since,
				     *name ? "&name=" : "");

	return head ? client_path(head, name, "") : NULL;
}

static void number(char out[CELL_MAX], const json_t *item, const char *key)
{
	snprintf(out, CELL_MAX, "%lld", json_count(item, key));
}

static void seconds(char out[CELL_MAX], const json_t *item, const char *key)
{
	long long ms = json_count(item, key);

	snprintf(out, CELL_MAX, "%lld.%02llds", ms / 1000, ms % 1000 / 10);
}

static int add_row(struct table *t, const json_t *item)
{
	char n[5][CELL_MAX], p50[CELL_MAX], p99[CELL_MAX];
	char name[256], model[256];
	const char *cells[] = { name, model, n[0], n[1], n[2],
				n[3], n[4],  p50,  p99 };
	static const char *const keys[] = { "requests", "errors", "tokens_in",
					    "tokens_cached", "tokens_out" };

	/* The name of a model comes from a sandbox. */
	cli_clean(name, sizeof(name), json_text(item, "name"));
	cli_clean(model, sizeof(model), json_text(item, "model"));
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		number(n[i], item, keys[i]);
	seconds(p50, item, "p50_ms");
	seconds(p99, item, "p99_ms");
	return table_row(t, cells);
}

int cmd_usage(const struct cli *cli, const struct args *a, struct err *err)
{
	static const struct table_col cols[] = {
		{ "INSTANCE", 0 },           { "MODEL", TABLE_CUT },
		{ "REQUESTS", TABLE_RIGHT }, { "ERRORS", TABLE_RIGHT },
		{ "IN", TABLE_RIGHT },       { "CACHED", TABLE_RIGHT },
		{ "OUT", TABLE_RIGHT },      { "P50", TABLE_RIGHT },
		{ "P99", TABLE_RIGHT },
	};
	char name[AC_NAME_MAX + 1] = "";
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON answer = NULL;
	SCOPED_STR path = NULL;
	const json_t *list;
	uint64_t since = 0;
	int rc = a->n_words ? infer_instance(a->words[0], name, err) : 0;

	if (rc == 0 && a->since)
		rc = since_parse(a->since, (uint64_t)time(NULL), &since, err);
	if (rc < 0)
		return cli_usage(err);
	rc = host_client(cli, false, &c, err);
	if (rc < 0)
		return rc;
	path = path_of(name, since);
	rc = path ? client_call(c, "GET", path, NULL, &answer, err) :
		    err_nomem(err);
	if (rc < 0)
		return rc;
	if (cli->json)
		return cli_print_json(answer, false, err);
	list = json_object_get(answer, "usage");
	rc = table_print_list(cli, cols, ARRAY_SIZE(cols), list, add_row, err);
	if (rc == 0 && json_array_size(list) == 0)
		say_info(cli, "no model was asked with a credential of the "
			      "vault");
	return rc;
}
