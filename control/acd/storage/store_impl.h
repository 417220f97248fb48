/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_impl.h - inside of store.c and store_open.c; nobody else includes it
 */
#ifndef CONTROL_ACD_STORAGE_STORE_IMPL_H
#define CONTROL_ACD_STORAGE_STORE_IMPL_H

#include <sqlite3.h>

#include "control/acd/storage/store.h"
#include "lib/str.h"

struct store {
	sqlite3 *db;
	sqlite3_stmt *insert, *update, *drop, *each, *addresses;
	struct strv reserved; /* addresses without a record */
};

/* The statements, once the schema is there. */
int store_prepare(struct store *s, struct err *err);
/* SQLite's result code as a negative errno, with its message. */
int store_err(sqlite3 *db, int rc, const char *what, struct err *err);

#endif
