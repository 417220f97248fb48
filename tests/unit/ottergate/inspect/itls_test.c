/* SPDX-License-Identifier: Apache-2.0 */
/*
 * itls_test.c - both sides of itls.h with OpenSSL's own peers over a socket
 * pair
 */
#include "ottergate/inspect/itls.h"

#include <openssl/err.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "lib/sock.h"
#include "ottergate/run/isolate.h"
#include "ottergate/inspect/leaf.h"
#include "tests/unit/ottergate/policies.h"
#include "tests/unit/tap.h"
#include "tests/unit/ottergate/inspect/tls_peer.h"

#define TURNS 64 /* of a handshake */
#define MANY (300u * 1024) /* bytes: more than a socket holds */

struct pair { /* one side ours, the other OpenSSL's */
	int fd[2];
	struct itls t;
	SSL *peer;
	int peer_r; /* of its handshake: 1 done, -1 failed */
	int rc; /* of ours */
	enum reason why;
};

static struct peer_cert root, other_root;
static SSL_CTX *up_ctx; /* trusts root */

static void pair_open(struct pair *p, SSL_CTX *peer_ctx)
{
	*p = (struct pair){ .why = REASON_ALLOWED, .rc = -EAGAIN };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
		       p->fd) < 0)
		abort();
	p->peer = SSL_new(peer_ctx);
	SSL_set_fd(p->peer, p->fd[1]);
}

static void pair_close(struct pair *p)
{
	itls_done(&p->t);
	SSL_free(p->peer);
	fd_closep(&p->fd[0]);
	fd_closep(&p->fd[1]);
}

static void pair_shake(struct pair *p)
{
	for (int i = 0; i < TURNS && (p->rc == -EAGAIN || p->peer_r == 0);
	     i++) {
		int n = p->peer_r ? 1 : SSL_do_handshake(p->peer);

		if (n == 1)
			p->peer_r = 1;
		else if (SSL_get_error(p->peer, n) != SSL_ERROR_WANT_READ)
			p->peer_r = -1;
		ERR_clear_error();
		if (p->rc == -EAGAIN)
			p->rc = itls_handshake(&p->t, &p->why);
	}
}

/* --- upstream ------------------------------------------------------------- */

static void upstream_shake(struct pair *p, SSL_CTX *server, const char *host,
			   bool h1, bool h2)
{
	struct name name = name_of(host);

	pair_open(p, server);
	SSL_set_accept_state(p->peer);
	if (itls_connect(&p->t, up_ctx, p->fd[0], &name, h1, h2) < 0)
		abort();
	pair_shake(p);
}

struct upstream_case {
	const char *what, *san, *host;
	long from, to;
	int by; /* 0 root, 1 another, 2 itself */
	enum reason why;
};

static void test_verify(void)
{
	static const struct upstream_case cases[] = {
		{ "good", "a.test", "a.test", -60, 60, 0, REASON_ALLOWED },
		{ "a wildcard", "*.b.test", "a.b.test", -60, 60, 0,
		  REASON_ALLOWED },
		{ "T15 expired", "a.test", "a.test", -60, -30, 0,
		  REASON_UPSTREAM_CERT },
		{ "T15 not good yet", "a.test", "a.test", 600, 1200, 0,
		  REASON_UPSTREAM_CERT },
		{ "T15 self-signed", "a.test", "a.test", -60, 60, 2,
		  REASON_UPSTREAM_CERT },
		{ "T15 an unknown root", "a.test", "a.test", -60, 60, 1,
		  REASON_UPSTREAM_CERT },
		{ "T15 of another name", "a.test", "b.test", -60, 60, 0,
		  REASON_UPSTREAM_CERT },
		{ "T15 a wildcard for two labels", "*.test", "a.b.test", -60,
		  60, 0, REASON_UPSTREAM_CERT },
		{ "T15 a part of a label", "a*.b.test", "ab.b.test", -60, 60, 0,
		  REASON_UPSTREAM_CERT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct upstream_case *k = &cases[i];
		const struct peer_cert *by[] = { &root, &other_root, NULL };
		struct peer_cert c =
			peer_cert(by[k->by], k->san, k->from, k->to);
		SSL_CTX *ctx = peer_server(&c, NULL);
		struct pair p;

		upstream_shake(&p, ctx, k->host, true, false);
		is_str(reason_code(p.why), reason_code(k->why), "%s", k->what);
		is_int(p.rc, k->why == REASON_ALLOWED ? 0 : -EPROTO, "%s: ends",
		       k->what);
		ok((itls_certificate_fault(&p.t)[0] == '\0') == (p.rc == 0),
		   "%s: said why", k->what);
		pair_close(&p);
		SSL_CTX_free(ctx);
		peer_cert_free(&c);
	}
}

static void test_alpn(void)
{
	struct peer_cert c = peer_cert(&root, "a.test", -60, 60);
	SSL_CTX *h2 = peer_server(&c, "h2"), *h1 = peer_server(&c, "http/1.1");
	SSL_CTX *none = peer_server(&c, NULL);
	struct pair p;

	upstream_shake(&p, h2, "a.test", true, true);
	is_int(itls_alpn(&p.t), ITLS_H2, "the upstream chooses h2");
	is_str(SSL_get_servername(p.peer, TLSEXT_NAMETYPE_host_name), "a.test",
	       "and is told the name");
	pair_close(&p);
	upstream_shake(&p, h1, "a.test", true, true);
	is_int(itls_alpn(&p.t), ITLS_H1, "or h1");
	pair_close(&p);
	upstream_shake(&p, h2, "a.test", true, false);
	is_int(itls_alpn(&p.t), ITLS_NONE, "what is not offered is not chosen");
	pair_close(&p);
	upstream_shake(&p, none, "a.test", false, false);
	is_int(p.rc, 0, "nothing offered");
	is_int(itls_alpn(&p.t), ITLS_NONE, "nothing chosen");
	pair_close(&p);
	SSL_CTX_free(h1);
	SSL_CTX_free(h2);
	SSL_CTX_free(none);
	peer_cert_free(&c);
}

static void test_old(void)
{
	struct peer_cert c = peer_cert(&root, "a.test", -60, 60);
	SSL_CTX *ctx = peer_server(&c, NULL);
	struct pair p;

	SSL_CTX_set_security_level(ctx, 0);
	SSL_CTX_set_min_proto_version(ctx, TLS1_VERSION);
	SSL_CTX_set_max_proto_version(ctx, TLS1_1_VERSION);
	upstream_shake(&p, ctx, "a.test", true, false);
	is_str(reason_code(p.why), "upstream-tls", "no TLS before 1.2");
	pair_close(&p);
	SSL_CTX_free(ctx);
	peer_cert_free(&c);
}

/* --- client --------------------------------------------------------------- */

static struct leaf_ca *ca;

/* The first @n bytes of the client's hello come as if read before. */
static void client_go(struct pair *p, enum itls_alpn alpn, size_t n)
{
	static char host[] = "a.test";
	struct name name = name_of(host);
	uint8_t first[4096];
	ssize_t got;

	SSL_set_connect_state(p->peer);
	SSL_set1_host(p->peer, "a.test");
	SSL_set_tlsext_host_name(p->peer, host);
	SSL_set_alpn_protos(p->peer, (const uint8_t *)"\x02h2\x08http/1.1", 12);
	SSL_do_handshake(p->peer);
	got = recv(p->fd[0], first, n < sizeof(first) ? n : sizeof(first), 0);
	if (got < 0 ||
	    itls_accept(&p->t, leaf_ctx(ca), p->fd[0], alpn,
			slice_of(first, (size_t)got)) < 0 ||
	    !leaf_use(ca, &name, p->t.ssl))
		abort();
	pair_shake(p);
}

static void client_shake(struct pair *p, SSL_CTX *client, enum itls_alpn alpn,
			 size_t n)
{
	pair_open(p, client);
	client_go(p, alpn, n);
}

static void test_accept(void)
{
	SSL_CTX *client = peer_client(leaf_ca_pem(ca));
	static const size_t firsts[] = { 1, 5, 6, 100, 4096 };
	struct pair p;
	const uint8_t *alpn = NULL;
	unsigned len = 0;

	for (size_t i = 0; i < ARRAY_SIZE(firsts); i++) {
		client_shake(&p, client, ITLS_H1, firsts[i]);
		ok(p.rc == 0 && p.peer_r == 1, "%zu bytes were read before",
		   firsts[i]);
		is_int(itls_alpn(&p.t), ITLS_H1, "h1 is what it gets");
		pair_close(&p);
	}
	client_shake(&p, client, ITLS_H2, 4096);
	SSL_get0_alpn_selected(p.peer, &alpn, &len);
	is_int(len, 2, "h2");
	is_int(SSL_SESSION_has_ticket(SSL_get_session(p.peer)), 0,
	       "T11 no ticket");
	pair_close(&p);
	client_shake(&p, client, ITLS_NONE, 4096);
	is_int(itls_alpn(&p.t), ITLS_NONE, "none");
	pair_close(&p);
	SSL_CTX_free(client);
}

static void peer_groups(SSL_CTX *ctx, const char *list)
{
	if (SSL_CTX_set1_groups_list(ctx, (char *)(uintptr_t)list) != 1)
		abort();
}

/* What takes the processor for a tenth of a second a handshake is not done, for
 * neither side. */
static void test_costs(void)
{
	static const struct {
		const char *groups;
		int good;
	} rows[] = {
		{ "ffdhe8192", -1 },      { "ffdhe2048", -1 }, { "P-521", -1 },
		{ "ffdhe8192:P-384", 1 }, { "P-256", 1 },      { "X25519", 1 },
	};
	SSL_CTX *client = peer_client(leaf_ca_pem(ca));
	struct peer_cert c = peer_cert(&root, "a.test", -60, 60);
	SSL_CTX *server = peer_server(&c, NULL);
	struct pair p;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		peer_groups(client, rows[i].groups);
		client_shake(&p, client, ITLS_H1, 16384);
		is_int(p.peer_r, rows[i].good, "a client with %s alone",
		       rows[i].groups);
		pair_close(&p);
		peer_groups(server, rows[i].groups);
		upstream_shake(&p, server, "a.test", true, false);
		is_int(p.rc == 0, rows[i].good == 1, "a server with %s alone",
		       rows[i].groups);
		pair_close(&p);
	}
	SSL_CTX_free(server);
	server = peer_server(&c, NULL);
	SSL_CTX_set_max_proto_version(server, TLS1_2_VERSION);
	SSL_CTX_set_dh_auto(server, 1);
	SSL_CTX_set_cipher_list(server, "kDHE");
	upstream_shake(&p, server, "a.test", true, false);
	ok(p.rc < 0, "a server with DHE alone");
	pair_close(&p);
	SSL_CTX_set_cipher_list(server, "kECDHE");
	upstream_shake(&p, server, "a.test", true, false);
	ok(p.rc == 0, "and the same one with ECDHE");
	pair_close(&p);
	SSL_CTX_free(server);
	SSL_CTX_free(client);
	peer_cert_free(&c);
}

static void test_pinned(void)
{
	SSL_CTX *client = peer_client(NULL);
	struct pair p;

	client_shake(&p, client, ITLS_H1, 4096);
	is_str(reason_code(p.why), "client-tls",
	       "T17 a client that does not trust the CA");
	pair_close(&p);
	SSL_CTX_set_max_proto_version(client, TLS1_2_VERSION);
	client_shake(&p, client, ITLS_H1, 4096);
	is_str(reason_code(p.why), "client-tls", "in TLS 1.2 too");
	pair_close(&p);
	SSL_CTX_free(client);
}

static void test_renegotiation(void)
{
	SSL_CTX *client = peer_client(leaf_ca_pem(ca));
	uint8_t byte;
	struct pair p;

	SSL_CTX_set_max_proto_version(client, TLS1_2_VERSION);
	client_shake(&p, client, ITLS_H1, 4096);
	is_int(p.rc, 0, "TLS 1.2");
	SSL_renegotiate(p.peer);
	SSL_do_handshake(p.peer);
	is_int(itls_read(&p.t, &byte, 1), -EAGAIN, "T12 is not heard");
	SSL_do_handshake(p.peer);
	ok(SSL_do_handshake(p.peer) != 1, "T12 there is no second handshake");
	pair_close(&p);
	SSL_CTX_free(client);
}

/* --- bytes ---------------------------------------------------------------- */

static void test_bytes(void)
{
	SSL_CTX *client = peer_client(leaf_ca_pem(ca));
	char got[64] = "";
	struct pair p;

	client_shake(&p, client, ITLS_H1, 4096);
	is_int(itls_read(&p.t, got, sizeof(got)), -EAGAIN, "nothing yet");
	ok(!itls_pending(&p.t), "nothing without an event");
	itls_event(&p.t, false);
	ok(itls_pending(&p.t), "after one, perhaps");
	SSL_write(p.peer, "hello", 5);
	is_int(itls_read(&p.t, got, 2), 2, "a part");
	ok(itls_pending(&p.t), "there is more");
	is_int(itls_read(&p.t, got + 2, 60), 3, "the rest");
	is_str(got, "hello", "as it was sent");
	SSL_write(p.peer, "again", 5);
	itls_event(&p.t, false);
	is_int(itls_read(&p.t, got, 60), 5, "the next, after an edge");
	is_int(itls_write(&p.t, "x", 0), 0, "nothing to write");
	is_int(itls_write(&p.t, "hi", 2), 2, "written");
	is_int(SSL_read(p.peer, got, 60), 2, "and read");
	itls_bye(&p.t);
	itls_bye(&p.t);
	is_int(SSL_read(p.peer, got, 60), 0, "an end");
	is_int(SSL_get_error(p.peer, 0), SSL_ERROR_ZERO_RETURN, "that is said");
	SSL_shutdown(p.peer);
	itls_event(&p.t, true);
	is_int(itls_read(&p.t, got, 60), 0, "theirs too");
	is_int(itls_read(&p.t, got, 60), 0, "for good");
	pair_close(&p);
	SSL_CTX_free(client);
}

static void test_cut(void)
{
	SSL_CTX *client = peer_client(leaf_ca_pem(ca));
	struct pair p;
	char got[8];

	client_shake(&p, client, ITLS_H1, 4096);
	fd_closep(&p.fd[1]);
	is_int(itls_read(&p.t, got, sizeof(got)), -EPIPE,
	       "an end that is not said is a cut");
	is_int(itls_write(&p.t, "x", 1), -EPIPE, "and nobody reads");
	itls_bye(&p.t);
	pair_close(&p);
	client_shake(&p, client, ITLS_H1, 4096);
	if (write(p.fd[1], "\x17\x03\x03\x00\x05junk!", 10) != 10)
		abort();
	is_int(itls_read(&p.t, got, sizeof(got)), -EPROTO, "no record of it");
	ok(!itls_pending(&p.t), "nothing more");
	pair_close(&p);
	SSL_CTX_free(client);
}

/* A full socket, a queue that moves meanwhile. */
static void test_flood(void)
{
	SSL_CTX *client = peer_client(leaf_ca_pem(ca));
	uint8_t *mem = malloc(MANY), *back = malloc(MANY), *moved;
	size_t sent = 0, got = 0, waits = 0;
	struct pair p;

	for (size_t i = 0; i < MANY; i++)
		mem[i] = (uint8_t)(i * 31 >> 3);
	client_shake(&p, client, ITLS_H1, 4096);
	while (got < MANY) {
		ssize_t n = -EAGAIN;
		int rc;

		if (sent < MANY) {
			moved = malloc(MANY - sent);
			memcpy(moved, mem + sent, MANY - sent);
			n = itls_write(&p.t, moved, MANY - sent);
			free(moved);
		}
		if (n > 0) {
			sent += (size_t)n;
			continue;
		}
		waits++;
		rc = SSL_read(p.peer, back + got, (int)(MANY - got));
		if (rc <= 0)
			break;
		got += (size_t)rc;
	}
	ok(got == MANY && memcmp(mem, back, MANY) == 0,
	   "%u bytes through a full socket", MANY);
	ok(waits > 1, "which had to be waited for");
	free(mem);
	free(back);
	pair_close(&p);
	SSL_CTX_free(client);
}

static void test_hello_alpn(void)
{
	SSL_CTX *client = peer_client(NULL);
	uint8_t hello[4096];
	struct pair p;
	bool h1, h2;
	ssize_t n;

	pair_open(&p, client);
	SSL_set_alpn_protos(p.peer, (const uint8_t *)"\x02h2\x03xyz", 7);
	SSL_set_connect_state(p.peer);
	SSL_do_handshake(p.peer);
	n = recv(p.fd[0], hello, sizeof(hello), 0);
	itls_hello_alpn(slice_of(hello, (size_t)n), &h1, &h2);
	ok(h2 && !h1, "h2 and no h1");
	itls_hello_alpn(slice_of(hello, 20), &h1, &h2);
	ok(!h2 && !h1, "of half a hello nothing");
	pair_close(&p);
	SSL_CTX_free(client);
}

static void test_roots(void)
{
	SSL_CTX *ctx = NULL;
	struct err err = { 0 };

	is_int(itls_upstream_ctx("/nonexistent.pem", &ctx, &err), -EINVAL,
	       "roots that are not there");
	ok(strstr(err.msg, "/nonexistent.pem"), "are named: %s", err.msg);
}

/* Both handshakes, a mint and some bytes under the gateway's own filter; a
 * system call that is not in it ends the child. */
static void filtered(void)
{
	SSL_CTX *client = peer_client(leaf_ca_pem(ca));
	struct err err = { 0 };
	struct pair p;
	char got[8];

	pair_open(&p, client); /* the gateway has no need of socketpair(2) */
	if (isolate_seccomp(&err) < 0)
		_exit(77);
	client_go(&p, ITLS_H2, 4096);
	SSL_write(p.peer, "hello", 5);
	_exit(p.rc == 0 && itls_read(&p.t, got, sizeof(got)) == 5 ? 0 : 1);
}

static void test_filter(void)
{
	pid_t pid;
	int status = 0;

	if (getuid() != 0) {
		skip("not root: no filter without no_new_privs");
		return;
	}
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		filtered();
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip("no filter here");
	else
		is_int(status, 0, "all of it is in the system call filter");
}

int main(void)
{
	struct err err = { 0 };
	const char *const names[] = { "a.test" };
	char pem[PEER_PATH];

	root = peer_cert(NULL, NULL, -60, 3600);
	other_root = peer_cert(NULL, NULL, -60, 3600);
	peer_pem(&root, pem);
	if (!ok(itls_upstream_ctx(pem, &up_ctx, &err) == 0, "roots: %s",
		err.msg) ||
	    !ok(leaf_ca_new("t", names, 1, 3600, 3600, &ca, &err) == 0, "a CA"))
		return done_testing();
	unlink(pem);
	test_verify();
	test_alpn();
	test_old();
	test_accept();
	test_costs();
	test_pinned();
	test_renegotiation();
	test_bytes();
	test_cut();
	test_flood();
	test_hello_alpn();
	test_roots();
	test_filter();
	leaf_ca_unref(ca);
	SSL_CTX_free(up_ctx);
	peer_cert_free(&root);
	peer_cert_free(&other_root);
	return done_testing();
}
