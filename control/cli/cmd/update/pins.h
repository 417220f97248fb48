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
 * object of "name": "version", to be freed with json_decref(), or NULL with @err.
 *
 * With @proven, which a file from a stranger must be: each package has a SHA-512
 * (npm) or SHA-256 (pip) and no address of its own, pip's file has nothing but
 * packages, and there is at least one. Else what pins no version is left out.
 */
json_t *pins_npm(const char *text, size_t len, bool proven, struct err *err);
json_t *pins_pip(const char *text, size_t len, bool proven, struct err *err);

/* Compares two results of the above. Returns a new array of {"package", "from",
 * "to"}, sorted by package, where "from" or "to" is null for what came or went;
 * NULL with @err out of memory. */
json_t *pins_compare(json_t *was, json_t *now, struct err *err);

#endif
