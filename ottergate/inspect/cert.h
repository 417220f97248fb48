/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cert.h - the parts that certificates are made of
 *
 * Each function that returns a bool adds one part to its first argument, and
 * returns false when memory or OpenSSL fails; the certificate is then of no use
 * but to be freed. All arguments are borrowed.
 */
#ifndef OTTERGATE_INSPECT_CERT_H
#define OTTERGATE_INSPECT_CERT_H

#include <openssl/x509.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* Sets a random serial number. */
bool cert_serial_set(X509 *x);
/* Sets when @x is valid. */
bool cert_time_set(X509 *x, time_t from, time_t to);
/* Sets the subject: O=ac and, unless it is NULL, CN=@cn. */
bool cert_subject_set(X509 *x, const char *cn);
/* Adds the extension @nid with @value, in OpenSSL's text form, which must not
 * come from outside. Identifiers of keys are made from the keys and names that
 * @x and @issuer have so far; @issuer may be @x. */
bool cert_ext_add(X509 *x, X509 *issuer, int nid, const char *value);
/* Limits the authority @x to @names and the names below them; a "." in front
 * changes nothing. With @n 0 it may certify no name, and never an address. */
bool cert_constraints_add(X509 *x, const char *const *names, size_t n);
/* Adds the one name that @x is for. */
bool cert_san_add(X509 *x, const char *name);
/* Adds copies of all the extensions of @from to @to. */
bool cert_exts_copy(X509 *to, const X509 *from);
/* Returns when @x expires, or 0 if that cannot be read. */
time_t cert_end(const X509 *x);
/* Returns the public half of @key in the form that is put into certificates
 * fastest, or a reference to @key itself; the caller calls EVP_PKEY_free() in
 * either case. Returns NULL without memory. */
EVP_PKEY *cert_key_light(EVP_PKEY *key);

#endif
