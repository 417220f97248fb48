/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_read.h - the instances in acd's store, read while acd does not run
 */
#ifndef CONTROL_CLI_STORE_READ_H
#define CONTROL_CLI_STORE_READ_H

#include <jansson.h>

#include "lib/err.h"

/*
 * The records of the store @path, in order of name, with the members that the
 * API gives them; those that only acd can tell are null. A run that the store
 * has as live was lost with acd, and is shown so. Never changes the store or
 * its directory; an older schema is read as it is. No store yet: an empty
 * array. -EPROTO: a newer schema; -EACCES; -EUCLEAN: damaged. *ret is a new
 * reference.
 */
int store_read(const char *path, json_t **ret, struct err *err);

#endif
