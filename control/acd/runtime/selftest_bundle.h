/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selftest_bundle.h - the throw-away sandbox of the self-test, for runsc
 */
#ifndef CONTROL_ACD_RUNTIME_SELFTEST_BUNDLE_H
#define CONTROL_ACD_RUNTIME_SELFTEST_BUNDLE_H

#include <jansson.h>

#include "lib/err.h"
#include "lib/str.h"

/* The OCI configuration that runs @guard --self-test; NULL without memory. */
json_t *selftest_config(const char *guard);
/* Makes the bundle below @dir (emptied first); appends the command to run. */
int selftest_bundle_make(const char *runsc, const char *guard, const char *dir,
			 struct strv *argv, struct err *err);
/* Kills what is left of the sandbox within @limit_ms, removes @dir. */
int selftest_bundle_remove(const char *runsc, const char *dir,
			   unsigned limit_ms, struct err *err);

#endif
