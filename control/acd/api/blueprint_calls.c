/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blueprint_calls.c - routes for blueprints and builds of their images
 */
#include <string.h>

#include "control/acd/acd.h"
#include "control/acd/api/api.h"
#include "control/acd/api/blueprint_show.h"
#include "control/acd/blueprint/blueprint.h"
#include "control/acd/blueprint/build.h"
#include "control/acd/blueprint/images.h"
#include "control/shared/json.h"

#define LAST_LINE_ROOM 4096u /* kept free for the last line */

/* Returns a member's path as text, or null. */
static json_t *path_json(const char *path)
{
	return path ? jsonx_text(path) : json_null();
}

/* Adds how it is started. One that appends words or has a headless command is
 * an agent. Returns @j, or NULL without memory. */
static json_t *start_put(const struct blueprint *bp, json_t *j)
{
	bool headless = bp->headless.n > 0;
	SCOPED_JSON more = json_pack("{s:b, s:s, s:b, s:b}", "agent",
				     headless || bp->args_append, "args",
				     bp->args_append ? "append" : "replace",
				     "headless", headless, "resume",
				     bp->resume.n > 0);

	if (more && headless)
		json_object_set_new(more, "result",
				    json_pack("{s:o, s:o}", "json",
					      path_json(bp->result_json),
					      "usage",
					      path_json(bp->result_usage)));
	if (j && more && json_object_update(j, more) == 0)
		return j;
	json_decref(j);
	return NULL;
}

/* Of directories, if @volumes is false. */
static json_t *mounts_json(const struct blueprint *bp, bool volumes)
{
	json_t *all = json_array();

	for (size_t i = 0; i < bp->n_mounts; i++) {
		const struct blueprint_mount *m = &bp->mounts[i];
		const char *mode = !m->live ? "ro" : volumes ? "rw" : "live";

		if (volumes != (m->volume != NULL))
			continue;
		json_array_append_new(
			all,
			json_pack("{s:o, s:s, s:s}",
				  volumes ? "volume" : "from",
				  jsonx_text(volumes ? m->volume : m->from),
				  "to", m->to, "mode", mode));
	}
	return all;
}

static json_t *keys_json(const struct acd *acd, const struct blueprint *bp)
{
	return json_pack("{s:s, s:o, s:s, s:b, s:b, s:o, s:o, s:o, s:s, s:s,"
			 " s:{s:I, s:I, s:I, s:I}, s:o, s:o}",
			 "name", bp->name, "description",
			 jsonx_text(bp->description), "image", bp->image,
			 "ready", build_is_present(acd->builds, bp->image),
			 "builtin", bp->builtin, "command",
			 jsonx_from_strv(&bp->command), "shell",
			 jsonx_from_strv(&bp->shell), "env",
			 jsonx_from_strv(&bp->env), "workdir", bp->workdir,
			 "isolation", bp->isolation, "limits", "cpus_milli",
			 (json_int_t)bp->cpu_milli, "memory",
			 (json_int_t)bp->memory, "pids", (json_int_t)bp->pids,
			 "timeout_ms", (json_int_t)bp->timeout_ms, "egress",
			 egress_json(&bp->egress), "credentials",
			 credentials_json(&bp->credentials));
}

static json_t *blueprint_json(const struct acd *acd, const struct blueprint *bp)
{
	json_t *j = start_put(bp, keys_json(acd, bp));
	uint64_t bytes = build_is_present(acd->builds, bp->image) ?
				 build_size(acd->builds, bp->image) :
				 0;

	if (j)
		json_object_set_new(j, "mounts", mounts_json(bp, false));
	if (j)
		json_object_set_new(j, "volumes", mounts_json(bp, true));
	if (j)
		json_object_set_new(j, "image_bytes",
				    bytes ? json_integer((json_int_t)bytes) :
					    json_null());
	return j;
}

/* A blueprint that cannot be read is listed with the reason. */
static json_t *blueprint_entry(const struct acd *acd, const char *name)
{
	struct blueprint bp = { 0 };
	struct err err = { 0 };
	json_t *j;

	if (blueprint_load(name, &bp, &err) < 0)
		return json_pack("{s:s, s:s, s:o}", "name", name, "description",
				 "", "error", jsonx_text(err.msg));
	j = blueprint_json(acd, &bp);
	blueprint_done(&bp);
	return j;
}

void api_blueprint_list(void *ctx, struct http_req *req)
{
	struct strv names = { 0 };
	struct err err = { 0 };
	json_t *list = json_array();

	if (blueprint_names(&names, &err) < 0) {
		http_reply_error(req, &err, NULL);
		json_decref(list);
	} else {
		for (size_t i = 0; i < names.n; i++)
			json_array_append_new(list,
					      blueprint_entry(ctx, names.v[i]));
		http_reply_json(req, 200,
				json_pack("{s:o}", "blueprints", list));
	}
	strv_done(&names);
}

/* Loads the blueprint in the path. Returns a negative errno after an answer. */
static int blueprint_of(struct http_req *req, struct blueprint *ret)
{
	struct err err = { 0 };
	int rc = blueprint_load(http_param(req, "name"), ret, &err);

	if (rc < 0)
		http_reply_error(req, &err,
				 rc == -ENOENT ? "unknown_blueprint" : NULL);
	return rc;
}

void api_blueprint_get(void *ctx, struct http_req *req)
{
	struct blueprint bp = { 0 };
	struct err err = { 0 };
	json_t *j;

	if (blueprint_of(req, &bp) < 0)
		return;
	j = blueprint_json(ctx, &bp);
	if (!j || blueprint_show_put(j, &bp, &err) == 0) {
		http_reply_json(req, 200, j);
	} else {
		json_decref(j);
		http_reply_error(req, &err, NULL);
	}
	blueprint_done(&bp);
}

struct follower {
	struct acd *acd;
	char *image;
	struct http_stream *stream;
	struct build_wait *wait;
	unsigned lost; /* lines that a slow client missed */
};

static void follower_free(struct follower *f)
{
	if (f)
		free(f->image);
	free(f);
}

static int write_line(struct http_stream *s, json_t *takes_line)
{
	SCOPED_JSON j = takes_line;
	SCOPED_STR text = j ? json_dumps(j, JSON_COMPACT) : NULL;
	SCOPED_STR line = text ? str_printf("%s\n", text) : NULL;

	return line ? http_stream_write(s, line, strlen(line)) : -ENOMEM;
}

static void follower_line(struct follower *f, const char *line)
{
	/* JSON may need six bytes for one byte. */
	if (http_stream_room(f->stream) < 6 * strlen(line) + LAST_LINE_ROOM) {
		f->lost++;
		return;
	}
	if (f->lost) {
		SCOPED_STR gap = str_printf("(%u line%s left out: the client "
					    "reads too slowly)",
					    f->lost, f->lost == 1 ? "" : "s");

		f->lost = 0;
		if (gap)
			write_line(f->stream,
				   json_pack("{s:o}", "line", jsonx_text(gap)));
	}
	write_line(f->stream, json_pack("{s:o}", "line", jsonx_text(line)));
}

static void on_build(void *arg, const char *line, const struct err *err)
{
	struct follower *f = arg;

	if (line) {
		follower_line(f, line);
		return;
	}
	write_line(f->stream,
		   err ? jsonx_error("build_failed", NULL, err->msg) :
			 json_pack("{s:b}", "done", 1));
	http_stream_end(f->stream);
	/* For its size. */
	if (!err && f->acd->runtime)
		image_look(f->acd->runtime, f->acd->builds, f->image);
	follower_free(f);
}

static void follower_on_abort(void *arg)
{
	struct follower *f = arg;

	build_leave(f->wait);
	follower_free(f);
}

static unsigned body_flags(const json_t *body)
{
	return (api_flag(body, "no_cache") ? BUILD_NO_CACHE : 0) |
	       (api_flag(body, "force") ? BUILD_FORCE : 0) |
	       (api_flag(body, "retry") ? BUILD_RETRY : 0) |
	       (api_flag(body, "update") ? BUILD_UPDATE : 0);
}

static void build_start(struct acd *acd, struct http_req *req,
			const char *image, unsigned flags)
{
	struct follower *f = calloc(1, sizeof(*f));
	struct err err = { 0 };

	if (f) {
		f->acd = acd;
		f->image = strdup(image);
	}
	if (f && f->image)
		f->wait = build_ensure(acd->builds, image, flags, on_build, f);
	if (!f || !f->wait) {
		follower_free(f);
		err_nomem(&err);
		http_reply_error(req, &err, NULL);
		return;
	}
	f->stream = http_reply_stream(req, "application/x-ndjson", NULL,
				      follower_on_abort, f);
	if (!f->stream)
		follower_on_abort(f);
}

void api_blueprint_build(void *ctx, struct http_req *req)
{
	struct acd *acd = ctx;
	struct blueprint bp = { 0 };
	struct err err = { 0 };

	if (acd->phase != ACD_READY) {
		err_set(&err, -EAGAIN, "ac-host is starting or stopping: %s",
			acd->progress);
		http_reply_error(req, &err, "starting");
		return;
	}
	if (blueprint_of(req, &bp) < 0)
		return;
	build_start(acd, req, bp.image, body_flags(http_body(req)));
	blueprint_done(&bp);
}
