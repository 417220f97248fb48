/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_read.h - reads acd's store of instances while acd does not run
 */
#ifndef CONTROL_CLI_HOST_STORE_READ_H
#define CONTROL_CLI_HOST_STORE_READ_H

#include <jansson.h>

#include "lib/err.h"

/*
 * Sets *ret, a new reference, to the records of the store @path, in order of
 * name, with the API's members; those that only acd knows are null. A run that
 * is live in the store was lost with acd, and its record says so. Never changes
 * the store or its directory. Reads an older schema as it is. Without a store
 * the array is empty. Returns 0; or -EPROTO for a newer schema, -EACCES,
 * -EUCLEAN if it is damaged, -EAGAIN if it changed during each of several
 * tries, or -ENOMEM, with @err.
 */
int store_read(const char *path, json_t **ret, struct err *err);

/* Reads the store once and appends its records to @list, which is borrowed.
 * Returns 0, -ENOENT without a store, or a negative errno with @err. The store
 * may change meanwhile: the result is only good if it did not. */
typedef int (*store_read_fn)(const char *path, json_t *list, struct err *err);
/* Calls @once, again after a pause if the store has changed meanwhile. Returns
 * like store_read(). */
int store_read_by(const char *path, store_read_fn once, json_t **ret,
		  struct err *err);
/* The store_read_fn of store_read(). */
int store_read_once(const char *path, json_t *list, struct err *err);

#endif
