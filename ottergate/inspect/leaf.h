/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaf.h - the certificate authority of one sandbox, and what it signs
 *
 * Made when a policy with `use: inspect` rules is bound, EC P-256, trusted by
 * that one sandbox. It is good for as long as the policy says (`ca: {lifetime}`,
 * a month), but ends with the sandbox: its key is in memory only. A sandbox that
 * lives longer is told so (REASON_CA_EXPIRED): it cannot be given another. It
 * bears critical name constraints: the names of the inspect rules (at most
 * LEAF_CONSTRAINTS_MAX, of LEAF_CONSTRAINTS_BYTES; more: none, said in the log),
 * so that even a stolen key is worth nothing for other names (RFC 5280
 * §4.2.1.10). Leaves live half a day, have one name and a random serial number,
 * and share one key. They are kept by name in a bounded cache, a lock of its
 * own.
 */
#ifndef OTTERGATE_INSPECT_LEAF_H
#define OTTERGATE_INSPECT_LEAF_H

#include <openssl/ssl.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "ottergate/policy/name.h"

#define LEAF_CACHE_MAX 1024u
#define LEAF_CONSTRAINTS_MAX 256u
#define LEAF_CONSTRAINTS_BYTES 8192u /* of their names: guests take no more */

struct leaf_ca; /* counted, thread-safe */
/* @names: patterns for the constraints: "x" exact, ".x" below. */
int leaf_ca_new(const char *agent, const char *const *names, size_t n,
		uint32_t ca_seconds, uint32_t leaf_seconds,
		struct leaf_ca **ret, struct err *err);
struct leaf_ca *leaf_ca_ref(struct leaf_ca *ca); /* NULL is fine */
void leaf_ca_unref(struct leaf_ca *ca); /* NULL is fine */
/* The CA's certificate, PEM, NUL-terminated; lives as long as it. */
const char *leaf_ca_pem(const struct leaf_ca *ca);
/* Certificate and key, PEM, for acd alone: it gives them back to a gateway that
 * was started anew (leaf_ca_read()), so that sandboxes that trust it go on. The
 * caller wipes @out. -ENOMEM, -ENOBUFS. */
int leaf_ca_bundle(const struct leaf_ca *ca, struct buf *out) ATTR_WUR;
/* -EINVAL: it is none, or the key is another's, or its time is over. */
int leaf_ca_read(struct slice bundle, uint32_t leaf_seconds,
		 struct leaf_ca **ret, struct err *err);
/* Is its time over? It signs nothing any more then. */
bool leaf_ca_is_past(const struct leaf_ca *ca);
/* The context of all connections of this sandbox, without a certificate
 * (leaf_use()), no ALPN yet. Borrowed; what counts it up may outlive @ca. */
SSL_CTX *leaf_ctx(const struct leaf_ca *ca);
/* The certificate for @name, made now or kept. X509_free(). NULL: out of memory
 * or past its life. */
X509 *leaf_cert(struct leaf_ca *ca, const struct name *name);
/* Has @ssl, which is a server that has not begun yet, prove to be @name. False:
 * as NULL above. */
bool leaf_use(struct leaf_ca *ca, const struct name *name, SSL *ssl) ATTR_WUR;

#endif
