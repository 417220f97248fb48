/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selftest.h - tests whether a runsc is safe to run agents with
 *
 * No version is believed. `init-guard --self-test` runs in a throw-away sandbox
 * of this very binary. A pass is cached, by the SHA-256 of both binaries, the
 * flags, the sandbox's configuration with its capabilities, and the kernel's
 * release.
 */
#ifndef CONTROL_ACD_RUNTIME_SELFTEST_H
#define CONTROL_ACD_RUNTIME_SELFTEST_H

#include "control/acd/daemon/children.h"
#include "lib/err.h"
#include "lib/loop.h"

#define SELFTEST_LIMIT_MS 60000u

enum selftest_state { SELFTEST_TESTING, SELFTEST_OK, SELFTEST_REFUSED };

struct selftest;
typedef void (*selftest_fn)(void *arg);

struct selftest_spec {
	const char *runsc; /* the binary */
	const char *guard; /* init-guard */
	const char *dir; /* for bundle and runsc's state; made, emptied */
	const char *cache; /* file with the last pass; NULL: always test */
	/* Limit for calls of runsc other than the test, which block the loop;
	 * 0: 10 s. */
	unsigned call_limit_ms;
};

/* Keeps references to @spec's strings. Returns NULL with @err on failure. */
struct selftest *selftest_new(struct loop *loop, struct children *children,
			      const struct selftest_spec *spec,
			      struct err *err);
/* Kills a test that runs; there is no callback. NULL is fine. */
void selftest_free(struct selftest *t);
/* Looks into the cache, else runs the test. Calls @fn from the loop when the
 * state is known. */
void selftest_start(struct selftest *t, selftest_fn fn, void *arg);
enum selftest_state selftest_state(const struct selftest *t);
/* The results are borrowed from @t. */

/* Returns why runsc was refused, or "". */
const char *selftest_reason(const struct selftest *t);
/* Returns how many of its tests it has passed. */
unsigned selftest_checks(const struct selftest *t);
/* Returns the first line of `runsc --version`, "" if unknown. */
const char *selftest_version(const struct selftest *t);
/* Returns all that the test printed, "" if the cache has answered. */
const char *selftest_output(const struct selftest *t);

#endif
