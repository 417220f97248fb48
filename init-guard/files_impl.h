/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_impl.h - inside of files*.c; nobody else includes it
 */
#ifndef INIT_GUARD_FILES_IMPL_H
#define INIT_GUARD_FILES_IMPL_H

#include <limits.h>
#include <sys/stat.h>

#include "init-guard/filewire.h"

/* One request on its way, its strings as the kernel wants them. */
struct files_request {
	struct filewire_request rq;
	char path[FILEWIRE_PATH_MAX + 1];
	char other[FILEWIRE_PATH_MAX + 1];
};

/* ---- files.c ---- */

/* Queues an entry; sends when there is much. Negative: nobody reads. */
int files_send_entry(const struct filewire_entry *e);
int files_send_done(const struct filewire_done *d);
/* One DATA of @len bytes that are in place behind @mem's header. */
int files_send_data(uint8_t *mem, size_t len);
/* @st as an entry; the name is the caller's. @path leads to it from @dirfd,
 * @target has FILEWIRE_PATH_MAX bytes. */
void files_entry(struct filewire_entry *ret, const struct stat *st, int dirfd,
		 const char *path, char *target);

/* ---- files_list.c, files_ops.c: 0 with *ret filled, or negative errno ---- */

int files_list(const struct files_request *r, struct filewire_done *ret);
int files_mkdir(const struct files_request *r);
int files_remove(const struct files_request *r);
int files_rename(const struct files_request *r);
/* renameat(2) in or below the directories; @exclusive: -EEXIST when there is
 * a @to already. */
int files_move(int from_dir, const char *from, int to_dir, const char *to,
	       bool exclusive);
/* Makes the directories above @path that are missing. */
int files_make_parents(const char *path);

/* ---- files_write.c: a WRITE under way ---- */

struct files_write {
	int fd; /* -1: none is under way */
	int dir; /* of path, for the rename; -1: not atomic */
	char name[NAME_MAX + 1]; /* in dir: what it is to be called */
	char temp[NAME_MAX + 1]; /* and what it is called until then */
	bool exclusive;
	uint64_t at, bytes;
	uint64_t mtime; /* 0: as it comes */
};

int files_write_begin(struct files_write *w, const struct files_request *r);
int files_write_data(struct files_write *w, struct slice data);
int files_write_end(struct files_write *w);
/* What is not whole goes. None under way is fine. */
void files_write_abort(struct files_write *w);

#endif
