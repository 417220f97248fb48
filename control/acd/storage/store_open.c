/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_open.c - opens the database, or refuses it unchanged
 *
 * The data cannot be made again, so the file is checked before it is written
 * to: a read-only connection checks the schema's version and every page. Only
 * then is it opened for writing, and locked for as long as acd lives: a second
 * acd on the same directory is refused. With the lock SQLite needs no shared
 * memory, which some file systems lack.
 *
 * Version n of the schema is the result of the first n migrations. Released
 * ones are never edited; changes are appended.
 */
#include "control/acd/storage/store.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "control/acd/storage/store_impl.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/str.h"

#define LOG_RESERVE (UINT64_C(16) << 20) /* some thousand changes */
#define FILE_RESERVE (1 << 20) /* of the database: a thousand instances */

static const char *const migrations[] = {
	"CREATE TABLE instance ("
	" name TEXT PRIMARY KEY NOT NULL,"
	" blueprint TEXT NOT NULL,"
	" isolation TEXT NOT NULL,"
	" state TEXT NOT NULL,"
	" reason TEXT,"
	" exit_code INTEGER NOT NULL,"
	" created_at INTEGER NOT NULL,"
	" started_at INTEGER NOT NULL,"
	" finished_at INTEGER NOT NULL,"
	" address TEXT NOT NULL UNIQUE,"
	" cpu_milli INTEGER NOT NULL,"
	" memory INTEGER NOT NULL,"
	" pids INTEGER NOT NULL,"
	" timeout_ms INTEGER NOT NULL,"
	" gpus TEXT,"
	" workspace TEXT,"
	" workspace_ro INTEGER NOT NULL,"
	" auto_remove INTEGER NOT NULL,"
	" detached INTEGER NOT NULL,"
	" tty INTEGER NOT NULL,"
	" workdir TEXT,"
	" env_json TEXT,"
	" cmd_json TEXT,"
	" host_uid INTEGER NOT NULL,"
	" host_gid INTEGER NOT NULL,"
	" container_id TEXT,"
	" runs INTEGER NOT NULL"
	") STRICT;"
	"CREATE UNIQUE INDEX instance_by_name"
	" ON instance (name COLLATE NOCASE);",

	"ALTER TABLE instance ADD COLUMN egress_json TEXT;",

	"ALTER TABLE instance ADD COLUMN disk INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE instance ADD COLUMN output INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE instance ADD COLUMN ttl_ms INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE instance ADD COLUMN idle_ms INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE instance ADD COLUMN runtime TEXT;",

	("ALTER TABLE instance ADD COLUMN touched_at INTEGER NOT NULL"
	 " DEFAULT 0;"),

	"ALTER TABLE instance ADD COLUMN credentials_json TEXT;",

	("ALTER TABLE instance ADD COLUMN workspace_dev INTEGER NOT NULL"
	 " DEFAULT 0;"
	 "ALTER TABLE instance ADD COLUMN workspace_ino INTEGER NOT NULL"
	 " DEFAULT 0;"),

	"ALTER TABLE instance ADD COLUMN project_json TEXT;"
	"CREATE TABLE project ("
	" dir TEXT PRIMARY KEY NOT NULL,"
	" blueprint TEXT NOT NULL,"
	" hash TEXT NOT NULL,"
	" resolved TEXT NOT NULL,"
	" approved_at INTEGER NOT NULL"
	") STRICT;",

	"ALTER TABLE instance ADD COLUMN mounts_json TEXT;",

	/* Instances of before stay live. */
	"ALTER TABLE instance ADD COLUMN workspace_copy INTEGER NOT NULL"
	" DEFAULT 0;"
	"ALTER TABLE instance ADD COLUMN layer_since_ns INTEGER NOT NULL"
	" DEFAULT 0;"
	"ALTER TABLE instance ADD COLUMN layer_dev INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE instance ADD COLUMN layer_ino INTEGER NOT NULL DEFAULT 0;",

	"ALTER TABLE instance ADD COLUMN publish_json TEXT;",

	"ALTER TABLE instance ADD COLUMN volumes_json TEXT;",

	("ALTER TABLE instance ADD COLUMN hibernate_ms INTEGER NOT NULL"
	 " DEFAULT 0;"),

	"CREATE TABLE token ("
	" name TEXT PRIMARY KEY NOT NULL,"
	" id TEXT NOT NULL UNIQUE,"
	" hash BLOB NOT NULL,"
	" scope TEXT NOT NULL,"
	" created_at INTEGER NOT NULL,"
	" expires_at INTEGER NOT NULL,"
	" used_at INTEGER NOT NULL"
	") STRICT;"
	"CREATE TABLE setting ("
	" name TEXT PRIMARY KEY NOT NULL,"
	" value TEXT NOT NULL"
	") STRICT;",
};
#define SCHEMA_VERSION ((int)ARRAY_SIZE(migrations))
static_assert(ARRAY_SIZE(migrations) == INSTANCE_SCHEMA, "what readers know");

static void db_closep(sqlite3 **db)
{
	sqlite3_close_v2(*db);
	*db = NULL;
}

#define SCOPED_DB ATTR_CLEANUP(db_closep) sqlite3 *

int store_err(sqlite3 *db, int rc, const char *what, struct err *err)
{
	static const struct {
		int rc, code;
	} map[] = {
		{ SQLITE_NOMEM, -ENOMEM },   { SQLITE_FULL, -ENOSPC },
		{ SQLITE_READONLY, -EROFS }, { SQLITE_CORRUPT, -EUCLEAN },
		{ SQLITE_NOTADB, -EUCLEAN }, { SQLITE_BUSY, -EBUSY },
		{ SQLITE_LOCKED, -EBUSY },   { SQLITE_RANGE, -ERANGE },
		{ SQLITE_TOOBIG, -E2BIG },   { SQLITE_CONSTRAINT, -EINVAL },
	};
	int code = -EIO;

	for (size_t i = 0; i < ARRAY_SIZE(map); i++) {
		if (map[i].rc == (rc & 0xff))
			code = map[i].code;
	}
	return err_set(err, code, "database: %s: %s", what,
		       rc == SQLITE_RANGE ? "a number is too large" :
		       db                 ? sqlite3_errmsg(db) :
					    sqlite3_errstr(rc));
}

int store_once(struct store *s, const char *what, const char *sql,
	       const char *first, sqlite3_stmt **ret, struct err *err)
{
	int rc = sqlite3_prepare_v2(s->db, sql, -1, ret, NULL);

	if (rc == SQLITE_OK && first)
		rc = sqlite3_bind_text(*ret, 1, first, -1, SQLITE_STATIC);
	return rc == SQLITE_OK ? 0 : store_err(s->db, rc, what, err);
}

/* Checks that files can be written here; SQLite would tell only at the first
 * change. */
static int place_check(const char *path, struct err *err)
{
	SCOPED_STR dir = strdup(path);
	char *slash = dir ? strrchr(dir, '/') : NULL;
	const char *bad = NULL;

	if (!dir)
		return err_nomem(err);
	if (slash)
		slash[slash == dir] = '\0';
	if (faccessat(AT_FDCWD, slash ? dir : ".", W_OK, AT_EACCESS) < 0)
		bad = slash ? dir : ".";
	else if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0 &&
		 errno != ENOENT)
		bad = path;
	if (!bad)
		return 0;
	if (errno == ENOENT)
		return err_sys(err, "%s", bad);
	return err_set(err, -EROFS,
		       "%s cannot be written to (%s): the state directory must "
		       "be on a disk that is mounted read-write and belong to "
		       "the user of ac; AC_HOME names another one",
		       bad, strerror(errno));
}

static int corrupt(const char *path, const char *why, struct err *err)
{
	return err_set(err, -EUCLEAN,
		       "%s is damaged (%s); it was left untouched. Put a copy "
		       "back or move it away: then ac starts with no "
		       "instances, their workspaces stay where they are",
		       path, why);
}

/* Returns the first column of the first row as text that the caller frees; with
 * SQLITE_OK it is never NULL. */
static int query_text(sqlite3 *db, const char *sql, char **ret)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(st, 0);

		*ret = strdup(text ? text : "");
		rc = *ret ? SQLITE_OK : SQLITE_NOMEM;
	} else if (rc == SQLITE_OK || rc == SQLITE_DONE) {
		rc = SQLITE_INTERNAL; /* no row */
	}
	sqlite3_finalize(st);
	return rc;
}

static int query_int(sqlite3 *db, const char *sql, int *ret)
{
	SCOPED_STR text = NULL;
	int rc = query_text(db, sql, &text);

	if (rc == SQLITE_OK)
		*ret = atoi(text);
	return rc;
}

static int look_failed(sqlite3 *db, int rc, const char *path, struct err *err)
{
	if ((rc & 0xff) == SQLITE_NOTADB || (rc & 0xff) == SQLITE_CORRUPT)
		return corrupt(path, sqlite3_errmsg(db), err);
	if ((rc & 0xff) == SQLITE_BUSY)
		return err_set(err, -EBUSY,
			       "another acd uses %s: stop it first, or give "
			       "this one an AC_HOME of its own",
			       path);
	return store_err(db, rc, path, err);
}

/*
 * Opens a connection for reading and asks for the version. A reader of the log
 * needs shared memory, for which a full disk has no room: then a connection
 * opens that needs none and is kept from writing.
 */
static int look_open(const char *path, sqlite3 **db, int *version)
{
	int rc = sqlite3_open_v2(
		path, db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);

	if (rc == SQLITE_OK)
		rc = query_int(*db, "PRAGMA user_version", version);
	if (rc != SQLITE_FULL && rc != SQLITE_CANTOPEN &&
	    (rc & 0xff) != SQLITE_IOERR)
		return rc;
	db_closep(db);
	rc = sqlite3_open_v2(path, db,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_db_config(*db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
				       NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(*db,
				  "PRAGMA locking_mode = EXCLUSIVE;"
				  "PRAGMA query_only = ON",
				  NULL, NULL, NULL);
	return rc == SQLITE_OK ?
		       query_int(*db, "PRAGMA user_version", version) :
		       rc;
}

/* Checks the file, only reading. Returns 0 if it may be opened for writing. */
static int look(const char *path, struct err *err)
{
	SCOPED_DB db = NULL;
	SCOPED_STR check = NULL;
	int version = 0, tables = 0;
	int rc = look_open(path, &db, &version);

	if (rc == SQLITE_OK && version > SCHEMA_VERSION)
		return err_set(err, -EPROTO,
			       "%s was written by a newer ac (schema %d, this "
			       "one knows up to %d); it was left untouched. "
			       "Use that ac, or another AC_HOME",
			       path, version, SCHEMA_VERSION);
	if (rc == SQLITE_OK)
		rc = query_text(db, "PRAGMA quick_check(1)", &check);
	if (rc == SQLITE_OK && strcmp(check, "ok") != 0) {
		for (char *p = check; *p; p++)
			*p = *p == '\n' ? ' ' : *p;
		return corrupt(path, check, err);
	}
	if (rc == SQLITE_OK)
		rc = query_int(db, "SELECT count(*) FROM sqlite_schema",
			       &tables);
	if (rc != SQLITE_OK)
		return look_failed(db, rc, path, err);
	if ((version == 0) != (tables == 0))
		return corrupt(path, "it is not a database of ac", err);
	return 0;
}

/* Makes the file. SQLite gives its companions (-wal) its mode and owner, and
 * the owner reads them while acd does not run. */
static int file_ensure(const char *path, struct err *err)
{
	SCOPED_FD fd =
		open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "open %s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "%s is not a file", path);
	if (file_give(fd, path) < 0)
		return err_sys(err, "give %s to its user", path);
	return 0;
}

static int migrate(sqlite3 *db, struct err *err)
{
	char sql[64];
	int version = 0;
	int rc = query_int(db, "PRAGMA user_version", &version);

	if (rc == SQLITE_OK && version < SCHEMA_VERSION)
		rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	else
		return rc == SQLITE_OK ? 0 : store_err(db, rc, "migrate", err);

	for (int i = version; i < SCHEMA_VERSION && rc == SQLITE_OK; i++)
		rc = sqlite3_exec(db, migrations[i], NULL, NULL, NULL);
	snprintf(sql, sizeof(sql), "PRAGMA user_version = %d; COMMIT",
		 SCHEMA_VERSION);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		return 0;
	rc = store_err(db, rc, "migrate", err);
	sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

static int open_for_writing(struct store *s, const char *path, struct err *err)
{
	SCOPED_STR mode = NULL;
	int rc = sqlite3_open_v2(path, &s->db,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
				 NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1,
				       NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(s->db,
				  "PRAGMA locking_mode = EXCLUSIVE;"
				  "PRAGMA trusted_schema = OFF;",
				  NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = query_text(s->db, "PRAGMA journal_mode = WAL", &mode);
	if (rc == SQLITE_OK && strcmp(mode, "wal") != 0)
		return err_set(err, -EIO, "%s: no write-ahead log here", path);
	if (rc == SQLITE_OK)
		/* Changes survive the end of acd and of ac-host. A crash of the
		 * machine may undo the last changes, never half of one; it ends
		 * every sandbox as well, and a run must not wait five times for
		 * the disk. */
		rc = sqlite3_exec(s->db, "PRAGMA synchronous = NORMAL", NULL,
				  NULL, NULL);
	if (rc != SQLITE_OK)
		return look_failed(s->db, rc, path, err);

	rc = migrate(s->db, err);
	return rc < 0 ? rc : store_prepare(s, err);
}

/*
 * Reserves room for the database and its log, so that changes can be recorded
 * on a full disk; as far as the file system can, and without filling it. The
 * log stays when acd ends (log_void()), so a start on a full disk finds its
 * room.
 */
static void reserve(sqlite3 *db, const char *path)
{
	SCOPED_STR name = str_printf("%s-wal", path);
	SCOPED_FD fd = -1;
	sqlite3_int64 size = FILE_RESERVE;
	struct statvfs fs;
	int chunk = FILE_RESERVE, keep = 1;

	sqlite3_file_control(db, NULL, SQLITE_FCNTL_PERSIST_WAL, &keep);
	sqlite3_file_control(db, NULL, SQLITE_FCNTL_CHUNK_SIZE, &chunk);
	if (name)
		fd = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstatvfs(fd, &fs) < 0 ||
	    (uint64_t)fs.f_bavail * fs.f_frsize < 2 * LOG_RESERVE)
		return;
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, LOG_RESERVE) < 0)
		log_info("%s: no room can be kept for it: %s", name,
			 err_text(-errno));
	sqlite3_file_control(db, NULL, SQLITE_FCNTL_SIZE_HINT, &size);
}

int store_open(const char *path, struct store **ret, struct err *err)
{
	struct store *s;
	int rc = place_check(path, err);

	if (rc == 0)
		rc = file_ensure(path, err);
	if (rc == 0)
		rc = look(path, err);
	if (rc < 0)
		return rc;

	s = calloc(1, sizeof(*s));
	if (!s)
		return err_nomem(err);
	rc = open_for_writing(s, path, err);
	if (rc < 0) {
		store_close(s);
		return rc;
	}
	reserve(s->db, path);
	*ret = s;
	return 0;
}

/* Returns true if the log is completely in the database. */
static bool log_is_done(sqlite3 *db)
{
	int frames = -1, done = -2;

	return db &&
	       sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE,
					 &frames, &done) == SQLITE_OK &&
	       frames == done;
}

/* Makes the log an empty one by breaking its header. Else it would be replayed
 * over a copy of the database that the user restores. */
static void log_void(const char *name)
{
	static const char nothing[32];
	SCOPED_FD fd = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0 &&
	    pwrite(fd, nothing, sizeof(nothing), 0) != sizeof(nothing))
		log_warn("%s: %s", name, err_text(-errno));
}

void store_close(struct store *s)
{
	SCOPED_STR log = NULL;

	if (!s)
		return;
	if (log_is_done(s->db))
		log = str_printf("%s-wal", sqlite3_db_filename(s->db, "main"));
	sqlite3_finalize(s->insert);
	sqlite3_finalize(s->update);
	sqlite3_finalize(s->drop);
	sqlite3_finalize(s->each);
	sqlite3_finalize(s->addresses);
	sqlite3_close_v2(s->db);
	if (log)
		log_void(log);
	strv_done(&s->reserved);
	free(s);
}
