/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h - instances on disk (SQLite, WAL), with migrations
 *
 * Schema version = PRAGMA user_version. A newer or a corrupt file is refused
 * and not touched. Everything a caller gets is a copy that it owns.
 */
#ifndef CONTROL_ACD_STORAGE_STORE_H
#define CONTROL_ACD_STORAGE_STORE_H

#include <stdint.h>

#include "control/shared/record.h"

struct store;

/* Opens, migrates. -EPROTO newer schema, -EUCLEAN corrupt, -EROFS read-only
 * place; @err tells the user what to do. */
int store_open(const char *path, struct store **ret, struct err *err);
void store_close(struct store *s); /* NULL is fine */

/* Inserts with a free address of 172.20.1.0-172.20.254.255 (written into
 * @r->address). -EEXIST when the name is taken, -ENOSPC no address. */
int store_insert(struct store *s, struct instance_record *r, struct err *err);
int store_update(struct store *s, const struct instance_record *r,
		 struct err *err); /* by name; -ENOENT */
int store_delete(struct store *s, const char *name, struct err *err);
/* A free address (caller frees) that no record gets, until one that has it
 * is stored by store_update(), or until it is released. It is forgotten with
 * @s. -ENOSPC, -ENOMEM. */
int store_address_reserve(struct store *s, char **ret, struct err *err);
void store_address_release(struct store *s, const char *address);
/* Calls @fn in order of name; a negative result of @fn ends the walk. */
int store_each(struct store *s,
	       int (*fn)(void *arg, const struct instance_record *r), void *arg,
	       struct err *err);

#endif
