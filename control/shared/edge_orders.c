/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge_orders.c - what acd and ac-edge say to each other
 */
#include "control/shared/edge_orders.h"

#include <string.h>

#define HEAD_LEN 4u

bool edge_name_ok(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len <= EDGE_NAME_MAX && *name != '-' &&
	       *name != '_' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == len;
}

static bool order_ok(const struct edge_orders *o, size_t i)
{
	if (!edge_name_ok(o->v[i].name) || o->v[i].port == 0)
		return false;
	for (size_t k = 0; k < i; k++)
		if (strcmp(o->v[k].name, o->v[i].name) == 0)
			return false;
	return true;
}

/* Returns true if the ids rise, up to the one at @i. */
static bool port_ok(const struct edge_port *v, size_t i)
{
	return v[i].id > (i > 0 ? v[i - 1].id : 0);
}

static bool bound_ok(const struct edge_bound *v, size_t i)
{
	return v[i].id > (i > 0 ? v[i - 1].id : 0) &&
	       (v[i].port == 0) == (v[i].error != 0);
}

static size_t address_len(const struct edge_port *v)
{
	return v->v6 ? 16 : 4;
}

/* Appends the length of @body and its bytes, and releases it. */
static int frame_put(struct buf *out, struct buf *body, int rc)
{
	if (rc >= 0)
		rc = buf_put_lstr(out, buf_slice(body).ptr, buf_len(body));
	buf_done(body);
	return rc < 0 ? rc : 0;
}

static int ports_put(struct buf *body, const struct edge_orders *o)
{
	int rc = buf_put_u16(body, (uint16_t)o->n_ports);

	for (size_t i = 0; rc >= 0 && i < o->n_ports; i++) {
		const struct edge_port *v = &o->ports[i];

		rc = port_ok(o->ports, i) ? buf_put_u32(body, v->id) : -EINVAL;
		if (rc >= 0)
			rc = buf_put_u8(body, v->v6 ? 6 : 4);
		if (rc >= 0)
			rc = buf_append(body, v->address, address_len(v));
		if (rc >= 0)
			rc = buf_put_u16(body, v->port);
	}
	return rc;
}

int edge_orders_put(struct buf *out, const struct edge_orders *o)
{
	struct buf body;
	int rc;

	if (o->n > EDGE_ORDERS_MAX || o->n_ports > EDGE_PORTS_MAX)
		return -EINVAL;
	buf_init(&body, EDGE_FRAME_MAX);
	rc = buf_put_u8(&body, EDGE_VERSION);
	if (rc >= 0)
		rc = buf_put_u8(&body, (uint8_t)o->n);
	for (size_t i = 0; rc >= 0 && i < o->n; i++) {
		const struct edge_order *v = &o->v[i];

		rc = order_ok(o, i) ?
			     buf_put_lstr(&body, v->name, strlen(v->name)) :
			     -EINVAL;
		if (rc >= 0)
			rc = buf_put_u8(&body, v->v6 ? 6 : 4);
		if (rc >= 0)
			rc = buf_put_u16(&body, v->port);
	}
	if (rc >= 0)
		rc = ports_put(&body, o);
	return frame_put(out, &body, rc);
}

static int bounds_put(struct buf *body, const struct edge_report *r)
{
	int rc = buf_put_u16(body, (uint16_t)r->n_ports);

	for (size_t i = 0; rc >= 0 && i < r->n_ports; i++) {
		const struct edge_bound *v = &r->ports[i];

		rc = bound_ok(r->ports, i) ? buf_put_u32(body, v->id) : -EINVAL;
		if (rc >= 0)
			rc = buf_put_u16(body, v->port);
		if (rc >= 0)
			rc = buf_put_u16(body, v->error);
	}
	return rc;
}

int edge_report_put(struct buf *out, const struct edge_report *r)
{
	struct buf body;
	int rc;

	if (r->listening > EDGE_ORDERS_MAX || r->n_ports > EDGE_PORTS_MAX)
		return -EINVAL;
	buf_init(&body, EDGE_FRAME_MAX);
	rc = buf_put_u8(&body, EDGE_VERSION);
	if (rc >= 0)
		rc = buf_put_u8(&body, (uint8_t)r->listening);
	if (rc >= 0)
		rc = buf_put_lstr(&body, r->text,
				  strnlen(r->text, EDGE_TEXT_MAX));
	if (rc >= 0)
		rc = bounds_put(&body, r);
	return frame_put(out, &body, rc);
}

/* Takes the length and the version, and sets *@ret to what follows. */
static int frame_get(struct slice in, struct slice *ret, size_t *ret_used)
{
	uint32_t len;
	uint8_t version;

	if (slice_u32(&in, &len) < 0)
		return -EAGAIN;
	if (len == 0 || len > EDGE_FRAME_MAX)
		return -EBADMSG;
	if (slice_take(&in, len, ret) < 0)
		return -EAGAIN;
	if (slice_u8(ret, &version) < 0 || version != EDGE_VERSION)
		return -EBADMSG;
	*ret_used = HEAD_LEN + len;
	return 0;
}

static int order_get(struct slice *in, struct edge_order *ret)
{
	uint8_t family;

	if (slice_lstr_copy(in, EDGE_NAME_MAX, ret->name) < 0 ||
	    slice_u8(in, &family) < 0 || slice_u16(in, &ret->port) < 0 ||
	    (family != 4 && family != 6))
		return -EBADMSG;
	ret->v6 = family == 6;
	return 0;
}

static int port_get(struct slice *in, struct edge_port *ret)
{
	struct slice address;
	uint8_t family;

	if (slice_u32(in, &ret->id) < 0 || slice_u8(in, &family) < 0 ||
	    (family != 4 && family != 6))
		return -EBADMSG;
	ret->v6 = family == 6;
	if (slice_take(in, address_len(ret), &address) < 0 ||
	    slice_u16(in, &ret->port) < 0)
		return -EBADMSG;
	memcpy(ret->address, address.ptr, address.len);
	return 0;
}

static int ports_get(struct slice *in, struct edge_orders *o)
{
	uint16_t n;

	if (slice_u16(in, &n) < 0 || n > EDGE_PORTS_MAX)
		return -EBADMSG;
	for (; o->n_ports < n; o->n_ports++)
		if (port_get(in, &o->ports[o->n_ports]) < 0 ||
		    !port_ok(o->ports, o->n_ports))
			return -EBADMSG;
	return 0;
}

int edge_orders_get(struct slice in, struct edge_orders *ret, size_t *ret_used)
{
	struct edge_orders o = { .n = 0 };
	struct slice body;
	size_t used;
	uint8_t n;
	int rc = frame_get(in, &body, &used);

	if (rc < 0)
		return rc;
	if (slice_u8(&body, &n) < 0 || n > EDGE_ORDERS_MAX)
		return -EBADMSG;
	for (; o.n < n; o.n++)
		if (order_get(&body, &o.v[o.n]) < 0 || !order_ok(&o, o.n))
			return -EBADMSG;
	if (ports_get(&body, &o) < 0 || body.len > 0)
		return -EBADMSG;
	*ret = o;
	*ret_used = used;
	return 0;
}

static int bounds_get(struct slice *in, struct edge_report *r)
{
	uint16_t n;

	if (slice_u16(in, &n) < 0 || n > EDGE_PORTS_MAX)
		return -EBADMSG;
	for (; r->n_ports < n; r->n_ports++) {
		struct edge_bound *v = &r->ports[r->n_ports];

		if (slice_u32(in, &v->id) < 0 || slice_u16(in, &v->port) < 0 ||
		    slice_u16(in, &v->error) < 0 ||
		    !bound_ok(r->ports, r->n_ports))
			return -EBADMSG;
	}
	return 0;
}

int edge_report_get(struct slice in, struct edge_report *ret, size_t *ret_used)
{
	struct edge_report r = { .listening = 0 };
	struct slice body;
	size_t used;
	uint8_t n;
	int rc = frame_get(in, &body, &used);

	if (rc < 0)
		return rc;
	if (slice_u8(&body, &n) < 0 || n > EDGE_ORDERS_MAX ||
	    slice_lstr_copy(&body, EDGE_TEXT_MAX, r.text) < 0 ||
	    bounds_get(&body, &r) < 0 || body.len > 0)
		return -EBADMSG;
	r.listening = n;
	*ret = r;
	*ret_used = used;
	return 0;
}
