/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_read.h - the instances in acd's store, read while acd does not run
 */
#ifndef CONTROL_CLI_HOST_STORE_READ_H
#define CONTROL_CLI_HOST_STORE_READ_H

#include <jansson.h>

#include "lib/err.h"

/*
 * The records of the store @path, in order of name, with the members that the
 * API gives them; those that only acd can tell are null. A run that the store
 * has as live was lost with acd, and is shown so. Never changes the store or
 * its directory; an older schema is read as it is. No store yet: an empty
 * array. -EPROTO: a newer schema; -EACCES; -EUCLEAN: damaged; -EAGAIN: it
 * changed during each of several tries. *ret is a new reference.
 */
int store_read(const char *path, json_t **ret, struct err *err);

/* The same with what reads the store once, adding its records to @list; and
 * that of store_read(). */
typedef int (*store_read_fn)(const char *path, json_t *list, struct err *err);
int store_read_by(const char *path, store_read_fn once, json_t **ret,
		  struct err *err);
int store_read_once(const char *path, json_t *list, struct err *err);

#endif
