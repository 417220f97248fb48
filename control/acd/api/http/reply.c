/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reply.c - a handler's side of a request: read it, answer, stream
 */
#include "control/acd/api/http/server.h"

#include <fcntl.h>
#include <string.h>

#include "control/acd/api/http/server_impl.h"
#include "control/shared/json.h"
#include "lib/sock.h"

#define HTTP_UPGRADE_PROTOCOL "ac-link/1"
#define HTTP_STREAM_BLOCK (64u * 1024)

const char *http_param(struct http_req *req, const char *key)
{
	size_t len = strlen(key);

	for (unsigned i = 0; i < req->params; i++) {
		const struct http_param *p = &req->param[i];

		if (p->key_len == len && memcmp(p->key, key, len) == 0)
			return p->value;
	}
	return NULL;
}

const char *http_query(struct http_req *req, const char *key)
{
	if (req->gone)
		return NULL;
	return MHD_lookup_connection_value(req->conn, MHD_GET_ARGUMENT_KIND,
					   key);
}

bool http_query_flag(struct http_req *req, const char *key)
{
	const char *v = http_query(req, key);

	return v && (strcmp(v, "1") == 0 || strcmp(v, "true") == 0);
}

uint64_t http_query_u64(struct http_req *req, const char *key, uint64_t def)
{
	const char *text = http_query(req, key);
	uint64_t n;

	return text && str_parse_u64(text, 0, UINT64_MAX, &n) == 0 ? n : def;
}

const char *http_header(struct http_req *req, const char *key)
{
	if (req->gone)
		return NULL;
	return MHD_lookup_connection_value(req->conn, MHD_HEADER_KIND, key);
}

void http_body_take(struct http_req *req,
		    size_t (*fn)(void *arg, struct slice data),
		    void (*end)(void *arg), void *arg)
{
	req->body_fn = fn;
	req->body_end = end;
	req->body_arg = arg;
}

void http_body_resume(struct http_req *req)
{
	http_req_resume(req);
}

json_t *http_body(struct http_req *req)
{
	return req->json;
}

struct slice http_body_bytes(const struct http_req *req)
{
	return buf_slice(&req->body);
}

bool http_wants_upgrade(struct http_req *req)
{
	const char *v;

	if (req->gone)
		return false;
	v = MHD_lookup_connection_value(req->conn, MHD_HEADER_KIND,
					MHD_HTTP_HEADER_UPGRADE);
	return v && strcasecmp(v, HTTP_UPGRADE_PROTOCOL) == 0;
}

void http_on_abort(struct http_req *req, void (*fn)(void *arg), void *arg)
{
	req->on_abort = fn;
	req->abort_arg = arg;
}

static void req_free(struct http_req *req)
{
	if (req->stream)
		buf_done(&req->stream->buf);
	free(req->stream);
	if (req->response)
		MHD_destroy_response(req->response);
	buf_done(&req->body);
	json_decref(req->json);
	free(req);
}

/* The handler's half is done. */
static void http_req_release(struct http_req *req)
{
	req->released = true;
	if (req->gone)
		req_free(req);
}

/*
 * Tells the owner that is left: a handler that has not answered, the producer
 * of a stream, or the receiver of a socket. A handler without on_abort answers
 * later, and the answer is dropped. If the client left during the body, there
 * may be none.
 */
void http_req_completed(struct http_req *req)
{
	struct http_stream *s = req->stream;

	LIST_REMOVE(req, link);
	http_unhold(req);
	loop_del(req->watch);
	req->watch = NULL;
	req->suspended = false;
	req->gone = true;

	if (req->released || !req->handled) {
		req_free(req);
	} else if (s && s->on_abort) {
		s->ended = true;
		s->on_abort(s->arg);
		http_req_release(req);
	} else if (s) {
		return; /* its producer gets -EPIPE and ends it */
	} else if (req->upgrade_fn) {
		req->upgrade_fn(req->upgrade_arg, -1, slice_of(NULL, 0));
		http_req_release(req);
	} else if (req->on_abort) {
		req->on_abort(req->abort_arg);
		http_req_release(req);
	}
}

/* Takes ownership of @response; NULL (no memory) ends the connection without an
 * answer. */
static void req_answer(struct http_req *req, unsigned status,
		       struct MHD_Response *response)
{
	if (req->gone) {
		if (response)
			MHD_destroy_response(response);
		return;
	}
	req->status = status;
	req->response = response;
	if (!response)
		req->left = true;
	http_req_resume(req);
}

static struct MHD_Response *response_of(json_t *body)
{
	struct MHD_Response *r;
	char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;

	if (!text)
		return NULL;
	r = MHD_create_response_from_buffer(strlen(text), text,
					    MHD_RESPMEM_MUST_FREE);
	if (!r) {
		free(text);
		return NULL;
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE,
				"application/json");
	return r;
}

void http_reply_json(struct http_req *req, int status, json_t *takes_body)
{
	req_answer(req, (unsigned)status, response_of(takes_body));
	json_decref(takes_body);
	http_req_release(req);
}

void http_reply_json_with(struct http_req *req, int status, json_t *takes_body,
			  const char *key, const char *value)
{
	struct MHD_Response *r = response_of(takes_body);

	if (r)
		MHD_add_response_header(r, key, value);
	req_answer(req, (unsigned)status, r);
	json_decref(takes_body);
	http_req_release(req);
}

void http_reply_empty(struct http_req *req)
{
	req_answer(req, MHD_HTTP_NO_CONTENT,
		   MHD_create_response_from_buffer(0, NULL,
						   MHD_RESPMEM_PERSISTENT));
	http_req_release(req);
}

void http_req_refuse(struct http_req *req, unsigned status, const char *code,
		     const char *message)
{
	http_reply_json(req, (int)status, jsonx_error(code, NULL, message));
}

struct error_kind {
	int code; /* positive errno */
	unsigned status;
	const char *word;
};

static const struct error_kind error_kinds[] = {
	{ ENOENT, MHD_HTTP_NOT_FOUND, "not_found" },
	{ EEXIST, MHD_HTTP_CONFLICT, "conflict" },
	{ EBUSY, MHD_HTTP_CONFLICT, "conflict" },
	{ EALREADY, MHD_HTTP_CONFLICT, "conflict" },
	{ EINVAL, MHD_HTTP_BAD_REQUEST, "invalid" },
	{ EMSGSIZE, 413, "too_large" },
	{ EPERM, MHD_HTTP_FORBIDDEN, "forbidden" },
	{ ENOTSUP, MHD_HTTP_NOT_IMPLEMENTED, "unsupported" },
	{ ENODEV, MHD_HTTP_NOT_IMPLEMENTED, "unsupported" },
	{ EAGAIN, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable" },
	{ ENOSPC, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable" },
};

static struct error_kind error_kind(int code)
{
	struct error_kind kind = { 0, MHD_HTTP_INTERNAL_SERVER_ERROR,
				   "internal" };

	for (size_t i = 0; i < ARRAY_SIZE(error_kinds); i++) {
		if (error_kinds[i].code == -code)
			kind = error_kinds[i];
	}
	return kind;
}

void http_reply_error(struct http_req *req, const struct err *err,
		      const char *code)
{
	struct error_kind kind = error_kind(err->code);

	http_reply_json(req, (int)kind.status,
			jsonx_error(code ? code : kind.word, err->key,
				    err->msg));
}

void http_reply_refusal(struct http_req *req, const struct err *err,
			const char *code, json_t *takes_more)
{
	struct error_kind kind = error_kind(err->code);
	json_t *body;

	if (!code)
		code = err->word[0] ? err->word : kind.word;
	body = jsonx_error(code, err->key, err->msg);
	if (takes_more)
		json_object_update_missing(json_object_get(body, "error"),
					   takes_more);
	json_decref(takes_more);
	http_reply_json(req, (int)kind.status, body);
}

/* Gives bytes of a stream to microhttpd. */
static ssize_t stream_read(void *cls, uint64_t pos, char *out, size_t max)
{
	struct http_stream *s = cls;
	struct slice data = buf_slice(&s->buf);

	(void)pos;
	if (s->req->left)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (data.len == 0 && s->ended)
		return s->failed ? MHD_CONTENT_READER_END_WITH_ERROR :
				   MHD_CONTENT_READER_END_OF_STREAM;
	if (data.len == 0) {
		/* Else it would ask again at once, for ever. */
		http_req_suspend(s->req);
		return 0;
	}
	if (data.len > max)
		data.len = max;
	memcpy(out, data.ptr, data.len);
	buf_consume(&s->buf, data.len);
	if (!s->ended && buf_room(&s->buf) >= HTTP_STREAM_MAX / 2) {
		s->drained = true;
		s->req->http->room_due = true;
	}
	return (ssize_t)data.len;
}

static struct http_stream *stream_new(struct http_req *req, uint64_t size,
				      const char *content_type,
				      struct MHD_Response **ret)
{
	struct http_stream *s = calloc(1, sizeof(*s));
	struct MHD_Response *r = NULL;

	if (s)
		r = MHD_create_response_from_callback(size, HTTP_STREAM_BLOCK,
						      stream_read, s, NULL);
	if (!r) {
		free(s);
		req_answer(req, 0, NULL);
		http_req_release(req);
		return NULL;
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	s->req = req;
	buf_init(&s->buf, HTTP_STREAM_MAX);
	req->stream = s;
	*ret = r;
	return s;
}

struct http_stream *http_reply_stream(struct http_req *req,
				      const char *content_type,
				      void (*on_room)(void *arg),
				      void (*on_abort)(void *arg), void *arg)
{
	struct MHD_Response *r;
	struct http_stream *s =
		stream_new(req, MHD_SIZE_UNKNOWN, content_type, &r);

	if (!s)
		return NULL;
	s->on_room = on_room;
	s->on_abort = on_abort;
	s->arg = arg;
	req_answer(req, MHD_HTTP_OK, r);
	return s;
}

struct http_stream *http_reply_file(struct http_req *req, uint64_t size,
				    const char *range,
				    void (*on_room)(void *arg),
				    void (*on_abort)(void *arg), void *arg)
{
	struct MHD_Response *r;
	struct http_stream *s =
		stream_new(req, size == UINT64_MAX ? MHD_SIZE_UNKNOWN : size,
			   "application/octet-stream", &r);

	if (!s)
		return NULL;
	MHD_add_response_header(r, MHD_HTTP_HEADER_ACCEPT_RANGES, "bytes");
	if (range)
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_RANGE,
					range);
	s->on_room = on_room;
	s->on_abort = on_abort;
	s->arg = arg;
	req_answer(req, range ? MHD_HTTP_PARTIAL_CONTENT : MHD_HTTP_OK, r);
	return s;
}

size_t http_stream_room(const struct http_stream *s)
{
	return s->req->gone ? 0 : buf_room(&s->buf);
}

int http_stream_write(struct http_stream *s, const void *data, size_t len)
{
	int rc;

	if (s->req->gone)
		return -EPIPE;
	rc = buf_append(&s->buf, data, len);
	if (rc == 0)
		http_req_resume(s->req);
	return rc;
}

void http_stream_end(struct http_stream *s)
{
	if (s->ended)
		return; /* called from on_abort(): ended already */
	s->ended = true;
	http_req_resume(s->req);
	http_req_release(s->req);
}

void http_stream_fail(struct http_stream *s)
{
	s->failed = true;
	http_stream_end(s);
}

/*
 * The receiver gets a duplicate; microhttpd's descriptor is given back at once,
 * so that the library keeps no state of the upgrade.
 */
static void on_upgraded(void *cls, struct MHD_Connection *conn, void *con_cls,
			const char *extra, size_t extra_size, MHD_socket sock,
			struct MHD_UpgradeResponseHandle *urh)
{
	struct http_req *req = cls;
	struct http *h = req->http;
	int fd = fcntl(sock, F_DUPFD_CLOEXEC, 0);

	(void)conn;
	(void)con_cls;
	loop_del(req->watch);
	req->watch = NULL;
	if (fd >= 0 && fd_nonblock(fd, 1) < 0)
		fd_closep(&fd);

	req->upgrade_fn(req->upgrade_arg, fd, slice_of(extra, extra_size));
	http_req_release(req);
	MHD_upgrade_action(urh, MHD_UPGRADE_ACTION_CLOSE);
	/* The library closes its copy in its next run. */
	h->resumed = true;
}

void http_upgrade_header(struct http_req *req, const char *key,
			 const char *value)
{
	req->upgrade_key = key;
	snprintf(req->upgrade_value, sizeof(req->upgrade_value), "%s", value);
}

void http_upgrade(struct http_req *req,
		  void (*fn)(void *arg, int fd, struct slice early), void *arg)
{
	struct MHD_Response *r = NULL;

	if (!req->gone)
		r = MHD_create_response_for_upgrade(on_upgraded, req);
	if (!r) {
		req_answer(req, 0, NULL);
		fn(arg, -1, slice_of(NULL, 0));
		http_req_release(req);
		return;
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_UPGRADE,
				HTTP_UPGRADE_PROTOCOL);
	if (req->upgrade_key)
		MHD_add_response_header(r, req->upgrade_key,
					req->upgrade_value);
	req->upgrade_fn = fn;
	req->upgrade_arg = arg;
	req_answer(req, MHD_HTTP_SWITCHING_PROTOCOLS, r);
}
