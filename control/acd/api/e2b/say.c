/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say.c - answers of E2B's API
 */
#include "control/acd/api/e2b/say.h"

#include <string.h>
#include <time.h>

#include "control/acd/api/e2b/connect.h"
#include "control/acd/instance/instance.h"
#include "control/shared/json.h"

#define CLIENT "ac"

json_t *say_status(int status, const char *message)
{
	return json_pack("{s:i, s:o}", "code", status, "message",
			 jsonx_text(message));
}

/* Where it differs from Connect: what E2B's SDKs make exceptions of. */
static int status_of(int code)
{
	switch (code) {
	case -ENOSPC:
	case -EDQUOT:
		return 507;
	case -ENOTCONN:
		return 502;
	case -EBUSY:
		return 409;
	default:
		return connect_code_of(code)->status;
	}
}

void say_refusal(struct http_req *req, const struct err *err)
{
	int status = status_of(err->code);

	http_reply_json(req, status, say_status(status, err->msg));
}

void say_connect_error(struct http_req *req, const struct err *err)
{
	http_reply_json(req, connect_code_of(err->code)->status,
			connect_error(err));
}

int say_gone(const char *id, struct err *err)
{
	return err_set(err, -ENOTCONN,
		       "The sandbox %s was not found: it is paused, or it has "
		       "ended",
		       id);
}

void say_no_box(struct http_req *req, const char *id)
{
	struct err err = { 0 };

	err_set(&err, -ENOENT, "there is no sandbox '%.40s'", id);
	say_refusal(req, &err);
}

void say_time(int64_t ms, char ret[SAY_TIME_MAX])
{
	time_t s = (time_t)(ms / 1000);
	struct tm tm;
	size_t n;

	gmtime_r(&s, &tm);
	n = strftime(ret, SAY_TIME_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(ret + n, SAY_TIME_MAX - n, ".%03dZ", (int)(ms % 1000));
}

json_t *say_made(struct e2b *e, const struct e2b_box *b)
{
	char token[E2B_TOKEN_LEN + 1];
	json_t *j;

	e2b_token(e, b->id, token);
	j = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "templateID",
		      b->template, "sandboxID", b->id, "clientID", CLIENT,
		      "envdVersion", SAY_ENVD, "envdAccessToken", token,
		      "domain", SAY_DOMAIN);
	explicit_bzero(token, sizeof(token));
	return j;
}

/* Numbers of 0 stand for no limit. */
json_t *say_listed(struct e2b *e, const struct e2b_box *b)
{
	const struct instance *in = e2b_instance(e, b);
	const struct instance_record *r = in ? instance_record(in) : NULL;
	char started[SAY_TIME_MAX], ends[SAY_TIME_MAX];

	say_time(b->started_ms, started);
	say_time(b->ends_ms, ends);
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:s, s:s, s:O, s:[]}",
		"templateID", b->template, "sandboxID", b->id, "clientID",
		CLIENT, "startedAt", started, "endAt", ends, "cpuCount",
		(json_int_t)(r ? (r->cpu_milli + 999) / 1000 : 0), "memoryMB",
		(json_int_t)(r ? r->memory >> 20 : 0), "diskSizeMB",
		(json_int_t)(r ? r->disk >> 20 : 0), "state",
		e2b_state(e, b) == E2B_PAUSED ? "paused" : "running",
		"envdVersion", SAY_ENVD, "metadata", b->metadata,
		"volumeMounts");
}

json_t *say_detail(struct e2b *e, const struct e2b_box *b)
{
	char token[E2B_TOKEN_LEN + 1];
	json_t *j = say_listed(e, b);

	e2b_token(e, b->id, token);
	if (j) {
		json_object_set_new(j, "envdAccessToken", json_string(token));
		json_object_set_new(j, "domain", json_string(SAY_DOMAIN));
		json_object_set_new(j, "lifecycle",
				    json_pack("{s:s, s:b}", "onTimeout",
					      b->pauses ? "pause" : "kill",
					      "autoResume", 0));
		if (b->internet_said)
			json_object_set_new(j, "allowInternetAccess",
					    json_boolean(b->internet));
	}
	explicit_bzero(token, sizeof(token));
	return j;
}
