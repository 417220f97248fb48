/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade.c - a request to acd whose connection becomes a link
 */
#include "control/cli/wire/upgrade.h"

#include <assert.h>
#include <string.h>

#include "control/cli/wire/http_client.h"
#include "lib/buf.h"

static int on_refusal(void *arg, const char *data, size_t len)
{
	return buf_append(arg, data, len);
}

static int failure(const struct http *h, int rc, struct err *err)
{
	if (!h->reached)
		return err_set(err, rc, "cannot reach acd at %s: %s", h->sock,
			       err_text(rc));
	if (rc == -ETIMEDOUT)
		return err_set(err, rc, "acd does not answer at %s", h->sock);
	if (rc == -ECONNRESET)
		return err_set(err, rc,
			       "acd closed the connection: "
			       "`ac logs host` may tell why");
	if (rc == -EPROTONOSUPPORT)
		return err_set(err, -EPROTO, "acd offers another protocol");
	if (rc == -EBADMSG)
		return err_set(err, -EPROTO, "acd's answer is no HTTP");
	return err_set(err, rc, "connection to acd: %s", err_text(rc));
}

/* Reads a refusal; one that was cut short is used as far as it goes. */
static int outcome(struct http *h, int rc, const struct buf *text,
		   struct upgrade *ret, struct client_error *ce,
		   struct err *err)
{
	struct slice s = buf_slice(text);

	if (h->status == 0 || (h->status == 101 && rc < 0))
		return failure(h, rc, err);
	if (h->status != 101)
		return client_error_parse("acd", h->status, (const char *)s.ptr,
					  s.len, ce, err);
	static_assert(sizeof(ret->early) >= sizeof(h->rx),
		      "all that came with the head has a place");
	ret->n_early = h->end - h->start;
	memcpy(ret->early, h->rx + h->start, ret->n_early);
	memcpy(ret->instance, h->instance, sizeof(ret->instance));
	ret->fd = fd_take(&h->fd);
	return 0;
}

int upgrade_open(const char *sock, const char *path, const json_t *body,
		 unsigned timeout_ms, struct upgrade *ret,
		 struct client_error *ce, struct err *err)
{
	SCOPED_STR json = json_dumps(body, JSON_COMPACT);
	struct buf text;
	const struct http_request rq = {
		.method = "POST",
		.path = path,
		.body = json,
		.link = true,
		.timeout_ms = timeout_ms,
		.fn = on_refusal,
		.arg = &text,
	};
	struct http h;
	int rc;

	ret->fd = -1;
	ret->n_early = 0;
	memset(ce, 0, sizeof(*ce));
	if (!json)
		return err_nomem(err);
	http_init(&h, sock);
	buf_init(&text, UPGRADE_BODY_MAX);
	rc = http_call(&h, &rq);
	rc = outcome(&h, rc, &text, ret, ce, err);
	buf_done(&text);
	http_done(&h);
	return rc;
}
