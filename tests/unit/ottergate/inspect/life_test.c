/* SPDX-License-Identifier: Apache-2.0 */
/*
 * life_test.c - an inspected connection's beginning and end: the
 * certificates of both sides, deadlines, another policy, large bodies
 */
#include "tests/unit/ottergate/inspect/inspect_world.h"

/* --- certificates --------------------------------------------------------- */

/* Somewhere in what is left. */
static void hears_of(SSL *ssl, const char *part, const char *what)
{
	char got[2048];

	read_upto(ssl, got, sizeof(got) - 1);
	if (!ok(strstr(got, part) != NULL, "%s: in words", what))
		printf("# got %s\n", got);
}

static void told(const char *host, SSL_CTX *server, enum reason why,
		 const char *words, const char *what)
{
	SSL_CTX *good = atomic_exchange(&peers.server, server);
	SSL *c = client(host);

	say(c, GET("/", "big.test"));
	hears_with(c, reason_code(why), what);
	hears_of(c, words, what);
	ok(world_audited(AUDIT_DENY, why), "%s: audited", what);
	hang_up(c);
	ok(world_empty(), "%s: nothing is left", what);
	atomic_store(&peers.server, good);
	SSL_CTX_free(server);
}

static void test_certificates(void)
{
	struct peer_cert old = peer_cert(&peers.root, "big.test", -60, -30);
	struct peer_cert own = peer_cert(NULL, "big.test", -60, 60);
	struct peer_cert other = peer_cert(&peers.root, "a.b.test", -60, 60);
	SSL_CTX *tls10 = peer_server(&peers.cert, NULL);
	SSL *c;

	SSL_CTX_set_security_level(tls10, 0);
	SSL_CTX_set_min_proto_version(tls10, TLS1_VERSION);
	SSL_CTX_set_max_proto_version(tls10, TLS1_1_VERSION);
	told("big.test", peer_server(&old, NULL), REASON_UPSTREAM_CERT,
	     ": certificate has expired", "T15 expired");
	told("big.test", peer_server(&own, NULL), REASON_UPSTREAM_CERT,
	     ": self-signed certificate", "T15 self-signed");
	told("big.test", peer_server(&other, NULL), REASON_UPSTREAM_CERT,
	     ": hostname mismatch", "T15 of another name");
	told("big.test", tls10, REASON_UPSTREAM_TLS,
	     "(upstream-tls: TLS with the server failed; rule big)", "TLS 1.1");
	atomic_store(&world.dial_why, REASON_CONNECT_FAILED);
	c = client("big.test");
	say(c, GET("/", "big.test"));
	hears_with(c, "HTTP/1.1 502 ", "a server that is away");
	hang_up(c);
	atomic_store(&world.dial_why, REASON_ALLOWED);
	peer_cert_free(&old);
	peer_cert_free(&own);
	peer_cert_free(&other);
}

/* A sandbox that has run for longer than its CA is good for. */
static void test_ca_expired(void)
{
	static const char *const names[] = { "test" };
	struct leaf_ca *good = world.ca;
	struct err err = { 0 };
	SSL *c;

	if (leaf_ca_new("coder", names, 1, 0, 3600, &world.ca, &err) < 0) {
		ok(false, "%s", err.msg);
		return;
	}
	world_swap(inspect_policy);
	c = client_new(peers.client, "big.test", NULL);
	ok(SSL_connect(c) != 1 && ERR_GET_REASON(ERR_peek_error()) ==
					  SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,
	   "a CA past its time: the client is told");
	ERR_clear_error();
	ok(world_audited(AUDIT_DENY, REASON_CA_EXPIRED), "as is the user");
	hang_up(c);
	ok(world_empty(), "nobody was dialled");
	leaf_ca_unref(world.ca);
	world.ca = good;
	world_swap(inspect_policy);
}

static void test_pinned(void)
{
	SSL_CTX *ctx = peer_client(NULL);
	SSL *c = client_new(ctx, "big.test", "\x08http/1.1"), *u;

	ok(SSL_connect(c) != 1, "T17 a client that does not trust the CA");
	ERR_clear_error();
	u = upstream();
	ok(world_audited(AUDIT_DENY, REASON_CLIENT_TLS), "T17 is named so");
	hang_up(c);
	hang_up(u);
	SSL_CTX_free(ctx);
}

/* Short from the second request on: the handshakes and the first one, which a
 * slow machine does slowly, have the long time. */
static const char hasty_policy[] =
	"version: 1\n"
	"defaults: { timeouts: { request_header: 300ms } }\n"
	"agents:\n"
	"  - id: coder\n"
	"    match: { address: 172.20.0.2 }\n"
	"    allow: [ { id: big, names: [big.test], use: inspect } ]\n";

static void test_deadlines(void)
{
	SSL *c = client("big.test"), *u = upstream();

	exchange(c, u, "a whole request");
	world_swap(hasty_policy);
	say(c, "GET / HT");
	hears_with(c, "HTTP/1.1 408 ", "T8 half a head has its time");
	hang_up(c);
	hang_up(u);
	world_swap(inspect_policy);
}

static void test_policy(void)
{
	SSL *c = client("big.test"), *u = upstream();

	exchange(c, u, "a request");
	world_swap(inspect_policy);
	exchange(c, u, "a policy that still allows it changes nothing");
	say(c, GET("/open", "big.test"));
	hears_with(u, "GET /open ", "a request that is open");
	world_swap(inspect_policy);
	say(u, REPLY);
	hears(c, DOWN, "over a change of policies");
	world_swap(without_policy);
	ends(c, false, "one that does not ends it");
	ok(world_audited(AUDIT_DENY, REASON_POLICY_GONE), "and says so");
	hang_up(c);
	hang_up(u);
	world_swap(inspect_policy);
}

/* --- what a model was asked ----------------------------------------------- */

#define MODEL_HEAD                                                      \
	"version: 1\n"                                                  \
	"agents:\n"                                                     \
	"  - id: coder\n"                                               \
	"    match: { address: 172.20.0.2 }\n"                          \
	"    allow: [ { id: big, names: [big.test], use: inspect } ]\n" \
	"    on_limit: deny\n"
static const char metered[] = MODEL_HEAD
	"    limits: { volume: { down: 4KiB/h } }\n";

/* The line of its use, as far as it got. */
static bool used(const char *part)
{
	for (unsigned i = 0; i < 3000; i++) {
		world_listening(10);
		for (size_t k = 0; k < world.n_lines && k < WORLD_LINES; k++)
			if (strstr(world.lines[k], "\"event\":\"usage\"") &&
			    strstr(world.lines[k], part))
				return true;
	}
	for (size_t k = 0; k < world.n_lines && k < WORLD_LINES; k++)
		printf("# but %s\n", world.lines[k]);
	return false;
}

/* All of MODEL_BEGINS: a cut before the gateway has read it finds no use. */
static void model_hears(SSL *c)
{
	char got[2048] = "";
	size_t n = 0;

	while (n < sizeof(got) - 1 && !strstr(got, "}}}\n\n") &&
	       read_upto(c, got + n, 1) == 1)
		n++;
	ok(strstr(got, "}}}\n\n") != NULL, "its first event comes");
}

static void model_begin(SSL *c, SSL *u)
{
	say(c, "POST /v1/messages HTTP/1.1\r\nHost: big.test\r\n"
	       "Content-Type: application/json\r\nContent-Length: 29\r\n\r\n"
	       "{\"model\":\"m-1\",\"stream\":true}");
	hears_with(u, "POST /v1/messages ", "a model is asked");
	say(u, "HTTP/1.1 200 OK\r\nContent-Type: "
	       "text/event-stream\r\n\r\n" MODEL_BEGINS);
	hears_with(c, "200", "it answers");
	model_hears(c);
	world.n_lines = 0;
}

/* A limit or a policy cuts its stream: what it has cost is known. */
static void test_cut_model(void)
{
	static char more[8193];
	SSL *c, *u;

	memset(more, ':', sizeof(more) - 1);
	world_swap(metered);
	c = client("big.test");
	u = upstream();
	model_begin(c, u);
	say(u, more);
	ok(used("\"tokens_in\":7"), "cut at the volume, its use is told");
	ok(world_audited(AUDIT_LIMIT, REASON_LIMIT_VOLUME), "as is why");
	hang_up(c);
	hang_up(u);
	ok(world_empty(), "all gone");
	world_swap(inspect_policy);
	c = client("big.test");
	u = upstream();
	model_begin(c, u);
	world_swap(without_policy);
	ok(used("\"tokens_in\":7"), "cut by another policy: the same");
	hang_up(c);
	hang_up(u);
	world_swap(inspect_policy);
}

static void test_large(void)
{
	static char body[300001];
	SSL *c = client("big.test"), *u = upstream();
	char *got = malloc(sizeof(body));

	memset(body, 'b', sizeof(body) - 1);
	say(c, "PUT / HTTP/1.1\r\nHost: big.test\r\nContent-Length: 300000\r\n"
	       "\r\n");
	hears_with(u, "PUT / ", "a large request");
	say(c, body);
	is_int(read_upto(u, got, sizeof(body) - 1), 300000, "goes up whole");
	say(u, "HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n");
	say(u, body);
	hears_with(c, "200", "a large answer");
	is_int(read_upto(c, got, sizeof(body) - 1), 300000, "comes down whole");
	exchange(c, u, "and then");
	free(got);
	hang_up(c);
	hang_up(u);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	if (!inspect_up("http/1.1"))
		return done_testing();
	test_certificates();
	test_ca_expired();
	test_pinned();
	test_deadlines();
	test_large();
	test_policy();
	test_cut_model();
	ok(world_empty(), "no connection is left");
	inspect_down();
	return done_testing();
}
