/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port.c - port, open
 */
#include "control/cli/cmd/port.h"

#include <string.h>

#include "control/cli/core/table.h"
#include "control/cli/host/host.h"
#include "control/cli/wire/client.h"
#include "control/shared/infer.h"
#include "control/shared/json.h"
#include "control/shared/names.h"
#include "lib/str.h"

/* Sets *ret to {"ports": [...]} of the instance that @word means. */
static int ask(const struct cli *cli, const char *word,
	       char name[AC_NAME_MAX + 1], json_t **ret, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_STR path = NULL;
	int rc = infer_instance(word, name, err);

	if (rc == 0)
		rc = host_client(cli, false, &c, err);
	if (rc < 0)
		return rc;
	path = client_path("/v1/instances/", name, "/ports");
	return path ? client_call(c, "GET", path, NULL, ret, err) :
		      err_nomem(err);
}

static const char *shown_state(const json_t *p, char why[192])
{
	const char *state = json_text(p, "state");
	const char *reason = json_text(p, "reason");

	if (!*reason)
		return state;
	snprintf(why, 192, "%s: %s", state, reason);
	return why;
}

static int add_row(struct table *t, const json_t *p)
{
	char port[16], inner[16], why[192];
	const char *cells[] = { json_text(p, "address"), port, inner,
				shown_state(p, why) };

	snprintf(port, sizeof(port), "%lld", json_count(p, "port"));
	snprintf(inner, sizeof(inner), "%lld", json_count(p, "inner"));
	if (json_count(p, "port") == 0)
		snprintf(port, sizeof(port), "any");
	return table_row(t, cells);
}

static const struct table_col cols[] = {
	{ "ADDRESS", 0 },
	{ "PORT", TABLE_RIGHT },
	{ "IN THE SANDBOX", TABLE_RIGHT },
	{ "STATE", TABLE_CUT },
};

int cmd_port(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_JSON all = NULL;
	const json_t *list;
	char name[AC_NAME_MAX + 1];
	int rc = ask(cli, a->words[0], name, &all, err);

	if (rc < 0)
		return rc;
	if (cli->json)
		return cli_print_json(all, false, err);
	list = json_object_get(all, "ports");
	rc = table_print_list(cli, cols, ARRAY_SIZE(cols), list, add_row, err);
	if (rc == 0 && json_array_size(list) == 0)
		say_info(cli,
			 "'%s' publishes none: `ac run %s --publish 8080` "
			 "publishes its port 8080 on this machine",
			 name, name);
	return rc;
}

/* ---- open ---- */

static bool is_open(const json_t *p)
{
	return strcmp(json_text(p, "state"), "open") == 0;
}

const json_t *port_find(const json_t *ports, uint64_t number)
{
	static const char *const keys[] = { "inner", "port" };
	const json_t *found = NULL, *p;
	size_t i;

	for (size_t k = 0; k < ARRAY_SIZE(keys) && !found; k++) {
		json_array_foreach (ports, i, p) {
			if ((uint64_t)json_count(p, keys[k]) != number)
				continue;
			if (!found || (!is_open(found) && is_open(p)))
				found = p;
		}
	}
	return found;
}

/* Returns 0 if @p is open; else a negative errno with what to do. */
static int check_open(const json_t *p, const char *name, const char *port,
		      struct err *err)
{
	if (!p)
		return err_set(err, -ENOENT,
			       "port %s of '%s' is not published: stop it, and "
			       "`ac run %s --publish %s`",
			       port, name, name, port);
	if (strcmp(json_text(p, "state"), "closed") == 0)
		return err_set(err, -ENOTCONN,
			       "'%s' does not run: `ac run %s` starts it, and "
			       "publishes port %s",
			       name, name, port);
	if (!is_open(p))
		return err_set(err, -ENOTCONN,
			       "port %s of '%s' is not open: %s; `ac start` "
			       "tries again",
			       port, name, json_text(p, "reason"));
	return 0;
}

int cmd_open(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_JSON all = NULL;
	const char *port = a->words[1];
	const json_t *p;
	char name[AC_NAME_MAX + 1];
	uint64_t number = 0;
	int rc = str_parse_u64(port, 1, UINT16_MAX, &number);

	if (rc < 0) {
		err_set(err, -EINVAL, "'%.40s' is no port: it is 1 to 65535",
			port);
		return cli_usage(err);
	}
	rc = ask(cli, a->words[0], name, &all, err);
	if (rc < 0)
		return rc;
	p = port_find(json_object_get(all, "ports"), number);
	rc = check_open(p, name, port, err);
	if (rc < 0)
		return rc;
	if (cli->json)
		return cli_print_json(p, false, err);
	printf("%s\n", json_text(p, "url"));
	return 0;
}
