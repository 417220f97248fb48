/* SPDX-License-Identifier: Apache-2.0 */
/*
 * routes.c - the API of E2B's SDKs: its routes, and who may call them
 */
#include "control/acd/api/e2b/routes.h"

#include <string.h>
#include <time.h>

#include "control/acd/api/access/access.h"
#include "control/acd/api/e2b/e2b.h"
#include "control/acd/api/e2b/say.h"

/* These calls are not of acd's own API, and not in its document. */
const struct http_call e2b_look = { .id = "e2b_look" };
/* Tells the access token of a sandbox, by which commands run in it. */
const struct http_call e2b_detail = { .id = "e2b_detail" };
const struct http_call e2b_change = { .id = "e2b_change", .bytes = true };
const struct http_call e2b_missing = { .id = "e2b_missing", .bytes = true };
static const struct http_call box_look = { .id = "e2b_box_look" };
static const struct http_call box_call = { .id = "e2b_box", .bytes = true };
static const struct http_call box_raw = { .id = "e2b_box_raw", .raw = true };

static void on_missing(void *ctx, struct http_req *req)
{
	struct err err = { 0 };

	(void)ctx;
	err_set(&err, -ENOTSUP,
		"acd does not have this call of E2B's API; docs/E2B.md says "
		"which it has");
	say_refusal(req, &err);
}

#define PROCESS "/process.Process/"
#define FS "/filesystem.Filesystem/"
#define SANDBOX "/sandboxes/{id}"

const struct http_route e2b_routes[] = {
	{ "POST", "/sandboxes", e2b_sandbox_create, &e2b_change },
	{ "POST", "/v2/sandboxes", e2b_sandbox_create, &e2b_change },
	{ "GET", "/sandboxes", e2b_sandbox_list_v1, &e2b_look },
	{ "GET", "/v2/sandboxes", e2b_sandbox_list, &e2b_look },
	{ "GET", "/sandboxes/metrics", on_missing, &e2b_missing },
	{ "GET", SANDBOX, e2b_sandbox_get, &e2b_detail },
	{ "DELETE", SANDBOX, e2b_sandbox_kill, &e2b_change },
	{ "POST", SANDBOX "/timeout", e2b_sandbox_timeout, &e2b_change },
	{ "POST", SANDBOX "/refreshes", e2b_sandbox_refresh, &e2b_change },
	{ "POST", SANDBOX "/pause", e2b_sandbox_pause, &e2b_change },
	{ "POST", SANDBOX "/resume", e2b_sandbox_resume, &e2b_change },
	{ "POST", SANDBOX "/connect", e2b_sandbox_connect, &e2b_change },
	{ "POST", "/v2" SANDBOX "/connect", e2b_sandbox_connect, &e2b_change },
	{ "POST", SANDBOX "/fork", e2b_sandbox_fork, &e2b_change },
	{ "POST", SANDBOX "/snapshots", e2b_snapshot_make, &e2b_change },
	{ "GET", "/snapshots", e2b_snapshot_list, &e2b_look },
	{ "DELETE", "/templates/{id}", e2b_snapshot_remove, &e2b_change },
	{ "GET", SANDBOX "/metrics", e2b_sandbox_metrics, &e2b_look },

	{ "GET", "/health", e2b_health, &box_look },
	{ "GET", "/files", e2b_file_get, &box_look },
	{ "POST", "/files", e2b_file_post, &box_raw },
	{ "POST", PROCESS "Start", e2b_process_start, &box_call },
	{ "POST", PROCESS "Connect", e2b_process_connect, &box_call },
	{ "POST", PROCESS "List", e2b_process_list, &box_call },
	{ "POST", PROCESS "Update", e2b_process_update, &box_call },
	{ "POST", PROCESS "SendInput", e2b_process_input, &box_call },
	{ "POST", PROCESS "StreamInput", e2b_process_stream, &box_raw },
	{ "POST", PROCESS "SendSignal", e2b_process_signal, &box_call },
	{ "POST", PROCESS "CloseStdin", e2b_process_close, &box_call },
	{ "POST", FS "Stat", e2b_fs_stat, &box_call },
	{ "POST", FS "ListDir", e2b_fs_list, &box_call },
	{ "POST", FS "MakeDir", e2b_fs_mkdir, &box_call },
	{ "POST", FS "Move", e2b_fs_move, &box_call },
	{ "POST", FS "Remove", e2b_fs_remove, &box_call },

	{ "*", "/sandboxes*", on_missing, &e2b_missing },
	{ "*", "/v2/*", on_missing, &e2b_missing },
	{ "*", "/v3/*", on_missing, &e2b_missing },
	{ "*", "/templates*", on_missing, &e2b_missing },
	{ "*", "/snapshots*", on_missing, &e2b_missing },
	{ "*", "/volumes*", on_missing, &e2b_missing },
	{ "*", "/volumecontent*", on_missing, &e2b_missing },
	{ "*", "/secrets*", on_missing, &e2b_missing },
	{ "*", "/teams*", on_missing, &e2b_missing },
	{ "*", "/files*", on_missing, &box_call },
	{ "*", PROCESS "*", on_missing, &box_call },
	{ "*", FS "*", on_missing, &box_call },
	{ NULL, NULL, NULL, NULL },
};

bool e2b_has(const struct http_call *call)
{
	return call == &e2b_look || call == &e2b_detail ||
	       call == &e2b_change || call == &e2b_missing ||
	       call == &box_look || call == &box_call || call == &box_raw;
}

/* A sandbox that is gone is told of to who has its token alone. */
static int box_judge(const struct acd *acd, struct http_req *req,
		     struct err *err)
{
	const char *id = http_header(req, "E2b-Sandbox-Id");

	if (id && e2b_id_is(id) &&
	    e2b_token_fits(acd->e2b, id, http_header(req, "X-Access-Token")))
		return 0;
	err_set(err, -EACCES,
		"this call needs the headers E2b-Sandbox-Id and X-Access-Token "
		"of one sandbox");
	return 401;
}

static int key_judge(const struct acd *acd, struct http_req *req,
		     const struct http_call *call, struct err *err)
{
	const char *key = http_header(req, "X-API-KEY");
	enum access_scope ignored; /* these calls take no options of acd's */

	if (key)
		return access_judge_token(acd->store, slice_str(key), call,
					  (int64_t)time(NULL), &ignored, err);
	err_set(err, -EACCES,
		"this call needs the header X-API-KEY; `ac serve --e2b-env` "
		"makes a key");
	return 401;
}

bool e2b_guard(struct acd *acd, struct http_req *req,
	       const struct http_call *call, unsigned hold_ms)
{
	bool box = call == &box_look || call == &box_call || call == &box_raw;
	struct err err = { 0 };
	int status = box ? box_judge(acd, req, &err) :
			   key_judge(acd, req, call, &err);

	if (status == 0)
		return true;
	http_guard_answer(req, (unsigned)status, say_status(status, err.msg),
			  hold_ms);
	return false;
}
