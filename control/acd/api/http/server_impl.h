/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_impl.h - inside of server.c and reply.c; nothing else includes it
 */
#ifndef CONTROL_ACD_API_HTTP_SERVER_IMPL_H
#define CONTROL_ACD_API_HTTP_SERVER_IMPL_H

#include <microhttpd.h>
#include <sys/queue.h>

#include "control/acd/api/http/server.h"
#include "lib/buf.h"

#define HTTP_PARAMS_MAX 2u
#define HTTP_PARAM_MAX 256u /* bytes of a path parameter, with the NUL */

struct http_stream {
	struct http_req *req;
	struct buf buf; /* written, and not taken by microhttpd */
	void (*on_room)(void *arg);
	void (*on_abort)(void *arg);
	void *arg;
	bool ended; /* by the producer, or the client has left */
	bool failed; /* ended by http_stream_fail() */
	bool drained; /* bytes were sent since the last on_room() */
};

struct http_param {
	const char *key; /* in the route's path, @key_len bytes */
	size_t key_len;
	char value[HTTP_PARAM_MAX];
};

/*
 * A request has two owners: microhttpd, until it reports completion (@gone),
 * and the handler, until it has answered or was told that the client has left
 * (@released). The last one frees it. A stream or an upgrade is released at its
 * own end.
 */
struct http_req {
	struct http *http;
	struct MHD_Connection *conn;
	LIST_ENTRY(http_req) link; /* while not @gone */

	struct buf body; /* as it comes in; wiped, as it may be secret */
	size_t excess; /* dropped bytes of a body that is too large */
	json_t *json;
	/* Of a PUT, whose body is not kept. */
	bool raw, raw_ended;
	size_t (*body_fn)(void *arg, struct slice data);
	void (*body_end)(void *arg);
	void *body_arg;
	struct http_param param[HTTP_PARAMS_MAX];
	unsigned params;

	bool gone;
	bool handled; /* a handler has got it, and releases it */
	bool released;
	bool suspended;
	bool left; /* end the connection: the client has left, or no memory */
	struct loop_io *watch; /* of the socket: sees the client leave */
	struct loop_timer *hold; /* a refusal waits for it */
	unsigned rights; /* as the guard has said */
	void (*on_abort)(void *arg);
	void *abort_arg;

	/* The answer, once there is one. */
	unsigned status;
	struct MHD_Response *response;
	struct http_stream *stream;
	void (*upgrade_fn)(void *arg, int fd, struct slice early);
	void *upgrade_arg;
	const char *upgrade_key; /* a header of the 101; NULL: none */
	char upgrade_value[HTTP_PARAM_MAX];
};

LIST_HEAD(http_req_list, http_req);

struct http {
	struct loop *loop;
	const struct http_route *routes;
	void *ctx;
	struct MHD_Daemon *mhd;
	struct loop_io *io; /* of microhttpd's own epoll set */
	struct loop_timer *timer; /* for microhttpd's own time limits */
	struct http_req_list reqs;
	unsigned idle_s; /* time limit of an idle connection */
	uint32_t leaves; /* events by which a client that waits has left */
	http_guard_fn guard; /* NULL: every request may go on */
	void *guard_arg;
	unsigned held; /* refusals that are held back */
	bool room_due; /* a stream was drained */
	bool resumed; /* a connection waits for the next MHD_run() */
};

/* Suspends the connection, and watches for the client to leave. */
void http_req_suspend(struct http_req *req);
/* Resumes a suspended connection; no effect on others. */
void http_req_resume(struct http_req *req);
/* Called when microhttpd is done; tells a handler that still works for the
 * client. May free @req. */
void http_req_completed(struct http_req *req);
/* http/guard.c: returns false after an answer, if the guard refuses it. */
bool http_guarded(struct http_req *req, const struct http_call *call);
/* http/route.c: returns the route of a request, and sets its parameters; or NULL
 * after an answer of 404 or 405. */
const struct http_route *http_route_find(struct http_req *req,
					 const char *method, const char *path);
/* Returns true if the handler of this route takes the body as it comes. */
bool http_route_is_raw(const struct http *h, const char *method,
		       const char *path);
/* Returns true if the answer is held back; the connection is suspended. */
bool http_hold(struct http_req *req);
/* Ends a hold. */
void http_unhold(struct http_req *req);
/* Returns false after an answer, if the request does not fit @call. */
bool http_takes(struct http_req *req, const struct http_call *call);
/* Answers for the server itself; @code as in http_reply_error(). */
void http_req_refuse(struct http_req *req, unsigned status, const char *code,
		     const char *message);

#endif
