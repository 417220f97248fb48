/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_impl.h - inside of http.c and http_reply.c; nobody else includes it
 */
#ifndef CONTROL_ACD_API_HTTP_IMPL_H
#define CONTROL_ACD_API_HTTP_IMPL_H

#include <microhttpd.h>
#include <sys/queue.h>

#include "control/acd/api/http.h"
#include "lib/buf.h"

#define HTTP_PARAMS_MAX 2u
#define HTTP_PARAM_MAX 256u /* bytes of a path parameter, its end included */

struct http_stream {
	struct http_req *req;
	struct buf buf; /* what the producer wrote and MHD has not taken */
	void (*on_room)(void *arg);
	void (*on_abort)(void *arg);
	void *arg;
	bool ended; /* the producer is done, or knows that the client left */
	bool failed; /* it ends in the middle */
	bool drained; /* bytes left since the last on_room() */
};

struct http_param {
	const char *key; /* into the route's path, @key_len bytes */
	size_t key_len;
	char value[HTTP_PARAM_MAX];
};

/*
 * Two own a request: microhttpd until it has reported its completion
 * (@gone), and the handler until it has answered or heard that the client
 * left (@released). The second to let go frees it. A stream or an upgrade is
 * not released before its own end.
 */
struct http_req {
	struct http *http;
	struct MHD_Connection *conn;
	LIST_ENTRY(http_req) link; /* while not @gone */

	struct buf body; /* as it comes in; wiped, it may be a secret */
	size_t excess; /* bytes of a body that is too large, thrown away */
	json_t *json;
	/* Of a PUT, whose body is not kept. */
	bool raw, raw_ended;
	size_t (*body_fn)(void *arg, struct slice data);
	void (*body_end)(void *arg);
	void *body_arg;
	struct http_param param[HTTP_PARAMS_MAX];
	unsigned params;

	bool gone;
	bool handled; /* a handler has seen it, and lets go of it */
	bool released;
	bool suspended;
	bool left; /* the client, or our memory: end the connection */
	struct loop_io *watch; /* of the socket, for that */
	void (*on_abort)(void *arg);
	void *abort_arg;

	/* The answer, once there is one. */
	unsigned status;
	struct MHD_Response *response;
	struct http_stream *stream;
	void (*upgrade_fn)(void *arg, int fd, struct slice early);
	void *upgrade_arg;
};

LIST_HEAD(http_req_list, http_req);

struct http {
	struct loop *loop;
	const struct http_route *routes;
	void *ctx;
	struct MHD_Daemon *mhd;
	struct loop_io *io; /* of microhttpd's own epoll set */
	struct loop_timer *timer; /* when microhttpd wants to run anyway */
	struct http_req_list reqs;
	unsigned idle_s; /* what a silent connection gets */
	bool room_due; /* a stream was drained */
	bool resumed; /* a connection waits for the next MHD_run() */
};

/* Parks the connection, and watches whether the client leaves. */
void http_req_suspend(struct http_req *req);
/* Lets a suspended connection go on; no effect on others. */
void http_req_resume(struct http_req *req);
/* The handler's half is done. */
void http_req_release(struct http_req *req);
/* microhttpd's half is done: tells whoever still works for the client. */
void http_req_completed(struct http_req *req);
/* An answer of the server itself; @code as in http_reply_error(). */
void http_req_refuse(struct http_req *req, unsigned status, const char *code,
		     const char *message);

#endif
