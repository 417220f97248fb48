/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaf.c - the certificate authority of one sandbox, and what it signs
 *
 * Theory of operation: two keys are made with the CA, its own and one that all
 * leaves share, which is never encoded. The CA's own key leaves this process
 * only for acd's memory, over the admin socket (leaf_ca_bundle()). A leaf is
 * made when its name is first needed, and kept; the least recently used one
 * makes room for a new one. After half its life it is replaced, so a handshake
 * never meets one that is about to expire. All connections share one TLS
 * context; each sets the leaf for its name.
 *
 * Making a leaf costs little more than the signature. What is slow in OpenSSL
 * is done once: contexts, extensions from text, and keys that its providers
 * encode or decode (cert_key_light()). No certificate is copied, as X509_dup()
 * decodes the key again.
 *
 * Extensions follow RFC 5280 §4.2 to the letter (identifiers of both keys,
 * critical where it says so), for strict verifiers.
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
#include "ottergate/inspect/cert.h"
#include "ottergate/inspect/itls.h"

#define BUCKETS 256u
/* Seconds by which a clock may be behind: a sandbox's, or this machine's after
 * it was set back. */
#define SKEW 86400
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
	EVP_PKEY *leaf_pub; /* cert_key_light() of leaf_key */
	X509 *cert;
	X509 *shape; /* a template with the extensions of all leaves */
	SSL_CTX *ctx;
	char *pem;
	time_t end;
	uint32_t leaf_seconds;
	pthread_mutex_t lock; /* protects the members below */
	struct leaf_bucket buckets[BUCKETS];
	struct leaf_list list; /* the least recently used last */
	unsigned n;
};

/* Limits of the certificates that init-guard accepts (init-guard/start/pem.h). */
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
	done = X509_set_version(x, X509_V3) && cert_serial_set(x) &&
	       cert_time_set(x, now - SKEW, ca->end) &&
	       cert_subject_set(x, cn) &&
	       X509_set_issuer_name(x, X509_get_subject_name(x)) &&
	       X509_set_pubkey(x, ca->key) &&
	       cert_ext_add(x, x, NID_basic_constraints,
			    "critical,CA:TRUE,pathlen:0") &&
	       cert_ext_add(x, x, NID_key_usage, "critical,keyCertSign") &&
	       cert_ext_add(x, x, NID_subject_key_identifier, "hash");
	if (done && !constraints_fit(names, n))
		log_warn("%s: %zu names to inspect, too many for its CA to be "
			 "limited to",
			 agent, n);
	else if (done)
		done = cert_constraints_add(x, names, n);
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

static bool shape_make(struct leaf_ca *ca)
{
	X509 *x = ca->shape = X509_new();

	/* The identifiers are made from issuer and key. */
	return x && X509_set_issuer_name(x, X509_get_subject_name(ca->cert)) &&
	       X509_set_pubkey(x, ca->leaf_pub) &&
	       cert_ext_add(x, ca->cert, NID_basic_constraints,
			    "critical,CA:FALSE") &&
	       cert_ext_add(x, ca->cert, NID_key_usage,
			    "critical,digitalSignature") &&
	       cert_ext_add(x, ca->cert, NID_ext_key_usage, "serverAuth") &&
	       cert_ext_add(x, ca->cert, NID_subject_key_identifier, "hash") &&
	       cert_ext_add(x, ca->cert, NID_authority_key_identifier,
			    "keyid:always");
}

/* Makes the rest of a CA that has its key and certificate. */
static bool ca_ready(struct leaf_ca *ca)
{
	ca->leaf_key = EVP_EC_gen("P-256");
	ca->leaf_pub = ca->leaf_key ? cert_key_light(ca->leaf_key) : NULL;
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

/* --- export and import
 * ----------------------------------------------------- */

int leaf_ca_bundle(const struct leaf_ca *ca, struct buf *out)
{
	BIO *b = BIO_new(BIO_s_mem()); /* wiped when it is freed */
	char *data = NULL;
	long len = 0;
	int rc = -ENOMEM;

	if (b && PEM_write_bio_PrivateKey(b, ca->key, NULL, NULL, 0, NULL,
					  NULL) == 1)
		len = BIO_get_mem_data(b, &data);
	if (len > 0) {
		/* Reserved at once: a buffer that grows is copied. */
		rc = buf_reserve(out, strlen(ca->pem) + (size_t)len) ? 0 :
								       -ENOBUFS;
		if (rc == 0)
			rc = buf_append(out, ca->pem, strlen(ca->pem));
		if (rc == 0)
			rc = buf_append(out, data, (size_t)len);
	}
	BIO_free(b);
	return rc;
}

/* Returns true if the last calls of OpenSSL failed without memory. Empties its
 * queue of errors. */
static bool lacked_memory(void)
{
	unsigned long e;
	bool lacked = false;

	while ((e = ERR_get_error()) != 0)
		lacked |= ERR_GET_REASON(e) == ERR_R_MALLOC_FAILURE;
	return lacked;
}

static int ca_decode(struct leaf_ca *ca, struct slice bundle)
{
	BIO *b;

	if (bundle.len == 0 || bundle.len > BUNDLE_MAX)
		return -EINVAL;
	b = BIO_new_mem_buf(bundle.ptr, (int)bundle.len);
	if (!b)
		return -ENOMEM;
	ca->cert = PEM_read_bio_X509(b, NULL, NULL, NULL);
	ca->key = PEM_read_bio_PrivateKey(b, NULL, NULL, NULL);
	BIO_free(b);
	if (ca->cert)
		ca->end = cert_end(ca->cert);
	if (ca->cert && ca->key &&
	    X509_check_private_key(ca->cert, ca->key) == 1 &&
	    X509_check_ca(ca->cert) == 1 && ca->end > time(NULL))
		return ca_ready(ca) ? 0 : -ENOMEM;
	return lacked_memory() ? -ENOMEM : -EINVAL;
}

int leaf_ca_read(struct slice bundle, uint32_t leaf_seconds,
		 struct leaf_ca **ret, struct err *err)
{
	struct leaf_ca *ca = ca_alloc(leaf_seconds);
	int rc = ca ? ca_decode(ca, bundle) : -ENOMEM;

	if (rc < 0) {
		leaf_ca_unref(ca);
		ERR_clear_error();
		return rc == -ENOMEM ?
			       err_nomem(err) :
			       err_set(err, rc,
				       "this is not a CA with its key, or it "
				       "has expired");
	}
	*ret = ca;
	return 0;
}

/* --- leaves --------------------------------------------------------------- */

static X509 *leaf_mint(const struct leaf_ca *ca, const char *name, time_t now)
{
	time_t end = now + (time_t)ca->leaf_seconds;
	X509 *x = X509_new();

	if (end > ca->end)
		end = ca->end;
	if (x && X509_set_version(x, X509_V3) && cert_serial_set(x) &&
	    cert_time_set(x, now - SKEW, end) &&
	    cert_subject_set(x, strlen(name) <= CN_MAX ? name : NULL) &&
	    X509_set_issuer_name(x, X509_get_subject_name(ca->cert)) &&
	    X509_set_pubkey(x, ca->leaf_pub) && cert_exts_copy(x, ca->shape) &&
	    cert_san_add(x, name) && X509_sign(x, ca->key, EVP_sha256()) > 0)
		return x;
	X509_free(x);
	return NULL;
}

/* FNV-1a. Names are those of allowed requests, at most LEAF_CACHE_MAX. */
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
