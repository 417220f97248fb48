/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_read.c - reads acd's store of instances while acd does not run
 */
#include "control/cli/host/store_read.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "control/cli/host/store_vfs.h"
#include "control/shared/json.h"
#include "control/shared/record.h"
#include "lib/str.h"

#define TRIES 6 /* acd may start, and write, meanwhile */
#define WAIT_MS 10 /* before the second try; then doubled each time */

static void db_closep(sqlite3 **db)
{
	sqlite3_close_v2(*db);
	*db = NULL;
}

static void statement_endp(sqlite3_stmt **st)
{
	sqlite3_finalize(*st);
	*st = NULL;
}

/* ---- one record ---- */

/* Returns a stored object or array, or @def if it is malformed. Takes the
 * reference of @def. */
static json_t *stored(const char *text, json_t *def)
{
	json_t *v = text ? json_loads(text, 0, NULL) : NULL;

	if (v && json_typeof(v) == json_typeof(def)) {
		json_decref(def);
		return v;
	}
	json_decref(v);
	return def;
}

/* Like acd (credentials.h): the word "none" drops the blueprint's. */
static int put_credentials(json_t *rec, const struct instance_record *r)
{
	json_t *list = stored(r->credentials_json, json_array());
	const char *first = json_string_value(json_array_get(list, 0));
	bool only = first && strcmp(first, "none") == 0;

	if (only)
		json_array_remove(list, 0);
	return json_object_set_new(rec, "credentials", list) < 0 ||
			       json_object_set_new(rec, "credentials_only",
						   json_boolean(only)) < 0 ?
		       -ENOMEM :
		       0;
}

/* Returns when its ttl ends; null: never, or it has not run. */
static json_t *expires_json(const struct instance_record *r)
{
	int64_t from = r->touched_at > r->finished_at ? r->touched_at :
							r->finished_at;

	if (r->ttl_ms == 0 || r->finished_at == 0 ||
	    r->state == INSTANCE_EXPIRED)
		return json_null();
	return json_integer(from + (int64_t)(r->ttl_ms / 1000));
}

static int put_rest(json_t *rec, const struct instance_record *r)
{
	static const char *const unknown[] = { "guard", "disk_use",
					       "image_ready" };
	json_t *egress = json_pack("{s:s, s:[], s:[], s:[]}", "mode", "",
				   "presets", "allow", "deny");
	int bad = !egress ||
		  json_object_set_new(rec, "egress",
				      stored(r->egress_json, egress)) < 0;

	bad |= put_credentials(rec, r) < 0;
	bad |= json_object_set_new(rec, "expires_at", expires_json(r)) < 0;
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
		bad |= json_object_set_new(rec, unknown[i], json_null()) < 0;
	bad |= json_object_set_new(rec, "host", json_string("stopped")) < 0;
	return bad ? -ENOMEM : 0;
}

/* Sets what acd will record at its next start. */
static int set_lost(struct instance_record *r)
{
	if (!instance_state_is_live(r->state))
		return 0;
	r->state = INSTANCE_FAILED;
	free(r->reason);
	r->reason = strdup(INSTANCE_REASON_LOST);
	return r->reason ? 0 : -ENOMEM;
}

static int add_row(sqlite3_stmt *st, json_t *list, struct err *err)
{
	struct instance_record r = { 0 };
	json_t *rec = NULL;
	int rc = instance_record_read(st, &r, err);

	if (rc < 0)
		return rc;
	if (set_lost(&r) == 0)
		rec = instance_record_json(&r);
	rc = rec ? put_rest(rec, &r) : -ENOMEM;
	instance_record_done(&r);
	if (rc < 0 || json_array_append(list, rec) < 0)
		rc = err_nomem(err);
	json_decref(rec);
	return rc;
}

/* ---- all of them ---- */

static int sql_failed(sqlite3 *db, const char *path, struct err *err)
{
	return err_set(err, -EUCLEAN, "%s cannot be read: %s", path,
		       sqlite3_errmsg(db));
}

static int check_schema(sqlite3 *db, const char *path, struct err *err)
{
	ATTR_CLEANUP(statement_endp) sqlite3_stmt *st = NULL;
	int version;

	if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &st, NULL) ||
	    sqlite3_step(st) != SQLITE_ROW)
		return sql_failed(db, path, err);
	version = sqlite3_column_int(st, 0);
	if (version > INSTANCE_SCHEMA)
		return err_set(err, -EPROTO,
			       "%s was written by a newer ac (schema %d, this "
			       "one knows up to %d): use that ac, or another "
			       "AC_HOME",
			       path, version, INSTANCE_SCHEMA);
	return version; /* 0: acd has made an empty file */
}

int store_read_once(const char *path, json_t *list, struct err *err)
{
	ATTR_CLEANUP(db_closep) sqlite3 *db = NULL;
	ATTR_CLEANUP(statement_endp) sqlite3_stmt *st = NULL;
	int rc = store_vfs_open(path, &db, err);
	int step;

	if (rc == 0)
		rc = check_schema(db, path, err);
	if (rc <= 0)
		return rc;
	if (sqlite3_prepare_v2(db, "SELECT * FROM instance ORDER BY name", -1,
			       &st, NULL))
		return sql_failed(db, path, err);
	while ((step = sqlite3_step(st)) == SQLITE_ROW) {
		rc = add_row(st, list, err);
		if (rc < 0)
			return rc;
	}
	return step == SQLITE_DONE ? 0 : sql_failed(db, path, err);
}

/* What a write changes; zeroes for a missing file. */
struct state {
	off_t size[2];
	struct timespec time[2];
	ino_t ino[2];
};

static void state_take(const char *path, const char *wal, struct state *ret)
{
	const char *const paths[] = { path, wal };

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct stat st;

		if (stat(paths[i], &st) < 0)
			continue;
		ret->size[i] = st.st_size;
		ret->time[i] = st.st_mtim;
		ret->ino[i] = st.st_ino;
	}
}

int store_read_by(const char *path, store_read_fn once, json_t **ret,
		  struct err *err)
{
	SCOPED_STR wal = str_printf("%s-wal", path);
	struct timespec pause = { .tv_nsec = WAIT_MS * 1000000L };

	if (!wal)
		return err_nomem(err);
	for (int i = 0; i < TRIES; i++) {
		SCOPED_JSON list = json_array();
		struct state before, after;
		int rc;

		*err = (struct err){ 0 };
		state_take(path, wal, &before);
		rc = list ? once(path, list, err) : err_nomem(err);
		state_take(path, wal, &after);
		if (memcmp(&before, &after, sizeof(before)) != 0) {
			if (i + 1 < TRIES)
				nanosleep(&pause, NULL);
			pause.tv_nsec *= 2;
			continue;
		}
		if (rc < 0 && rc != -ENOENT)
			return rc;
		*ret = json_incref(list);
		return 0;
	}
	return err_set(err, -EAGAIN,
		       "%s is being written, so acd is starting or stopping: "
		       "try again",
		       path);
}

int store_read(const char *path, json_t **ret, struct err *err)
{
	return store_read_by(path, store_read_once, ret, err);
}
