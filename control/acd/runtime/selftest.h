/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selftest.h - is this runsc safe to run agents with?
 *
 * No version is believed. `init-guard --self-test` runs in a throw-away
 * sandbox of the very binary; what passed is remembered by the SHA-256 of
 * both binaries, the flags, the sandbox's configuration with its capabilities,
 * and the kernel's release.
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
	const char *dir; /* for its bundle and runsc's state; made, emptied */
	const char *cache; /* file that remembers, NULL: test anew */
	/* The loop stands still for a call of runsc that is not the test: for
	 * so long at most; 0: 10 s. */
	unsigned call_limit_ms;
};

/* @spec's strings are kept by reference. */
struct selftest *selftest_new(struct loop *loop, struct children *children,
			      const struct selftest_spec *spec,
			      struct err *err);
void selftest_free(struct selftest *t); /* no callback; NULL is fine */
/* Looks into the cache, else runs the test; @fn when the state is known,
 * from the loop. */
void selftest_start(struct selftest *t, selftest_fn fn, void *arg);
enum selftest_state selftest_state(const struct selftest *t);
/* Why it was refused; "" otherwise. */
const char *selftest_reason(const struct selftest *t);
/* How many of its tests it has passed. */
unsigned selftest_checks(const struct selftest *t);
/* First line of `runsc --version`, "" before it is known. */
const char *selftest_version(const struct selftest *t);
/* All that the test printed, "" when the cache answered. */
const char *selftest_output(const struct selftest *t);

#endif
