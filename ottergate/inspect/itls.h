/* SPDX-License-Identifier: Apache-2.0 */
/*
 * itls.h - one side of an inspected connection: TLS, or plain bytes, on a
 * non-blocking, edge-triggered socket
 *
 * OpenSSL works on the descriptor itself, after the bytes that were read before
 * (the client's hello). TLS 1.2 or later; no renegotiation, no compression, no
 * session tickets towards the client (T11, T12).
 */
#ifndef OTTERGATE_INSPECT_ITLS_H
#define OTTERGATE_INSPECT_ITLS_H

#include <openssl/ssl.h>
#include <sys/types.h>

#include "lib/attr.h"
#include "lib/err.h"
#include "ottergate/policy/net/name.h"
#include "ottergate/reason.h"

enum itls_alpn { ITLS_NONE, ITLS_H1, ITLS_H2 };

struct wire;

struct itls {
	SSL *ssl; /* NULL: plain bytes */
	struct wire *wire; /* NULL: not begun */
	int fd; /* borrowed */
	/* What the handshake, or the last read and write, wait for. */
	bool want_read, want_write;
	bool eof; /* close_notify was received: reading returns 0 */
	bool broken; /* by an error; nothing more can be read or written */
};
/* Initialises @t as the server towards the sandbox, with the protocol @alpn.
 * Takes a reference of @ctx; @fd is borrowed. @first, bytes that were read
 * already, is copied. Returns 0 or -ENOMEM. */
int itls_accept(struct itls *t, SSL_CTX *ctx, int fd, enum itls_alpn alpn,
		struct slice first) ATTR_WUR;
/* Initialises @t as the client of the upstream, which must prove to be @name
 * (not empty) by the roots of itls_upstream_ctx(). Offers HTTP/1.1 if @h1 and
 * HTTP/2 if @h2. Takes a reference of @ctx; @fd is borrowed. Returns 0 or
 * -ENOMEM. */
int itls_connect(struct itls *t, SSL_CTX *ctx, int fd, const struct name *name,
		 bool h1, bool h2) ATTR_WUR;
/* Initialises @t for plain HTTP: there is no handshake, and the end of the
 * stream is what close_notify is in TLS. @first, bytes that were read already, is
 * copied. Returns 0 or -ENOMEM. */
int itls_plain(struct itls *t, int fd, struct slice first) ATTR_WUR;
/* Releases @t, which may be zeroed. Does not close the descriptor. */
void itls_done(struct itls *t);
/* Goes on with the handshake. Returns 0 when it is done, -EAGAIN, or -EPROTO
 * with its cause (certificate, version, …) in *why. */
int itls_handshake(struct itls *t, enum reason *why) ATTR_WUR;
/* Returns the protocol that the handshake has chosen; ITLS_NONE for none. */
enum itls_alpn itls_alpn(const struct itls *t);
/* Return the number of bytes, which may be fewer than @len; reading, 0 at
 * close_notify. Fail with -EAGAIN (see want_read and want_write), -EPROTO if
 * the peer broke the protocol, or -EPIPE if the connection was cut off, reset
 * or broken before. After -EAGAIN from a write, the next write must begin with
 * the same bytes; they may have moved. */
ssize_t itls_read(struct itls *t, void *mem, size_t len) ATTR_WUR;
ssize_t itls_write(struct itls *t, const void *mem, size_t len) ATTR_WUR;
/* Sends close_notify, once. Never blocks and ignores failures. */
void itls_bye(struct itls *t);
/* Returns true if a read may find bytes, or the end, without a new event. */
bool itls_pending(const struct itls *t);
/* Does wire_edge(). */
void itls_event(struct itls *t, bool hup);
/* Returns a description of the fault in the upstream's certificate, "" for
 * none. A constant. */
const char *itls_certificate_fault(const struct itls *t);

/* Prepares @ctx as a server's context, except for certificate and key. Returns
 * false without memory. */
bool itls_server_ctx(SSL_CTX *ctx);
/* Makes the context for all upstreams, to be freed with SSL_CTX_free(). It
 * trusts the system's roots and those in @extra_roots, a PEM file with this
 * machine's own CA, or NULL. Connections of several threads may share it.
 * Returns 0. Fails with -EINVAL if that file has no certificate, -ENOENT if
 * there are no roots at all, or -ENOMEM, always with @err. */
int itls_upstream_ctx(const char *extra_roots, SSL_CTX **ret,
		      struct err *err) ATTR_WUR;

/* Sets which protocols a client's hello offers, HTTP/1.1 and HTTP/2; both are
 * false if @hello cannot be read. */
struct hello;
void itls_hello_alpn(struct slice hello, bool *ret_h1, bool *ret_h2);

#endif
