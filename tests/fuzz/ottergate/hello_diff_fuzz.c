/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hello_diff_fuzz.c - a name that we read is the name OpenSSL reads
 *
 * The same bytes go to our reader and to a real TLS server. Ours may refuse
 * more; where it accepts, a server behind it must come to the same name:
 *  - the extension as the server sees it holds one name, ours;
 *  - the name it then uses for its choice of certificate is ours;
 *  - where we saw none, it sees none;
 *  - where it has a whole hello, we do not wait for more.
 */
#include <openssl/ssl.h>
#include <string.h>

#include "ottergate/conn/hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the server came to, of the input at hand. */
static struct seen {
	const uint8_t *sni; /* the extension's data, NULL: none */
	size_t sni_len;
	bool resolved; /* it has a name, or knows that there is none */
	char name[256];
	int rc; /* of our reader, before the server was asked */
	struct hello ours;
} seen;

/* The one name in the list, by OpenSSL's bytes and nothing of ours. */
static void check_extension(void)
{
	const uint8_t *p = seen.sni;
	struct name n;
	size_t len;

	if (seen.sni_len < 5)
		abort();
	len = (size_t)p[3] << 8 | p[4];
	if (((size_t)p[0] << 8 | p[1]) != seen.sni_len - 2 || p[2] != 0 ||
	    len != seen.sni_len - 5)
		abort();
	if (name_canon(slice_of(p + 5, len), &n) < 0 ||
	    strcmp(n.s, seen.ours.sni.s) != 0)
		abort();
}

static int on_hello(SSL *ssl, int *al, void *arg)
{
	(void)al;
	(void)arg;
	if (!SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &seen.sni,
				       &seen.sni_len))
		seen.sni = NULL;
	if (seen.rc == -EAGAIN)
		abort();
	if (seen.rc == 0) {
		if (seen.ours.has_sni != !!seen.sni)
			abort();
		if (seen.sni)
			check_extension();
	}
	return SSL_CLIENT_HELLO_SUCCESS;
}

static int on_name(SSL *ssl, int *al, void *arg)
{
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);

	(void)al;
	(void)arg;
	seen.resolved = true;
	snprintf(seen.name, sizeof(seen.name), "%s", name ? name : "");
	return SSL_TLSEXT_ERR_OK;
}

static SSL_CTX *server(void)
{
	static SSL_CTX *ctx;

	if (ctx)
		return ctx;
	ctx = SSL_CTX_new(TLS_server_method());
	if (!ctx)
		abort();
	SSL_CTX_set_security_level(ctx, 0);
	SSL_CTX_set_min_proto_version(ctx, 0);
	SSL_CTX_set_client_hello_cb(ctx, on_hello, NULL);
	SSL_CTX_set_tlsext_servername_callback(ctx, on_name);
	return ctx;
}

static void serve(const uint8_t *data, size_t size)
{
	SSL *ssl = SSL_new(server());
	BIO *in = BIO_new_mem_buf(data, (int)size);
	BIO *out = BIO_new(BIO_s_mem());

	if (!ssl || !in || !out)
		abort();
	BIO_set_mem_eof_return(in, -1);
	SSL_set_bio(ssl, in, out);
	SSL_accept(ssl);
	SSL_free(ssl);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hello_reader r = { .max_kib = HELLO_MAX_HARD / 1024 };
	struct name n;

	if (size == 0 || size > HELLO_MAX_HARD)
		return 0;
	seen = (struct seen){ 0 };
	seen.rc = hello_read(&r, slice_of(data, size), &seen.ours);
	serve(data, size);
	if (seen.rc != 0 || !seen.resolved)
		return 0;
	if (!seen.ours.has_sni) {
		if (seen.name[0])
			abort();
		return 0;
	}
	if (name_canon(slice_str(seen.name), &n) < 0 ||
	    strcmp(n.s, seen.ours.sni.s) != 0)
		abort();
	return 0;
}
