/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_vfs.c - a file system for SQLite that can only read
 *
 * Theory of operation: to read a database with a write-ahead log, SQLite
 * normally changes the index beside it (-shm) and checkpoints the log on close.
 * So it needs write access and leaves traces. With a file system without shared
 * memory (version 1 of its methods) and an exclusive lock, SQLite keeps that
 * index in memory (sqlite.org/wal.html, "Use of WAL without shared memory").
 * The locks are not taken here: acd holds them while it runs, and the caller
 * reads only if acd does not answer. If it starts meanwhile, a page may be read
 * half written. SQLite's checks find that, and so does the caller, who checks
 * whether the files have changed.
 */
#include "control/cli/host/store_vfs.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VFS_NAME "ac-read-only"
#define SECTOR 4096

struct ro_file {
	sqlite3_file base; /* first: SQLite uses only this */
	int fd; /* -1: there is no such file, it reads as empty */
};

static int ro_close(sqlite3_file *f)
{
	fd_closep(&((struct ro_file *)f)->fd);
	return SQLITE_OK;
}

/* Zeroes what is past the end, as SQLite demands. */
static int ro_read(sqlite3_file *f, void *data, int len, sqlite3_int64 at)
{
	int fd = ((struct ro_file *)f)->fd;
	char *to = data;
	int got = 0;

	while (fd >= 0 && got < len) {
		ssize_t n = pread(fd, to + got, (size_t)(len - got), at + got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return SQLITE_IOERR_READ;
		if (n == 0)
			break;
		got += (int)n;
	}
	memset(to + got, 0, (size_t)(len - got));
	return got < len ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int ro_write(sqlite3_file *f, const void *data, int len,
		    sqlite3_int64 at)
{
	(void)f;
	(void)data;
	(void)len;
	(void)at;
	return SQLITE_READONLY;
}

static int ro_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	(void)f;
	(void)size;
	return SQLITE_READONLY;
}

static int ro_nothing(sqlite3_file *f, int what)
{
	(void)f;
	(void)what;
	return SQLITE_OK;
}

static int ro_size(sqlite3_file *f, sqlite3_int64 *ret)
{
	int fd = ((struct ro_file *)f)->fd;
	struct stat st = { 0 };

	if (fd >= 0 && fstat(fd, &st) < 0)
		return SQLITE_IOERR_FSTAT;
	*ret = st.st_size;
	return SQLITE_OK;
}

static int ro_reserved(sqlite3_file *f, int *ret)
{
	(void)f;
	*ret = 0;
	return SQLITE_OK;
}

static int ro_control(sqlite3_file *f, int op, void *arg)
{
	(void)f;
	(void)op;
	(void)arg;
	return SQLITE_NOTFOUND;
}

static int ro_sector(sqlite3_file *f)
{
	(void)f;
	return SECTOR;
}

static int ro_traits(sqlite3_file *f)
{
	(void)f;
	return 0;
}

static const sqlite3_io_methods methods = {
	.iVersion = 1, /* no shared memory */
	.xClose = ro_close,
	.xRead = ro_read,
	.xWrite = ro_write,
	.xTruncate = ro_truncate,
	.xSync = ro_nothing,
	.xFileSize = ro_size,
	.xLock = ro_nothing,
	.xUnlock = ro_nothing,
	.xCheckReservedLock = ro_reserved,
	.xFileControl = ro_control,
	.xSectorSize = ro_sector,
	.xDeviceCharacteristics = ro_traits,
};

/* Opens the database or its log; SQLite needs no other file to read. */
static int ro_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f,
		   int flags, int *ret_flags)
{
	struct ro_file *file = (struct ro_file *)f;

	(void)vfs;
	file->base.pMethods = NULL;
	if (!name || !(flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)))
		return SQLITE_CANTOPEN;
	file->fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (file->fd < 0 && (errno != ENOENT || !(flags & SQLITE_OPEN_WAL)))
		return SQLITE_CANTOPEN;
	file->base.pMethods = &methods;
	if (ret_flags)
		*ret_flags = (flags & ~SQLITE_OPEN_READWRITE) |
			     SQLITE_OPEN_READONLY;
	return SQLITE_OK;
}

static int ro_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs;
	(void)name;
	(void)sync;
	return SQLITE_OK;
}

/* The store never has a rollback journal. */
static int ro_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret)
{
	size_t len = strlen(name);

	(void)vfs;
	(void)flags;
	*ret = (len < 8 || strcmp(name + len - 8, "-journal") != 0) &&
	       access(name, F_OK) == 0;
	return SQLITE_OK;
}

static int ro_full_path(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
	int n = snprintf(out, (size_t)size, "%s", name);

	(void)vfs;
	return n < 0 || n >= size ? SQLITE_CANTOPEN : SQLITE_OK;
}

/* Calls that are about neither files nor paths go to the default VFS. */
static int register_vfs(void)
{
	static sqlite3_vfs vfs;
	const sqlite3_vfs *usual = sqlite3_vfs_find(NULL);

	if (!usual)
		return SQLITE_ERROR;
	if (sqlite3_vfs_find(VFS_NAME))
		return SQLITE_OK;
	vfs = (sqlite3_vfs){
		.iVersion = 1,
		.szOsFile = sizeof(struct ro_file),
		.mxPathname = 4096,
		.zName = VFS_NAME,
		.pAppData = usual->pAppData,
		.xOpen = ro_open,
		.xDelete = ro_delete,
		.xAccess = ro_access,
		.xFullPathname = ro_full_path,
		.xRandomness = usual->xRandomness,
		.xSleep = usual->xSleep,
		.xCurrentTime = usual->xCurrentTime,
		.xGetLastError = usual->xGetLastError,
	};
	return sqlite3_vfs_register(&vfs, 0);
}

static int open_failed(sqlite3 *db, int rc, const char *path, struct err *err)
{
	int base = rc & 0xff;

	if (base == SQLITE_NOMEM)
		return err_nomem(err);
	return err_set(err,
		       base == SQLITE_NOTADB || base == SQLITE_CORRUPT ?
			       -EUCLEAN :
			       -EIO,
		       "%s cannot be read: %s", path,
		       db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
}

int store_vfs_open(const char *path, sqlite3 **ret, struct err *err)
{
	sqlite3 *db = NULL;
	int rc = register_vfs();

	/* A clear message: SQLite only says that it cannot open it. */
	if (access(path, R_OK) < 0)
		return err_sys(err, "%s", path);
	if (rc == SQLITE_OK)
		rc = sqlite3_open_v2(path, &db,
				     SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
				     VFS_NAME);
	if (rc == SQLITE_OK)
		rc = sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
				       NULL);
	/* The lock must come before the first read, see above. */
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db,
				  "PRAGMA locking_mode = EXCLUSIVE;"
				  "PRAGMA temp_store = MEMORY;"
				  "PRAGMA trusted_schema = OFF;"
				  "PRAGMA user_version",
				  NULL, NULL, NULL);
	if (rc != SQLITE_OK) {
		rc = open_failed(db, rc, path, err);
		sqlite3_close_v2(db);
		return rc;
	}
	*ret = db;
	return 0;
}
