/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port.c - port, open
 */
#include "control/cli/cmd/port.h"

#include <string.h>

#include "control/cli/core/table.h"
#include "control/cli/cmd/instance.h"
#include "control/cli/host/edge_box.h"
#include "control/cli/host/host.h"
#include "control/cli/wire/client.h"
#include "control/shared/infer.h"
#include "control/shared/json.h"
#include "control/shared/names.h"
#include "control/shared/publish.h"
#include "lib/str.h"

/* An instance that a word means, and what acd says of it. */
struct asked {
	struct client *client;
	char name[AC_NAME_MAX + 1];
	json_t *record;
	json_t *ports; /* {"ports": [...]} */
};

static void asked_done(struct asked *q)
{
	client_free(q->client);
	json_decref(q->record);
	json_decref(q->ports);
}
#define SCOPED_ASKED ATTR_CLEANUP(asked_done) struct asked

static int get(const struct asked *q, const char *what, json_t **ret,
	       struct err *err)
{
	SCOPED_STR path = client_path("/v1/instances/", q->name, what);

	return path ? client_call(q->client, "GET", path, NULL, ret, err) :
		      err_nomem(err);
}

static int ask(const struct cli *cli, const char *word, struct asked *ret,
	       struct err *err)
{
	int rc = infer_instance(word, ret->name, err);

	if (rc == 0)
		rc = host_client(cli, false, &ret->client, err);
	if (rc == 0)
		rc = get(ret, "", &ret->record, err);
	return rc == 0 ? get(ret, "/ports", &ret->ports, err) : rc;
}

/* Asks for @body, and again if ac-edge had to be started for it. */
static int post(const struct cli *cli, struct asked *q, const json_t *body,
		struct err *err)
{
	SCOPED_STR path = client_path("/v1/instances/", q->name, "/ports");
	json_t *ports = NULL;
	int rc =
		path ? client_call(q->client, "POST", path, body, &ports, err) :
		       err_nomem(err);

	if (rc < 0 && path &&
	    strcmp(client_error(q->client)->code, PUBLISH_NO_EDGE) == 0) {
		rc = edge_box_start(cli, q->client, err);
		if (rc == 0)
			rc = client_call(q->client, "POST", path, body, &ports,
					 err);
	}
	if (rc < 0)
		return rc;
	json_decref(q->ports);
	q->ports = ports;
	return 0;
}

/* Publishes @more besides what is published; PUBLISH_NONE: nothing. */
static int publish(const struct cli *cli, struct asked *q,
		   const struct strv *more, struct err *err)
{
	SCOPED_JSON body = json_pack("{s:[]}", "publish");
	SCOPED_JSON list = jsonx_from_strv(more);
	json_t *all = json_object_get(body, "publish");
	bool none = strv_has(more, PUBLISH_NONE);

	if (!all || !list ||
	    (!none && (json_array_extend(all, json_object_get(q->record,
							      "publish")) < 0 ||
		       json_array_extend(all, list) < 0)))
		return err_nomem(err);
	return post(cli, q, body, err);
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

/* Says which ones are reached from elsewhere. */
static void warn_open(const struct asked *q)
{
	const json_t *list = json_object_get(q->ports, "ports");
	const json_t *p;
	size_t i;

	json_array_foreach (list, i, p) {
		const char *address = json_text(p, "address");

		if (strncmp(address, "127.", 4) != 0 &&
		    strcmp(address, "::1") != 0)
			say_error("warning: everybody who reaches %s port %lld "
				  "reaches port %lld of the sandbox",
				  address, json_count(p, "port"),
				  json_count(p, "inner"));
	}
}

int cmd_port(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_ASKED q = { 0 };
	const json_t *list;
	int rc = ask(cli, a->words[0], &q, err);

	if (rc == 0 && a->publish.n > 0)
		rc = publish(cli, &q, &a->publish, err);
	if (rc < 0)
		return rc;
	if (cli->json)
		return cli_print_json(q.ports, false, err);
	warn_open(&q);
	list = json_object_get(q.ports, "ports");
	rc = table_print_list(cli, cols, ARRAY_SIZE(cols), list, add_row, err);
	if (rc == 0 && json_array_size(list) == 0)
		say_info(cli,
			 "'%s' publishes none: `ac port %s --publish 8080` "
			 "publishes its port 8080 on this machine",
			 q.name, q.name);
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
			       "port %s of '%s' is not published: `ac port %s "
			       "--publish %s` does that",
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

static int publish_one(const struct cli *cli, struct asked *q, const char *port,
		       struct err *err)
{
	struct strv one = { 0 };
	int rc = strv_push(&one, port) < 0 ? err_nomem(err) :
					     publish(cli, q, &one, err);

	strv_done(&one);
	if (rc == 0)
		say_info(cli, "port %s of '%s' is published on this machine",
			 port, q->name);
	return rc;
}

int cmd_open(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_ASKED q = { 0 };
	const char *port = a->words[1];
	const json_t *p;
	uint64_t number = 0;
	int rc = str_parse_u64(port, 1, UINT16_MAX, &number);

	if (rc < 0) {
		err_set(err, -EINVAL, "'%.40s' is no port: it is 1 to 65535",
			port);
		return cli_usage(err);
	}
	rc = ask(cli, a->words[0], &q, err);
	if (rc < 0)
		return rc;
	p = port_find(json_object_get(q.ports, "ports"), number);
	if (!p && instance_runs(q.record)) {
		rc = publish_one(cli, &q, port, err);
		if (rc < 0)
			return rc;
		p = port_find(json_object_get(q.ports, "ports"), number);
	}
	rc = check_open(p, q.name, port, err);
	if (rc < 0)
		return rc;
	if (cli->json)
		return cli_print_json(p, false, err);
	printf("%s\n", json_text(p, "url"));
	return 0;
}
