/* SPDX-License-Identifier: Apache-2.0 */
/*
 * itls.h - one side of an inspected connection: TLS on a socket that never
 * blocks, edge-triggered
 *
 * OpenSSL on the descriptor itself; bytes that were read before (the hello)
 * are given to it first. No renegotiation, no compression, TLS 1.2 at least,
 * no tickets on the client's side (T11, T12).
 */
#ifndef OTTERGATE_INSPECT_ITLS_H
#define OTTERGATE_INSPECT_ITLS_H

#include <openssl/ssl.h>
#include <sys/types.h>

#include "lib/attr.h"
#include "lib/err.h"
#include "ottergate/policy/name.h"
#include "ottergate/reason.h"

enum itls_alpn { ITLS_NONE, ITLS_H1, ITLS_H2 };

struct itls {
	SSL *ssl;
	int fd; /* borrowed */
	/* What the handshake, or the last read and the last write wait for. */
	bool want_read, want_write;
	bool eof; /* close_notify came */
	bool broken; /* an error; nothing more may be said */
};
/* Towards the sandbox. @ctx is counted up. @first: bytes already read. */
int itls_accept(struct itls *t, SSL_CTX *ctx, int fd, enum itls_alpn alpn,
		struct slice first) ATTR_WUR;
/* Towards the upstream, which must prove to be @name by the system's roots
 * (and @roots_extra of itls_upstream_ctx()). Offers @h1, @h2. */
int itls_connect(struct itls *t, SSL_CTX *ctx, int fd, const struct name *name,
		 bool h1, bool h2) ATTR_WUR;
void itls_done(struct itls *t); /* accepts zeroed; does not close the fd */
/* 0: done; -EAGAIN; -EPROTO (@why: certificate, version…). */
int itls_handshake(struct itls *t, enum reason *why) ATTR_WUR;
enum itls_alpn itls_alpn(const struct itls *t);
/* >0 bytes, 0 the end (close_notify), -EAGAIN, -EPROTO, -EPIPE (cut off). After
 * -EAGAIN of a write the next one begins with the same bytes, wherever they
 * are by then. A peer that resets is "cut off" too. */
ssize_t itls_read(struct itls *t, void *mem, size_t len) ATTR_WUR;
ssize_t itls_write(struct itls *t, const void *mem, size_t len) ATTR_WUR;
/* close_notify, once; never waits. */
void itls_bye(struct itls *t);
/* Is there more to read without a new event? */
bool itls_pending(const struct itls *t);
/* The descriptor had an edge; @hup: its peer has ended, now or before. Who
 * calls this calls it for all edges: between two of them, what is empty is not
 * asked again. */
void itls_event(struct itls *t, bool hup);
/* What was wrong with the upstream's certificate, for people; "" nothing. */
const char *itls_certificate_fault(const struct itls *t);

/* What a server's context needs beyond certificate and key, the choice of the
 * protocol by itls_accept() included. False: no memory. */
bool itls_server_ctx(SSL_CTX *ctx);
/* The context for all upstreams; @extra_roots: a PEM file of this machine's
 * own CA, NULL: none. Thread-safe once made. */
int itls_upstream_ctx(const char *extra_roots, SSL_CTX **ret,
		      struct err *err) ATTR_WUR;

/* What a client's hello offers, from the bytes that hello.c accepted. */
struct hello;
void itls_hello_alpn(struct slice hello, bool *ret_h1, bool *ret_h2);

#endif
