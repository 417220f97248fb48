/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload.h - installs the shim that explains refused connections
 */
#ifndef INIT_GUARD_START_PRELOAD_H
#define INIT_GUARD_START_PRELOAD_H

#include "init-guard/start/agent.h"
#include "init-guard/start/report.h"

/* Its path in the sandbox, and the list that makes glibc load it (ld.so(8)). */
#define PRELOAD_SO "/usr/libexec/ac/net_proxy.so"
#define PRELOAD_LIST "/etc/ld.so.preload"

struct preload {
	bool there;
	bool by_env; /* this image's loader needs LD_PRELOAD */
};

/* Looks for the shim and the loaders in the image. */
void preload_find(struct preload *p);
/*
 * Adds the variables that it needs, without changing the user's: LD_PRELOAD if
 * the loader needs it, and what programs with AddressSanitizer need to start
 * and to end. Enters the outcome in @r: ok, or skipped with a reason if the
 * shim is missing or LD_PRELOAD is needed and already set by the user. Never
 * fails, as nothing depends on the shim (docs/THREATS.md).
 */
void preload_name(const struct preload *p, struct agent *ag, struct report *r);

/* Writes an ASAN_OPTIONS entry: the value @old and what the shim needs after
 * it. Returns false if @old sets that itself, or it does not fit. No side
 * effects. */
bool preload_asan(const char *old, char *out, size_t size);

#endif
