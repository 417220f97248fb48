/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sbom_call.c - what is in an image, as a document of SPDX
 *
 * The document is complete before the answer begins, so that a failure is one;
 * then it is passed on as fast as the client reads.
 */
#include <stdlib.h>
#include <string.h>

#include "control/acd/acd.h"
#include "control/acd/api/api.h"
#include "control/acd/image/sbom.h"
#include "lib/buf.h"
#include "lib/str.h"

struct sbom_call {
	struct acd *acd;
	struct http_req *req; /* NULL: answered, or the client left */
	char id[80];
	struct image_sbom *job; /* or NULL */
	struct http_stream *stream; /* or NULL */
	struct buf out; /* still to be sent */
};

static struct images_world world_of(const struct acd *acd)
{
	return (struct images_world){ .loop = acd->loop,
				      .engine = acd->engine,
				      .runtime = acd->runtime,
				      .store = acd->store };
}

static void call_free(struct sbom_call *c)
{
	buf_done(&c->out);
	free(c);
}

static void call_fail(struct sbom_call *c, const struct err *err)
{
	if (c->req)
		http_reply_error(c->req, err,
				 err->code == -EBUSY ? "busy" : NULL);
	call_free(c);
}

/* Until it is known what the image is, call_on_images() frees the call. */
static void call_on_abort(void *arg)
{
	struct sbom_call *c = arg;

	c->req = NULL;
	if (!c->job)
		return;
	image_sbom_cancel(c->job);
	call_free(c);
}

static void stream_on_abort(void *arg)
{
	call_free(arg);
}

static void stream_on_room(void *arg)
{
	struct sbom_call *c = arg;
	size_t room = http_stream_room(c->stream), left = buf_len(&c->out);
	size_t n = room < left ? room : left;

	if (n > 0 &&
	    http_stream_write(c->stream, buf_slice(&c->out).ptr, n) == 0)
		buf_consume(&c->out, n);
	if (buf_len(&c->out) > 0)
		return;
	http_stream_end(c->stream);
	call_free(c);
}

static void on_document(void *arg, struct slice document, const struct err *err)
{
	struct sbom_call *c = arg;
	struct err e = { 0 };

	c->job = NULL;
	if (!err && buf_append(&c->out, document.ptr, document.len) < 0) {
		err_nomem(&e);
		err = &e;
	}
	if (err) {
		call_fail(c, err);
		return;
	}
	c->stream = http_reply_stream(c->req, "application/json",
				      stream_on_room, stream_on_abort, c);
	c->req = NULL;
	if (c->stream)
		stream_on_room(c);
	else
		call_free(c);
}

static void on_images(void *arg, struct images *is, const struct err *err)
{
	struct sbom_call *c = arg;
	const struct images_world w = world_of(c->acd);
	const struct image *i = err ? NULL : images_find(is, c->id);
	SCOPED_STR tool = str_printf("ac-%s", acd_version());
	struct err e = { 0 };

	if (!err && !i)
		err_set(&e, -ENOENT, "there is no image %.19s", c->id);
	else if (!err && !tool)
		err_nomem(&e);
	else if (!err && c->req)
		image_sbom_start(&w, c->acd->children, i, tool, on_document, c,
				 &c->job, &e);
	images_done(is);
	if (err || e.code < 0 || !c->req)
		call_fail(c, err ? err : &e);
}

void api_image_sbom(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	const struct images_world w = world_of(acd);
	struct err err = { 0 };
	struct sbom_call *c = NULL;
	char id[80];
	int rc;

	if (api_image_id(req, id, sizeof(id)) < 0)
		return;
	if (!acd->engine || acd->phase != ACD_READY)
		err_set(&err, -EAGAIN, "ac-host is starting or stopping: %s",
			acd->progress);
	else if (!(c = calloc(1, sizeof(*c))))
		err_nomem(&err);
	if (!c) {
		http_reply_error(req, &err,
				 err.code == -EAGAIN ? "starting" : NULL);
		return;
	}
	*c = (struct sbom_call){ .acd = acd, .req = req };
	memcpy(c->id, id, sizeof(c->id));
	buf_init(&c->out, IMAGE_SBOM_MAX);
	http_on_abort(req, call_on_abort, c);
	rc = images_gather(&w, on_images, c);
	if (rc < 0) {
		err_set(&err, rc, "list the images: %s", err_text(rc));
		call_fail(c, &err);
	}
}
