/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaf.c - the certificate authority of one sandbox, and what it signs
 *
 * Theory of operation: two keys are made with the authority, its own and one
 * that all leaves share, which is never encoded. Its own leaves this process
 * for acd's memory alone, on the admin socket (leaf_ca_bundle()). A leaf is
 * minted when its name is first asked for and kept, the least lately used of
 * them given up for a new one. One that has lived half its life is minted
 * anew, so that a handshake never meets one about to end. All connections
 * share one TLS context, which is given the leaf of its name by each.
 *
 * Minting is made of little more than the signature. What OpenSSL takes long
 * for is done once: contexts, extensions from words, and keys that are encoded
 * or decoded by its providers (key_light()); so no certificate is copied
 * either, as X509_dup() decodes the key again.
 *
 * Extensions follow RFC 5280 §4.2 to the letter (identifiers of both keys,
 * critical where it says so), since strict verifiers refuse less.
 */
#include "ottergate/inspect/leaf.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "lib/log.h"
#include "ottergate/inspect/itls.h"

#define BUCKETS 256u
/* Seconds that a clock may be behind: a sandbox's, or this machine's, when it
 * is set back. */
#define SKEW 86400
#define SERIAL_BITS 128
#define CN_MAX 64u /* RFC 5280 appendix A.1, ub-common-name */
#define X509_V3 2
#define BUNDLE_MAX (64u * 1024) /* bytes; a certificate and a key */

struct leaf {
	LIST_ENTRY(leaf) by_name;
	TAILQ_ENTRY(leaf) by_use;
	X509 *cert;
	time_t renew;
	char name[]; /* NUL-terminated */
};

LIST_HEAD(leaf_bucket, leaf);
TAILQ_HEAD(leaf_list, leaf);

struct leaf_ca {
	atomic_uint refs;
	EVP_PKEY *key, *leaf_key;
	EVP_PKEY *leaf_pub; /* key_light() of leaf_key */
	X509 *cert;
	X509 *shape; /* has the extensions that all leaves have in common */
	SSL_CTX *ctx;
	char *pem;
	time_t end;
	uint32_t leaf_seconds;
	pthread_mutex_t lock; /* for what is below */
	struct leaf_bucket buckets[BUCKETS];
	struct leaf_list list; /* the least lately used last */
	unsigned n;
};

/* --- parts of certificates ----------------------------------------------- */

static bool serial_set(X509 *x)
{
	BIGNUM *n = BN_new();
	bool done = n &&
		    BN_rand(n, SERIAL_BITS, BN_RAND_TOP_ANY,
			    BN_RAND_BOTTOM_ANY) == 1 &&
		    !BN_is_zero(n) &&
		    BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x));

	BN_free(n);
	return done;
}

static bool time_set(X509 *x, time_t from, time_t to)
{
	return ASN1_TIME_set(X509_getm_notBefore(x), from) &&
	       ASN1_TIME_set(X509_getm_notAfter(x), to);
}

static bool subject_set(X509 *x, const char *cn)
{
	X509_NAME *n = X509_get_subject_name(x);

	if (X509_NAME_add_entry_by_txt(n, "O", MBSTRING_ASC,
				       (const uint8_t *)"ac", -1, -1, 0) != 1)
		return false;
	return !cn ||
	       X509_NAME_add_entry_by_txt(n, "CN", MBSTRING_ASC,
					  (const uint8_t *)cn, -1, -1, 0) == 1;
}

/* One that can be said in OpenSSL's own words, which are constants here. */
static bool ext_add(X509 *x, X509 *issuer, int nid, const char *value)
{
	X509_EXTENSION *e;
	X509V3_CTX v3;
	bool done;

	X509V3_set_ctx(&v3, issuer, x, NULL, NULL, 0);
	e = X509V3_EXT_conf_nid(NULL, &v3, nid, value);
	done = e && X509_add_ext(x, e, -1) == 1;
	X509_EXTENSION_free(e);
	return done;
}

static GENERAL_NAME *dns_name(const char *s)
{
	GENERAL_NAME *g = GENERAL_NAME_new();
	ASN1_IA5STRING *v = ASN1_IA5STRING_new();

	if (!g || !v || ASN1_STRING_set(v, s, -1) != 1) {
		GENERAL_NAME_free(g);
		ASN1_IA5STRING_free(v);
		return NULL;
	}
	GENERAL_NAME_set0_value(g, GEN_DNS, v);
	return g;
}

/* Address and mask of nothing but zeros: each address there is. */
static GENERAL_NAME *any_address(int bytes)
{
	static const uint8_t zeros[32];
	GENERAL_NAME *g = GENERAL_NAME_new();
	ASN1_OCTET_STRING *v = ASN1_OCTET_STRING_new();

	if (!g || !v || ASN1_OCTET_STRING_set(v, zeros, 2 * bytes) != 1) {
		GENERAL_NAME_free(g);
		ASN1_OCTET_STRING_free(v);
		return NULL;
	}
	GENERAL_NAME_set0_value(g, GEN_IPADD, v);
	return g;
}

/* Takes @base. */
static bool subtree_push(STACK_OF(GENERAL_SUBTREE) * *list, GENERAL_NAME *base)
{
	GENERAL_SUBTREE *t = base ? GENERAL_SUBTREE_new() : NULL;

	if (!t) {
		GENERAL_NAME_free(base);
		return false;
	}
	GENERAL_NAME_free(t->base);
	t->base = base;
	if (!*list)
		*list = sk_GENERAL_SUBTREE_new_null();
	if (*list && sk_GENERAL_SUBTREE_push(*list, t) > 0)
		return true;
	GENERAL_SUBTREE_free(t);
	return false;
}

/*
 * RFC 5280 §4.2.1.10: a name stands for itself and what is below it, and is
 * written without a dot in front; that some readers take one and others do not
 * is why ".x" allows x too. No address is ever certified.
 */
static bool constraints_add(X509 *x, const char *const *names, size_t n)
{
	NAME_CONSTRAINTS *nc = NAME_CONSTRAINTS_new();
	bool done = nc != NULL;

	for (size_t i = 0; i < n && done; i++)
		done = subtree_push(&nc->permittedSubtrees,
				    dns_name(names[i] + (names[i][0] == '.')));
	/* Without any name nothing may be certified (RFC 6761 §6.4). */
	if (done && n == 0)
		done = subtree_push(&nc->permittedSubtrees,
				    dns_name("invalid"));
	done = done && subtree_push(&nc->excludedSubtrees, any_address(4)) &&
	       subtree_push(&nc->excludedSubtrees, any_address(16)) &&
	       X509_add1_ext_i2d(x, NID_name_constraints, nc, 1, 0) == 1;
	NAME_CONSTRAINTS_free(nc);
	return done;
}

static bool san_add(X509 *x, const char *name)
{
	GENERAL_NAMES *list = GENERAL_NAMES_new();
	GENERAL_NAME *g = dns_name(name);
	bool done = list && g && sk_GENERAL_NAME_push(list, g) > 0;

	if (!done)
		GENERAL_NAME_free(g);
	done = done &&
	       X509_add1_ext_i2d(x, NID_subject_alt_name, list, 0, 0) == 1;
	GENERAL_NAMES_free(list);
	return done;
}

/* What a certificate may have in it that a guest takes (init-guard/pem.h). */
static bool constraints_fit(const char *const *names, size_t n)
{
	size_t bytes = 0;

	for (size_t i = 0; i < n && bytes <= LEAF_CONSTRAINTS_BYTES; i++)
		bytes += strlen(names[i]);
	return n <= LEAF_CONSTRAINTS_MAX && bytes <= LEAF_CONSTRAINTS_BYTES;
}

/* --- the authority -------------------------------------------------------- */

static bool ca_certify(struct leaf_ca *ca, const char *agent,
		       const char *const *names, size_t n, time_t now)
{
	char cn[CN_MAX + 1];
	X509 *x = ca->cert;
	bool done;

	snprintf(cn, sizeof(cn), "ac sandbox %.50s", agent);
	done = X509_set_version(x, X509_V3) && serial_set(x) &&
	       time_set(x, now - SKEW, ca->end) && subject_set(x, cn) &&
	       X509_set_issuer_name(x, X509_get_subject_name(x)) &&
	       X509_set_pubkey(x, ca->key) &&
	       ext_add(x, x, NID_basic_constraints,
		       "critical,CA:TRUE,pathlen:0") &&
	       ext_add(x, x, NID_key_usage, "critical,keyCertSign") &&
	       ext_add(x, x, NID_subject_key_identifier, "hash");
	if (done && !constraints_fit(names, n))
		log_warn("%s: %zu names to inspect, too many for its CA to be "
			 "limited to",
			 agent, n);
	else if (done)
		done = constraints_add(x, names, n);
	return done && X509_sign(x, ca->key, EVP_sha256()) > 0;
}

static bool ca_write_pem(struct leaf_ca *ca)
{
	BIO *b = BIO_new(BIO_s_mem());
	char *data = NULL;
	bool done = false;
	long len;

	if (b && PEM_write_bio_X509(b, ca->cert) == 1) {
		len = BIO_get_mem_data(b, &data);
		done = slice_dup_str(slice_of(data, (size_t)len), &ca->pem) ==
		       0;
	}
	BIO_free(b);
	return done;
}

static struct leaf_ca *ca_alloc(uint32_t leaf_seconds)
{
	struct leaf_ca *ca = calloc(1, sizeof(*ca));

	if (!ca)
		return NULL;
	atomic_init(&ca->refs, 1);
	pthread_mutex_init(&ca->lock, NULL);
	TAILQ_INIT(&ca->list);
	ca->leaf_seconds = leaf_seconds;
	return ca;
}

/*
 * The public half of @key once more, in OpenSSL's older form: in the newer one
 * a key that is put into a certificate is encoded and decoded by providers,
 * which costs five times what a signature does. Where that form is not to be
 * had: @key itself, which is slower and nothing else.
 */
static EVP_PKEY *key_light(EVP_PKEY *key)
{
	/* prime256v1 as an OBJECT IDENTIFIER (RFC 5480 §2.1.1.1). */
	static const uint8_t curve[] = { 0x06, 0x08, 0x2a, 0x86, 0x48,
					 0xce, 0x3d, 0x03, 0x01, 0x07 };
	const uint8_t *p = curve;
	uint8_t *point = NULL;
	size_t n = EVP_PKEY_get1_encoded_public_key(key, &point);
	EVP_PKEY *light = NULL;

	if (n > 0)
		light = d2i_KeyParams(EVP_PKEY_EC, NULL, &p, sizeof(curve));
	if (!light || EVP_PKEY_set1_encoded_public_key(light, point, n) != 1 ||
	    EVP_PKEY_eq(light, key) != 1) {
		EVP_PKEY_free(light);
		light = EVP_PKEY_up_ref(key) == 1 ? key : NULL;
	}
	OPENSSL_free(point);
	ERR_clear_error();
	return light;
}

static bool shape_make(struct leaf_ca *ca)
{
	X509 *x = ca->shape = X509_new();

	/* Issuer and key are what the identifiers are made from. */
	return x && X509_set_issuer_name(x, X509_get_subject_name(ca->cert)) &&
	       X509_set_pubkey(x, ca->leaf_pub) &&
	       ext_add(x, ca->cert, NID_basic_constraints,
		       "critical,CA:FALSE") &&
	       ext_add(x, ca->cert, NID_key_usage,
		       "critical,digitalSignature") &&
	       ext_add(x, ca->cert, NID_ext_key_usage, "serverAuth") &&
	       ext_add(x, ca->cert, NID_subject_key_identifier, "hash") &&
	       ext_add(x, ca->cert, NID_authority_key_identifier,
		       "keyid:always");
}

/* What an authority needs besides its key and certificate. */
static bool ca_ready(struct leaf_ca *ca)
{
	ca->leaf_key = EVP_EC_gen("P-256");
	ca->leaf_pub = ca->leaf_key ? key_light(ca->leaf_key) : NULL;
	ca->ctx = SSL_CTX_new(TLS_server_method());
	if (!ca->leaf_pub || !ca->ctx || !itls_server_ctx(ca->ctx))
		return false;
	return ca_write_pem(ca) && shape_make(ca);
}

int leaf_ca_new(const char *agent, const char *const *names, size_t n,
		uint32_t ca_seconds, uint32_t leaf_seconds,
		struct leaf_ca **ret, struct err *err)
{
	struct leaf_ca *ca = ca_alloc(leaf_seconds);
	time_t now = time(NULL);

	if (!ca)
		return err_nomem(err);
	ca->end = now + (time_t)ca_seconds;
	ca->key = EVP_EC_gen("P-256");
	ca->cert = X509_new();
	if (!ca->key || !ca->cert || !ca_certify(ca, agent, names, n, now) ||
	    !ca_ready(ca)) {
		leaf_ca_unref(ca);
		return err_set(err, -ENOMEM, "make a CA for %s", agent);
	}
	*ret = ca;
	return 0;
}

struct leaf_ca *leaf_ca_ref(struct leaf_ca *ca)
{
	if (ca)
		atomic_fetch_add_explicit(&ca->refs, 1, memory_order_relaxed);
	return ca;
}

static void leaf_drop(struct leaf_ca *ca, struct leaf *l)
{
	LIST_REMOVE(l, by_name);
	TAILQ_REMOVE(&ca->list, l, by_use);
	ca->n--;
	X509_free(l->cert);
	free(l);
}

void leaf_ca_unref(struct leaf_ca *ca)
{
	struct leaf *l;

	if (!ca ||
	    atomic_fetch_sub_explicit(&ca->refs, 1, memory_order_acq_rel) != 1)
		return;
	while ((l = TAILQ_FIRST(&ca->list)))
		leaf_drop(ca, l);
	pthread_mutex_destroy(&ca->lock);
	X509_free(ca->cert);
	X509_free(ca->shape);
	EVP_PKEY_free(ca->key);
	EVP_PKEY_free(ca->leaf_key);
	EVP_PKEY_free(ca->leaf_pub);
	SSL_CTX_free(ca->ctx);
	free(ca->pem);
	free(ca);
}

bool leaf_ca_is_past(const struct leaf_ca *ca)
{
	return time(NULL) >= ca->end;
}

const char *leaf_ca_pem(const struct leaf_ca *ca)
{
	return ca->pem;
}

/* --- out and in again ------------------------------------------------------ */

int leaf_ca_bundle(const struct leaf_ca *ca, struct buf *out)
{
	BIO *b = BIO_new(BIO_s_mem()); /* wiped when it is freed */
	char *data = NULL;
	long len = 0;
	int r = -ENOMEM;

	if (b && PEM_write_bio_PrivateKey(b, ca->key, NULL, NULL, 0, NULL,
					  NULL) == 1)
		len = BIO_get_mem_data(b, &data);
	if (len > 0) {
		/* In one piece: what grows is copied. */
		r = buf_reserve(out, strlen(ca->pem) + (size_t)len) ? 0 :
								      -ENOBUFS;
		if (r == 0)
			r = buf_append(out, ca->pem, strlen(ca->pem));
		if (r == 0)
			r = buf_append(out, data, (size_t)len);
	}
	BIO_free(b);
	return r;
}

/* The end of the certificate's time, 0: it has none that can be read. */
static time_t cert_end(const X509 *x)
{
	struct tm tm = { 0 };

	return ASN1_TIME_to_tm(X509_get0_notAfter(x), &tm) == 1 ? timegm(&tm) :
								  0;
}

int leaf_ca_read(struct slice bundle, uint32_t leaf_seconds,
		 struct leaf_ca **ret, struct err *err)
{
	struct leaf_ca *ca = ca_alloc(leaf_seconds);
	BIO *b = bundle.len > 0 && bundle.len <= BUNDLE_MAX ?
			 BIO_new_mem_buf(bundle.ptr, (int)bundle.len) :
			 NULL;

	if (ca && b) {
		ca->cert = PEM_read_bio_X509(b, NULL, NULL, NULL);
		ca->key = PEM_read_bio_PrivateKey(b, NULL, NULL, NULL);
	}
	BIO_free(b);
	if (ca && ca->cert)
		ca->end = cert_end(ca->cert);
	if (!ca || !ca->cert || !ca->key ||
	    X509_check_private_key(ca->cert, ca->key) != 1 ||
	    X509_check_ca(ca->cert) != 1 || ca->end <= time(NULL) ||
	    !ca_ready(ca)) {
		leaf_ca_unref(ca);
		ERR_clear_error();
		return err_set(err, -EINVAL,
			       "this is no CA with its key, or its time is "
			       "over");
	}
	*ret = ca;
	return 0;
}

/* --- leaves --------------------------------------------------------------- */

static bool exts_copy(X509 *to, const X509 *from)
{
	bool done = true;

	for (int i = 0; i < X509_get_ext_count(from) && done; i++)
		done = X509_add_ext(to, X509_get_ext(from, i), -1) == 1;
	return done;
}

static X509 *leaf_mint(const struct leaf_ca *ca, const char *name, time_t now)
{
	time_t end = now + (time_t)ca->leaf_seconds;
	X509 *x = X509_new();

	if (end > ca->end)
		end = ca->end;
	if (x && X509_set_version(x, X509_V3) && serial_set(x) &&
	    time_set(x, now - SKEW, end) &&
	    subject_set(x, strlen(name) <= CN_MAX ? name : NULL) &&
	    X509_set_issuer_name(x, X509_get_subject_name(ca->cert)) &&
	    X509_set_pubkey(x, ca->leaf_pub) && exts_copy(x, ca->shape) &&
	    san_add(x, name) && X509_sign(x, ca->key, EVP_sha256()) > 0)
		return x;
	X509_free(x);
	return NULL;
}

/* FNV-1a. The names are those of allowed requests, and at most
 * LEAF_CACHE_MAX. */
static struct leaf_bucket *bucket_of(struct leaf_ca *ca, const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 16777619u;
	return &ca->buckets[(h ^ h >> 15) % BUCKETS];
}

static struct leaf *leaf_find(struct leaf_ca *ca, const char *name)
{
	struct leaf *l;

	LIST_FOREACH (l, bucket_of(ca, name), by_name)
		if (strcmp(l->name, name) == 0)
			return l;
	return NULL;
}

static struct leaf *leaf_add(struct leaf_ca *ca, const char *name, time_t now)
{
	size_t size = strlen(name) + 1;
	struct leaf *l = calloc(1, sizeof(*l) + size);

	if (!l)
		return NULL;
	memcpy(l->name, name, size);
	l->renew = now + (time_t)(ca->leaf_seconds / 2);
	l->cert = leaf_mint(ca, name, now);
	if (!l->cert) {
		free(l);
		return NULL;
	}
	if (ca->n >= LEAF_CACHE_MAX)
		leaf_drop(ca, TAILQ_LAST(&ca->list, leaf_list));
	LIST_INSERT_HEAD(bucket_of(ca, name), l, by_name);
	TAILQ_INSERT_HEAD(&ca->list, l, by_use);
	ca->n++;
	return l;
}

X509 *leaf_cert(struct leaf_ca *ca, const struct name *name)
{
	time_t now = time(NULL);
	X509 *x = NULL;
	struct leaf *l;

	if (name->len == 0 || now >= ca->end)
		return NULL;
	pthread_mutex_lock(&ca->lock);
	l = leaf_find(ca, name->s);
	if (l && now >= l->renew) {
		leaf_drop(ca, l);
		l = NULL;
	}
	if (l) {
		TAILQ_REMOVE(&ca->list, l, by_use);
		TAILQ_INSERT_HEAD(&ca->list, l, by_use);
	} else {
		l = leaf_add(ca, name->s, now);
	}
	if (l && X509_up_ref(l->cert) == 1)
		x = l->cert;
	pthread_mutex_unlock(&ca->lock);
	if (!x)
		ERR_clear_error();
	return x;
}

SSL_CTX *leaf_ctx(const struct leaf_ca *ca)
{
	return ca->ctx;
}

bool leaf_use(struct leaf_ca *ca, const struct name *name, SSL *ssl)
{
	X509 *x = leaf_cert(ca, name);
	bool done = x && SSL_use_certificate(ssl, x) == 1 &&
		    SSL_use_PrivateKey(ssl, ca->leaf_key) == 1;

	X509_free(x); /* @ssl has its own reference */
	if (!done)
		ERR_clear_error();
	return done;
}
