/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_post.c - POST /files: writes files, of a form or one as it is
 *
 * Theory of operation: the body is taken as the sandbox takes it. Files of a form
 * are written one after the other, each as a whole or not at all: a part's end
 * waits until the sandbox has it, and the body with it. What was written before a
 * failure stays.
 */
#include <errno.h>
#include <string.h>

#include "control/acd/api/e2b/ask.h"
#include "control/acd/api/e2b/box_calls.h"
#include "control/acd/api/e2b/box/fs_entry.h"
#include "control/acd/api/e2b/box/multipart.h"
#include "control/acd/api/e2b/routes.h"
#include "control/acd/api/e2b/say.h"
#include "control/acd/api/file_flow.h"
#include "control/acd/instance/files.h"

#define FILES_MAX 1000u /* of one form */

struct post_call {
	struct acd *acd;
	struct http_req *req;
	struct files *f; /* NULL: between two files */
	json_t *written;
	bool form;
	bool ending; /* the file is whole, and the sandbox is to say so */
	bool whole; /* the body has ended */
	bool over; /* the form has */
	char said[FILEWIRE_PATH_MAX + 1]; /* the path in the query, or "" */
	char path[FILEWIRE_PATH_MAX + 1]; /* of this file */
	struct multipart m;
};

static void call_free(void *arg)
{
	struct post_call *c = arg;

	files_free(c->f);
	json_decref(c->written);
	free(c);
}

static void fail(struct post_call *c, const struct err *err)
{
	http_on_abort(c->req, NULL, NULL);
	http_body_take(c->req, NULL, NULL, NULL);
	say_refusal(c->req, err);
	call_free(c);
}

static void finish(struct post_call *c)
{
	http_on_abort(c->req, NULL, NULL);
	http_reply_json(c->req, 200, json_incref(c->written));
	call_free(c);
}

/* ---- one file ---- */

static void on_room(void *arg)
{
	struct post_call *c = arg;

	if (!c->ending && !c->whole)
		http_body_resume(c->req);
}

/* May free @arg. */
static void on_done(void *arg, const struct filewire_done *d,
		    const struct err *err)
{
	struct post_call *c = arg;
	struct err shown = { 0 };

	(void)d;
	c->f = NULL;
	c->ending = false;
	if (err) {
		err_set(&shown, err->code, "%s: %s", c->path, err->msg);
		fail(c, &shown);
	} else if (json_array_append_new(c->written, fs_written(c->path)) < 0) {
		err_nomem(&shown);
		fail(c, &shown);
	} else if (c->whole) {
		finish(c);
	} else {
		http_body_resume(c->req);
	}
}

static const struct files_ops ops = { .room = on_room, .done = on_done };

static int file_begin(struct post_call *c, const char *name, struct err *err)
{
	struct filewire_request rq = {
		.type = FILEWIRE_WRITE,
		.flags = FILEWIRE_ATOMIC | FILEWIRE_PARENTS,
	};
	struct instance *in = box_instance(c->acd, c->req, err);
	int rc = in ? ask_path(name, c->path, err) : err->code;

	if (rc < 0)
		return rc;
	if (json_array_size(c->written) >= FILES_MAX)
		return err_set(err, -EMSGSIZE, "a form has at most %u files",
			       FILES_MAX);
	rq.path = slice_str(c->path);
	return files_begin(c->acd->loop, in, &rq, &ops, c, &c->f, err);
}

static void file_end(struct post_call *c)
{
	c->ending = true;
	files_end(c->f);
}

/* ---- the body ---- */

static int part_begin(struct post_call *c, struct err *err)
{
	const char *name = *c->said ? c->said : c->m.name;

	if (!*name)
		return err_set(err, -EINVAL,
			       "a part of the form has no file name");
	return file_begin(c, name, err);
}

/* Takes one event of the form. Returns 1 if the form is to be read on, 0 if it
 * waits, or a negative errno. */
static int form_step(struct post_call *c, struct slice *in, struct err *err)
{
	struct slice data;
	int rc = multipart_next(&c->m, in, c->f ? files_room(c->f) : 0, &data);

	switch (rc) {
	case MULTIPART_MORE:
		return 0;
	case MULTIPART_PART:
		rc = part_begin(c, err);
		return rc < 0 ? rc : 1;
	case MULTIPART_DATA:
		files_write(c->f, data);
		return 1;
	case MULTIPART_PART_END:
		if (c->f)
			file_end(c);
		return 0;
	case MULTIPART_END:
		c->over = true;
		return 1;
	default:
		return err_set(err, -EINVAL,
			       "the body must be a form of files");
	}
}

/* May free the call. */
static size_t form_take(void *arg, struct slice data)
{
	struct post_call *c = arg;
	struct slice in = data;
	struct err err = { 0 };
	int rc = 1;

	while (rc > 0 && !c->ending)
		rc = form_step(c, &in, &err);
	if (rc < 0) {
		fail(c, &err);
		return data.len;
	}
	return data.len - in.len;
}

static size_t raw_take(void *arg, struct slice data)
{
	struct post_call *c = arg;

	return file_flow_in(c->f, data);
}

static void on_whole(void *arg)
{
	struct post_call *c = arg;
	struct err err = { 0 };

	c->whole = true;
	if (!c->form) {
		file_end(c);
	} else if (!c->over) {
		err_set(&err, -EINVAL, "the form has no end");
		fail(c, &err);
	} else if (!c->ending) {
		finish(c);
	}
}

/* ---- the request ---- */

static int kind_read(struct post_call *c, struct err *err)
{
	const char *type = http_header(c->req, "Content-Type");
	const char *coding = http_header(c->req, "Content-Encoding");

	if (coding && strcasecmp(coding, "identity") != 0)
		return err_set(err, -ENOTSUP,
			       "an upload that is compressed is not supported "
			       "here");
	if (type && strncasecmp(type, "application/octet-stream", 24) == 0)
		return *c->said ? 0 :
				  err_set(err, -EINVAL, "'path' must be given");
	c->form = true;
	if (multipart_init(&c->m, type) < 0)
		return err_set(err, -EINVAL,
			       "the body must be multipart/form-data or "
			       "application/octet-stream");
	return 0;
}

static int begin(struct post_call *c, struct err *err)
{
	const char *path = http_query(c->req, "path");
	int rc = ask_user_name(http_query(c->req, "username"), err);

	if (rc == 0 && path && *path)
		rc = ask_path(path, c->said, err);
	if (rc == 0)
		rc = kind_read(c, err);
	if (rc == 0 && !box_instance(c->acd, c->req, err))
		rc = err->code;
	return rc == 0 && !c->form ? file_begin(c, c->said, err) : rc;
}

void e2b_file_post(void *ctx, struct http_req *req)
{
	struct post_call *c = calloc(1, sizeof(*c));
	struct err err = { 0 };
	int rc;

	if (!c) {
		err_nomem(&err);
		say_refusal(req, &err);
		return;
	}
	c->acd = ctx;
	c->req = req;
	c->written = json_array();
	http_on_abort(req, call_free, c);
	rc = c->written ? begin(c, &err) : err_nomem(&err);
	if (rc < 0) {
		fail(c, &err);
		return;
	}
	http_body_take(req, c->form ? form_take : raw_take, on_whole, c);
}
