/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_probe.h - asks the service whether a credential is still valid
 *
 * Makes one request to the credential's host, in a child that ends with it, and
 * with it libcurl's copies of the value. Uses the machine's proxy and the CAs
 * that builds use.
 */
#ifndef CONTROL_ACD_CREDENTIAL_VAULT_PROBE_H
#define CONTROL_ACD_CREDENTIAL_VAULT_PROBE_H

#include "control/acd/daemon/children.h"
#include "vault/store.h"

#define VAULT_PROBE_MS 20000u
#define VAULT_PROBES_MAX 8u /* at a time */

struct vault_probe_result {
	long status; /* of HTTP, 0: no answer */
	int verdict; /* 1: accepted, 0: refused, -1: unknown */
	char host[VSTORE_HOST_MAX + 1];
	char text[256]; /* for the user */
};

typedef void (*vault_probe_fn)(void *arg, const struct vault_probe_result *res);

/* Asks; @e is borrowed for the call. Calls @fn once, from the loop, unless
 * vault_probe_end_all() was called. Returns 0, -EBUSY for too many, or another
 * negative errno with @err. */
int vault_probe(struct children *children, const struct vstore_entry *e,
		vault_probe_fn fn, void *arg, struct err *err);
/* Ends all, without callbacks. */
void vault_probe_end_all(void);

/* A request with a credential. url and header (or "") contain the value and
 * must be wiped. */
struct vault_probe_request {
	bool head; /* HEAD instead of GET */
	bool tells; /* 401 and 200 are verdicts */
	char host[VSTORE_HOST_MAX + 1];
	char url[3 * VSTORE_VALUE_MAX + 1024];
	char header[VSTORE_VALUE_MAX + 256];
};
/* Makes the request for @e. Returns 0, or -ENOBUFS if a part is too long. */
int vault_probe_request(const struct vstore_entry *e,
			struct vault_probe_request *rq);
/* Sets @res to what an answer with @status means. */
void vault_probe_judge(const struct vault_probe_request *rq, long status,
		       struct vault_probe_result *res);
/* For tests: uses @base in place of "https://HOST"; kept by reference, NULL: no
 * longer. */
void vault_probe_set(const char *base);

#endif
