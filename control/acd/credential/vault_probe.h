/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_probe.h - does the service still take this credential?
 *
 * One request to its own host, in a child that ends with it: libcurl's copies
 * of the value end there as well. Goes through the machine's proxy, and
 * believes the certificate authorities that builds believe.
 */
#ifndef CONTROL_ACD_CREDENTIAL_VAULT_PROBE_H
#define CONTROL_ACD_CREDENTIAL_VAULT_PROBE_H

#include "control/acd/daemon/children.h"
#include "vault/store.h"

#define VAULT_PROBE_MS 20000u
#define VAULT_PROBES_MAX 8u /* at a time */

struct vault_probe_result {
	long status; /* of HTTP, 0: no answer */
	int verdict; /* 1: taken, 0: refused, -1: nobody can tell */
	char host[VSTORE_HOST_MAX + 1];
	char text[256]; /* what to tell the user */
};

typedef void (*vault_probe_fn)(void *arg, const struct vault_probe_result *res);

/* @e is borrowed for the call. @fn once, from the loop, unless ended before by
 * vault_probe_end_all(). -EBUSY: there are too many. */
int vault_probe(struct children *children, const struct vstore_entry *e,
		vault_probe_fn fn, void *arg, struct err *err);
/* Ends them all, in silence. */
void vault_probe_end_all(void);

/* The request for @e: its URL, and its header line (or ""), with the value in
 * them: both have to be wiped. -ENOBUFS: one of them is too long. Pure. */
struct vault_probe_request {
	bool head; /* HEAD instead of GET */
	bool tells; /* 401 and 200 are a verdict */
	char host[VSTORE_HOST_MAX + 1];
	char url[3 * VSTORE_VALUE_MAX + 1024];
	char header[VSTORE_VALUE_MAX + 256];
};
int vault_probe_request(const struct vstore_entry *e,
			struct vault_probe_request *rq);
/* What an answer means. Pure. */
void vault_probe_judge(const struct vault_probe_request *rq, long status,
		       struct vault_probe_result *res);
/* Instead of "https://HOST" (tests); kept by reference, NULL: not. */
void vault_probe_set(const char *base);

#endif
