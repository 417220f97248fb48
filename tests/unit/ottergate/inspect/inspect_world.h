/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inspect_world.h - a real gateway that inspects, a TLS client and a TLS server
 * of the test's own at its two ends
 *
 * The server's handshakes are a thread's, since the gateway makes them before
 * it answers the client; the bytes are the test's.
 */
#ifndef TESTS_UNIT_OTTERGATE_INSPECT_INSPECT_WORLD_H
#define TESTS_UNIT_OTTERGATE_INSPECT_INSPECT_WORLD_H

#include <openssl/err.h>
#include <semaphore.h>
#include <sodium.h>

#include "ottergate/inspect/itls.h"
#include "ottergate/inspect/leaf.h"
#include "ottergate/inspect/mask/secrets.h"
#include "tests/unit/ottergate/otter_world.h"
#include "tests/unit/ottergate/inspect/tls_peer.h"

#define PEERS_MAX 64u
#define PEER_WAIT 30 /* seconds until a test gives up: no promise */
#define PEER_SPAN (6 * 3600) /* seconds that certificates are good, both ways */
#define REAL_TOKEN "ghp_real0token0that0nobody0may0ever0see1"

#define GET(path, host) "GET " path " HTTP/1.1\r\nHost: " host "\r\n\r\n"
#define UP_GET(path, host)                     \
	"GET " path " HTTP/1.1\r\nHost: " host \
	"\r\nConnection: keep-alive\r\n\r\n"
#define REPLY "HTTP/1.1 200 Fine\r\nContent-Length: 2\r\n\r\nhi"
#define DOWN                                                   \
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: " \
	"keep-alive\r\n\r\nhi"
#define CHUNKED "Transfer-Encoding: chunked\r\n"
#define KEEP "Connection: keep-alive\r\n"

/* The first event of a model's answer. */
#define MODEL_BEGINS                                                    \
	"event: message_start\ndata: {\"type\":\"message_start\","      \
	"\"message\":{\"model\":\"m-1\",\"usage\":{\"input_tokens\":7," \
	"\"output_tokens\":1}}}\n\n"

#ifndef INSPECT_LIMITS /* of the sandbox, as YAML */
#define INSPECT_LIMITS ""
#endif

static const char inspect_policy[] =
	"version: 1\n"
	"defaults:\n"
	"  timeouts: { request_header: 1m, idle: 1m, connect: 1m }\n"
	"credentials:\n"
	"  gh: {}\n"
	"agents:\n"
	"  - id: coder\n"
	"    match: { address: 172.20.0.2 }\n"
	"    allow:\n"
	"      - id: api\n"
	"        names: [api.test]\n"
	"        use: inspect\n"
	"        http:\n"
	"          allow:\n"
	"            - { methods: [GET, HEAD], paths: [\"/**\"] }\n"
	"            - { methods: [POST], paths: [\"/post/**\"],\n"
	"                body_max: 1KiB }\n"
	"            - { methods: [POST], paths: [\"/graphql\"],\n"
	"                graphql: query-only }\n"
	"        auth: { use: gh, exclusive: true }\n"
	"        stream: { websocket: true }\n"
	"      - { id: big, names: [big.test], use: inspect }\n"
	"      - { id: ws, names: [ws.test], use: inspect,\n"
	"          stream: { websocket: true } }\n"
	"      - { id: few, names: [few.test], use: inspect,\n"
	"          limits: { requests: 2/m } }\n"
	"      - { id: plain, names: [plain.test], ports: [8080],\n"
	"          proto: http, use: inspect }\n" INSPECT_LIMITS;
static const char without_policy[] =
	"version: 1\n"
	"agents:\n"
	"  - id: coder\n"
	"    match: { address: 172.20.0.2 }\n"
	"    allow: [{ id: big, names: [other.test] }]\n";

static struct {
	struct peer_cert root, cert;
	SSL_CTX *client; /* trusts the sandbox's CA */
	_Atomic(SSL_CTX *) server; /* what the server proves itself with */
	pthread_t thread;
	sem_t there;
	SSL *peers[PEERS_MAX];
	_Atomic unsigned n, taken;
	char token[SURROGATE_MAX];
} peers;

static inline void peer_timeout(int fd)
{
	const struct timeval tv = { .tv_sec = PEER_WAIT };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}

static inline void *peers_serve(void *arg)
{
	int fd;

	(void)arg;
	while ((fd = accept4(world.server, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		SSL *ssl = SSL_new(atomic_load(&peers.server));

		peer_timeout(fd);
		SSL_set_fd(ssl, fd);
		if (SSL_accept(ssl) != 1) {
			ERR_clear_error();
			SSL_free(ssl);
			close(fd);
			continue;
		}
		peers.peers[atomic_fetch_add(&peers.n, 1) % PEERS_MAX] = ssl;
		sem_post(&peers.there);
	}
	return NULL;
}

/* The gateway's next connection, shaken hands with; NULL: none came. */
static inline SSL *upstream(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += PEER_WAIT;
	if (sem_clockwait(&peers.there, CLOCK_MONOTONIC, &ts) < 0)
		return NULL;
	return peers.peers[atomic_fetch_add(&peers.taken, 1) % PEERS_MAX];
}

/* Closes without a word: what is not said shows. */
static inline void hang_up(SSL *ssl)
{
	int fd = ssl ? SSL_get_fd(ssl) : -1;

	SSL_free(ssl);
	fd_closep(&fd);
}

static inline void bye(SSL *ssl)
{
	if (ssl)
		SSL_shutdown(ssl);
	hang_up(ssl);
}

/* A client that has sent its hello; SSL_connect() is the caller's. */
static inline SSL *client_new(SSL_CTX *ctx, const char *host, const char *alpn)
{
	SSL *ssl = SSL_new(ctx);
	int fd = world_client();

	peer_timeout(fd);
	SSL_set_fd(ssl, fd);
	SSL_set1_host(ssl, host);
	SSL_set_tlsext_host_name(ssl, (char *)(uintptr_t)host);
	if (alpn)
		SSL_set_alpn_protos(ssl, (const uint8_t *)alpn,
				    (unsigned)strlen(alpn));
	return ssl;
}

static inline SSL *client(const char *host)
{
	SSL *ssl = client_new(peers.client, host, "\x08http/1.1");

	if (SSL_connect(ssl) != 1)
		ok(false, "connect to %s", host);
	ERR_clear_error();
	return ssl;
}

static inline void say(SSL *ssl, const char *text)
{
	int n = (int)strlen(text);

	if (!ssl || SSL_write(ssl, text, n) != n)
		ok(false, "say %.40s", text);
	ERR_clear_error();
}

static inline size_t read_upto(SSL *ssl, char *out, size_t len)
{
	size_t n = 0;

	while (ssl && n < len) {
		int rc = SSL_read(ssl, out + n, (int)(len - n));

		if (rc <= 0)
			break;
		n += (size_t)rc;
	}
	ERR_clear_error();
	out[n] = '\0';
	return n;
}

/* The next bytes are exactly these. */
static inline void hears(SSL *ssl, const char *want, const char *what)
{
	static char got[65536];

	if (!ssl) {
		ok(false, "%s: nobody is there", what);
		return;
	}
	read_upto(ssl, got, strlen(want));
	is_str(got, want, "%s", what);
}

/* A whole head, and what it has in it. */
static inline void hears_with(SSL *ssl, const char *part, const char *what)
{
	static char got[65536];
	size_t n = 0;

	while (ssl && n < sizeof(got) - 1 &&
	       (n < 4 || memcmp(got + n - 4, "\r\n\r\n", 4) != 0) &&
	       SSL_read(ssl, got + n, 1) == 1)
		n++;
	got[n] = '\0';
	if (!ok(strstr(got, part) != NULL, "%s", what))
		printf("# got %s\n", got);
}

/* Nothing more comes. @said: and the end is told. */
static inline void ends(SSL *ssl, bool said, const char *what)
{
	char got[4096];
	int rc = ssl ? SSL_read(ssl, got, sizeof(got) - 1) : 1;
	int e = ssl ? SSL_get_error(ssl, rc) : 0;

	if (!ok(rc <= 0 && (e == SSL_ERROR_ZERO_RETURN) == said &&
			e != SSL_ERROR_WANT_READ,
		"%s", what))
		printf("# r %d error %d %.*s\n", rc, e, rc > 0 ? rc : 0, got);
	ERR_clear_error();
}

/* One request and its answer, over and done with. */
static inline void exchange(SSL *c, SSL *u, const char *what)
{
	say(c, GET("/x", "big.test"));
	hears(u, UP_GET("/x", "big.test"), what);
	say(u, REPLY);
	hears(c, DOWN, what);
}

/* --- set-up --------------------------------------------------------------- */

static inline void base64(char *out, size_t size, const void *mem, size_t len)
{
	sodium_bin2base64(out, size, mem, len, sodium_base64_VARIANT_ORIGINAL);
}

static inline void peers_secrets(void)
{
	struct surrogate_key key;
	const uint8_t nonce[SURROGATE_NONCE] = { 1, 2, 3, 4, 5 };
	char k[64], v[128], json[512];
	struct err err = { 0 };

	memset(key.k, 7, sizeof(key.k));
	base64(k, sizeof(k), key.k, sizeof(key.k));
	base64(v, sizeof(v), REAL_TOKEN, strlen(REAL_TOKEN));
	snprintf(json, sizeof(json),
		 "{\"key\":\"%s\",\"secrets\":[{\"id\":\"gh\",\"kind\":"
		 "\"github\",\"value\":\"%s\",\"user\":\"x-access-token\","
		 "\"expires\":0,\"hosts\":[\"api.test\"]}]}",
		 k, v);
	if (secret_set_read(slice_str(json), &world.secrets, &err) < 0)
		ok(false, "secrets: %s", err.msg);
	if (surrogate_mint(&key, "gh", SECRET_GITHUB, SURROGATE_RUN, 0, nonce,
			   peers.token) < 0)
		ok(false, "a surrogate");
}

/* A run that begins: nothing is revoked. */
static inline void secret_clear(void)
{
	if (world.secrets)
		atomic_store(world.secrets->v[0].revoked, false);
}

/* @alpn of the server, NULL: none. */
static inline bool inspect_up(const char *alpn)
{
	static const char *const names[] = { "test" };
	struct err err = { 0 };
	char pem[PEER_PATH];

	if (sodium_init() < 0)
		return false;
	peers.root = peer_cert(NULL, NULL, -PEER_SPAN, PEER_SPAN);
	/* OpenSSL takes no wildcard for what is right below the root. */
	peers.cert = peer_cert(&peers.root,
			       "big.test,DNS:api.test,DNS:ws.test,DNS:few.test",
			       -PEER_SPAN, PEER_SPAN);
	peer_pem(&peers.root, pem);
	if (itls_upstream_ctx(pem, &world.tls, &err) < 0 ||
	    leaf_ca_new("coder", names, 1, 4 * PEER_SPAN, 2 * PEER_SPAN,
			&world.ca, &err) < 0)
		return ok(false, "%s", err.msg);
	unlink(pem);
	peers.client = peer_client(leaf_ca_pem(world.ca));
	peers_secrets();
	sem_init(&peers.there, 0, 0);
	world_up(inspect_policy, 1);
	atomic_store(&peers.server, peer_server(&peers.cert, alpn));
	return pthread_create(&peers.thread, NULL, peers_serve, NULL) == 0;
}

static inline void inspect_down(void)
{
	shutdown(world.server, SHUT_RDWR); /* ends the thread */
	pthread_join(peers.thread, NULL);
	world_down();
	SSL_CTX_free(atomic_load(&peers.server));
	SSL_CTX_free(peers.client);
	SSL_CTX_free(world.tls);
	leaf_ca_unref(world.ca);
	secret_set_unref(world.secrets);
	peer_cert_free(&peers.cert);
	peer_cert_free(&peers.root);
	sem_destroy(&peers.there);
}

#endif
