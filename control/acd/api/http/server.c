/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - the HTTP/1.1 server of acd: connections, bodies, routes
 *
 * Theory of operation. microhttpd runs in its external epoll mode: its epoll
 * descriptor is one source of the loop, and it works only inside MHD_run(). A
 * request goes through these steps:
 *
 *	head      on_access() makes a struct http_req
 *	body      collected, at most HTTP_BODY_MAX; more is dropped, up to
 *	          HTTP_EXCESS_MAX, so that a client that writes before it
 *	          reads gets its 413. The body of a PUT is not collected: its
 *	          handler runs first and takes the pieces
 *	dispatch  the route's handler runs. If it does not answer at once, the
 *	          connection is suspended; http_reply_*() resumes it, and
 *	          on_access() is called again to queue the answer
 *	complete  on_completed(), in any case
 *
 * microhttpd does not watch the socket of a suspended connection, so acd does:
 * for EPOLLHUP only, which a unix socket raises when the peer has closed, and
 * not when it has only shut down its sending half.
 *
 * Idle connections are closed after a while, so that forgotten ones do not use
 * up the table. microhttpd does not count the time of suspended and upgraded
 * ones. For a stream, whose reader may pause, the limit is taken off.
 *
 * A body may have a token or a passphrase in it. acd's copy is wiped when it is
 * freed, and microhttpd's as soon as acd has it; jansson wipes its own
 * (vault_new()). The head is not wiped: a path must have no secret in it. Nor
 * are the kernel's socket buffers.
 *
 * The socket has mode 0600 and belongs to the owner of the state directory: a
 * client that can connect may do everything. Limits only guard against
 * mistakes.
 */
#include "control/acd/api/http/server.h"

#include <string.h>
#include <sys/un.h>

#include "control/acd/api/http/server_impl.h"
#include "control/shared/json.h"
#include "lib/log.h"
#include "lib/sock.h"

#define HTTP_EXCESS_MAX (16u * 1024 * 1024)
#define HTTP_MEMORY_MAX (64u * 1024) /* a connection: head, send buffer */
#define HTTP_BACKLOG 128
#define HTTP_IDLE_S 120u

static void http_work(struct http *h);

static void on_timer(void *arg)
{
	http_work(arg);
}

static void on_io(void *arg, uint32_t events)
{
	(void)events;
	http_work(arg);
}

/* Runs outside of microhttpd, whose locks a producer must not meet. */
static void streams_refill(struct http *h)
{
	struct http_req *req;

	h->room_due = false;
	LIST_FOREACH (req, &h->reqs, link) {
		struct http_stream *s = req->stream;

		if (!s || !s->drained || s->ended)
			continue;
		s->drained = false;
		if (s->on_room)
			s->on_room(s->arg);
	}
}

static void http_work(struct http *h)
{
	MHD_UNSIGNED_LONG_LONG ms;

	h->resumed = false;
	MHD_run(h->mhd);
	if (h->room_due)
		streams_refill(h);
	if (h->resumed)
		loop_timer_set(h->timer, 0);
	else if (MHD_get_timeout(h->mhd, &ms) == MHD_YES)
		loop_timer_set(h->timer, ms);
	else
		loop_timer_clear(h->timer);
}

/* Parses the body as an object, unless @call (may be NULL) keeps it as it is.
 * Returns false after an answer. */
static bool body_read(struct http_req *req, const struct http_call *call)
{
	struct slice body = buf_slice(&req->body);
	struct err err = { 0 };

	if (call && call->bytes && !req->excess)
		return true;
	if (req->excess) {
		err_set(&err, -EMSGSIZE,
			"the body is larger than the %u KiB that a request "
			"may have",
			HTTP_BODY_MAX / 1024);
	} else if (body.len == 0) {
		req->json = json_object();
		if (!req->json)
			err_nomem(&err);
	} else if (jsonx_parse((const char *)body.ptr, body.len, &req->json,
			       &err) == 0 &&
		   !json_is_object(req->json)) {
		err_set(&err, -EINVAL, "the body must be a JSON object");
	}
	buf_done(&req->body);
	if (err.code)
		http_reply_error(req, &err, NULL);
	return err.code == 0;
}

static void on_socket(void *arg, uint32_t events)
{
	struct http_req *req = arg;

	/* Level-triggered: it would come again for ever. */
	(void)events;
	loop_del(req->watch);
	req->watch = NULL;
	if (!req->suspended)
		return; /* microhttpd sees it as well */
	req->left = true;
	http_req_resume(req);
}

void http_req_suspend(struct http_req *req)
{
	const union MHD_ConnectionInfo *info;

	req->suspended = true;
	MHD_suspend_connection(req->conn);
	if (req->watch)
		return;
	info = MHD_get_connection_info(req->conn,
				       MHD_CONNECTION_INFO_CONNECTION_FD);
	if (info)
		req->watch = loop_add(req->http->loop, info->connect_fd,
				      req->http->leaves, on_socket, req);
	if (!req->watch)
		log_warn("cannot watch a client's socket: its leaving will be "
			 "noticed late");
}

void http_req_resume(struct http_req *req)
{
	if (!req->suspended)
		return;
	req->suspended = false;
	MHD_resume_connection(req->conn);
	/* The call only sets a flag: it does not wake microhttpd's epoll
	 * set. */
	req->http->resumed = true;
	loop_timer_set(req->http->timer, 0);
}

static enum MHD_Result req_queue(struct http_req *req)
{
	enum MHD_Result ret;

	if (!req->response)
		return MHD_NO;
	if (req->stream)
		MHD_set_connection_option(req->conn,
					  MHD_CONNECTION_OPTION_TIMEOUT, 0u);
	ret = MHD_queue_response(req->conn, req->status, req->response);
	MHD_destroy_response(req->response); /* acd's reference */
	req->response = NULL;
	return ret;
}

/* Ends at the first value that has a NUL in it. */
static enum MHD_Result arg_check(void *cls, enum MHD_ValueKind kind,
				 const char *key, size_t key_len,
				 const char *value, size_t len)
{
	bool *good = cls;

	(void)kind;
	*good = strlen(key) == key_len && (!value || strlen(value) == len);
	return *good ? MHD_YES : MHD_NO;
}

/* A handler reads a value as a string, so it must not have a NUL: else it would
 * act on another value than was sent. Returns false after an answer of 400. */
static bool query_is_good(struct http_req *req)
{
	bool good = true;

	MHD_get_connection_values_n(req->conn, MHD_GET_ARGUMENT_KIND, arg_check,
				    &good);
	if (!good)
		http_req_refuse(req, MHD_HTTP_BAD_REQUEST, "invalid",
				"the query has a NUL in it");
	return good;
}

static void req_dispatch(struct http_req *req, const char *method,
			 const char *path)
{
	const struct http_route *route = http_route_find(req, method, path);

	if (!route || !query_is_good(req))
		return;
	if (!req->raw && !body_read(req, route->call))
		return;
	if (route->call && !http_takes(req, route->call))
		return;
	req->handled = true;
	route->fn(req->http->ctx, req);
}

static struct http_req *req_new(struct http *h, struct MHD_Connection *conn,
				const char *method)
{
	struct http_req *req = calloc(1, sizeof(*req));

	if (!req)
		return NULL;
	req->http = h;
	req->conn = conn;
	req->raw = strcmp(method, MHD_HTTP_METHOD_PUT) == 0;
	buf_init(&req->body, HTTP_BODY_MAX);
	buf_secret(&req->body);
	LIST_INSERT_HEAD(&h->reqs, req, link);
	return req;
}

/* A declared length beyond HTTP_EXCESS_MAX is refused before the body is
 * sent. */
static bool length_is_absurd(const struct http_req *req)
{
	const char *text = MHD_lookup_connection_value(
		req->conn, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
	uint64_t len = 0;

	return text && str_parse_u64(text, 0, HTTP_EXCESS_MAX, &len) < 0;
}

/* Wipes @data, which is in microhttpd's buffer: it does not read what was
 * taken. */
static void body_add(struct http_req *req, const char *data, size_t len)
{
	if (req->excess || buf_append(&req->body, data, len) < 0) {
		req->excess += len;
		buf_done(&req->body);
	}
	explicit_bzero((void *)(uintptr_t)data, len);
}

/* What the handler of a PUT does not take is offered again later. */
static void body_pass(struct http_req *req, const char *data, size_t *size)
{
	if (!req->response && req->body_fn)
		*size -= req->body_fn(req->body_arg, slice_of(data, *size));
	if (req->response || !req->body_fn)
		*size = 0;
	else if (*size > 0)
		http_req_suspend(req);
}

/* Stands for a request whose path is refused. */
static char path_is_bad;

static bool is_control(unsigned char c)
{
	return c < ' ' || c == 0x7f;
}

/*
 * Checks the path as it was sent. Decoded it would end at a NUL, and name
 * another object. No name has a control byte.
 */
static void *on_uri(void *cls, const char *uri, struct MHD_Connection *conn)
{
	(void)conn;
	(void)cls;
	for (; *uri && *uri != '?'; uri++) {
		int high = *uri == '%' ? str_hex_digit((unsigned char)uri[1]) :
					 -1;
		int low = high < 0 ? -1 : str_hex_digit((unsigned char)uri[2]);

		if (is_control((unsigned char)*uri) ||
		    (low >= 0 && is_control((unsigned char)(high * 16 + low))))
			return &path_is_bad;
	}
	return NULL;
}

/* Judges the request by its head: a client without a token is not read from. */
static bool may_go_on(struct http_req *req, const char *url, const char *method)
{
	const struct http_route *route;

	if (!req->http->guard)
		return true;
	route = http_route_find(req, method, url);
	return route && http_guarded(req, route->call);
}

/* The first call for a request. */
static enum MHD_Result on_head(struct http_req *req, const char *url,
			       const char *method)
{
	if (!may_go_on(req, url, method))
		return http_hold(req) ? MHD_YES : req_queue(req);
	req->raw = req->raw || http_route_is_raw(req->http, method, url);
	if (req->raw) {
		req_dispatch(req, method, url);
		return req->left ? MHD_NO : MHD_YES;
	}
	if (!length_is_absurd(req))
		return MHD_YES;
	req->excess = 1;
	body_read(req, NULL);
	return req_queue(req);
}

/* The body is complete; called again after each resume. */
static enum MHD_Result on_whole(struct http_req *req, const char *url,
				const char *method)
{
	if (req->raw && !req->raw_ended) {
		req->raw_ended = true;
		if (req->body_end && !req->response)
			req->body_end(req->body_arg);
	} else if (!req->raw && !req->handled && !req->response) {
		req_dispatch(req, method, url);
	}
	if (req->response || req->left)
		return req_queue(req);
	http_req_suspend(req);
	return MHD_YES;
}

/* Called when the head is there, then for each piece of the body, then with
 * *upload_size 0, and again after each resume. */
static enum MHD_Result on_access(void *cls, struct MHD_Connection *conn,
				 const char *url, const char *method,
				 const char *version, const char *upload,
				 size_t *upload_size, void **con_cls)
{
	bool bad = *con_cls == &path_is_bad;
	struct http_req *req = bad ? NULL : *con_cls;

	(void)version;
	if (!req) {
		req = *con_cls = req_new(cls, conn, method);
		if (req && bad) {
			http_req_refuse(req, MHD_HTTP_BAD_REQUEST, "invalid",
					"the path has a NUL or another control "
					"byte in it");
			return req_queue(req);
		}
		return req ? on_head(req, url, method) : MHD_NO;
	}
	if (req->left)
		return MHD_NO;
	if (*upload_size && req->raw) {
		body_pass(req, upload, upload_size);
		return req->left ? MHD_NO : MHD_YES;
	}
	if (*upload_size) {
		body_add(req, upload, *upload_size);
		*upload_size = 0;
		return req->excess <= HTTP_EXCESS_MAX ? MHD_YES : MHD_NO;
	}
	return on_whole(req, url, method);
}

static void on_completed(void *cls, struct MHD_Connection *conn, void **con_cls,
			 enum MHD_RequestTerminationCode why)
{
	const struct http *h = cls;
	struct http_req *req = *con_cls == &path_is_bad ? NULL : *con_cls;

	/* Not for upgrades, which microhttpd has taken off its lists. */
	if (req && req->stream && why == MHD_REQUEST_TERMINATED_COMPLETED_OK)
		MHD_set_connection_option(conn, MHD_CONNECTION_OPTION_TIMEOUT,
					  h->idle_s);
	if (req)
		http_req_completed(req);
	*con_cls = NULL;
}

ATTR_PRINTF(2, 0)
static void on_log(void *cls, const char *fmt, va_list ap)
{
	char text[256];

	(void)cls;
	vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	log_debug("http: %s", text);
}

struct http *http_new(struct loop *loop, const struct http_route *routes,
		      void *ctx, struct err *err)
{
	struct http *h = calloc(1, sizeof(*h));

	if (h)
		h->timer = loop_timer_new(loop, on_timer, h);
	if (!h || !h->timer) {
		free(h);
		err_set(err, -ENOMEM, "http server: out of memory");
		return NULL;
	}
	h->loop = loop;
	h->routes = routes;
	h->idle_s = HTTP_IDLE_S;
	h->leaves = EPOLLHUP;
	h->ctx = ctx;
	LIST_INIT(&h->reqs);
	return h;
}

void http_set_idle(struct http *h, unsigned seconds)
{
	h->idle_s = seconds;
}

static int daemon_start(struct http *h, int fd, struct err *err)
{
	const union MHD_DaemonInfo *info;
	const struct MHD_OptionItem limits[] = {
		{ MHD_OPTION_CONNECTION_LIMIT, HTTP_CONNECTIONS_MAX, NULL },
		{ MHD_OPTION_CONNECTION_MEMORY_LIMIT, HTTP_MEMORY_MAX, NULL },
		{ MHD_OPTION_CONNECTION_TIMEOUT, h->idle_s, NULL },
		{ fd < 0 ? MHD_OPTION_END : MHD_OPTION_LISTEN_SOCKET, fd,
		  NULL },
		{ MHD_OPTION_END, 0, NULL },
	};
	const unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME |
			       MHD_ALLOW_UPGRADE | MHD_USE_ERROR_LOG |
			       (fd < 0 ? MHD_USE_NO_LISTEN_SOCKET : 0);

	h->mhd = MHD_start_daemon(flags, 0, NULL, NULL, on_access, h,
				  /* first, to log faults of the others */
				  MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
				  MHD_OPTION_NOTIFY_COMPLETED, on_completed, h,
				  MHD_OPTION_URI_LOG_CALLBACK, on_uri, NULL,
				  MHD_OPTION_ARRAY, limits, MHD_OPTION_END);
	if (!h->mhd)
		return err_set(err, -EIO, "the http server does not start");

	info = MHD_get_daemon_info(h->mhd, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info || info->epoll_fd < 0)
		return err_set(err, -ENOTSUP,
			       "this libmicrohttpd was built without epoll");
	h->io = loop_add(h->loop, info->epoll_fd, EPOLLIN, on_io, h);
	if (!h->io)
		return err_sys(err, "watch the http server");
	return 0;
}

int http_start(struct http *h, struct err *err)
{
	h->leaves = EPOLLHUP | EPOLLRDHUP;
	return daemon_start(h, -1, err);
}

void http_take(struct http *h, int fd)
{
	/* What microhttpd is told of the peer, nothing reads. */
	const struct sockaddr_un from = { .sun_family = AF_UNIX };

	MHD_add_connection(h->mhd, fd, (const struct sockaddr *)&from,
			   sizeof(from));
	loop_timer_set(h->timer, 0);
}

int http_listen(struct http *h, const char *sock_path, uid_t owner, gid_t group,
		struct err *err)
{
	SCOPED_FD fd = sock_unix_listen(sock_path, 0600, HTTP_BACKLOG);
	int rc;

	if (fd < 0)
		return err_set(err, fd, "listen at %s: %s", sock_path,
			       err_text(fd));
	if (chown(sock_path, owner, group) < 0)
		return err_sys(err, "give %s to its owner", sock_path);

	/* MHD_stop_daemon() closes the socket. */
	rc = daemon_start(h, fd, err);
	if (h->mhd)
		fd_take(&fd);
	return rc;
}

void http_free(struct http *h)
{
	struct http_req *req;

	if (!h)
		return;
	loop_del(h->io);
	if (h->mhd) {
		/* It does not stop with suspended connections. */
		LIST_FOREACH (req, &h->reqs, link) {
			req->left = true;
			http_req_resume(req);
		}
		MHD_stop_daemon(h->mhd);
	}
	loop_timer_free(h->timer);
	free(h);
}
