/* SPDX-License-Identifier: Apache-2.0 */
/*
 * impl.h - shared by the files of this folder only
 */
#ifndef INIT_GUARD_FILES_IMPL_H
#define INIT_GUARD_FILES_IMPL_H

#include <limits.h>
#include <sys/stat.h>

#include "init-guard/filewire.h"

/* A request being served, with its strings NUL-terminated. */
struct files_request {
	struct filewire_request rq;
	char path[FILEWIRE_PATH_MAX + 1];
	char other[FILEWIRE_PATH_MAX + 1];
};

/* ---- server.c ---- */

/* Queues an entry, which is copied; sends when many are queued. Returns 0, or a
 * negative errno: that of the write if no one reads, -EMSGSIZE for a too long
 * name, -ENOBUFS. */
int files_send_entry(const struct filewire_entry *e);
/* Fills *@ret from @st, except the name. If @st is a link, reads @path,
 * relative to @dirfd, into @target, which has room for FILEWIRE_PATH_MAX bytes
 * and of which ret->target becomes a view; else @target may be NULL. */
void files_entry(struct filewire_entry *ret, const struct stat *st, int dirfd,
		 const char *path, char *target);

/* ---- list.c, ops.c: 0, or a negative errno ---- */

/* Sends the entries after the name r->other, sorted, at most r->rq.length. Sets
 * ret->more. */
int files_list(const struct files_request *r, struct filewire_done *ret);
int files_mkdir(const struct files_request *r);
int files_remove(const struct files_request *r);
int files_rename(const struct files_request *r);
/* Renames like renameat(2). If @exclusive, fails with -EEXIST when @to exists;
 * on a file system that lacks this it looks first and then renames. */
int files_move(int from_dir, const char *from, int to_dir, const char *to,
	       bool exclusive);
/* Makes the missing directories above @path. They stay if it fails. */
int files_make_parents(const char *path);

/* ---- write.c: a WRITE in progress ---- */

struct files_write {
	int fd; /* -1: none in progress */
	int dir; /* of the path, for the rename; -1: not atomic */
	char name[NAME_MAX + 1]; /* final name in dir */
	char temp[NAME_MAX + 1]; /* name until the rename; "": none */
	bool exclusive;
	uint64_t at, bytes; /* where to write next; written so far */
	uint64_t mtime; /* seconds; 0: do not set */
};

/* Initialises @w and opens the file for @r. Returns 0 or a negative errno; on
 * failure nothing is open and no temporary file is left, but parents that were
 * made stay. */
int files_write_begin(struct files_write *w, const struct files_request *r);
/* Writes @data at w->at and advances it. Returns 0 or a negative errno; a part
 * may have been written then. */
int files_write_data(struct files_write *w, struct slice data);
/* Sets the time, closes the file, and renames it if atomic. Returns 0 or a
 * negative errno. In either case call files_write_abort() afterwards, which
 * frees the rest. */
int files_write_end(struct files_write *w);
/* Closes what is open and removes an incomplete atomic file; other incomplete
 * files stay. No effect if no write is in progress. Async-signal-safe. */
void files_write_abort(struct files_write *w);

#endif
