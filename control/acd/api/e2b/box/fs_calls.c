/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fs_calls.c - names in a sandbox's file system, as E2B's SDKs ask for them
 *
 * Theory of operation: a call is one request or more to the sandbox's file server
 * (instance/files.h), one after the other; each says what to do when it is over.
 * What comes from there may be invented, and is bounded.
 */
#include <errno.h>
#include <string.h>
#include <sys/queue.h>

#include "control/acd/api/e2b/ask.h"
#include "control/acd/api/e2b/box_calls.h"
#include "control/acd/api/e2b/connect.h"
#include "control/acd/api/e2b/box/fs_entry.h"
#include "control/acd/api/e2b/routes.h"
#include "control/acd/api/e2b/say.h"
#include "control/acd/instance/files.h"
#include "control/shared/json.h"

#define ENTRIES_MAX 10000u /* of one list */
#define PATHS_MAX (8u * 1024 * 1024) /* bytes of their paths */
#define DEPTH_MAX 64u

struct dir {
	STAILQ_ENTRY(dir) link;
	unsigned depth; /* that is still wanted below */
	char path[];
};

struct fs_call;
typedef void (*fs_then)(struct fs_call *c, const struct err *err);

struct fs_call {
	struct acd *acd;
	struct http_req *req;
	struct files *f; /* NULL: between two requests */
	fs_then then;
	json_t *body;
	json_t *entry; /* of a STAT */
	char path[FILEWIRE_PATH_MAX + 1], to[FILEWIRE_PATH_MAX + 1];
	/* LIST */
	json_t *entries;
	STAILQ_HEAD(dirs, dir) dirs; /* the first is being read */
	size_t bytes; /* of their paths */
	char last[FILEWIRE_NAME_MAX + 1];
	char asked[FILEWIRE_NAME_MAX +
		   1]; /* the last name of the answer before */
	bool more;
};

static void call_free(void *arg)
{
	struct fs_call *c = arg;
	struct dir *d;

	files_free(c->f);
	while ((d = STAILQ_FIRST(&c->dirs))) {
		STAILQ_REMOVE_HEAD(&c->dirs, link);
		free(d);
	}
	json_decref(c->body);
	json_decref(c->entry);
	json_decref(c->entries);
	free(c);
}

static void call_fail(struct fs_call *c, const struct err *err)
{
	http_on_abort(c->req, NULL, NULL);
	say_connect_error(c->req, err);
	call_free(c);
}

static void call_answer(struct fs_call *c, json_t *takes_message)
{
	http_on_abort(c->req, NULL, NULL);
	http_reply_json(c->req, 200, takes_message);
	call_free(c);
}

/* ---- one request ---- */

static int dir_push(struct fs_call *c, const char *path, unsigned depth)
{
	size_t len = strlen(path) + 1;
	struct dir *d = malloc(sizeof(*d) + len);

	if (!d)
		return -ENOMEM;
	d->depth = depth;
	memcpy(d->path, path, len);
	STAILQ_INSERT_TAIL(&c->dirs, d, link);
	return 0;
}

static int list_entry(struct fs_call *c, const struct filewire_entry *e)
{
	const struct dir *d = STAILQ_FIRST(&c->dirs);
	char path[FILEWIRE_PATH_MAX + 1];
	int n = snprintf(path, sizeof(path), "%s/%.*s",
			 strcmp(d->path, "/") == 0 ? "" : d->path,
			 (int)e->name.len, (const char *)e->name.ptr);

	memcpy(c->last, e->name.ptr, e->name.len);
	c->last[e->name.len] = '\0';
	if (n < 0 || (size_t)n > FILEWIRE_PATH_MAX ||
	    json_array_size(c->entries) >= ENTRIES_MAX ||
	    c->bytes + (size_t)n > PATHS_MAX)
		return -EMSGSIZE;
	c->bytes += (size_t)n;
	if (json_array_append_new(c->entries, fs_entry(path, e)) < 0)
		return -ENOMEM;
	if (e->kind == FILEWIRE_DIR && d->depth > 1)
		return dir_push(c, path, d->depth - 1);
	return 0;
}

static int on_entry(void *arg, const struct filewire_entry *e)
{
	struct fs_call *c = arg;

	if (c->entries)
		return list_entry(c, e);
	json_decref(c->entry);
	c->entry = fs_entry(c->path, e);
	return c->entry ? 0 : -ENOMEM;
}

static void on_done(void *arg, const struct filewire_done *d,
		    const struct err *err)
{
	struct fs_call *c = arg;
	struct err shown = { 0 };

	c->f = NULL;
	c->more = d->more;
	if (err && err->code == -EMSGSIZE)
		err_set(&shown, err->code,
			"the list has more than %u entries, or too long ones",
			ENTRIES_MAX);
	else if (err)
		err_set(&shown, err->code, "%s: %s", c->path, err->msg);
	c->then(c, err ? &shown : NULL);
}

static const struct files_ops ops = {
	.entry = on_entry,
	.done = on_done,
};

/* Frees the call if it fails, after an answer. */
static void ask(struct fs_call *c, const struct filewire_request *rq,
		fs_then then)
{
	struct err err = { 0 };
	struct instance *in = box_instance(c->acd, c->req, &err);

	c->then = then;
	if (!in || files_begin(c->acd->loop, in, rq, &ops, c, &c->f, &err) < 0)
		call_fail(c, &err);
}

static void ask_path_of(struct fs_call *c, enum filewire_type type,
			uint32_t flags, const char *path, fs_then then)
{
	const struct filewire_request rq = {
		.type = type,
		.flags = flags,
		.mode = type == FILEWIRE_MKDIR ? 0755 : 0,
		.path = slice_str(path),
	};

	ask(c, &rq, then);
}

static void reply_entry(struct fs_call *c, const struct err *err)
{
	if (err)
		call_fail(c, err);
	else
		call_answer(c, json_pack("{s:O}", "entry", c->entry));
}

static void stat_now(struct fs_call *c)
{
	ask_path_of(c, FILEWIRE_STAT, 0, c->path, reply_entry);
}

/* ---- the beginning of each ---- */

static int path_read(const struct fs_call *c, const char *key,
		     char ret[FILEWIRE_PATH_MAX + 1], struct err *err)
{
	const char *text = NULL;
	int rc = jsonx_str(c->body, key, NULL, &text, err);

	return rc == 0 ? ask_path(text, ret, err) : rc;
}

/* Reads the path that is the member @key. Returns NULL after an answer. */
static struct fs_call *begin(struct acd *acd, struct http_req *req,
			     const char *key)
{
	struct fs_call *c = calloc(1, sizeof(*c));
	struct err err = { 0 };

	if (!c) {
		err_nomem(&err);
		say_connect_error(req, &err);
		return NULL;
	}
	STAILQ_INIT(&c->dirs);
	c->acd = acd;
	c->req = req;
	http_on_abort(req, call_free, c);
	if (ask_user(http_header(req, "Authorization"), &err) == 0 &&
	    connect_read(http_body_bytes(req), &c->body, &err) == 0 &&
	    path_read(c, key, c->path, &err) == 0)
		return c;
	call_fail(c, &err);
	return NULL;
}

void e2b_fs_stat(void *ctx, struct http_req *req)
{
	struct fs_call *c = begin(ctx, req, "path");

	if (c)
		stat_now(c);
}

/* ---- lists ---- */

static void list_ask_next(struct fs_call *c);

static void list_read(struct fs_call *c, const struct err *err)
{
	struct dir *d = STAILQ_FIRST(&c->dirs);

	/* One below that went, or that the agent may not read, has nothing. */
	if (err && (strcmp(d->path, c->path) == 0 || err->code == -EMSGSIZE ||
		    err->code == -ENOMEM)) {
		call_fail(c, err);
		return;
	}
	if (!err && c->more && strcmp(c->last, c->asked) == 0) {
		struct err why = { 0 };

		/* The agent's file server: it would go on for ever. */
		err_set(&why, -EPROTO,
			"the file server of the sandbox gives no more names, "
			"and says that there are more");
		call_fail(c, &why);
		return;
	}
	if (err || !c->more) {
		STAILQ_REMOVE_HEAD(&c->dirs, link);
		free(d);
		c->last[0] = '\0';
	}
	list_ask_next(c);
}

static void list_ask_next(struct fs_call *c)
{
	const struct dir *d = STAILQ_FIRST(&c->dirs);
	struct filewire_request rq = {
		.type = FILEWIRE_LIST,
		.length = FILEWIRE_LIST_MAX,
		.other = slice_str(c->last),
	};

	if (!d) {
		call_answer(c, json_pack("{s:O}", "entries", c->entries));
		return;
	}
	rq.path = slice_str(d->path);
	snprintf(c->asked, sizeof(c->asked), "%s", c->last);
	ask(c, &rq, list_read);
}

void e2b_fs_list(void *ctx, struct http_req *req)
{
	struct fs_call *c = begin(ctx, req, "path");
	struct err err = { 0 };
	uint64_t depth = 1;

	if (!c)
		return;
	c->entries = json_array();
	if (jsonx_u64(c->body, "depth", 0, DEPTH_MAX, 1, &depth, &err) == 0 &&
	    (!c->entries ||
	     dir_push(c, c->path, depth ? (unsigned)depth : 1) < 0))
		err_nomem(&err);
	if (err.code)
		call_fail(c, &err);
	else
		list_ask_next(c);
}

/* ---- changes ---- */

static void made(struct fs_call *c, const struct err *err)
{
	if (err)
		call_fail(c, err);
	else
		stat_now(c);
}

/* A directory is made only where nothing is. */
static void mkdir_looked(struct fs_call *c, const struct err *err)
{
	struct err there = { 0 };

	if (!err) {
		err_set(&there, -EEXIST, "%s is there already", c->path);
		call_fail(c, &there);
	} else if (err->code == -ENOENT) {
		ask_path_of(c, FILEWIRE_MKDIR, FILEWIRE_PARENTS, c->path, made);
	} else {
		call_fail(c, err);
	}
}

void e2b_fs_mkdir(void *ctx, struct http_req *req)
{
	struct fs_call *c = begin(ctx, req, "path");

	if (c)
		ask_path_of(c, FILEWIRE_STAT, 0, c->path, mkdir_looked);
}

static void moved(struct fs_call *c, const struct err *err)
{
	if (err) {
		call_fail(c, err);
		return;
	}
	memcpy(c->path, c->to, sizeof(c->path));
	stat_now(c);
}

static void move_now(struct fs_call *c, const struct err *err)
{
	const struct filewire_request rq = {
		.type = FILEWIRE_RENAME,
		.path = slice_str(c->path),
		.other = slice_str(c->to),
	};

	(void)err; /* of the parent: the rename says what is wrong */
	ask(c, &rq, moved);
}

/* The parents of the new name are made, if there is what gets it. */
static void move_looked(struct fs_call *c, const struct err *err)
{
	char parent[FILEWIRE_PATH_MAX + 1];
	char *end;

	if (err) {
		call_fail(c, err);
		return;
	}
	memcpy(parent, c->to, sizeof(parent));
	end = strrchr(parent, '/');
	if (!end || end == parent) {
		move_now(c, NULL);
		return;
	}
	*end = '\0';
	ask_path_of(c, FILEWIRE_MKDIR, FILEWIRE_PARENTS, parent, move_now);
}

void e2b_fs_move(void *ctx, struct http_req *req)
{
	struct fs_call *c = begin(ctx, req, "source");
	struct err err = { 0 };

	if (!c)
		return;
	if (path_read(c, "destination", c->to, &err) < 0)
		call_fail(c, &err);
	else
		ask_path_of(c, FILEWIRE_STAT, 0, c->path, move_looked);
}

/* What is not there is removed already. */
static void removed(struct fs_call *c, const struct err *err)
{
	if (err && err->code != -ENOENT)
		call_fail(c, err);
	else
		call_answer(c, json_object());
}

void e2b_fs_remove(void *ctx, struct http_req *req)
{
	struct fs_call *c = begin(ctx, req, "path");

	if (c)
		ask_path_of(c, FILEWIRE_REMOVE, FILEWIRE_RECURSIVE, c->path,
			    removed);
}
