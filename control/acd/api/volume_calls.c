/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume_calls.c - routes for volumes
 *
 * A sandbox made what is in a volume, and it may be much. So a child counts its
 * bytes and removes its files, and the request waits for that.
 */
#include "control/acd/api/api.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "control/acd/acd.h"
#include "control/acd/instance/volume_use.h"
#include "control/acd/storage/treejob.h"
#include "control/acd/storage/volumes.h"
#include "control/shared/json.h"
#include "control/shared/volume.h"
#include "lib/log.h"

#define COUNT_LIMIT_MS 60000u

/* ---- to show them ---- */

/* Shared with the child that counts. */
struct sizes {
	size_t n;
	uint64_t of[VOLUMES_MAX]; /* UINT64_MAX: unknown */
	char name[VOLUMES_MAX][AC_NAME_MAX + 1];
};

struct show {
	struct acd *acd;
	struct http_req *req; /* NULL: answered, or the client left */
	int status;
	bool one; /* without the list around it */
	struct sizes *sizes;
	struct treejob *job; /* NULL: ended */
	struct loop_timer *timer;
};

static void show_free(struct show *s)
{
	treejob_forget(s->job);
	loop_timer_free(s->timer);
	if (s->sizes)
		munmap(s->sizes, sizeof(*s->sizes));
	free(s);
}

static json_t *volume_json(const struct sizes *sizes, size_t i,
			   const json_t *users)
{
	uint64_t bytes = sizes->of[i];
	struct volume v = { 0 };
	struct err ignored = { 0 };
	json_t *used_by = json_object_get(users, sizes->name[i]);

	volume_find(sizes->name[i], &v, &ignored);
	return json_pack("{s:s, s:o, s:I, s:o}", "name", sizes->name[i],
			 "bytes",
			 bytes > INT64_MAX ? json_null() :
					     json_integer((json_int_t)bytes),
			 "created_at", (json_int_t)v.created_at, "used_by",
			 used_by ? json_incref(used_by) : json_array());
}

static void show_reply(struct show *s)
{
	SCOPED_JSON users = volume_use_all(s->acd->instances);
	SCOPED_JSON all = json_array();
	struct http_req *req = s->req;
	struct err err = { 0 };
	int bad = !users || !all;

	s->req = NULL;
	for (size_t i = 0; !bad && i < s->sizes->n; i++)
		bad |= json_array_append_new(all,
					     volume_json(s->sizes, i, users));
	if (bad) {
		err_nomem(&err);
		http_reply_error(req, &err, NULL);
	} else if (s->one) {
		http_reply_json(req, s->status,
				json_incref(json_array_get(all, 0)));
	} else {
		http_reply_json(req, s->status,
				json_pack("{s:O}", "volumes", all));
	}
}

/* Runs in the child. */
static int count_all(const void *what, struct err *err)
{
	struct sizes *const *sizes = what;

	(void)err;
	for (size_t i = 0; i < (*sizes)->n && !treejob_is_canceled(); i++)
		(*sizes)->of[i] = volume_bytes((*sizes)->name[i]);
	return 0;
}

static void on_counted(void *arg, const struct err *err)
{
	struct show *s = arg;

	(void)err; /* what was not counted is unknown */
	s->job = NULL;
	if (s->req)
		show_reply(s);
	show_free(s);
}

static void on_limit(void *arg)
{
	struct show *s = arg;

	treejob_cancel(s->job);
	if (s->req)
		show_reply(s);
}

static void on_abort(void *arg)
{
	struct show *s = arg;

	s->req = NULL;
	treejob_cancel(s->job);
}

/* Takes the names. */
static int sizes_make(struct show *s, const struct strv *names)
{
	void *mem = mmap(NULL, sizeof(*s->sizes), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		return -ENOMEM;
	s->sizes = mem;
	for (size_t i = 0; i < names->n && i < VOLUMES_MAX; i++) {
		s->sizes->of[i] = UINT64_MAX;
		snprintf(s->sizes->name[i], sizeof(s->sizes->name[i]), "%s",
			 names->v[i]);
		s->sizes->n++;
	}
	return 0;
}

static int show_begin(struct show *s, const struct strv *names, struct err *err)
{
	s->timer = loop_timer_new(s->acd->loop, on_limit, s);
	if (!s->timer || sizes_make(s, names) < 0)
		return err_nomem(err);
	return treejob_run(s->acd->loop, count_all, &s->sizes, on_counted, s,
			   &s->job, err);
}

/* Answers with the volumes of these names, or with @err if it has failed. */
static void show(struct acd *acd, struct http_req *req,
		 const struct strv *names, int status, bool one,
		 struct err *err)
{
	struct show *s = err->code < 0 ? NULL : calloc(1, sizeof(*s));

	if (!s) {
		if (err->code == 0)
			err_nomem(err);
		http_reply_refusal(req, err, NULL, NULL);
		return;
	}
	*s = (struct show){
		.acd = acd, .req = req, .status = status, .one = one
	};
	if (show_begin(s, names, err) < 0) {
		show_free(s);
		http_reply_refusal(req, err, NULL, NULL);
		return;
	}
	http_on_abort(req, on_abort, s);
	loop_timer_set(s->timer, COUNT_LIMIT_MS);
}

void api_volume_list(void *ctx, struct http_req *req)
{
	struct strv names = { 0 };
	struct err err = { 0 };

	volumes_names(&names, &err);
	show(ctx, req, &names, 200, false, &err);
	strv_done(&names);
}

static void show_one(void *ctx, struct http_req *req, const char *name,
		     int status, struct err *err)
{
	struct strv names = { 0 };

	if (err->code == 0 && strv_push(&names, name) < 0)
		err_nomem(err);
	show(ctx, req, &names, status, true, err);
	strv_done(&names);
}

void api_volume_get(void *ctx, struct http_req *req)
{
	const char *name = http_param(req, "name");
	struct volume v;
	struct err err = { 0 };

	volume_find(name ? name : "", &v, &err);
	show_one(ctx, req, v.name, 200, &err);
}

void api_volume_create(void *ctx, struct http_req *req)
{
	const char *name = api_text(http_body(req), "name");
	struct err err = { 0 };

	if (volume_create(name ? name : "", &err) == 0)
		log_info("volume '%s' is made", name);
	show_one(ctx, req, name, 201, &err);
}

/* ---- to remove one ---- */

struct removal {
	struct http_req *req; /* NULL: the client left; it goes on */
	struct treejob *job;
	char name[AC_NAME_MAX + 1];
};

static void on_removal_abort(void *arg)
{
	struct removal *r = arg;

	r->req = NULL;
}

static void on_removed(void *arg, const struct err *err)
{
	struct removal *r = arg;
	struct err failed = { 0 };

	if (err) {
		failed = *err;
		err_wrap(&failed,
			 "the volume '%s' is gone, but its files are "
			 "not; the next start tries again",
			 r->name);
		log_error("%s", failed.msg);
	} else {
		log_info("volume '%s' is removed", r->name);
	}
	if (r->req && err)
		http_reply_error(r->req, &failed, NULL);
	else if (r->req)
		http_reply_empty(r->req);
	free(r);
}

/* Refuses to remove what a sandbox has, and, without @force, what an instance
 * has. */
static int may_remove(const struct acd *acd, const char *name, bool force,
		      struct err *err)
{
	SCOPED_JSON all = volume_use_all(acd->instances);
	const json_t *users = json_object_get(all, name), *u;
	size_t i;

	if (!all)
		return err_nomem(err);
	json_array_foreach (users, i, u) {
		const char *by = jsonx_text_at(u, "instance");

		if (json_is_true(json_object_get(u, "running")))
			err_set(err, -EBUSY,
				"'%s' runs and uses the volume '%s': `ac "
				"stop-instance %s` first",
				by, name, by);
		else if (!force)
			err_set(err, -EBUSY,
				"'%s' uses the volume '%s': `ac run %s "
				"--volume none` or `ac rm %s` ends that, "
				"--force takes it from all that do not run",
				by, name, by, by);
		else
			continue;
		return err_name(err, VOLUME_IN_USE);
	}
	return 0;
}

/* The volume is gone from here on; a child removes its files. */
static int removal_begin(struct acd *acd, struct removal *r, struct err *err)
{
	SCOPED_STR gone = NULL;
	const char *paths[2] = { NULL };
	int rc = volume_use_drop(acd->instances, r->name, &gone, err);

	if (rc < 0)
		return rc;
	paths[0] = gone;
	return treejob_start(acd->loop, paths, on_removed, r, &r->job, err);
}

void api_volume_delete(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	const char *name = http_param(req, "name");
	bool force = http_query_flag(req, "force");
	struct removal *r = calloc(1, sizeof(*r));
	struct volume v;
	struct err err = { 0 };
	int rc = volume_find(name ? name : "", &v, &err);

	if (rc == 0 && !r)
		rc = err_nomem(&err);
	if (rc == 0)
		rc = may_remove(acd, v.name, force, &err);
	if (rc == 0 && r) {
		r->req = req;
		snprintf(r->name, sizeof(r->name), "%s", v.name);
		rc = removal_begin(acd, r, &err);
	}
	if (rc < 0) {
		free(r);
		http_reply_refusal(req, &err, NULL, NULL);
		return;
	}
	http_on_abort(req, on_removal_abort, r);
}
