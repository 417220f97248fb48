/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tokens.c - tokens of programs that use the API over TCP, in the store
 */
#include "control/acd/storage/tokens.h"

#include <stdlib.h>
#include <string.h>

#include "control/acd/storage/store_impl.h"
#include "lib/str.h"

#define COLUMNS "name, id, hash, scope, created_at, expires_at, used_at"

static int prepare(struct store *s, const char *sql, const char *first,
		   sqlite3_stmt **ret, struct err *err)
{
	return store_once(s, "tokens", sql, first, ret, err);
}

static void text_read(sqlite3_stmt *st, int i, char *ret, size_t size)
{
	const char *text = (const char *)sqlite3_column_text(st, i);

	snprintf(ret, size, "%s", text ? text : "");
}

/* A hash of another length fits no secret. */
static void row_read(sqlite3_stmt *st, struct token *t)
{
	const void *hash = sqlite3_column_blob(st, 2);

	*t = (struct token){
		.created_at = sqlite3_column_int64(st, 4),
		.expires_at = sqlite3_column_int64(st, 5),
		.used_at = sqlite3_column_int64(st, 6),
	};
	text_read(st, 0, t->name, sizeof(t->name));
	text_read(st, 1, t->id, sizeof(t->id));
	text_read(st, 3, t->scope, sizeof(t->scope));
	if (hash && sqlite3_column_bytes(st, 2) == (int)sizeof(t->hash))
		memcpy(t->hash, hash, sizeof(t->hash));
	else
		t->scope[0] = '\0';
}

static int check_room(struct store *s, const char *name, struct err *err)
{
	SCOPED_ONCE st = NULL;
	int rc = prepare(s, "SELECT count(*), sum(name = ?) FROM token", name,
			 &st, err);

	if (rc < 0)
		return rc;
	rc = sqlite3_step(st);
	if (rc != SQLITE_ROW)
		return store_err(s->db, rc, "count tokens", err);
	if (sqlite3_column_int64(st, 1) > 0)
		return err_set(err, -EEXIST,
			       "there is a token '%s'; `ac token rm %s` "
			       "removes it",
			       name, name);
	if (sqlite3_column_int64(st, 0) >= (int64_t)TOKENS_MAX)
		return err_set(err, -ENOSPC,
			       "there are %u tokens; `ac token rm` makes room",
			       TOKENS_MAX);
	return 0;
}

int token_put(struct store *s, const struct token *t, struct err *err)
{
	SCOPED_ONCE st = NULL;
	int rc = check_room(s, t->name, err);

	if (rc == 0)
		rc = prepare(s,
			     "INSERT INTO token (" COLUMNS ")"
			     " VALUES (?, ?, ?, ?, ?, ?, 0)",
			     t->name, &st, err);
	if (rc < 0)
		return rc;
	rc = sqlite3_bind_text(st, 2, t->id, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_blob(st, 3, t->hash, sizeof(t->hash),
				       SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(st, 4, t->scope, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(st, 5, t->created_at);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(st, 6, t->expires_at);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	return rc == SQLITE_DONE ? 0 :
				   store_err(s->db, rc, "store a token", err);
}

int token_find(struct store *s, const char *id, struct token *ret,
	       struct err *err)
{
	SCOPED_ONCE st = NULL;
	int rc = prepare(s, "SELECT " COLUMNS " FROM token WHERE id = ?", id,
			 &st, err);

	if (rc < 0)
		return rc;
	rc = sqlite3_step(st);
	if (rc == SQLITE_DONE)
		return -ENOENT;
	if (rc != SQLITE_ROW)
		return store_err(s->db, rc, "look for a token", err);
	row_read(st, ret);
	return 0;
}

int token_drop(struct store *s, const char *name, struct err *err)
{
	SCOPED_ONCE st = NULL;
	int rc = prepare(s, "DELETE FROM token WHERE name = ?", name, &st, err);

	if (rc < 0)
		return rc;
	rc = sqlite3_step(st);
	if (rc != SQLITE_DONE)
		return store_err(s->db, rc, "remove a token", err);
	if (sqlite3_changes(s->db) == 0)
		return err_set(err, -ENOENT,
			       "there is no token '%s'; `ac token ls` shows "
			       "them",
			       name);
	return 0;
}

int token_note_use(struct store *s, const char *id, int64_t now,
		   struct err *err)
{
	SCOPED_ONCE st = NULL;
	int rc = prepare(s, "UPDATE token SET used_at = ?2 WHERE id = ?1", id,
			 &st, err);

	if (rc < 0)
		return rc;
	rc = sqlite3_bind_int64(st, 2, now);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	return rc == SQLITE_DONE ?
		       0 :
		       store_err(s->db, rc, "note the use of a token", err);
}

int tokens_each(struct store *s, int (*fn)(void *arg, const struct token *t),
		void *arg, struct err *err)
{
	SCOPED_ONCE st = NULL;
	int rc = prepare(s, "SELECT " COLUMNS " FROM token ORDER BY name", NULL,
			 &st, err);

	if (rc < 0)
		return rc;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct token t;

		row_read(st, &t);
		rc = fn(arg, &t);
		if (rc < 0)
			return rc;
	}
	return rc == SQLITE_DONE ? 0 :
				   store_err(s->db, rc, "read the tokens", err);
}

/* ---- settings ---- */

int setting_get(struct store *s, const char *name, char **ret, struct err *err)
{
	SCOPED_ONCE st = NULL;
	int rc = prepare(s, "SELECT value FROM setting WHERE name = ?", name,
			 &st, err);

	*ret = NULL;
	if (rc < 0)
		return rc;
	rc = sqlite3_step(st);
	if (rc == SQLITE_DONE)
		return 0;
	if (rc != SQLITE_ROW)
		return store_err(s->db, rc, "read a setting", err);
	*ret = strdup((const char *)sqlite3_column_text(st, 0));
	return *ret ? 0 : err_nomem(err);
}

int setting_put(struct store *s, const char *name, const char *value,
		struct err *err)
{
	SCOPED_ONCE st = NULL;
	int rc = prepare(s,
			 value ? "INSERT OR REPLACE INTO setting (name, value)"
				 " VALUES (?, ?)" :
				 "DELETE FROM setting WHERE name = ?",
			 name, &st, err);

	if (rc < 0)
		return rc;
	rc = value ? sqlite3_bind_text(st, 2, value, -1, SQLITE_STATIC) :
		     SQLITE_OK;
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	return rc == SQLITE_DONE ? 0 :
				   store_err(s->db, rc, "store a setting", err);
}

int settings_each(struct store *s, const char *prefix,
		  int (*fn)(void *arg, const char *name, const char *value),
		  void *arg, struct err *err)
{
	SCOPED_ONCE st = NULL;
	SCOPED_STR pattern = str_printf("%s*", prefix);
	int rc = pattern ? prepare(s,
				   "SELECT name, value FROM setting WHERE name "
				   "GLOB ? ORDER BY name",
				   pattern, &st, err) :
			   err_nomem(err);

	if (rc < 0)
		return rc;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		rc = fn(arg, (const char *)sqlite3_column_text(st, 0),
			(const char *)sqlite3_column_text(st, 1));
		if (rc < 0)
			return rc == -ENOMEM ? err_nomem(err) : rc;
	}
	return rc == SQLITE_DONE ? 0 :
				   store_err(s->db, rc, "read settings", err);
}
