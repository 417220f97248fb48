/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_calls.c - routes for published ports
 */
#include "control/acd/api/api.h"

#include <string.h>

#include "control/acd/acd.h"
#include "control/acd/api/instance_calls.h"
#include "control/acd/instance/instance.h"
#include "control/acd/net/edge.h"
#include "control/acd/net/ports.h"
#include "control/shared/json.h"
#include "lib/str.h"

/* Returns where a browser of the user's machine finds it, also if it listens at
 * all addresses; the caller frees it. */
static char *url_of(const struct publish *as, uint16_t port)
{
	static const uint8_t all[16];
	struct publish at = *as;
	char place[PUBLISH_TEXT_MAX];

	if (memcmp(at.address, all, at.v6 ? 16 : 4) == 0) {
		if (at.v6)
			at.address[15] = 1;
		else
			memcpy(at.address, (const uint8_t[]){ 127, 0, 0, 1 },
			       4);
	}
	publish_place(&at, port, place);
	return str_printf("http://%s/", place);
}

/* @p NULL: nothing runs that publishes it. */
static json_t *port_json(const struct acd *acd, const struct publish *as,
			 const struct port *p)
{
	static const char *const states[] = { [PORT_WAITING] = "waiting",
					      [PORT_OPEN] = "open",
					      [PORT_FAILED] = "failed" };
	uint16_t outer = p ? p->outer : as->outer;
	SCOPED_STR url = outer ? url_of(as, outer) : strdup("");
	char address[PUBLISH_TEXT_MAX];
	const char *why = "";

	publish_address(as, address);
	if (p && p->state == PORT_FAILED)
		why = err_text(p->error);
	else if (p && p->state == PORT_WAITING)
		why = edge_reason(acd->edge);
	return url ? json_pack("{s:s, s:i, s:i, s:s, s:s, s:s}", "address",
			       address, "port", (int)outer, "inner",
			       (int)as->inner, "state",
			       p ? states[p->state] : "closed", "reason", why,
			       "url", url) :
		     NULL;
}

static int add(json_t *all, json_t *v)
{
	return json_array_append_new(all, v) < 0 ? -ENOMEM : 0;
}

/* Adds what is open, or what its next run publishes. */
static int ports_put(const struct acd *acd, const struct instance_record *r,
		     json_t *all, struct err *err)
{
	struct publish v[PUBLISH_MAX];
	const struct port *p;
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && (p = ports_nth(acd->ports, i)); i++)
		if (strcmp(p->owner, r->name) == 0)
			rc = add(all, port_json(acd, &p->as, p));
	if (rc == 0 && json_array_size(all) == 0) {
		rc = publish_load(r->publish_json, v, &n, err);
		if (rc < 0)
			return rc;
	}
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = add(all, port_json(acd, &v[i], NULL));
	return rc < 0 ? err_nomem(err) : 0;
}

static void reply(const struct acd *acd, struct http_req *req,
		  const struct instance *in)
{
	SCOPED_JSON all = json_array();
	struct err err = { 0 };
	int rc = all ? ports_put(acd, instance_record(in), all, &err) :
		       err_nomem(&err);

	if (rc < 0)
		http_reply_error(req, &err, NULL);
	else
		http_reply_json(req, 200, json_pack("{s:O}", "ports", all));
}

void api_instance_ports(void *ctx, struct http_req *req)
{
	const struct instance *in = api_instance_of(ctx, req);

	if (in)
		reply(ctx, req, in);
}

/* ---- a change ---- */

struct publish_call {
	const struct acd *acd;
	struct http_req *req; /* NULL: the client left */
	char name[AC_NAME_MAX + 1];
};

static void call_abort(void *arg)
{
	struct publish_call *c = arg;

	c->req = NULL;
}

static void published(void *arg, const struct err *err)
{
	struct publish_call *c = arg;
	const struct instance *in = instance_find(c->acd->instances, c->name);

	if (c->req && err)
		http_reply_error(c->req, err, *err->word ? err->word : NULL);
	else if (c->req && in)
		reply(c->acd, c->req, in);
	else if (c->req)
		http_reply_empty(c->req);
	free(c);
}

/* Refuses what needs ac-edge without it: `ac` starts it and asks again. */
static int edge_needed(const struct acd *acd, const struct instance *in,
		       size_t n, struct err *err)
{
	if (n == 0 || !instance_is_up(in) || edge_is_there(acd->edge))
		return 0;
	edge_want(acd->edge);
	err_set(err, -EAGAIN, "ports are published through ac-edge; %s",
		edge_reason(acd->edge));
	return err_name(err, PORTS_NO_EDGE);
}

static int list_get(struct http_req *req, struct publish v[PUBLISH_MAX],
		    size_t *ret_n, struct err *err)
{
	SCOPED_STR text = json_dumps(json_object_get(http_body(req), "publish"),
				     JSON_COMPACT);
	int rc = text ? publish_load(text, v, ret_n, err) : err_nomem(err);

	return rc == -EINVAL ? err_key(err, "publish") : rc;
}

void api_instance_publish(void *ctx, struct http_req *req)
{
	struct instance *in = api_instance_of(ctx, req);
	struct publish_call *c = in ? calloc(1, sizeof(*c)) : NULL;
	struct publish v[PUBLISH_MAX];
	struct err err = { 0 };
	size_t n = 0;
	int rc;

	if (!in)
		return;
	rc = c ? list_get(req, v, &n, &err) : err_nomem(&err);
	if (rc == 0)
		rc = edge_needed(ctx, in, n, &err);
	if (rc == 0 && c) {
		*c = (struct publish_call){ .acd = ctx, .req = req };
		snprintf(c->name, sizeof(c->name), "%s",
			 instance_record(in)->name);
		rc = instance_publish(in, v, n, published, c, &err);
	}
	if (rc == 0) {
		http_on_abort(req, call_abort, c);
		return;
	}
	free(c);
	http_reply_error(req, &err, *err.word ? err.word : NULL);
}
