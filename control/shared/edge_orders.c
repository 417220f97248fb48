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

/* Appends the length of @body and its bytes, and releases it. */
static int frame_put(struct buf *out, struct buf *body, int rc)
{
	if (rc >= 0)
		rc = buf_put_lstr(out, buf_slice(body).ptr, buf_len(body));
	buf_done(body);
	return rc < 0 ? rc : 0;
}

int edge_orders_put(struct buf *out, const struct edge_orders *o)
{
	struct buf body;
	int rc;

	if (o->n > EDGE_ORDERS_MAX)
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
	return frame_put(out, &body, rc);
}

int edge_report_put(struct buf *out, const struct edge_report *r)
{
	struct buf body;
	int rc;

	buf_init(&body, EDGE_FRAME_MAX);
	rc = buf_put_u8(&body, EDGE_VERSION);
	if (rc >= 0)
		rc = buf_put_u8(&body, (uint8_t)r->listening);
	if (rc >= 0)
		rc = buf_put_lstr(&body, r->text,
				  strnlen(r->text, EDGE_TEXT_MAX));
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
	if (body.len > 0)
		return -EBADMSG;
	*ret = o;
	*ret_used = used;
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
	    slice_lstr_copy(&body, EDGE_TEXT_MAX, r.text) < 0 || body.len > 0)
		return -EBADMSG;
	r.listening = n;
	*ret = r;
	*ret_used = used;
	return 0;
}
