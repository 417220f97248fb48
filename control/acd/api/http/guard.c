/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.c - requests that are judged before they are read
 *
 * A refusal is held back for a while, so that guessing is slow. The connection is
 * suspended meanwhile, as for a handler that works. Only a few are held: who
 * guesses must not use up the connections of those who need not.
 */
#include <string.h>

#include "control/acd/api/http/server_impl.h"
#include "control/shared/json.h"

void http_set_guard(struct http *h, http_guard_fn fn, void *arg)
{
	h->guard = fn;
	h->guard_arg = arg;
}

bool http_guarded(struct http_req *req, const struct http_call *call)
{
	return req->http->guard(req->http->guard_arg, req, call);
}

void http_set_rights(struct http_req *req, unsigned rights)
{
	req->rights = rights;
}

unsigned http_rights(const struct http_req *req)
{
	return req->rights;
}

static void on_held(void *arg)
{
	struct http_req *req = arg;

	http_unhold(req);
	http_req_resume(req);
}

void http_unhold(struct http_req *req)
{
	if (!req->hold)
		return;
	loop_timer_free(req->hold);
	req->hold = NULL;
	req->http->held--;
}

static void header(struct http_req *req, const char *key, const char *value)
{
	if (req->response)
		MHD_add_response_header(req->response, key, value);
}

static void too_many(struct http_req *req)
{
	http_req_refuse(req, MHD_HTTP_TOO_MANY_REQUESTS, "too_many",
			"too many requests without a valid token: try again in "
			"a second");
	header(req, MHD_HTTP_HEADER_RETRY_AFTER, "1");
}

void http_guard_answer(struct http_req *req, unsigned status,
		       json_t *takes_body, unsigned hold_ms)
{
	bool hold = status == MHD_HTTP_UNAUTHORIZED && hold_ms > 0;

	if (hold && req->http->held >= HTTP_HELD_MAX) {
		json_decref(takes_body);
		too_many(req);
		return;
	}
	http_reply_json(req, (int)status, takes_body);
	if (status == MHD_HTTP_UNAUTHORIZED)
		header(req, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
	if (!hold)
		return;
	req->hold = loop_timer_new(req->http->loop, on_held, req);
	if (!req->hold)
		return; /* it is answered at once */
	req->http->held++;
	loop_timer_set(req->hold, hold_ms);
}

void http_guard_refuse(struct http_req *req, unsigned status, const char *code,
		       const struct err *err, unsigned hold_ms)
{
	http_guard_answer(req, status, jsonx_error(code, NULL, err->msg),
			  hold_ms);
}

bool http_hold(struct http_req *req)
{
	if (!req->hold)
		return false;
	http_req_suspend(req);
	return true;
}
