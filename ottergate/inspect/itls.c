/* SPDX-License-Identifier: Apache-2.0 */
/*
 * itls.c - one side of an inspected connection: TLS, or plain bytes, on a socket
 * that never blocks
 *
 * Theory of operation: OpenSSL reads and writes through a BIO of our own, for
 * two reasons. The client's hello was read before the decision to inspect, and
 * a write to a closed socket must not raise SIGPIPE. After a failure, what the
 * BIO has met (an end, a reset) tells a peer that went away from one that broke
 * the protocol.
 *
 * Read-ahead takes several records with one system call. The buffers of an idle
 * connection are freed (SSL_MODE_RELEASE_BUFFERS).
 */
#include "ottergate/inspect/itls.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <string.h>

#include "ottergate/conn/hello.h"
#include "ottergate/inspect/wire.h"

#define SYSTEM_ROOTS "/etc/ssl/certs/ca-certificates.crt"
#define HELLO_KIB (HELLO_MAX_HARD / 1024)

static const uint8_t alpn_h1[] = "\x08http/1.1";
static const uint8_t alpn_h2[] = "\x02h2";
#define ALPN_LEN(a) (sizeof(a) - 1)

/* --- the socket ----------------------------------------------------------- */

static pthread_once_t wire_once = PTHREAD_ONCE_INIT;
static BIO_METHOD *wire_method;

static int bio_read(BIO *b, char *out, int len)
{
	ssize_t n;

	BIO_clear_retry_flags(b);
	if (len <= 0)
		return 0;
	n = wire_read(BIO_get_data(b), out, (size_t)len);
	if (n == -EAGAIN)
		BIO_set_retry_read(b);
	return n < 0 ? -1 : (int)n;
}

static int bio_write(BIO *b, const char *mem, int len)
{
	ssize_t n;

	BIO_clear_retry_flags(b);
	if (len <= 0)
		return 0;
	n = wire_write(BIO_get_data(b), mem, (size_t)len);
	if (n == -EAGAIN)
		BIO_set_retry_write(b);
	return n < 0 ? -1 : (int)n;
}

static long bio_ctrl(BIO *b, int cmd, long num, void *ptr)
{
	const struct wire *w = BIO_get_data(b);

	(void)num;
	(void)ptr;
	switch (cmd) {
	case BIO_CTRL_FLUSH:
		return 1;
	case BIO_CTRL_EOF:
		return w->eof;
	default:
		return 0;
	}
}

static int bio_destroy(BIO *b)
{
	wire_free(BIO_get_data(b));
	return 1;
}

static void bio_setup(void)
{
	BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK,
				     "ac wire");

	if (m && BIO_meth_set_read(m, bio_read) &&
	    BIO_meth_set_write(m, bio_write) &&
	    BIO_meth_set_ctrl(m, bio_ctrl) &&
	    BIO_meth_set_destroy(m, bio_destroy))
		wire_method = m; /* for the life of the process */
	else
		BIO_meth_free(m);
}

/* Takes ownership of @w, also on failure. */
static BIO *bio_new(struct wire *w)
{
	BIO *b = NULL;

	pthread_once(&wire_once, bio_setup);
	if (wire_method)
		b = BIO_new(wire_method);
	if (!b) {
		wire_free(w);
		return NULL;
	}
	BIO_set_data(b, w);
	BIO_set_init(b, 1);
	return b;
}

/* --- contexts ------------------------------------------------------------- */

static bool groups_set(SSL_CTX *ctx, const char *list)
{
	/* The macro takes a char * and writes nothing. */
	return SSL_CTX_set1_groups_list(ctx, (char *)(uintptr_t)list) == 1;
}

/* A handshake cannot be split (share.c), so its arithmetic must be cheap. A
 * client that offers ffdhe8192 alone, or a server that chose DHE, would keep
 * the worker busy for a tenth of a second. The groups here take less than a
 * millisecond, and every client and server of this decade has one of them. The
 * first exists from OpenSSL 3.5 on. */
static bool ctx_groups(SSL_CTX *ctx)
{
	bool done = groups_set(ctx, "X25519MLKEM768:X25519:P-256:P-384") ||
		    groups_set(ctx, "X25519:P-256:P-384");

	ERR_clear_error();
	return done && SSL_CTX_set_cipher_list(ctx, "DEFAULT:!kDHE") == 1;
}

/* Options of both sides. T11: no session outlives its connection. T12: no
 * renegotiation, so a peer keeps its identity. */
static bool ctx_common(SSL_CTX *ctx)
{
	SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION |
					 SSL_OP_NO_COMPRESSION |
					 SSL_OP_NO_TICKET);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
				      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				      SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_read_ahead(ctx, 1);
	return ctx_groups(ctx);
}

/* Selects the protocol that was chosen before, if the client offers it. */
static int alpn_select(SSL *ssl, const uint8_t **out, uint8_t *outlen,
		       const uint8_t *in, unsigned inlen, void *arg)
{
	enum itls_alpn alpn = (enum itls_alpn)(uintptr_t)SSL_get_app_data(ssl);
	const uint8_t *want = alpn == ITLS_H2 ? alpn_h2 : alpn_h1;
	uint8_t *found;

	(void)arg;
	if (alpn == ITLS_NONE ||
	    SSL_select_next_proto(&found, outlen, want, want[0] + 1u, in,
				  inlen) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_NOACK;
	*out = found;
	return SSL_TLSEXT_ERR_OK;
}

bool itls_server_ctx(SSL_CTX *ctx)
{
	if (!ctx_common(ctx))
		return false;
	SSL_CTX_set_num_tickets(ctx, 0);
	SSL_CTX_set_options(ctx, SSL_OP_CIPHER_SERVER_PREFERENCE |
					 SSL_OP_PRIORITIZE_CHACHA);
	SSL_CTX_set_alpn_select_cb(ctx, alpn_select, NULL);
	return true;
}

/* Reads the roots now: later there may be no permission to. */
static int roots_load(SSL_CTX *ctx, const char *extra, struct err *err)
{
	X509_STORE *store = SSL_CTX_get_cert_store(ctx);
	bool some = X509_STORE_load_file(store, SYSTEM_ROOTS) == 1 ||
		    X509_STORE_load_file(store, X509_get_default_cert_file()) ==
			    1;
	if (extra && X509_STORE_load_file(store, extra) != 1)
		return err_set(err, -EINVAL, "%s: no certificates in PEM",
			       extra);
	if (!some && !extra)
		return err_set(err, -ENOENT, "no root certificates in %s",
			       SYSTEM_ROOTS);
	return 0;
}

int itls_upstream_ctx(const char *extra_roots, SSL_CTX **ret, struct err *err)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	int rc;

	if (!ctx)
		return err_nomem(err);
	if (!ctx_common(ctx)) {
		SSL_CTX_free(ctx);
		return err_set(err, -EINVAL, "OpenSSL lacks X25519 or P-256");
	}
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	rc = roots_load(ctx, extra_roots, err);
	ERR_clear_error();
	if (rc < 0) {
		SSL_CTX_free(ctx);
		return rc;
	}
	*ret = ctx;
	return 0;
}

/* --- life ----------------------------------------------------------------- */

static int itls_begin(struct itls *t, SSL_CTX *ctx, int fd, struct slice first)
{
	SSL *ssl = SSL_new(ctx);
	struct wire *w = ssl ? wire_new(fd, first) : NULL;
	BIO *b = w ? bio_new(w) : NULL;

	if (!b) {
		SSL_free(ssl);
		ERR_clear_error();
		return -ENOMEM;
	}
	SSL_set_bio(ssl, b, b);
	*t = (struct itls){ .ssl = ssl, .wire = w, .fd = fd };
	return 0;
}

int itls_plain(struct itls *t, int fd, struct slice first)
{
	struct wire *w = wire_new(fd, first);

	if (!w)
		return -ENOMEM;
	*t = (struct itls){ .wire = w, .fd = fd };
	return 0;
}

int itls_accept(struct itls *t, SSL_CTX *ctx, int fd, enum itls_alpn alpn,
		struct slice first)
{
	int rc = itls_begin(t, ctx, fd, first);

	if (rc < 0)
		return rc;
	SSL_set_app_data(t->ssl, (void *)(uintptr_t)alpn);
	SSL_set_accept_state(t->ssl);
	return 0;
}

static bool alpn_offer(SSL *ssl, bool h1, bool h2)
{
	uint8_t v[ALPN_LEN(alpn_h1) + ALPN_LEN(alpn_h2)];
	size_t n = 0;

	if (h2) {
		memcpy(v, alpn_h2, ALPN_LEN(alpn_h2));
		n = ALPN_LEN(alpn_h2);
	}
	if (h1) {
		memcpy(v + n, alpn_h1, ALPN_LEN(alpn_h1));
		n += ALPN_LEN(alpn_h1);
	}
	return n == 0 || SSL_set_alpn_protos(ssl, v, (unsigned)n) == 0;
}

int itls_connect(struct itls *t, SSL_CTX *ctx, int fd, const struct name *name,
		 bool h1, bool h2)
{
	int rc = itls_begin(t, ctx, fd, slice_of(NULL, 0));

	if (rc < 0)
		return rc;
	SSL_set_connect_state(t->ssl);
	/* RFC 9525 §6.3: a wildcard is a whole label; names are those of the
	 * subjectAltName alone. */
	SSL_set_hostflags(t->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
					  X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	if (name->len == 0 || SSL_set1_host(t->ssl, name->s) != 1 ||
	    SSL_set_tlsext_host_name(t->ssl, (char *)(uintptr_t)name->s) != 1 ||
	    !alpn_offer(t->ssl, h1, h2)) {
		itls_done(t);
		return -ENOMEM;
	}
	return 0;
}

void itls_done(struct itls *t)
{
	if (t->ssl)
		SSL_free(t->ssl); /* and the wire */
	else
		wire_free(t->wire);
	*t = (struct itls){ .fd = -1 };
}

/* --- the handshake -------------------------------------------------------- */

static enum reason handshake_why(const struct itls *t)
{
	if (SSL_is_server(t->ssl))
		return REASON_CLIENT_TLS;
	return SSL_get_verify_result(t->ssl) != X509_V_OK ?
		       REASON_UPSTREAM_CERT :
		       REASON_UPSTREAM_TLS;
}

/* Returns true if @ssl_error only means to wait for the socket. */
static bool would_block(int ssl_error)
{
	return ssl_error == SSL_ERROR_WANT_READ ||
	       ssl_error == SSL_ERROR_WANT_WRITE;
}

int itls_handshake(struct itls *t, enum reason *why)
{
	int rc, e;

	if (!t->ssl)
		return 0;
	if (t->broken) {
		*why = handshake_why(t);
		return -EPROTO;
	}
	ERR_clear_error();
	rc = SSL_do_handshake(t->ssl);
	t->want_read = t->want_write = false;
	/* A success without a verified peer must not happen; checked again,
	 * whatever the cause. */
	if (rc == 1 && (SSL_is_server(t->ssl) ||
			SSL_get_verify_result(t->ssl) == X509_V_OK))
		return 0;
	e = rc == 1 ? SSL_ERROR_SSL : SSL_get_error(t->ssl, rc);
	if (would_block(e)) {
		t->want_read = e == SSL_ERROR_WANT_READ;
		t->want_write = !t->want_read;
		return -EAGAIN;
	}
	t->broken = true;
	*why = handshake_why(t);
	ERR_clear_error();
	return -EPROTO;
}

enum itls_alpn itls_alpn(const struct itls *t)
{
	const uint8_t *p = NULL;
	unsigned len = 0;

	if (!t->ssl)
		return ITLS_NONE;
	SSL_get0_alpn_selected(t->ssl, &p, &len);
	if (slice_eq(slice_of(p, len), slice_str("h2")))
		return ITLS_H2;
	return slice_eq(slice_of(p, len), slice_str("http/1.1")) ? ITLS_H1 :
								   ITLS_NONE;
}

const char *itls_certificate_fault(const struct itls *t)
{
	long e = t->ssl ? SSL_get_verify_result(t->ssl) : X509_V_OK;

	return e == X509_V_OK ? "" : X509_verify_cert_error_string(e);
}

void itls_hello_alpn(struct slice hello, bool *ret_h1, bool *ret_h2)
{
	struct hello_reader r = { .max_kib = HELLO_KIB };
	struct hello h;

	*ret_h1 = *ret_h2 = false;
	if (hello_read(&r, hello, &h) == 0) {
		*ret_h1 = h.alpn_h1;
		*ret_h2 = h.alpn_h2;
	}
}

/* --- bytes ---------------------------------------------------------------- */

/* Clears OpenSSL's error queue if it is not empty: what an earlier failure left
 * there would make the next call look failed. Checking is cheaper than
 * clearing. */
static void errors_forget(void)
{
	if (ERR_peek_error() != 0)
		ERR_clear_error();
}

/* Returns what a failed call means; @write: it was a write. */
static ssize_t bytes_why(struct itls *t, int rc, bool write)
{
	int e = SSL_get_error(t->ssl, rc);
	const struct wire *w = t->wire;

	if (would_block(e)) {
		*(write ? &t->want_write : &t->want_read) = true;
		return -EAGAIN;
	}
	ERR_clear_error();
	if (e == SSL_ERROR_ZERO_RETURN) {
		t->eof = true;
		return write ? -EPIPE : 0;
	}
	if (!w->eof && !w->reset) {
		t->broken = true;
		return -EPROTO;
	}
	/* A peer that reads no more may still have sent something, so only a
	 * failed read breaks reading. */
	t->broken = t->broken || !write;
	return -EPIPE;
}

static ssize_t plain_read(struct itls *t, void *mem, size_t len)
{
	ssize_t n = wire_read(t->wire, mem, len);

	t->want_read = n == -EAGAIN;
	t->eof = n == 0 && len > 0;
	t->broken = n < 0 && n != -EAGAIN;
	return n;
}

static ssize_t plain_write(struct itls *t, const void *mem, size_t len)
{
	ssize_t n = wire_write(t->wire, mem, len);

	t->want_write = n == -EAGAIN;
	return n;
}

ssize_t itls_read(struct itls *t, void *mem, size_t len)
{
	size_t n = 0;
	int rc;

	if (t->eof)
		return 0;
	if (t->broken)
		return -EPIPE;
	if (!t->ssl)
		return plain_read(t, mem, len);
	/* Nothing decrypted, and nothing in the socket until its next edge. */
	if (t->wire->empty && !SSL_has_pending(t->ssl)) {
		t->want_read = true;
		return -EAGAIN;
	}
	errors_forget();
	rc = SSL_read_ex(t->ssl, mem, len, &n);
	t->want_read = false;
	return rc == 1 ? (ssize_t)n : bytes_why(t, rc, false);
}

ssize_t itls_write(struct itls *t, const void *mem, size_t len)
{
	size_t n = 0;
	int rc;

	if (len == 0)
		return 0;
	if (t->broken || t->wire->reset)
		return -EPIPE;
	if (!t->ssl)
		return plain_write(t, mem, len);
	errors_forget();
	rc = SSL_write_ex(t->ssl, mem, len, &n);
	t->want_write = false;
	return rc == 1 ? (ssize_t)n : bytes_why(t, rc, true);
}

void itls_event(struct itls *t, bool hup)
{
	if (!t->wire)
		return;
	wire_edge(t->wire, hup);
	t->want_read = false;
}

bool itls_pending(const struct itls *t)
{
	return t->wire && !t->eof && !t->broken && !t->want_read;
}

void itls_bye(struct itls *t)
{
	if (!t->ssl || t->broken || t->wire->reset ||
	    !SSL_is_init_finished(t->ssl) ||
	    (SSL_get_shutdown(t->ssl) & SSL_SENT_SHUTDOWN))
		return;
	ERR_clear_error();
	if (SSL_shutdown(t->ssl) < 0)
		ERR_clear_error(); /* there is no second try */
}
