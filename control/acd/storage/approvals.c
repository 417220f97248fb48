/* SPDX-License-Identifier: Apache-2.0 */
/*
 * approvals.c - which blueprints of projects the user has approved
 */
#include "control/acd/storage/approvals.h"

#include <stdlib.h>
#include <string.h>

#include "control/acd/storage/store_impl.h"

#define COLUMNS "dir, blueprint, hash, resolved, approved_at"

void approval_done(struct approval *a)
{
	free(a->dir);
	free(a->blueprint);
	free(a->hash);
	free(a->resolved);
	*a = (struct approval){ 0 };
}

static int prepare(struct store *s, const char *sql, const char *dir,
		   sqlite3_stmt **ret, struct err *err)
{
	return store_once(s, "approvals", sql, dir, ret, err);
}

static char *column(sqlite3_stmt *st, int i)
{
	const char *text = (const char *)sqlite3_column_text(st, i);

	return strdup(text ? text : "");
}

static int row_read(sqlite3_stmt *st, struct approval *ret, struct err *err)
{
	struct approval a = {
		.dir = column(st, 0),
		.blueprint = column(st, 1),
		.hash = column(st, 2),
		.resolved = column(st, 3),
		.approved_at = sqlite3_column_int64(st, 4),
	};

	if (!a.dir || !a.blueprint || !a.hash || !a.resolved) {
		approval_done(&a);
		return err_nomem(err);
	}
	*ret = a;
	return 0;
}

int approval_find(struct store *s, const char *dir, struct approval *ret,
		  struct err *err)
{
	SCOPED_ONCE st = NULL;
	int rc = prepare(s, "SELECT " COLUMNS " FROM project WHERE dir = ?",
			 dir, &st, err);

	if (rc < 0)
		return rc;
	rc = sqlite3_step(st);
	if (rc == SQLITE_DONE)
		return -ENOENT;
	if (rc != SQLITE_ROW)
		return store_err(s->db, rc, "look for an approval", err);
	return row_read(st, ret, err);
}

/* Refuses one more directory if there are APPROVALS_MAX. */
static int check_room(struct store *s, const char *dir, struct err *err)
{
	SCOPED_ONCE st = NULL;
	int rc = prepare(s, "SELECT count(*) FROM project WHERE dir <> ?", dir,
			 &st, err);

	if (rc < 0)
		return rc;
	rc = sqlite3_step(st);
	if (rc != SQLITE_ROW)
		return store_err(s->db, rc, "count approvals", err);
	if (sqlite3_column_int64(st, 0) < (int64_t)APPROVALS_MAX)
		return 0;
	return err_set(err, -ENOSPC,
		       "%u projects are approved; `ac blueprint forget DIR` "
		       "makes room",
		       APPROVALS_MAX);
}

int approval_put(struct store *s, const struct approval *a, struct err *err)
{
	SCOPED_ONCE st = NULL;
	const char *const texts[] = { a->blueprint, a->hash, a->resolved };
	int rc = check_room(s, a->dir, err);

	if (rc == 0)
		rc = prepare(s,
			     "INSERT OR REPLACE INTO project (" COLUMNS ")"
			     " VALUES (?, ?, ?, ?, ?)",
			     a->dir, &st, err);
	if (rc < 0)
		return rc;
	for (int i = 0; rc == SQLITE_OK && i < (int)ARRAY_SIZE(texts); i++)
		rc = sqlite3_bind_text(st, i + 2, texts[i], -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(st, 5, a->approved_at);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	return rc == SQLITE_DONE ? 0 : store_err(s->db, rc, "approve", err);
}

int approval_drop(struct store *s, const char *dir, struct err *err)
{
	SCOPED_ONCE st = NULL;
	int rc = prepare(s, "DELETE FROM project WHERE dir = ?", dir, &st, err);

	if (rc < 0)
		return rc;
	rc = sqlite3_step(st);
	if (rc != SQLITE_DONE)
		return store_err(s->db, rc, "forget an approval", err);
	if (sqlite3_changes(s->db) == 0)
		return err_set(err, -ENOENT,
			       "no blueprint of %s is approved; `ac blueprint "
			       "ls` shows which are",
			       dir);
	return 0;
}

int approvals_each(struct store *s,
		   int (*fn)(void *arg, const struct approval *a), void *arg,
		   struct err *err)
{
	SCOPED_ONCE st = NULL;
	int rc = prepare(s, "SELECT " COLUMNS " FROM project ORDER BY dir",
			 NULL, &st, err);

	if (rc < 0)
		return rc;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct approval a = { 0 };
		int stop = row_read(st, &a, err);

		if (stop == 0) {
			stop = fn(arg, &a);
			if (stop < 0)
				err_set(err, stop, "%s: %s", a.dir,
					err_text(stop));
		}
		approval_done(&a);
		if (stop < 0)
			return stop;
	}
	return rc == SQLITE_DONE ? 0 :
				   store_err(s->db, rc, "list approvals", err);
}
