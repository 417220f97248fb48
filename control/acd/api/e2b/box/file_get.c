/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_get.c - GET /files: the content of a file
 *
 * At most one window of the sandbox's output waits for the client.
 */
#include <errno.h>
#include <string.h>

#include "control/acd/api/e2b/ask.h"
#include "control/acd/api/e2b/box_calls.h"
#include "control/acd/api/e2b/routes.h"
#include "control/acd/api/e2b/say.h"
#include "control/acd/api/file_flow.h"
#include "control/acd/instance/files.h"
#include "init-guard/link.h"

struct get_call {
	struct http_req *req; /* NULL: it was answered */
	struct http_stream *stream;
	struct files *f; /* NULL: over */
	struct buf pending; /* what the client has not taken */
	uint64_t left; /* bytes still to be sent */
	bool unknown; /* the size is known at the end */
	char path[FILEWIRE_PATH_MAX + 1];
};

static void call_free(void *arg)
{
	struct get_call *c = arg;

	files_free(c->f);
	buf_done(&c->pending);
	free(c);
}

/* Moves to the client what it takes. May free @arg. */
static void pump(void *arg)
{
	struct get_call *c = arg;

	if (file_flow_out(c->stream, &c->pending, c->f, c->left))
		call_free(c);
}

static int on_entry(void *arg, const struct filewire_entry *e)
{
	struct get_call *c = arg;

	if (e->kind == FILEWIRE_DIR)
		return -EISDIR;
	/* A file of size 0 may have content, as in /proc. */
	c->unknown = e->size == 0;
	c->left = c->unknown ? UINT64_MAX : e->size;
	c->stream = http_reply_file(c->req, c->left, NULL, pump, call_free, c);
	c->req = NULL;
	return c->stream ? 0 : -ENOMEM;
}

static void on_data(void *arg, struct slice data)
{
	struct get_call *c = arg;
	struct slice piece = data;

	/* If the file grew meanwhile, only the announced bytes are sent. */
	if (piece.len > c->left)
		piece.len = (size_t)c->left;
	if (!c->stream || buf_append(&c->pending, piece.ptr, piece.len) < 0)
		piece.len = 0;
	c->left -= piece.len;
	if (data.len > piece.len)
		files_credit(c->f, data.len - piece.len);
	if (c->stream)
		pump(c);
}

static void on_done(void *arg, const struct filewire_done *d,
		    const struct err *err)
{
	struct get_call *c = arg;
	struct err shown = { 0 };

	(void)d;
	c->f = NULL;
	if (c->unknown && !err)
		c->left = 0;
	if (c->stream) {
		pump(c);
		return;
	}
	if (c->req) {
		err_set(&shown, err ? err->code : -EPROTO, "%s: %s", c->path,
			err ? err->msg : "no content came");
		http_on_abort(c->req, NULL, NULL);
		say_refusal(c->req, &shown);
	}
	call_free(c);
}

static const struct files_ops ops = {
	.entry = on_entry,
	.data = on_data,
	.done = on_done,
};

void e2b_file_get(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	struct get_call *c = calloc(1, sizeof(*c));
	struct filewire_request rq = { .type = FILEWIRE_READ };
	struct err err = { 0 };
	struct instance *in = box_instance(acd, req, &err);
	int rc = in ? 0 : err.code;

	if (rc == 0 && !c)
		rc = err_nomem(&err);
	if (rc == 0)
		rc = ask_user_name(http_query(req, "username"), &err);
	if (rc == 0 && c)
		rc = ask_path(http_query(req, "path"), c->path, &err);
	if (rc == 0 && c) {
		c->req = req;
		buf_init(&c->pending, LINK_WINDOW);
		rq.path = slice_str(c->path);
		http_on_abort(req, call_free, c);
		rc = files_begin(acd->loop, in, &rq, &ops, c, &c->f, &err);
	}
	if (rc == 0)
		return;
	http_on_abort(req, NULL, NULL);
	say_refusal(req, &err);
	free(c);
}
