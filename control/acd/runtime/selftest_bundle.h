/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selftest_bundle.h - the throw-away sandbox of the self-test, for runsc
 */
#ifndef CONTROL_ACD_RUNTIME_SELFTEST_BUNDLE_H
#define CONTROL_ACD_RUNTIME_SELFTEST_BUNDLE_H

#include <jansson.h>

#include "lib/err.h"
#include "lib/str.h"

/* Returns the OCI configuration for @guard --self-test, a new reference, or
 * NULL without memory. */
json_t *selftest_config(const char *guard);
/* Empties @dir, makes the bundle in it and appends the command to @argv, which
 * may be released on failure. Returns 0 or a negative errno with @err. */
int selftest_bundle_make(const char *runsc, const char *guard, const char *dir,
			 struct strv *argv, struct err *err);
/* Kills what is left of the sandbox within @limit_ms and removes @dir. Returns
 * 0 or a negative errno with @err. */
int selftest_bundle_remove(const char *runsc, const char *dir,
			   unsigned limit_ms, struct err *err);

#endif
