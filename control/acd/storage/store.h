/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h - instances on disk (SQLite, WAL), with migrations
 *
 * The schema's version is PRAGMA user_version. A newer or a corrupt file is
 * refused unchanged. Callers own copies of all they get.
 */
#ifndef CONTROL_ACD_STORAGE_STORE_H
#define CONTROL_ACD_STORAGE_STORE_H

#include <stdint.h>

#include "control/shared/record.h"

struct store;

/* Opens and migrates; the caller closes *ret. Returns 0; -EPROTO for a newer
 * schema, -EUCLEAN if corrupt, -EROFS if it cannot be written, -EBUSY if
 * another acd has it; @err tells the user what to do. */
int store_open(const char *path, struct store **ret, struct err *err);
void store_close(struct store *s); /* NULL is fine */

/* Inserts @r with a free address of 172.20.1.0-172.20.254.255, which replaces
 * @r->address (an earlier one is freed). Fails with -EEXIST if the name is
 * taken, -ENOSPC without an address. */
int store_insert(struct store *s, struct instance_record *r, struct err *err);
/* Replaces the record with @r's name. Fails with -ENOENT. */
int store_update(struct store *s, const struct instance_record *r,
		 struct err *err);
/* Deletes a record. Fails with -ENOENT. */
int store_delete(struct store *s, const char *name, struct err *err);
/* Sets *ret to a free address (the caller frees it) that no record gets until
 * store_update() stores a record with it, or it is released. store_close()
 * forgets it. Fails with -ENOSPC or -ENOMEM. */
int store_address_reserve(struct store *s, char **ret, struct err *err);
void store_address_release(struct store *s, const char *address);
/* Calls @fn in order of name with a borrowed record. A negative result of @fn
 * ends the walk and is returned. */
int store_each(struct store *s,
	       int (*fn)(void *arg, const struct instance_record *r), void *arg,
	       struct err *err);

#endif
