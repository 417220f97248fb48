/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blueprint_calls.c - routes about blueprints and the building of their images
 */
#include <string.h>

#include "control/acd/acd.h"
#include "control/acd/api/api.h"
#include "control/acd/blueprint/blueprint.h"
#include "control/acd/blueprint/build.h"
#include "control/shared/json.h"

#define LAST_LINE_ROOM 4096u /* kept free for the line that tells the end */

static json_t *blueprint_json(const struct acd *acd, const struct blueprint *bp)
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

/* One that cannot be read is listed with the reason. */
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

/* The blueprint in the path; negative: the request was answered. */
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

	if (blueprint_of(req, &bp) < 0)
		return;
	http_reply_json(req, 200, blueprint_json(ctx, &bp));
	blueprint_done(&bp);
}

/* A client that follows a build. */
struct follower {
	struct http_stream *stream;
	struct build_wait *wait;
	unsigned lost; /* lines that a slow client missed */
};

static int write_line(struct http_stream *s, json_t *takes_line)
{
	SCOPED_JSON j = takes_line;
	SCOPED_STR text = j ? json_dumps(j, JSON_COMPACT) : NULL;
	SCOPED_STR line = text ? str_printf("%s\n", text) : NULL;

	return line ? http_stream_write(s, line, strlen(line)) : -ENOMEM;
}

static void follower_line(struct follower *f, const char *line)
{
	/* JSON may need six bytes for one. */
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
	write_line(f->stream, err ? jsonx_error("build_failed", err->msg) :
				    json_pack("{s:b}", "done", 1));
	http_stream_end(f->stream);
	free(f);
}

static void follower_on_abort(void *arg)
{
	struct follower *f = arg;

	build_leave(f->wait);
	free(f);
}

static int body_flags(struct http_req *req, unsigned *ret)
{
	static const char *const keys[] = { "no_cache", "force", "retry",
					    NULL };
	static const unsigned flags[] = { BUILD_NO_CACHE, BUILD_FORCE,
					  BUILD_RETRY };
	struct err err = { 0 };
	json_t *body = http_body(req);
	int rc = jsonx_known(body, keys, &err);
	bool on;

	*ret = 0;
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(flags); i++) {
		rc = jsonx_bool(body, keys[i], false, &on, &err);
		if (rc == 0 && on)
			*ret |= flags[i];
	}
	if (rc < 0)
		http_reply_error(req, &err, NULL);
	return rc;
}

static void build_start(struct acd *acd, struct http_req *req,
			const char *image, unsigned flags)
{
	struct follower *f = calloc(1, sizeof(*f));
	struct err err = { 0 };

	if (f)
		f->wait = build_ensure(acd->builds, image, flags, on_build, f);
	if (!f || !f->wait) {
		free(f);
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
	unsigned flags;

	if (body_flags(req, &flags) < 0)
		return;
	if (acd->phase != ACD_READY) {
		err_set(&err, -EAGAIN, "ac-host is starting or stopping: %s",
			acd->progress);
		http_reply_error(req, &err, "starting");
		return;
	}
	if (blueprint_of(req, &bp) < 0)
		return;
	build_start(acd, req, bp.image, flags);
	blueprint_done(&bp);
}
