/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_calls.c - files of a running sandbox, over HTTP
 *
 * Theory of operation: each request is one of control/acd/instance/files.h,
 * whose answer becomes that of HTTP. Bytes pass in both directions as their
 * reader takes them: at most one window of the sandbox's output waits for the
 * client, and the client's bytes wait in the socket.
 *
 * Only running sandboxes are served. The directories of the others are in
 * ac-host, but a link in them may lead anywhere if it is followed there.
 */
#include <string.h>

#include "control/acd/api/file_flow.h"
#include "control/acd/api/instance_calls.h"
#include "control/acd/instance/files.h"
#include "control/shared/json.h"
#include "control/shared/paths.h"
#include "lib/str.h"

struct files_call {
	struct http_req *req; /* NULL: the client left, or was answered */
	struct http_stream *stream; /* READ, after its entry */
	struct files *f; /* NULL: over */
	char name[AC_NAME_MAX + 1];
	enum filewire_type type;
	json_t *entries; /* LIST */
	char last[3 * FILEWIRE_NAME_MAX + 1]; /* last name, encoded */
	json_t *entry; /* STAT */
	/* READ */
	struct buf pending; /* what the client has not taken */
	uint64_t offset, length; /* as asked for; length 0: to the end */
	uint64_t left; /* bytes still to be sent */
	bool range;
	bool unknown; /* the size is known at the end */
	bool body_ended, end_sent; /* WRITE */
};

static void call_free(struct files_call *c)
{
	files_free(c->f);
	json_decref(c->entries);
	json_decref(c->entry);
	buf_done(&c->pending);
	free(c);
}

static void call_abort(void *arg)
{
	call_free(arg);
}

/* ---- errors ---- */

struct files_error {
	int code; /* positive errno */
	int status;
	const char *word;
};

static const struct files_error files_errors[] = {
	{ ENOENT, 404, "not_found" },      { EACCES, 403, "denied" },
	{ EPERM, 403, "denied" },          { EROFS, 403, "read_only" },
	{ EEXIST, 409, "conflict" },       { ENOTEMPTY, 409, "conflict" },
	{ EBUSY, 409, "conflict" },        { EISDIR, 409, "is_directory" },
	{ ENOTDIR, 409, "not_directory" }, { EXDEV, 409, "conflict" },
	{ EINVAL, 400, "invalid" },        { ELOOP, 400, "invalid" },
	{ ENAMETOOLONG, 400, "invalid" },  { ENOSPC, 507, "disk_full" },
	{ EDQUOT, 507, "disk_full" },      { EFBIG, 507, "too_large" },
};

static void reply_failed(struct http_req *req, const char *name,
			 const struct err *err)
{
	struct files_error e = { 0, 502, "sandbox_failed" };
	char text[sizeof(err->msg) + AC_NAME_MAX + 64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files_errors); i++) {
		if (files_errors[i].code == -err->code)
			e = files_errors[i];
	}
	if (err->code == -ENOSPC || err->code == -EDQUOT)
		snprintf(text, sizeof(text),
			 "the disk limit of '%s' is reached", name);
	else if (err->code == -EROFS)
		snprintf(text, sizeof(text), "that is read-only in '%s'", name);
	else
		snprintf(text, sizeof(text), "%s: %s", name, err->msg);
	http_reply_json(req, e.status, jsonx_error(e.word, NULL, text));
}

/* ---- answers ---- */

/* Encodes a name for a query: it may have bytes that JSON cannot carry. */
static void name_encode(struct slice name, char ret[3 * FILEWIRE_NAME_MAX + 1])
{
	size_t i;

	for (i = 0; i < name.len; i++) {
		unsigned c = name.ptr[i];

		if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
		    (c >= 'A' && c <= 'Z') || (c && strchr("-._~", (int)c)))
			*ret++ = (char)c;
		else
			ret += snprintf(ret, 4, "%%%02X", c);
	}
	*ret = '\0';
}

static json_t *entry_json(const struct filewire_entry *e)
{
	static const char *const kinds[] = {
		[FILEWIRE_FILE] = "file",
		[FILEWIRE_DIR] = "directory",
		[FILEWIRE_SYMLINK] = "link",
		[FILEWIRE_SPECIAL] = "special",
	};
	SCOPED_STR name = NULL;
	SCOPED_STR target = NULL;
	char encoded[3 * FILEWIRE_NAME_MAX + 1];
	json_t *j;

	if (slice_dup_str(e->name, &name) < 0 ||
	    slice_dup_str(e->target, &target) < 0)
		return NULL;
	j = json_pack("{s:s, s:i, s:I, s:I}", "type", kinds[e->kind], "mode",
		      (int)e->mode, "size", (json_int_t)e->size, "mtime",
		      (json_int_t)e->mtime);
	if (j && *name) {
		json_object_set_new(j, "name", jsonx_text(name));
		name_encode(e->name, encoded);
		json_object_set_new(j, "encoded", json_string(encoded));
	}
	if (j && e->kind == FILEWIRE_SYMLINK)
		json_object_set_new(j, "target", jsonx_text(target));
	return j;
}

/* Moves to the client what it takes. May free @arg. */
static void read_pump(void *arg)
{
	struct files_call *c = arg;

	if (file_flow_out(c->stream, &c->pending, c->f, c->left))
		call_free(c);
}

static int reply_not_in_range(struct files_call *c)
{
	http_reply_json(c->req, 416,
			jsonx_error("invalid", NULL,
				    "the range is beyond the file's end"));
	c->req = NULL;
	return -ERANGE;
}

static int read_entry(struct files_call *c, const struct filewire_entry *e)
{
	uint64_t size = e->size > c->offset ? e->size - c->offset : 0;
	SCOPED_STR range = NULL;

	if (c->range && size == 0)
		return reply_not_in_range(c);
	if (c->length > 0 && size > c->length)
		size = c->length;
	/* A file of size 0 may have content, as in /proc. */
	c->unknown = e->size == 0;
	c->left = c->unknown ? UINT64_MAX : size;
	if (c->unknown)
		size = UINT64_MAX;
	if (c->range) {
		range = str_printf("bytes %llu-%llu/%llu",
				   (unsigned long long)c->offset,
				   (unsigned long long)(c->offset + size - 1),
				   (unsigned long long)e->size);
	}
	if (c->range && !range)
		return -ENOMEM;
	c->stream =
		http_reply_file(c->req, size, range, read_pump, call_abort, c);
	c->req = NULL;
	return c->stream ? 0 : -ENOMEM;
}

static int on_entry(void *arg, const struct filewire_entry *e)
{
	struct files_call *c = arg;

	if (c->type == FILEWIRE_READ)
		return read_entry(c, e);
	name_encode(e->name, c->last);
	if (c->type == FILEWIRE_LIST)
		return json_array_append_new(c->entries, entry_json(e)) < 0 ?
			       -ENOMEM :
			       0;
	c->entry = entry_json(e);
	return c->entry ? 0 : -ENOMEM;
}

static void on_data(void *arg, struct slice data)
{
	struct files_call *c = arg;
	struct slice piece = data;
	size_t drop;

	/* If the file grew meanwhile, only the announced bytes are sent. */
	if (piece.len > c->left)
		piece.len = (size_t)c->left;
	if (!c->stream || buf_append(&c->pending, piece.ptr, piece.len) < 0)
		piece.len = 0;
	c->left -= piece.len;
	drop = data.len - piece.len;
	if (drop > 0)
		files_credit(c->f, drop);
	if (c->stream)
		read_pump(c);
}

static void reply_done(struct files_call *c, const struct filewire_done *d)
{
	switch (c->type) {
	case FILEWIRE_STAT:
		http_reply_json(c->req, 200, json_incref(c->entry));
		break;
	case FILEWIRE_LIST:
		http_reply_json(c->req, 200,
				json_pack("{s:O, s:b, s:s*}", "entries",
					  c->entries, "more", d->more, "next",
					  d->more && *c->last ? c->last :
								NULL));
		break;
	case FILEWIRE_WRITE:
		http_reply_json(c->req, 200,
				json_pack("{s:I}", "bytes",
					  (json_int_t)d->bytes));
		break;
	default:
		http_reply_empty(c->req);
	}
	c->req = NULL;
}

static void on_done(void *arg, const struct filewire_done *d,
		    const struct err *err)
{
	struct files_call *c = arg;

	c->f = NULL;
	if (c->unknown && !err)
		c->left = 0;
	if (c->req && err)
		reply_failed(c->req, c->name, err);
	else if (c->req)
		reply_done(c, d);
	if (c->stream)
		read_pump(c);
	else
		call_free(c);
}

/* ---- the body of a PUT ---- */

static void write_go_on(void *arg)
{
	struct files_call *c = arg;

	if (c->body_ended && !c->end_sent) {
		c->end_sent = true;
		files_end(c->f);
	} else if (!c->body_ended) {
		http_body_resume(c->req);
	}
}

static size_t write_body(void *arg, struct slice data)
{
	struct files_call *c = arg;

	return file_flow_in(c->f, data);
}

static void write_body_end(void *arg)
{
	struct files_call *c = arg;

	c->body_ended = true;
	write_go_on(c);
}

static const struct files_ops call_ops = {
	.entry = on_entry,
	.data = on_data,
	.room = write_go_on,
	.done = on_done,
};

/* ---- requests ---- */

static void call_begin(struct acd *acd, struct instance *in,
		       struct http_req *req, const struct filewire_request *rq,
		       const struct files_call *wanted)
{
	const char *name = instance_record(in)->name;
	struct files_call *c = calloc(1, sizeof(*c));
	struct err err = { 0 };
	int rc = c ? 0 : err_nomem(&err);

	if (c) {
		*c = *wanted;
		c->req = req;
		c->type = rq->type;
		snprintf(c->name, sizeof(c->name), "%s", name);
		buf_init(&c->pending, LINK_WINDOW);
		c->entries = json_array();
		rc = files_begin(acd->loop, in, rq, &call_ops, c, &c->f, &err);
	}
	if (rc == 0) {
		http_on_abort(req, call_abort, c);
		if (rq->type == FILEWIRE_WRITE)
			http_body_take(req, write_body, write_body_end, c);
		return;
	}
	if (rc == -ENOTCONN) {
		err_set(&err, -EBUSY,
			"'%s' is not running; its files are reached while "
			"it runs: start it with `ac run`",
			name);
		http_reply_error(req, &err, "not_running");
	} else if (rc == INSTANCE_IS_PAUSED) {
		api_reply_paused(req, &err);
	} else {
		http_reply_error(req, &err, NULL);
	}
	if (c)
		call_free(c);
}

static bool path_is_good(const char *path)
{
	return path && *path && strlen(path) <= FILEWIRE_PATH_MAX;
}

/* Returns NULL after an answer. */
static struct instance *files_instance(struct acd *acd, struct http_req *req,
				       struct filewire_request *rq)
{
	struct instance *in = api_instance_of(acd, req);
	const char *path = http_query(req, "path");
	struct err err = { 0 };

	if (!in)
		return NULL;
	if (path_is_good(path)) {
		rq->path = slice_str(path);
		return in;
	}
	err_set(&err, -EINVAL, "'path' must be a path of at most %u bytes",
		FILEWIRE_PATH_MAX);
	http_reply_error(req, &err, NULL);
	return NULL;
}

/* Parses one range with a beginning; for others the whole file is sent, as RFC
 * 9110 14.2 allows. */
static bool range_parse(const char *text, uint64_t *ret_from, uint64_t *ret_len)
{
	char from[24];
	uint64_t first, last, count = 0;
	size_t len;

	if (!text || strncmp(text, "bytes=", 6) != 0)
		return false;
	text += 6;
	len = strcspn(text, "-");
	if (text[len] != '-' || len == 0 || len >= sizeof(from))
		return false;
	memcpy(from, text, len);
	from[len] = '\0';
	if (str_parse_u64(from, 0, INT64_MAX, &first) < 0)
		return false;
	text += len + 1;
	if (*text) {
		if (str_parse_u64(text, first, INT64_MAX - 1, &last) < 0)
			return false;
		count = last - first + 1;
	}
	*ret_from = first;
	*ret_len = count;
	return true;
}

static bool query_list(struct http_req *req, struct filewire_request *rq)
{
	const char *after = http_query(req, "after");
	struct err err = { 0 };

	rq->type = FILEWIRE_LIST;
	if (after && strlen(after) > FILEWIRE_NAME_MAX) {
		err_set(&err, -EINVAL, "'after' has more than %u bytes",
			FILEWIRE_NAME_MAX);
		http_reply_error(req, &err, NULL);
		return false;
	}
	if (after)
		rq->other = slice_str(after);
	rq->length = http_query_u64(req, "limit", FILEWIRE_LIST_MAX);
	return true;
}

void api_files_get(void *ctx, struct http_req *req)
{
	struct filewire_request rq = { .type = FILEWIRE_READ };
	struct files_call c = { 0 };
	struct instance *in = files_instance(ctx, req, &rq);

	if (!in)
		return;
	if (http_query_flag(req, "list")) {
		if (!query_list(req, &rq))
			return;
		rq.length = rq.length ? rq.length : 1;
	} else if (http_query_flag(req, "stat")) {
		rq.type = FILEWIRE_STAT;
		rq.flags = http_query_flag(req, "follow") ? FILEWIRE_FOLLOW : 0;
	} else {
		c.range = range_parse(http_header(req, "Range"), &rq.offset,
				      &rq.length);
		c.offset = rq.offset;
		c.length = rq.length;
	}
	call_begin(ctx, in, req, &rq, &c);
}

/* The mode is octal. */
static int query_mode(struct http_req *req, struct filewire_request *rq)
{
	const char *text = http_query(req, "mode");
	struct err err = { 0 };
	uint32_t mode = 0;
	size_t i;

	for (i = 0; text && text[i] >= '0' && text[i] <= '7' && i < 4; i++)
		mode = mode << 3 | (uint32_t)(text[i] - '0');
	if (text && (i == 0 || text[i] || mode > 0777)) {
		err_set(&err, -EINVAL, "'mode' must be octal, up to 777");
		http_reply_error(req, &err, NULL);
		return err.code;
	}
	rq->mode = mode;
	rq->flags |= text ? FILEWIRE_MODE : 0;
	return 0;
}

/* Atomic, unless an offset is given. */
void api_files_put(void *ctx, struct http_req *req)
{
	const bool in_place = http_query(req, "offset");
	const struct files_call c = { 0 };
	struct filewire_request rq = {
		.type = FILEWIRE_WRITE,
		.flags = in_place ? 0 : FILEWIRE_ATOMIC,
	};
	struct instance *in = files_instance(ctx, req, &rq);

	if (!in || query_mode(req, &rq) < 0)
		return;
	rq.offset = http_query_u64(req, "offset", 0);
	rq.mtime = http_query_u64(req, "mtime", 0);
	if (http_query_flag(req, "parents"))
		rq.flags |= FILEWIRE_PARENTS;
	if (http_query_flag(req, "exclusive"))
		rq.flags |= FILEWIRE_EXCLUSIVE;
	call_begin(ctx, in, req, &rq, &c);
}

void api_files_delete(void *ctx, struct http_req *req)
{
	const struct files_call c = { 0 };
	struct filewire_request rq = { .type = FILEWIRE_REMOVE };
	struct instance *in = files_instance(ctx, req, &rq);

	if (!in)
		return;
	if (http_query_flag(req, "recursive"))
		rq.flags |= FILEWIRE_RECURSIVE;
	call_begin(ctx, in, req, &rq, &c);
}

/* {"op": "mkdir", "mode", "parents"} or {"op": "rename", "to", "replace"} */
static int post_parse(json_t *body, struct filewire_request *rq,
		      struct err *err)
{
	const char *op = api_text(body, "op"), *to = api_text(body, "to");
	int rc;

	if (op && strcmp(op, "mkdir") == 0) {
		rq->type = FILEWIRE_MKDIR;
		rq->mode = (uint32_t)api_number(body, "mode", 0);
		rq->flags = api_flag(body, "parents") ? FILEWIRE_PARENTS : 0;
		return jsonx_fit(body, &files_mkdir_is, err);
	}
	if (!op || strcmp(op, "rename") != 0)
		return err_set(err, -EINVAL, "'op' must be mkdir or rename");
	rc = jsonx_fit(body, &files_rename_is, err);
	if (rc == 0 && !path_is_good(to))
		rc = err_set(err, -EINVAL, "'to' must be a path");
	if (rc < 0)
		return rc;
	rq->type = FILEWIRE_RENAME;
	rq->other = slice_str(to);
	rq->flags = api_flag(body, "replace") ? 0 : FILEWIRE_EXCLUSIVE;
	return 0;
}

void api_files_post(void *ctx, struct http_req *req)
{
	const struct files_call c = { 0 };
	struct filewire_request rq = { 0 };
	struct instance *in = files_instance(ctx, req, &rq);
	struct err err = { 0 };

	if (!in)
		return;
	if (post_parse(http_body(req), &rq, &err) < 0)
		http_reply_error(req, &err, NULL);
	else
		call_begin(ctx, in, req, &rq, &c);
}
