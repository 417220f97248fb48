/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy_test.c - inspection by way of CONNECT, and the choice of the
 * protocol
 */
#include "tests/unit/ottergate/inspect/inspect_world.h"

#define BOTH "\x02h2\x08http/1.1"

/* What the proxy says to @request, up to the end of its head. */
static void asks(int fd, const char *request, const char *want,
		 const char *what)
{
	char got[2048] = "";
	size_t n = 0;

	if (write(fd, request, strlen(request)) < 0)
		abort();
	while (n < sizeof(got) - 1 && !strstr(got, "\r\n\r\n") &&
	       recv(fd, got + n, 1, 0) == 1)
		got[++n] = '\0';
	if (!ok(strncmp(got, want, strlen(want)) == 0, "%s", what))
		printf("# got %s\n", got);
}

static SSL *through(const char *target, const char *sni, const char *alpn)
{
	SSL *c = client_new(peers.client, sni, alpn);
	char text[256];

	snprintf(text, sizeof(text), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n",
		 target, target);
	asks(SSL_get_fd(c), text, "HTTP/1.1 200 ", "CONNECT");
	return c;
}

static enum itls_alpn chosen(const SSL *c)
{
	const uint8_t *p = NULL;
	unsigned len = 0;

	SSL_get0_alpn_selected(c, &p, &len);
	return len == 2 ? ITLS_H2 : len == 8 ? ITLS_H1 : ITLS_NONE;
}

static void serve(const char *alpn)
{
	SSL_CTX *old =
		atomic_exchange(&peers.server, peer_server(&peers.cert, alpn));

	SSL_CTX_free(old);
}

static void test_connect(void)
{
	SSL *c = through("big.test:443", "big.test", BOTH), *u;

	is_int(SSL_connect(c), 1, "the sandbox's CA is met behind CONNECT");
	u = upstream();
	say(c, "GET /p HTTP/1.1\r\nHost: big.test\r\n\r\n");
	hears_with(u, "GET /p ", "a request goes up");
	say(u, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	hears_with(c, "200", "its answer comes down");
	hang_up(c);
	hang_up(u);
	c = through("big.test:443", "api.test", BOTH);
	ok(SSL_connect(c) != 1, "H5 another name than CONNECT's");
	ERR_clear_error();
	ok(world_audited(AUDIT_DENY, REASON_SNI_MISMATCH), "H5 is audited");
	hang_up(c);
}

static void test_plain(void)
{
	SSL *c = client_new(peers.client, "big.test", NULL);

	asks(SSL_get_fd(c),
	     "GET http://plain.test:8080/ HTTP/1.1\r\n"
	     "Host: plain.test:8080\r\n\r\n",
	     "HTTP/1.1 403 ", "H12 a rule that inspects, without TLS");
	ok(world_audited(AUDIT_DENY, REASON_NEEDS_INSPECT), "says why");
	hang_up(c);
}

static void test_alpn(void)
{
	SSL *c, *u;

	serve("h2");
	c = through("big.test:443", "big.test", BOTH);
	is_int(SSL_connect(c), 1, "a server of h2");
	is_int(chosen(c), ITLS_H2, "gives the client h2");
	u = upstream();
	is_int(chosen(u), ITLS_H2, "on both sides");
	hang_up(c);
	hang_up(u);
	c = through("big.test:443", "big.test", "\x08http/1.1");
	is_int(SSL_connect(c), 1, "a client that does not speak it");
	is_int(chosen(c), ITLS_H1, "is given what it does");
	u = upstream();
	is_int(chosen(u), ITLS_NONE, "where the server chose nothing");
	hang_up(c);
	hang_up(u);
	serve(NULL);
	c = through("big.test:443", "big.test", "\x02h2");
	is_int(SSL_connect(c), 1, "a client of h2 alone, a server without");
	is_int(chosen(c), ITLS_H2, "is given it, to be answered 502");
	ERR_clear_error();
	ok(world_audited(AUDIT_DENY, REASON_UPSTREAM_TLS), "is refused");
	hang_up(c);
	hang_up(upstream());
	c = through("big.test:443", "big.test", NULL);
	is_int(SSL_connect(c), 1, "a client without ALPN");
	u = upstream();
	say(c, "GET /p HTTP/1.0\r\nHost: big.test\r\n\r\n");
	hears(u, "GET /p HTTP/1.0\r\nHost: big.test\r\n", "speaks HTTP/1");
	say(u, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	       "3\r\nabc\r\n0\r\n\r\n");
	hears(c, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc",
	      "1.0, which knows no chunks");
	ends(c, true, "and ends");
	hang_up(c);
	hang_up(u);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	world.kind = LISTEN_PROXY;
	if (!inspect_up("http/1.1"))
		return done_testing();
	test_connect();
	test_plain();
	test_alpn();
	ok(world_empty(), "no connection is left");
	inspect_down();
	return done_testing();
}
