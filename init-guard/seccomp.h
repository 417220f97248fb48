/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seccomp.h - what the agent may not ask of the kernel: one table, used for
 * the filter that init-guard loads and for the profile of other runtimes
 */
#ifndef INIT_GUARD_SECCOMP_H
#define INIT_GUARD_SECCOMP_H

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* True when (args[arg] & mask) == value. */
struct guard_cmp {
	uint8_t arg;
	uint64_t mask, value;
};

/*
 * A denial: the call fails with @error when all @cmps comparisons hold
 * (none: always). Everything that no rule denies is allowed.
 */
struct guard_rule {
	const char *name;
	int nr; /* for a libseccomp that is older than the call; else -1 */
	int error; /* positive errno */
	uint8_t cmps;
	struct guard_cmp cmp[2];
};

extern const struct guard_rule guard_rules[];
extern const size_t guard_rules_count;

/*
 * Builds the filter from the table; release with guard_filter_free(). NULL
 * with @err filled when any rule cannot be expressed: none is skipped.
 */
void *guard_filter_new(struct err *err);
void guard_filter_free(void *filter); /* NULL is fine */
/*
 * Loads it on the caller for good, without no_new_privs: needs CAP_SYS_ADMIN
 * (of the sandbox's kernel).
 */
int guard_filter_load(void *filter, struct err *err);

#endif
