/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaf.h - the certificate authority (CA) of one sandbox, and what it signs
 *
 * A CA (EC P-256) is made when a policy with `use: inspect` rules is bound.
 * Only that sandbox trusts it. It is valid for the policy's `ca: {lifetime}` (a
 * month), but ends with the sandbox: its key is in memory only. A sandbox that
 * lives longer is refused with REASON_CA_EXPIRED; it cannot get another CA.
 *
 * The certificate has critical name constraints: the names of the inspect
 * rules. So a stolen key is useless for other names (RFC 5280 §4.2.1.10). With
 * more than LEAF_CONSTRAINTS_MAX names or LEAF_CONSTRAINTS_BYTES there are no
 * constraints, which is logged.
 *
 * A leaf is a certificate for one name; it is valid for half a day, has a
 * random serial number and shares its key with all others. Leaves are kept by
 * name in a bounded cache with a lock of its own.
 */
#ifndef OTTERGATE_INSPECT_LEAF_H
#define OTTERGATE_INSPECT_LEAF_H

#include <openssl/ssl.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "ottergate/policy/net/name.h"

#define LEAF_CACHE_MAX 1024u
#define LEAF_CONSTRAINTS_MAX 256u
#define LEAF_CONSTRAINTS_BYTES 8192u /* of names: init-guard accepts no more */

struct leaf_ca; /* reference-counted, thread-safe */
/* Makes a CA for the names in @names and those below them; "." in front of one
 * changes nothing. With @n 0 it can certify nothing. Lifetimes are in seconds.
 * The caller owns the reference in *@ret. Returns 0, or -ENOMEM with @err, also
 * if OpenSSL fails. */
int leaf_ca_new(const char *agent, const char *const *names, size_t n,
		uint32_t ca_seconds, uint32_t leaf_seconds,
		struct leaf_ca **ret, struct err *err);
/* Takes a reference and returns @ca; NULL is fine. */
struct leaf_ca *leaf_ca_ref(struct leaf_ca *ca);
void leaf_ca_unref(struct leaf_ca *ca); /* NULL is fine */
/* Returns the CA's certificate as PEM, valid as long as @ca. */
const char *leaf_ca_pem(const struct leaf_ca *ca);
/* Appends the CA's certificate and key as PEM, for acd alone: after a restart
 * of the gateway it gives them back (leaf_ca_read()), so that running sandboxes
 * still trust it. The caller wipes @out. Returns 0, -ENOMEM or -ENOBUFS. */
int leaf_ca_bundle(const struct leaf_ca *ca, struct buf *out) ATTR_WUR;
/* Makes a CA from leaf_ca_bundle()'s output, which is copied; the caller owns
 * the reference in *@ret. Returns 0, -ENOMEM, or -EINVAL with @err if it is no
 * CA, the key does not fit, the certificate has expired, or memory was short
 * and OpenSSL does not say so. */
int leaf_ca_read(struct slice bundle, uint32_t leaf_seconds,
		 struct leaf_ca **ret, struct err *err);
/* Returns true if the CA has expired; it signs nothing then. */
bool leaf_ca_is_past(const struct leaf_ca *ca);
/* Returns the TLS context of all connections of this sandbox, borrowed from
 * @ca. It has no certificate (leaf_use()) and no ALPN yet. A connection takes
 * its own reference, so it may outlive @ca. */
SSL_CTX *leaf_ctx(const struct leaf_ca *ca);
/* Returns the certificate for @name, from the cache or newly signed, to be
 * freed with X509_free(). Does not check whether the CA is for that name.
 * Returns NULL without memory, if the CA has expired or if the name is
 * empty. */
X509 *leaf_cert(struct leaf_ca *ca, const struct name *name);
/* Gives @ssl, a server before its handshake, the certificate for @name. Returns
 * false for the same causes. */
bool leaf_use(struct leaf_ca *ca, const struct name *name, SSL *ssl) ATTR_WUR;

#endif
