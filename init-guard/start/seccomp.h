/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seccomp.h - the system calls that the agent may not make: one table, for the
 * filter that init-guard loads and for the profile of other runtimes
 */
#ifndef INIT_GUARD_START_SECCOMP_H
#define INIT_GUARD_START_SECCOMP_H

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* Holds if (args[arg] & mask) == value. */
struct guard_cmp {
	uint8_t arg;
	uint64_t mask, value;
};

/* A denial: the call fails with @error if all comparisons hold (none: always).
 * What no rule denies is allowed. */
struct guard_rule {
	const char *name;
	int nr; /* for a libseccomp older than the call; else -1 */
	int error; /* positive errno */
	uint8_t cmps;
	struct guard_cmp cmp[2];
};

extern const struct guard_rule guard_rules[];
extern const size_t guard_rules_count;

/* Builds the filter from the table; the caller frees it with
 * guard_filter_free(). Returns NULL with @err if any rule cannot be expressed;
 * none is skipped. */
void *guard_filter_new(struct err *err);
/* Frees it. NULL is fine. */
void guard_filter_free(void *filter);
/* Loads the filter on the caller, irrevocably and without no_new_privs, which
 * needs CAP_SYS_ADMIN (of the sandbox's kernel). Returns 0, or a negative errno
 * with @err. */
int guard_filter_load(void *filter, struct err *err);

#endif
