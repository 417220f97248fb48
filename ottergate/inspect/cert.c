/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cert.c - the parts that certificates are made of
 */
#include "ottergate/inspect/cert.h"

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#define SERIAL_BITS 128

bool cert_serial_set(X509 *x)
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

bool cert_time_set(X509 *x, time_t from, time_t to)
{
	return ASN1_TIME_set(X509_getm_notBefore(x), from) &&
	       ASN1_TIME_set(X509_getm_notAfter(x), to);
}

bool cert_subject_set(X509 *x, const char *cn)
{
	X509_NAME *n = X509_get_subject_name(x);

	if (X509_NAME_add_entry_by_txt(n, "O", MBSTRING_ASC,
				       (const uint8_t *)"ac", -1, -1, 0) != 1)
		return false;
	return !cn ||
	       X509_NAME_add_entry_by_txt(n, "CN", MBSTRING_ASC,
					  (const uint8_t *)cn, -1, -1, 0) == 1;
}

bool cert_ext_add(X509 *x, X509 *issuer, int nid, const char *value)
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

/* An address and a mask of zeros: matches every address. */
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

/* Takes ownership of @base. */
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
 * RFC 5280 §4.2.1.10: a name covers itself and the names below, and is written
 * without a leading dot. Some readers accept a dot and others do not, so ".x"
 * allows x too. No address is ever certified.
 */
bool cert_constraints_add(X509 *x, const char *const *names, size_t n)
{
	NAME_CONSTRAINTS *nc = NAME_CONSTRAINTS_new();
	bool done = nc != NULL;

	for (size_t i = 0; i < n && done; i++)
		done = subtree_push(&nc->permittedSubtrees,
				    dns_name(names[i] + (names[i][0] == '.')));
	/* Without names nothing may be certified (RFC 6761 §6.4). */
	if (done && n == 0)
		done = subtree_push(&nc->permittedSubtrees,
				    dns_name("invalid"));
	done = done && subtree_push(&nc->excludedSubtrees, any_address(4)) &&
	       subtree_push(&nc->excludedSubtrees, any_address(16)) &&
	       X509_add1_ext_i2d(x, NID_name_constraints, nc, 1, 0) == 1;
	NAME_CONSTRAINTS_free(nc);
	return done;
}

bool cert_san_add(X509 *x, const char *name)
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

/*
 * Returns the public half of @key in OpenSSL's older form. In the newer form, a
 * key that is put into a certificate is encoded and decoded by providers, which
 * costs five times a signature. If the older form is not available, returns
 * @key with a reference: slower, otherwise the same.
 */
EVP_PKEY *cert_key_light(EVP_PKEY *key)
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

bool cert_exts_copy(X509 *to, const X509 *from)
{
	bool done = true;

	for (int i = 0; i < X509_get_ext_count(from) && done; i++)
		done = X509_add_ext(to, X509_get_ext(from, i), -1) == 1;
	return done;
}

time_t cert_end(const X509 *x)
{
	struct tm tm = { 0 };

	return ASN1_TIME_to_tm(X509_get0_notAfter(x), &tm) == 1 ? timegm(&tm) :
								  0;
}
