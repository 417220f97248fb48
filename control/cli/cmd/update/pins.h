/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pins.h - what the lock file of a blueprint pins
 */
#ifndef CONTROL_CLI_CMD_UPDATE_PINS_H
#define CONTROL_CLI_CMD_UPDATE_PINS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

/* The limits of a requirements.txt; a file beyond them is refused. */
#define PINS_MAX 4096u
#define PINS_NAME_MAX 128u
#define PINS_VERSION_MAX 64u

/*
 * Read a package-lock.json of npm, or a requirements.txt of pip. Return a new
 * object of "NAME": {"version", "proof"}, to be freed with json_decref(), or NULL
 * with @err.
 *
 * With @proven, which a file from a stranger must be, a file is refused unless
 * every package has one version and its digests (SHA-512 for npm, SHA-256 for
 * pip), none has an address, and there is at least one; and pip's file unless it
 * has nothing else, as images/update/pip.py writes it. Without, what pins no
 * version is left out.
 */
json_t *pins_npm(const char *text, size_t len, bool proven, struct err *err);
json_t *pins_pip(const char *text, size_t len, bool proven, struct err *err);

/* Adds one to what the above return. Returns 0 or -1. */
int pins_add(json_t *pins, const char *name, const char *version,
	     const char *proof);

/*
 * Compares two results of the above. Returns a new array of {"package", "from",
 * "to", "digest"}, sorted by package. "from" or "to" is null for a package that
 * was added or removed; "digest" is true if a digest of before no longer
 * proves the same version. NULL with @err out of memory.
 */
json_t *pins_compare(json_t *was, json_t *now, struct err *err);

/* Checks a package.json from a stranger: it must be @was but for versions that
 * have moved, each a version or npm's alias of one. Returns 0, -EBADMSG or
 * -ENOMEM with @err. */
int pins_npm_moved(const char *was, size_t was_len, const char *now,
		   size_t now_len, struct err *err);

#endif
