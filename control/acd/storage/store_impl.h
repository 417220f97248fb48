/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_impl.h - inside of store.c, store_open.c, approvals.c and tokens.c
 */
#ifndef CONTROL_ACD_STORAGE_STORE_IMPL_H
#define CONTROL_ACD_STORAGE_STORE_IMPL_H

#include <sqlite3.h>

#include "control/acd/storage/store.h"
#include "lib/str.h"

struct store {
	sqlite3 *db;
	/* Prepared by store_prepare(). */
	sqlite3_stmt *insert, *update, *drop, *each, *addresses;
	struct strv reserved; /* addresses without a record */
};

/* Prepares the statements, which need the schema. Returns 0, or a negative
 * errno with @err; store_close() frees those that are made, in either case. */
int store_prepare(struct store *s, struct err *err);
/* Sets @err to what was done, @what, and SQLite's message. Returns the negative
 * errno for its result code @rc, never 0; -EIO for most. @db: NULL if there is
 * none. */
int store_err(sqlite3 *db, int rc, const char *what, struct err *err);

/* A statement of one use, for calls that are rare; finalized at its scope's end. */
static inline void store_once_endp(sqlite3_stmt **st)
{
	sqlite3_finalize(*st);
}
#define SCOPED_ONCE ATTR_CLEANUP(store_once_endp) sqlite3_stmt *

/* Prepares @sql, with @first (borrowed until it is finalized) as its first
 * parameter; NULL: it has none. Returns 0, or a negative errno with @err, which
 * names @what. */
int store_once(struct store *s, const char *what, const char *sql,
	       const char *first, sqlite3_stmt **ret, struct err *err);

#endif
