/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaf_test.c - what a sandbox's CA may sign, and what verifiers make of it
 */
#include "ottergate/inspect/leaf.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "init-guard/link.h"
#include "init-guard/start/pem.h"
#include "tests/unit/ottergate/policies.h"
#include "tests/unit/tap.h"

#define HOUR 3600u
#define SERIAL_MIN 96 /* bits: fewer are chance in 2^32 */

static const char *const names[] = { "api.test", ".wild.test" };

static struct leaf_ca *ca_of(const char *const *v, size_t n, uint32_t seconds)
{
	struct leaf_ca *ca = NULL;
	struct err err = { 0 };

	if (leaf_ca_new("coder", v, n, seconds, HOUR, &ca, &err) < 0)
		ok(false, "a CA: %s", err.msg);
	return ca;
}

static X509 *ca_cert(const struct leaf_ca *ca)
{
	BIO *b = BIO_new_mem_buf(leaf_ca_pem(ca), -1);
	X509 *x = PEM_read_bio_X509(b, NULL, NULL, NULL);

	BIO_free(b);
	return x;
}

/* As a strict client verifies; X509_V_OK or why not. */
static int verify(const struct leaf_ca *ca, X509 *leaf, const char *host)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *c = X509_STORE_CTX_new();
	X509 *root = ca_cert(ca);
	int e;

	X509_STORE_add_cert(store, root);
	X509_STORE_CTX_init(c, store, leaf, NULL);
	X509_STORE_CTX_set_purpose(c, X509_PURPOSE_SSL_SERVER);
	X509_VERIFY_PARAM_set1_host(X509_STORE_CTX_get0_param(c), host, 0);
	X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(c),
				    X509_V_FLAG_X509_STRICT);
	X509_verify_cert(c);
	e = X509_STORE_CTX_get_error(c);
	X509_STORE_CTX_free(c);
	X509_STORE_free(store);
	X509_free(root);
	return e;
}

static int verify_name(struct leaf_ca *ca, const char *text)
{
	struct name name = name_of(text);
	X509 *x = leaf_cert(ca, &name);
	int e = x ? verify(ca, x, text) : -1;

	X509_free(x);
	return e;
}

static void test_constraints(void)
{
	struct leaf_ca *ca = ca_of(names, 2, HOUR);

	is_int(verify_name(ca, "api.test"), X509_V_OK, "a name of a rule");
	is_int(verify_name(ca, "x.wild.test"), X509_V_OK, "one below another");
	is_int(verify_name(ca, "evil.test"), X509_V_ERR_PERMITTED_VIOLATION,
	       "T16 a leaf for another name is worth nothing");
	is_int(verify_name(ca, "notapi.test"), X509_V_ERR_PERMITTED_VIOLATION,
	       "nor one that ends alike");
	leaf_ca_unref(ca);
	ca = ca_of(NULL, 0, HOUR);
	is_int(verify_name(ca, "api.test"), X509_V_ERR_PERMITTED_VIOLATION,
	       "without rules nothing is certified");
	leaf_ca_unref(ca);
}

static void test_too_many(void)
{
	const char *many[LEAF_CONSTRAINTS_MAX + 1];
	struct leaf_ca *ca;
	X509 *x;

	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = "api.test";
	ca = ca_of(many, ARRAY_SIZE(many) - 1, HOUR);
	x = ca_cert(ca);
	ok(X509_get_ext_by_NID(x, NID_name_constraints, -1) >= 0,
	   "as many names as there may be");
	X509_free(x);
	leaf_ca_unref(ca);
	ca = ca_of(many, ARRAY_SIZE(many), HOUR);
	x = ca_cert(ca);
	ok(X509_get_ext_by_NID(x, NID_name_constraints, -1) < 0,
	   "too many: none");
	X509_free(x);
	leaf_ca_unref(ca);
}

/* A guest takes no certificate of any size. */
static void test_too_long(void)
{
	static char text[NAME_LEN_MAX + 1];
	const size_t fit = LEAF_CONSTRAINTS_BYTES / NAME_LEN_MAX;
	const char *many[LEAF_CONSTRAINTS_BYTES / NAME_LEN_MAX + 1];
	struct leaf_ca *ca;
	X509 *x;

	memset(text, 'a', NAME_LEN_MAX);
	for (size_t i = 60; i < NAME_LEN_MAX; i += 60)
		text[i] = '.';
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = text;
	ca = ca_of(many, fit, HOUR);
	x = ca_cert(ca);
	ok(X509_get_ext_by_NID(x, NID_name_constraints, -1) >= 0 &&
		   strlen(leaf_ca_pem(ca)) <= LINK_OWN_CA_MAX &&
		   i2d_X509(x, NULL) <= (int)PEM_DER_MAX,
	   "as long names as there may be");
	X509_free(x);
	leaf_ca_unref(ca);
	ca = ca_of(many, fit + 1, HOUR);
	x = ca_cert(ca);
	ok(X509_get_ext_by_NID(x, NID_name_constraints, -1) < 0,
	   "too long: none");
	X509_free(x);
	leaf_ca_unref(ca);
}

static bool is_critical(X509 *x, int nid)
{
	int at = X509_get_ext_by_NID(x, nid, -1);

	return at >= 0 && X509_EXTENSION_get_critical(X509_get_ext(x, at));
}

static void test_ca(void)
{
	struct leaf_ca *ca = ca_of(names, 2, HOUR);
	X509 *x = ca_cert(ca);

	is_int(X509_get_extension_flags(x) & EXFLAG_CA, EXFLAG_CA, "a CA");
	is_int(X509_get_pathlen(x), 0, "of leaves only");
	ok(is_critical(x, NID_basic_constraints) &&
		   is_critical(x, NID_name_constraints) &&
		   is_critical(x, NID_key_usage),
	   "what limits it is critical");
	is_int(X509_get_key_usage(x), KU_KEY_CERT_SIGN, "signs certificates");
	ok(!strstr(leaf_ca_pem(ca), "PRIVATE"), "no key is told");
	X509_free(x);
	leaf_ca_unref(ca);
}

static int serial_bits(const X509 *x)
{
	BIGNUM *n = ASN1_INTEGER_to_BN(X509_get0_serialNumber(x), NULL);
	int bits = BN_num_bits(n);

	BN_free(n);
	return bits;
}

static void test_leaf(void)
{
	struct leaf_ca *ca = ca_of(names, 2, HOUR);
	struct name one = name_of("api.test"), two = name_of("a.wild.test");
	X509 *x = leaf_cert(ca, &one), *y = leaf_cert(ca, &two);
	X509 *again = leaf_cert(ca, &one);
	GENERAL_NAMES *san =
		X509_get_ext_d2i(x, NID_subject_alt_name, NULL, NULL);
	time_t soon = time(NULL) + 2 * (time_t)HOUR, early = time(NULL) - 200;

	is_int(sk_GENERAL_NAME_num(san), 1, "one name");
	is_int(X509_get_extended_key_usage(x), XKU_SSL_SERVER, "for servers");
	is_int(X509_get_extension_flags(x) & EXFLAG_CA, 0, "no CA");
	ok(serial_bits(x) > SERIAL_MIN && serial_bits(y) > SERIAL_MIN,
	   "long serial numbers");
	ok(ASN1_INTEGER_cmp(X509_get0_serialNumber(x),
			    X509_get0_serialNumber(y)) != 0,
	   "that differ");
	ok(X509_cmp_time(X509_get0_notBefore(x), &early) < 0,
	   "good for a clock that is behind");
	ok(X509_cmp_time(X509_get0_notAfter(x), &soon) < 0,
	   "and never longer than the CA");
	ok(x == again && x != y, "kept by name");
	is_int(EVP_PKEY_eq(X509_get0_pubkey(x), X509_get0_pubkey(y)), 1,
	       "one key for all");
	GENERAL_NAMES_free(san);
	leaf_ca_unref(ca);
	ok(serial_bits(x) > SERIAL_MIN, "a leaf outlives the CA that made it");
	X509_free(x);
	X509_free(again);
	X509_free(y);
}

/* What two verifiers may read in two ways is said once: the bytes are those
 * that were signed, and no extension is there twice. */
static void test_bytes(void)
{
	struct leaf_ca *ca = ca_of(names, 2, HOUR);
	struct name one = name_of("api.test");
	X509 *x = leaf_cert(ca, &one), *root = ca_cert(ca), *back;
	uint8_t *der = NULL;
	const uint8_t *p;
	int len = i2d_X509(x, &der);

	p = der;
	back = d2i_X509(NULL, &p, len);
	ok(back && p == der + len, "a leaf can be read again");
	is_int(X509_verify(back, X509_get0_pubkey(root)), 1,
	       "as it was signed");
	is_int(EVP_PKEY_eq(X509_get0_pubkey(back), X509_get0_pubkey(x)), 1,
	       "with its key");
	is_int(X509_get_version(back), 2, "version 3");
	is_int(X509_get_ext_count(back), 6, "six extensions");
	for (int i = 0; i < X509_get_ext_count(back); i++) {
		int nid = OBJ_obj2nid(
			X509_EXTENSION_get_object(X509_get_ext(back, i)));

		is_int(X509_get_ext_by_NID(back, nid, i), -1, "%s once",
		       OBJ_nid2sn(nid));
	}
	OPENSSL_free(der);
	X509_free(back);
	X509_free(x);
	X509_free(root);
	leaf_ca_unref(ca);
}

/* One context for all names, and each connection has its own leaf. */
static void test_use(void)
{
	struct leaf_ca *ca = ca_of(names, 2, HOUR);
	struct name one = name_of("api.test"), two = name_of("a.wild.test");
	SSL *a = SSL_new(leaf_ctx(ca)), *b = SSL_new(leaf_ctx(ca));
	X509 *x = leaf_cert(ca, &one), *y = leaf_cert(ca, &two);

	ok(leaf_use(ca, &one, a) && leaf_use(ca, &two, b), "two connections");
	ok(SSL_get_certificate(a) == x && SSL_get_certificate(b) == y,
	   "each with the leaf of its name");
	ok(!SSL_CTX_get0_certificate(leaf_ctx(ca)), "the context has none");
	leaf_ca_unref(ca);
	is_int(SSL_check_private_key(a), 1, "with its key, also after the CA");
	X509_free(x);
	X509_free(y);
	SSL_free(a);
	SSL_free(b);
}

/* A gateway that was started anew goes on with the CA of the one before. */
static void test_bundle(void)
{
	struct leaf_ca *ca = ca_of(names, 2, HOUR), *back = NULL;
	struct err err = { 0 };
	struct buf b;

	buf_init(&b, 65536);
	is_int(leaf_ca_bundle(ca, &b), 0, "a bundle");
	is_int(leaf_ca_read(buf_slice(&b), HOUR, &back, &err), 0, "read: %s",
	       err.msg);
	leaf_ca_unref(ca);
	if (back)
		is_int(verify_name(back, "api.test"), X509_V_OK,
		       "signs as the one before did");
	buf_done(&b);
	leaf_ca_unref(back);
}

static void test_bounds(void)
{
	struct leaf_ca *ca = ca_of(names, 2, HOUR);
	struct name long_one = { 0 };
	size_t made = 0;

	for (unsigned i = 0; i < LEAF_CACHE_MAX + 20; i++) {
		char text[32];
		struct name name;
		X509 *x;

		snprintf(text, sizeof(text), "n%u.wild.test", i);
		name = name_of(text);
		x = leaf_cert(ca, &name);
		made += x != NULL;
		X509_free(x);
	}
	is_int(made, LEAF_CACHE_MAX + 20, "more names than are kept");
	ok(!leaf_cert(ca, &long_one), "no name, no leaf");
	leaf_ca_unref(ca);
	is_int(verify_name(ca = ca_of(names, 2, HOUR),
			   "a23456789012345678901234567890123456789012345678901"
			   "234567890.b2345678901234567890.wild.test"),
	       X509_V_OK, "a name that is too long to be a CN");
	leaf_ca_unref(ca);
	ca = ca_of(names, 2, 0);
	long_one = name_of("api.test");
	ok(!leaf_cert(ca, &long_one) && leaf_ca_is_past(ca),
	   "a CA past its life signs nothing");
	leaf_ca_unref(ca);
	leaf_ca_unref(NULL);
}

int main(void)
{
	test_ca();
	test_constraints();
	test_too_many();
	test_too_long();
	test_leaf();
	test_bytes();
	test_use();
	test_bundle();
	test_bounds();
	return done_testing();
}
