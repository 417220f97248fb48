/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.c - client of a Docker Engine API at a unix socket, in acd's loop
 *
 * libcurl's multi interface tells which descriptors and timeout it waits for;
 * both become sources of the loop. Calls end only from there, never inside a
 * libcurl callback, so an engine_fn may make new calls.
 */
#include "control/acd/runtime/engine.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/str.h"

/* Debian trixie's engine supports this version, and so do newer ones, which
 * refuse older versions. */
#define ENGINE_BASE "http://engine/v1.44"
#define ENGINE_CONNECTIONS 16L /* idle ones to keep */

struct call {
	struct engine *engine;
	struct call *prev, *next;
	CURL *easy;
	struct curl_slist *headers;
	char *request; /* JSON text, freed with free() */
	char *what; /* "POST /containers/create", for messages */
	struct buf answer;
	engine_fn fn;
	void *arg;
};

struct engine {
	struct loop *loop;
	struct loop_timer *timer;
	CURLM *multi;
	struct call *calls;
	unsigned n_calls;
	bool closing;
	char *sock_path;
};

/* One descriptor that libcurl watches. */
struct watch {
	struct engine *engine;
	struct loop_io *io;
	curl_socket_t fd;
};

static void call_free(struct call *c)
{
	struct engine *e = c->engine;

	if (c->prev)
		c->prev->next = c->next;
	else if (e->calls == c)
		e->calls = c->next;
	if (c->next)
		c->next->prev = c->prev;
	if (c->easy) {
		curl_multi_remove_handle(e->multi, c->easy);
		curl_easy_cleanup(c->easy);
	}
	curl_slist_free_all(c->headers);
	buf_done(&c->answer);
	free(c->request);
	free(c->what);
	free(c);
	e->n_calls--;
}

static int status_errno(long status)
{
	switch (status) {
	case 400:
		return -EINVAL;
	case 404:
		return -ENOENT;
	case 409:
		return -EEXIST;
	default:
		return -EIO;
	}
}

static int transport_errno(CURLcode code)
{
	switch (code) {
	case CURLE_COULDNT_CONNECT:
		return -ECONNREFUSED;
	case CURLE_OPERATION_TIMEDOUT:
		return -ETIMEDOUT;
	case CURLE_WRITE_ERROR:
		return -EMSGSIZE;
	case CURLE_OUT_OF_MEMORY:
		return -ENOMEM;
	default:
		return -EPROTO;
	}
}

static void refused_err(struct err *err, const struct call *c, long status,
			const json_t *body)
{
	const char *msg = json_string_value(json_object_get(body, "message"));
	struct slice raw = buf_slice(&c->answer);
	char text[384];

	if (msg)
		raw = slice_str(msg);
	while (raw.len > 0 && raw.ptr[raw.len - 1] == '\n')
		raw.len--;
	str_escape(text, sizeof(text), raw.ptr, raw.len);
	if (text[0] == '\0')
		snprintf(text, sizeof(text), "%s: status %ld", c->what, status);
	err_set(err, status_errno(status), "%s", text);
}

static void call_finish(struct call *c, CURLcode code)
{
	struct err err = { 0 };
	json_t *body = NULL;
	long status = 0;
	struct slice s = buf_slice(&c->answer);

	curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	if (code == CURLE_OK && s.len > 0) {
		/* Proxies and very old engines send errors as plain text. */
		body = json_loadb((const char *)s.ptr, s.len, 0, NULL);
		if (!body && status < 400)
			err_set(&err, -EPROTO, "%s: the answer is not JSON",
				c->what);
	}
	if (code != CURLE_OK)
		err_set(&err, transport_errno(code), "%s: %s", c->what,
			code == CURLE_WRITE_ERROR ? "the answer is too long" :
						    curl_easy_strerror(code));
	else if (status >= 400)
		refused_err(&err, c, status, body);
	c->fn(c->arg, code == CURLE_OK ? (int)status : 0, body,
	      err.code ? &err : NULL);
	json_decref(body);
	call_free(c);
}

static void calls_finish(struct engine *e)
{
	CURLMsg *msg;
	int left;

	while ((msg = curl_multi_info_read(e->multi, &left))) {
		char *priv = NULL;

		if (msg->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &priv);
		call_finish((struct call *)(void *)priv, msg->data.result);
	}
}

static void on_socket(void *arg, uint32_t events)
{
	const struct watch *w = arg;
	struct engine *e = w->engine;
	int bits = 0, running;

	if (events & EPOLLIN)
		bits |= CURL_CSELECT_IN;
	if (events & EPOLLOUT)
		bits |= CURL_CSELECT_OUT;
	if (events & (EPOLLERR | EPOLLHUP))
		bits |= CURL_CSELECT_ERR;
	curl_multi_socket_action(e->multi, w->fd, bits, &running);
	calls_finish(e);
}

static void on_timer(void *arg)
{
	struct engine *e = arg;
	int running;

	curl_multi_socket_action(e->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	calls_finish(e);
}

static int timer_cb(CURLM *multi, long ms, void *arg)
{
	struct engine *e = arg;

	(void)multi;
	if (ms < 0)
		loop_timer_clear(e->timer);
	else
		loop_timer_set(e->timer, (uint64_t)ms);
	return 0;
}

static void watch_free(struct watch *w)
{
	loop_del(w->io);
	free(w);
}

static int socket_cb(CURL *easy, curl_socket_t fd, int what, void *arg,
		     void *sock_arg)
{
	struct engine *e = arg;
	struct watch *w = sock_arg;
	uint32_t events = 0;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (w)
			watch_free(w);
		curl_multi_assign(e->multi, fd, NULL);
		return 0;
	}
	if (what & CURL_POLL_IN)
		events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		events |= EPOLLOUT;
	if (w)
		return loop_mod(w->io, events) < 0 ? -1 : 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -1;
	w->engine = e;
	w->fd = fd;
	w->io = loop_add(e->loop, fd, events, on_socket, w);
	if (!w->io) {
		free(w);
		return -1;
	}
	curl_multi_assign(e->multi, fd, w);
	return 0;
}

struct engine *engine_new(struct loop *loop, const char *sock_path,
			  struct err *err)
{
	struct engine *e = calloc(1, sizeof(*e));

	if (!e) {
		err_set(err, -ENOMEM, "engine: out of memory");
		return NULL;
	}
	e->loop = loop;
	e->sock_path = strdup(sock_path);
	e->timer = loop_timer_new(loop, on_timer, e);
	if (curl_global_init(CURL_GLOBAL_NOTHING) == CURLE_OK)
		e->multi = curl_multi_init();
	if (!e->sock_path || !e->timer || !e->multi) {
		err_set(err, -ENOMEM, "engine: out of memory");
		engine_free(e);
		return NULL;
	}
	curl_multi_setopt(e->multi, CURLMOPT_SOCKETFUNCTION, socket_cb);
	curl_multi_setopt(e->multi, CURLMOPT_SOCKETDATA, e);
	curl_multi_setopt(e->multi, CURLMOPT_TIMERFUNCTION, timer_cb);
	curl_multi_setopt(e->multi, CURLMOPT_TIMERDATA, e);
	curl_multi_setopt(e->multi, CURLMOPT_MAXCONNECTS, ENGINE_CONNECTIONS);
	return e;
}

static void call_cancel(struct call *c)
{
	struct err err = { 0 };

	err_set(&err, -ECANCELED, "%s: acd ends", c->what);
	c->fn(c->arg, 0, NULL, &err);
	call_free(c);
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	/* Lets the callers free their memory. */
	e->closing = true;
	while (e->calls)
		call_cancel(e->calls);
	curl_multi_cleanup(e->multi); /* removes its sockets from the loop */
	loop_timer_free(e->timer);
	free(e->sock_path);
	free(e);
}

static size_t answer_cb(char *data, size_t one, size_t len, void *arg)
{
	struct call *c = arg;

	(void)one; /* always 1 */
	if (buf_append(&c->answer, data, len) < 0)
		return 0; /* CURLE_WRITE_ERROR */
	return len;
}

static int call_prepare(struct call *c, const char *method, const char *path,
			uint64_t timeout_ms)
{
	CURL *easy = c->easy = curl_easy_init();
	SCOPED_STR url = str_printf(ENGINE_BASE "%s", path);
	const char *type = c->request ? "Content-Type: application/json" :
					"Content-Type:";

	c->what = str_printf("%s %.*s", method, (int)strcspn(path, "?"), path);
	c->headers = curl_slist_append(NULL, type);
	if (!easy || !url || !c->what || !c->headers)
		return -ENOMEM;
	buf_init(&c->answer, ENGINE_ANSWER_MAX);
	if (curl_easy_setopt(easy, CURLOPT_URL, url) ||
	    curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH,
			     c->engine->sock_path))
		return -ENOMEM;
	/* acd may have the user's proxy variables; not for its engine. */
	curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, c);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, c->headers);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, answer_cb);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, c);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
	if (strcmp(method, "POST") == 0) {
		const char *body = c->request ? c->request : "";

		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE,
				 (long)strlen(body));
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
	} else if (strcmp(method, "GET") != 0) {
		curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
	}
	return 0;
}

/* Takes ownership of @request (heap, may be NULL). */
static int call_start(struct engine *e, const char *method, const char *path,
		      char *request, uint64_t timeout_ms, engine_fn fn,
		      void *arg)
{
	struct call *c = NULL;
	int rc = e->closing ? -ECANCELED : -EBUSY;

	if (!e->closing && e->n_calls < ENGINE_CALLS_MAX) {
		c = calloc(1, sizeof(*c));
		rc = -ENOMEM;
	}
	if (!c) {
		free(request);
		return rc;
	}
	c->engine = e;
	c->request = request;
	c->fn = fn;
	c->arg = arg;
	c->next = e->calls;
	if (e->calls)
		e->calls->prev = c;
	e->calls = c;
	e->n_calls++;
	rc = call_prepare(c, method, path, timeout_ms);
	if (rc == 0 && curl_multi_add_handle(e->multi, c->easy) != CURLM_OK)
		rc = -ENOMEM;
	if (rc < 0)
		call_free(c);
	return rc;
}

int engine_call(struct engine *e, const char *method, const char *path,
		uint64_t timeout_ms, engine_fn fn, void *arg)
{
	return call_start(e, method, path, NULL, timeout_ms, fn, arg);
}

int engine_call_json(struct engine *e, const char *method, const char *path,
		     json_t *takes_body, uint64_t timeout_ms, engine_fn fn,
		     void *arg)
{
	char *text = takes_body ? json_dumps(takes_body, JSON_COMPACT) : NULL;

	json_decref(takes_body);
	if (!text)
		return -ENOMEM;
	return call_start(e, method, path, text, timeout_ms, fn, arg);
}

int engine_escape(char *out, size_t size, const char *in)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~";
	static const char hex[] = "0123456789ABCDEF";
	size_t n = 0;

	for (; *in; in++) {
		unsigned char ch = (unsigned char)*in;
		bool keep = strchr(plain, ch) != NULL;

		if (n + (keep ? 1u : 3u) >= size)
			return -ENOBUFS;
		if (keep) {
			out[n++] = (char)ch;
			continue;
		}
		out[n++] = '%';
		out[n++] = hex[ch >> 4];
		out[n++] = hex[ch & 15];
	}
	if (n >= size)
		return -ENOBUFS;
	out[n] = '\0';
	return 0;
}
