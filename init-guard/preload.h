/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload.h - the shim that says why a connection was refused
 */
#ifndef INIT_GUARD_PRELOAD_H
#define INIT_GUARD_PRELOAD_H

#include "init-guard/agent.h"
#include "init-guard/report.h"

/* Where the runtime puts it, and what names it to glibc (ld.so(8)). */
#define PRELOAD_SO "/usr/libexec/ac/net_proxy.so"
#define PRELOAD_LIST "/etc/ld.so.preload"

struct preload {
	bool there;
	bool by_env; /* no loader of this image would find it by itself */
};

/* Looks for it in the image. */
void preload_find(struct preload *p);
/*
 * The variables that go with it, those of the user untouched: LD_PRELOAD where
 * the loader wants one, and what programs with AddressSanitizer take to start
 * and to end. Enters the outcome: ok, or skipped with a reason, when it is not
 * there or when LD_PRELOAD would have to name it and is the user's. Never a
 * failure, since nothing depends on it (docs/THREATS.md).
 */
void preload_name(const struct preload *p, struct agent *ag, struct report *r);

/*
 * @old, a value of ASAN_OPTIONS, as an entry with what the shim needs at its
 * end. Pure. False: @old decides that itself, or it does not fit.
 */
bool preload_asan(const char *old, char *out, size_t size);

#endif
