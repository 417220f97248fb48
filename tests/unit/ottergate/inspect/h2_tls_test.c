/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_tls_test.c - inspected requests over HTTP/2, from a real TLS
 * client through a real worker, with the real judge, to a real TLS server
 */
#include "tests/unit/ottergate/inspect/inspect_world.h"

#include <nghttp2/nghttp2.h>

#define TEXT_MAX 8192u
#define H2 "\x02h2"
#define ENCODED_TAIL "hp_real0token0that0nobody0may0ever0see1"

struct end { /* one of the two; one stream at a time */
	SSL *ssl;
	nghttp2_session *ng;
	int32_t id;
	char head[TEXT_MAX], body[TEXT_MAX];
	bool end, closed;
	uint32_t error;
	const char *say, *trailer; /* what goes out with the next head */
	bool open; /* and more behind it, which never comes */
};

static struct end cli, srv;

/* --- callbacks ------------------------------------------------------------ */

static void add(char *to, const void *p, size_t n)
{
	size_t at = strlen(to);

	if (n < TEXT_MAX - at) {
		memcpy(to + at, p, n);
		to[at + n] = '\0';
	}
}

static int on_header(nghttp2_session *ng, const nghttp2_frame *f,
		     const uint8_t *name, size_t n, const uint8_t *value,
		     size_t len, uint8_t flags, void *arg)
{
	struct end *e = arg;

	(void)ng;
	(void)flags;
	e->id = f->hd.stream_id;
	add(e->head, name, n);
	add(e->head, ": ", 2);
	add(e->head, value, len);
	add(e->head, "\n", 1);
	return 0;
}

static int on_data(nghttp2_session *ng, uint8_t flags, int32_t id,
		   const uint8_t *data, size_t len, void *arg)
{
	struct end *e = arg;

	(void)ng;
	(void)flags;
	(void)id;
	add(e->body, data, len);
	return 0;
}

static int on_frame(nghttp2_session *ng, const nghttp2_frame *f, void *arg)
{
	struct end *e = arg;

	(void)ng;
	if ((f->hd.type == NGHTTP2_HEADERS || f->hd.type == NGHTTP2_DATA) &&
	    (f->hd.flags & NGHTTP2_FLAG_END_STREAM))
		e->end = true;
	return 0;
}

static int on_close(nghttp2_session *ng, int32_t id, uint32_t error, void *arg)
{
	struct end *e = arg;

	(void)ng;
	(void)id;
	e->closed = true;
	e->error = error;
	return 0;
}

static ssize_t on_say(nghttp2_session *ng, int32_t id, uint8_t *to, size_t len,
		      uint32_t *flags, nghttp2_data_source *source, void *arg)
{
	struct end *e = source->ptr;
	size_t n = strlen(e->say);

	(void)arg;
	if (n > len)
		n = len;
	if (e->open && n == 0)
		return NGHTTP2_ERR_DEFERRED;
	memcpy(to, e->say, n);
	e->say += n;
	if (e->open)
		return (ssize_t)n;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (e->trailer) {
		nghttp2_nv nv = { (uint8_t *)(uintptr_t) "grpc-message",
				  (uint8_t *)(uintptr_t)e->trailer, 12,
				  strlen(e->trailer), 0 };

		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
		nghttp2_submit_trailer(ng, id, &nv, 1);
	}
	return (ssize_t)n;
}

/* --- the two ends --------------------------------------------------------- */

static void end_open(struct end *e, SSL *ssl, bool server)
{
	nghttp2_session_callbacks *cb;

	*e = (struct end){ .ssl = ssl };
	nghttp2_session_callbacks_new(&cb);
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
	if (server)
		nghttp2_session_server_new(&e->ng, cb, e);
	else
		nghttp2_session_client_new(&e->ng, cb, e);
	nghttp2_session_callbacks_del(cb);
	nghttp2_submit_settings(e->ng, 0, NULL, 0);
	fcntl(SSL_get_fd(ssl), F_SETFL, O_NONBLOCK);
}

static void end_clear(struct end *e)
{
	e->head[0] = e->body[0] = '\0';
	e->end = e->closed = false;
	e->error = 0;
	e->trailer = NULL;
	e->open = false;
}

static void end_pump(struct end *e)
{
	const uint8_t *out;
	uint8_t mem[4096];
	ssize_t n;
	int rc;

	while ((n = nghttp2_session_mem_send(e->ng, &out)) > 0)
		if (SSL_write(e->ssl, out, (int)n) != n)
			break; /* nothing here is larger than a socket */
	while ((rc = SSL_read(e->ssl, mem, sizeof(mem))) > 0)
		if (nghttp2_session_mem_recv(e->ng, mem, (size_t)rc) < 0)
			break;
	ERR_clear_error();
}

/* Until @done is true, or five seconds have passed. */
static bool both_until(const bool *done)
{
	/* A socket that is shut down is always ready: rounds say nothing. */
	for (uint64_t end = clock_ms() + 5000; !*done && clock_ms() < end;) {
		struct pollfd p[] = {
			{ .fd = SSL_get_fd(cli.ssl), .events = POLLIN },
			{ .fd = SSL_get_fd(srv.ssl), .events = POLLIN },
		};

		end_pump(&cli);
		end_pump(&srv);
		if (!*done)
			poll(p, 2, 10);
	}
	return *done;
}

static nghttp2_nv nv(const char *name, const char *value)
{
	return (nghttp2_nv){ (uint8_t *)(uintptr_t)name,
			     (uint8_t *)(uintptr_t)value, strlen(name),
			     strlen(value), 0 };
}

/* A request with one field more; @body NULL: none. */
static void ask(const char *method, const char *host, const char *path,
		const char *name, const char *value, const char *body)
{
	nghttp2_data_provider data = { .source.ptr = &cli,
				       .read_callback = on_say };
	const nghttp2_nv v[] = { nv(":method", method), nv(":scheme", "https"),
				 nv(":authority", host), nv(":path", path),
				 nv(name, value) };

	end_clear(&cli);
	end_clear(&srv);
	cli.say = body;
	nghttp2_submit_request(cli.ng, NULL, v, 5, body ? &data : NULL, NULL);
}

static void answer(const char *name, const char *value, const char *body)
{
	nghttp2_data_provider data = { .source.ptr = &srv,
				       .read_callback = on_say };
	const nghttp2_nv v[] = { nv(":status", "200"), nv(name, value) };

	srv.say = body;
	nghttp2_submit_response(srv.ng, srv.id, v, 2, &data);
}

static bool up(const char *host)
{
	SSL *c = client_new(peers.client, host, H2), *u;
	const uint8_t *alpn = NULL;
	unsigned len = 0;

	if (SSL_connect(c) != 1 || !(u = upstream())) {
		ok(false, "connect to %s", host);
		hang_up(c);
		return false;
	}
	SSL_get0_alpn_selected(c, &alpn, &len);
	ok(len == 2 && memcmp(alpn, "h2", 2) == 0, "both sides speak h2");
	end_open(&cli, c, false);
	end_open(&srv, u, true);
	return true;
}

static void down(void)
{
	nghttp2_session_del(cli.ng);
	nghttp2_session_del(srv.ng);
	bye(cli.ssl);
	hang_up(srv.ssl);
	ok(world_empty(), "nothing is left");
}

static void refused(const char *status, const char *what)
{
	char want[32];

	snprintf(want, sizeof(want), ":status: %s\n", status);
	ok(both_until(&cli.end) && strstr(cli.head, want), "%s: %s", what,
	   status);
	is_str(srv.head, "", "%s: the upstream sees nothing", what);
}

/* --- tests ---------------------------------------------------------------- */

static void test_credential(void)
{
	char bearer[256];

	if (!up("api.test"))
		return;
	snprintf(bearer, sizeof(bearer), "Bearer %s", peers.token);
	ask("GET", "api.test", "/user", "authorization", bearer, NULL);
	ok(both_until(&srv.end), "a request goes up");
	ok(strstr(srv.head, "authorization: Bearer " REAL_TOKEN "\n") != NULL,
	   "with the real token");
	srv.trailer = "saw " REAL_TOKEN;
	answer("x-echo", REAL_TOKEN, "you sent " REAL_TOKEN ".");
	ok(both_until(&cli.closed), "its answer comes");
	ok(!strstr(cli.head, REAL_TOKEN) && strstr(cli.head, "x-echo: ***"),
	   "masked in fields");
	ok(!strstr(cli.body, REAL_TOKEN) &&
		   strncmp(cli.body, "you sent ***", 12) == 0,
	   "masked in the body");
	ok(strstr(cli.head, "grpc-message: saw ***") != NULL,
	   "masked in trailers");
	is_int(strlen(cli.body), strlen("you sent " REAL_TOKEN "."),
	       "lengths hold");
	ok(world_audited(AUDIT_INJECT, REASON_ALLOWED), "it is audited");
	down();
}

/* The real token in another encoding: the connection ends, and the credential
 * is worth nothing on the next. */
static void test_reflection(bool field)
{
	char bearer[256];

	if (!up("api.test"))
		return;
	secret_clear();
	snprintf(bearer, sizeof(bearer), "Bearer %s", peers.token);
	ask("GET", "api.test", "/user", "authorization", bearer, NULL);
	ok(both_until(&srv.end), "a request goes up");
	if (field)
		answer("x-echo", "%67" ENCODED_TAIL, "nothing");
	else
		answer("x-a", "b", "you sent &#103;" ENCODED_TAIL ", did you?");
	ok(both_until(&cli.closed), "%s: the stream ends",
	   field ? "a field" : "a body");
	ok(!strstr(cli.body, ENCODED_TAIL) && !strstr(cli.head, ENCODED_TAIL),
	   "without it");
	ok(!field || strstr(cli.head, "x-ac-denied: reflection"),
	   "and says why where it can");
	ok(world_audited(AUDIT_ALARM, REASON_REFLECTION), "an alarm");
	down();
	if (!up("api.test"))
		return;
	ask("GET", "api.test", "/user", "authorization", bearer, NULL);
	refused("403", "the credential is revoked");
	ok(world_audited(AUDIT_DENY, REASON_REVOKED), "is audited");
	secret_clear();
	down();
}

static bool body_until(const struct end *e, const char *want)
{
	bool there = false;

	for (uint64_t end = clock_ms() + 5000; !there && clock_ms() < end;) {
		end_pump(&cli);
		end_pump(&srv);
		there = strcmp(e->body, want) == 0;
		if (!there)
			poll(NULL, 0, 1);
	}
	return there;
}

/* A killed sandbox sends nothing more, on an open connection neither. */
static void test_killed_request(void)
{
	if (!up("big.test"))
		return;
	ask("GET", "big.test", "/", "x-a", "b", NULL);
	ok(both_until(&srv.end), "a request goes up");
	answer("x-a", "b", "");
	ok(both_until(&cli.closed), "and is answered");
	world_kill(true);
	ask("GET", "big.test", "/", "x-a", "b", NULL);
	refused("429", "the next");
	ok(world_audited(AUDIT_LIMIT, REASON_LIMIT_KILLED), "is audited");
	world_kill(false);
	down();
}

static void test_killed_body(void)
{
	if (!up("big.test"))
		return;
	ask("POST", "big.test", "/", "x-a", "b", "half");
	cli.open = true;
	ok(body_until(&srv, "half"), "half of a body goes up");
	world_kill(true);
	cli.say = "more";
	nghttp2_session_resume_data(cli.ng, 1);
	end_pump(&cli);
	ok(world_audited(AUDIT_LIMIT, REASON_LIMIT_KILLED), "is audited");
	end_pump(&srv);
	is_str(srv.body, "half", "and the other half does not");
	world_kill(false);
	down();
}

/* A message that ends as a masked value begins comes, though no more does. */
static void test_message(void)
{
	char bearer[256];

	if (!up("api.test"))
		return;
	snprintf(bearer, sizeof(bearer), "Bearer %s", peers.token);
	ask("GET", "api.test", "/user", "authorization", bearer, NULL);
	ok(both_until(&srv.end), "a request goes up");
	srv.open = true;
	answer("content-type", "application/grpc", "a message: gh");
	ok(body_until(&cli, "a message: gh"), "all of a message comes");
	srv.say = "p_real, then g";
	nghttp2_session_resume_data(srv.ng, srv.id);
	ok(body_until(&cli, "a message: ghp_real, then g"), "and of the next");
	down();
}

static void test_refused(void)
{
	if (!up("api.test"))
		return;
	ask("DELETE", "api.test", "/user", "x-a", "b", NULL);
	refused("403", "a method that no rule allows");
	ok(world_audited(AUDIT_DENY, REASON_METHOD), "is audited");
	ask("GET", "big.test", "/", "x-a", "b", NULL);
	refused("421", "another authority (T2)");
	ask("GET", "api.test", "/a/..%2fb", "x-a", "b", NULL);
	refused("400", "a path of two readings (H8)");
	ask("GET", "api.test", "/", "authorization", "Bearer mine", NULL);
	refused("403", "a credential of its own (H11)");
	ask("GET", "api.test", "/", "host", "big.test", NULL);
	refused("400", "another Host (H7)");
	ok(world_audited(AUDIT_DENY, REASON_HOST_MISMATCH), "is audited");
	ask("POST", "api.test", "/graphql", "content-type", "application/json",
	    "{\"query\":\"mutation { x }\"}");
	refused("403", "a mutation");
	ok(world_audited(AUDIT_DENY, REASON_GRAPHQL), "is audited");
	ask("POST", "api.test", "/graphql", "content-type", "application/json",
	    "{\"query\":\"{ x }\"}");
	ok(both_until(&srv.end), "a query goes up");
	is_str(srv.body, "{\"query\":\"{ x }\"}", "whole");
	answer("content-type", "application/json", "{}");
	ok(both_until(&cli.closed), "on the same connection");
	down();
}

static void test_upstream_gone(void)
{
	if (!up("big.test"))
		return;
	ask("GET", "big.test", "/", "x-a", "b", NULL);
	ok(both_until(&srv.end), "a request goes up");
	shutdown(SSL_get_fd(srv.ssl), SHUT_RDWR);
	ok(both_until(&cli.closed), "its end is told when the upstream leaves");
	is_int(cli.error, NGHTTP2_INTERNAL_ERROR, "as an error");
	down();
}

/* A limit cuts its stream: what it has cost is known. */
static void test_cut_model(void)
{
	static const char metered[] =
		"version: 1\n"
		"agents:\n"
		"  - id: coder\n"
		"    match: { address: 172.20.0.2 }\n"
		"    allow: [ { id: big, names: [big.test], use: inspect } ]\n"
		"    limits: { volume: { down: 4KiB/h } }\n"
		"    on_limit: deny\n";
	static char body[6001];

	snprintf(body, sizeof(body), "%s%0*d", MODEL_BEGINS, 5000, 0);
	world_swap(metered);
	if (!up("big.test"))
		return;
	ask("POST", "big.test", "/v1/messages", "content-type",
	    "application/json", "{\"model\":\"m-1\",\"stream\":true}");
	ok(both_until(&srv.end), "a model is asked");
	answer("content-type", "text/event-stream", body);
	end_pump(&srv);
	ok(world_audited(AUDIT_USAGE, REASON_ALLOWED),
	   "cut at the volume, its use is told");
	down();
	world_swap(inspect_policy);
}

static bool alone_until(const bool *done)
{
	for (uint64_t end = clock_ms() + 5000; !*done && clock_ms() < end;) {
		struct pollfd p = { SSL_get_fd(cli.ssl), POLLIN, 0 };

		end_pump(&cli);
		if (!*done)
			poll(&p, 1, 10);
	}
	return *done;
}

/* The client of h2 alone whose upstream cannot be had, @n requests at once. */
static void unreachable(unsigned n, const char *status, const char *words)
{
	SSL *c = client_new(peers.client, "big.test", H2);
	char want[32];

	if (!ok(SSL_connect(c) == 1, "the client's handshake is made")) {
		hang_up(c);
		return;
	}
	end_open(&cli, c, false);
	srv = (struct end){ 0 };
	for (unsigned i = 0; i < n; i++)
		ask(i ? "POST" : "GET", "big.test", "/", "x-a", "b",
		    i ? "a body" : NULL);
	ok(alone_until(&cli.closed), "it is answered");
	snprintf(want, sizeof(want), ":status: %s\n", status);
	ok(strstr(cli.head, want) != NULL, "with %s", status);
	if (!ok(strstr(cli.body, words) != NULL, "and why: %s", words))
		printf("# %s\n", cli.body);
	down();
}

static void test_unreachable(void)
{
	struct peer_cert old = peer_cert(&peers.root, "big.test", -60, -30);
	SSL_CTX *bad = peer_server(&old, "h2"), *h1, *good;

	atomic_store(&world.dial_why, REASON_CONNECT_FAILED);
	unreachable(1, "502", "connect-failed");
	ok(world_audited(AUDIT_DENY, REASON_CONNECT_FAILED), "audited");
	unreachable(2, "502", "connect-failed");
	atomic_store(&world.dial_why, REASON_CONNECT_TIMEOUT);
	unreachable(1, "504", "connect-timeout");
	atomic_store(&world.dial_why, REASON_ALLOWED);
	good = atomic_exchange(&peers.server, bad);
	unreachable(1, "502", "certificate has expired");
	h1 = peer_server(&peers.cert, "http/1.1");
	atomic_store(&peers.server, h1);
	unreachable(1, "502", "upstream-tls");
	hang_up(upstream()); /* that one was shaken hands with */
	atomic_store(&peers.server, good);
	SSL_CTX_free(bad);
	SSL_CTX_free(h1);
	peer_cert_free(&old);
}

int main(void)
{
	if (!inspect_up("h2"))
		return done_testing();
	test_credential();
	test_reflection(false);
	test_reflection(true);
	test_killed_request();
	test_killed_body();
	test_message();
	test_refused();
	test_upstream_gone();
	test_unreachable();
	test_cut_model();
	inspect_down();
	return done_testing();
}
