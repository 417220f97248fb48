/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_peer.h - certificates and plain OpenSSL peers for tests
 *
 * A root of the test's own, certificates by it (good, expired, of another
 * name) or by nobody, and contexts that speak with them.
 */
#ifndef TESTS_UNIT_OTTERGATE_INSPECT_TLS_PEER_H
#define TESTS_UNIT_OTTERGATE_INSPECT_TLS_PEER_H

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/attr.h"

struct peer_cert {
	EVP_PKEY *key;
	X509 *cert;
};

static inline void peer_ext(X509 *x, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX v3;
	X509_EXTENSION *e;

	X509V3_set_ctx(&v3, issuer, x, NULL, NULL, 0);
	e = X509V3_EXT_conf_nid(NULL, &v3, nid, value);
	if (!e || X509_add_ext(x, e, -1) != 1)
		abort();
	X509_EXTENSION_free(e);
}

/* @by NULL: signed by itself; a root if @san is NULL. Valid from @from to @to
 * seconds from now. */
static inline struct peer_cert peer_cert(const struct peer_cert *by,
					 const char *san, long from, long to)
{
	struct peer_cert c = { EVP_EC_gen("P-256"), X509_new() };
	X509 *issuer = by ? by->cert : c.cert;
	X509_NAME *n = X509_get_subject_name(c.cert);
	time_t now = time(NULL);
	static long serial = 1;

	X509_set_version(c.cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(c.cert), serial++);
	X509_NAME_add_entry_by_txt(n, "CN", MBSTRING_ASC,
				   (const uint8_t *)(san ? san : "test root"),
				   -1, -1, 0);
	X509_set_issuer_name(c.cert, X509_get_subject_name(issuer));
	ASN1_TIME_set(X509_getm_notBefore(c.cert), now + from);
	ASN1_TIME_set(X509_getm_notAfter(c.cert), now + to);
	X509_set_pubkey(c.cert, c.key);
	peer_ext(c.cert, issuer, NID_basic_constraints,
		 san ? "critical,CA:FALSE" : "critical,CA:TRUE");
	if (san) {
		char text[300];

		snprintf(text, sizeof(text), "DNS:%s", san);
		peer_ext(c.cert, issuer, NID_subject_alt_name, text);
	}
	if (X509_sign(c.cert, by ? by->key : c.key, EVP_sha256()) <= 0)
		abort();
	return c;
}

static inline void peer_cert_free(struct peer_cert *c)
{
	X509_free(c->cert);
	EVP_PKEY_free(c->key);
}

#define PEER_PATH 32u
/* @path: PEER_PATH bytes. */
static inline void peer_pem(const struct peer_cert *c, char *path)
{
	FILE *f;
	int fd;

	snprintf(path, PEER_PATH, "/tmp/ac-tls-peer-XXXXXX");
	fd = mkstemp(path);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f || PEM_write_X509(f, c->cert) != 1 || fclose(f) != 0)
		abort();
}

/* The one protocol that a server takes: "h2", "http/1.1", or none. */
static inline int peer_alpn(SSL *ssl, const uint8_t **out, uint8_t *outlen,
			    const uint8_t *in, unsigned inlen, void *arg)
{
	const char *want = arg;
	uint8_t list[16], *found;

	(void)ssl;
	list[0] = (uint8_t)strlen(want);
	memcpy(list + 1, want, list[0]);
	if (SSL_select_next_proto(&found, outlen, list, list[0] + 1u, in,
				  inlen) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_NOACK;
	*out = found;
	return SSL_TLSEXT_ERR_OK;
}

/* @alpn NULL: none; a string that lasts. */
static inline SSL_CTX *peer_server(const struct peer_cert *c, const char *alpn)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

	if (SSL_CTX_use_certificate(ctx, c->cert) != 1 ||
	    SSL_CTX_use_PrivateKey(ctx, c->key) != 1)
		abort();
	if (alpn)
		SSL_CTX_set_alpn_select_cb(ctx, peer_alpn,
					   (void *)(uintptr_t)alpn);
	return ctx;
}

/* Trusts what is in @pem, NULL: nothing. */
static inline SSL_CTX *peer_client(const char *pem)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	BIO *b = pem ? BIO_new_mem_buf(pem, -1) : NULL;
	X509 *x = b ? PEM_read_bio_X509(b, NULL, NULL, NULL) : NULL;

	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	if (x)
		X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), x);
	X509_free(x);
	BIO_free(b);
	return ctx;
}

#endif
