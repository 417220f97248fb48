/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entrance.c - the API over TCP, through ac-edge, for programs with a token
 *
 * It is a server of its own beside the one of the unix socket, with the same
 * routes and those of E2B's API (e2b/routes.h), and a guard. ac-edge passes bytes and knows nothing of it. A client that
 * speaks no HTTP, or none with a token, costs a connection of this server and none
 * of the owner's.
 */
#include "control/acd/api/access/entrance.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "control/acd/api/access/access.h"
#include "control/acd/api/api.h"
#include "control/acd/api/e2b/routes.h"
#include "control/acd/storage/tokens.h"
#include "lib/log.h"
#include "lib/str.h"

#define SETTING "serve" /* where it is open */
#define HOLD_MS 1000u
#define IDLE_S 20u /* of ac-edge's few connections of a port */

struct entrance {
	struct store *store;
	struct ports *ports;
	struct http *http;
	void *ctx;
	struct http_route *routes; /* of the API, and of E2B's */
};

static bool on_request(void *arg, struct http_req *req,
		       const struct http_call *call)
{
	const struct entrance *e = arg;
	enum access_scope scope;
	struct err err = { 0 };
	int status;

	if (e2b_has(call))
		return e2b_guard(e->ctx, req, call, HOLD_MS);
	status = access_judge(e->store, http_header(req, "Authorization"), call,
			      (int64_t)time(NULL), &scope, &err);
	if (status == 0) {
		access_note(req, scope);
		return true;
	}
	http_guard_refuse(req, (unsigned)status,
			  status == 401 ? "unauthorized" :
			  status == 403 ? "forbidden" :
					  "unavailable",
			  &err, HOLD_MS);
	return false;
}

static void on_connection(void *arg, int fd)
{
	const struct entrance *e = arg;

	http_take(e->http, fd);
}

/* ---- where it is open ---- */

const struct port *entrance_port(const struct entrance *e)
{
	const struct port *port;

	for (size_t i = 0; (port = ports_nth(e->ports, i)); i++)
		if (strcmp(port->owner, PORTS_API) == 0)
			return port;
	return NULL;
}

json_t *entrance_json(const struct entrance *e, const struct edge *edge)
{
	static const char *const states[] = {
		[PORT_WAITING] = "waiting",
		[PORT_OPEN] = "open",
		[PORT_FAILED] = "failed",
	};
	const struct port *port = e ? entrance_port(e) : NULL;
	char place[PUBLISH_TEXT_MAX];

	if (!port)
		return json_pack("{s:s, s:n, s:n}", "state", "closed",
				 "address", "reason");
	publish_place(&port->as, port->outer, place);
	return json_pack("{s:s, s:s, s:s?}", "state", states[port->state],
			 "address", place, "reason",
			 port->state == PORT_FAILED ? err_text(port->error) :
			 edge_is_there(edge)        ? NULL :
						      edge_reason(edge));
}

static int check(const struct publish *at, struct err *err)
{
	char place[PUBLISH_TEXT_MAX];

	if (publish_is_loopback(at))
		return 0;
	publish_place(at, at->outer, place);
	err_set(err, -ENOTSUP,
		"the API is not served at %s: beyond loopback a token would "
		"cross the network as plain text. Serve it at 127.0.0.1, and "
		"reach it by an SSH tunnel or through a proxy with TLS",
		place);
	return err->code;
}

static int open_at(struct entrance *e, const struct publish *at,
		   struct err *err)
{
	return ports_want(e->ports, PORTS_API, at, on_connection, e, err);
}

int entrance_open(struct entrance *e, const struct publish *at, struct err *err)
{
	const struct port *port = entrance_port(e);
	const struct publish before = port ? port->as :
					     (struct publish){ .v6 = false };
	char text[PUBLISH_TEXT_MAX];
	struct err ignored = { 0 };
	int rc = check(at, err);

	if (rc < 0)
		return rc;
	if (port)
		ports_close(e->ports, PORTS_API);
	rc = open_at(e, at, err);
	publish_text(at, text);
	if (rc == 0)
		rc = setting_put(e->store, SETTING, text, err);
	if (rc == 0) {
		log_info("the API is served at %s", text);
		return 0;
	}
	ports_close(e->ports, PORTS_API);
	if (port)
		(void)open_at(e, &before, &ignored);
	return rc;
}

int entrance_close(struct entrance *e, struct err *err)
{
	ports_close(e->ports, PORTS_API);
	log_info("the API is not served over TCP any more");
	return setting_put(e->store, SETTING, NULL, err);
}

/* No client is there to be told of a failure. */
static void open_again(struct entrance *e)
{
	SCOPED_STR text = NULL;
	struct err err = { 0 };
	struct publish at;
	int rc = setting_get(e->store, SETTING, &text, &err);

	if (rc == 0 && text)
		rc = publish_parse(text, &at, &err);
	if (rc == 0 && text)
		rc = check(&at, &err);
	if (rc == 0 && text)
		rc = open_at(e, &at, &err);
	if (rc == 0)
		return;
	log_warn("the API is not served over TCP: %s", err.msg);
	err = (struct err){ 0 };
	(void)setting_put(e->store, SETTING, NULL, &err);
}

static size_t routes_count(const struct http_route *r)
{
	size_t n = 0;

	while (r[n].method)
		n++;
	return n;
}

/* E2B's come last: some of them stand for many paths. */
static struct http_route *routes_all(void)
{
	size_t ours = routes_count(api_routes);
	size_t theirs = routes_count(e2b_routes) + 1;
	struct http_route *all = calloc(ours + theirs, sizeof(*all));

	if (!all)
		return NULL;
	memcpy(all, api_routes, ours * sizeof(*all));
	memcpy(all + ours, e2b_routes, theirs * sizeof(*all));
	return all;
}

struct entrance *entrance_new(struct loop *loop, struct store *store,
			      struct ports *ports, void *ctx, struct err *err)
{
	struct entrance *e = calloc(1, sizeof(*e));

	if (!e) {
		err_nomem(err);
		return NULL;
	}
	*e = (struct entrance){
		.store = store,
		.ports = ports,
		.ctx = ctx,
		.routes = routes_all(),
	};
	if (e->routes)
		e->http = http_new(loop, e->routes, ctx, err);
	else
		err_nomem(err);
	if (!e->http) {
		free(e->routes);
		free(e);
		return NULL;
	}
	http_set_idle(e->http, IDLE_S);
	http_set_guard(e->http, on_request, e);
	if (http_start(e->http, err) < 0) {
		entrance_free(e);
		return NULL;
	}
	open_again(e);
	return e;
}

void entrance_free(struct entrance *e)
{
	if (!e)
		return;
	ports_close(e->ports, PORTS_API);
	http_free(e->http);
	free(e->routes);
	free(e);
}
