/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_file.h - the files of a store: access checks and atomic changes
 *
 * A file is written as a temporary file, synced and renamed over its name; then
 * the folder is synced. So a name holds the old content or the new one, even
 * after a kill or on a full disk. Functions return 0, or a negative errno with
 * a message; if only the last sync has failed, the new content is there.
 */
#ifndef VAULT_STORE_FILE_H
#define VAULT_STORE_FILE_H

#include <sys/stat.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/slice.h"
#include "vault/store.h"

struct sfile_dir {
	int fd; /* -1: sfile_begin() has not succeeded */
	int lock; /* the lock is held while this is not -1 */
	uid_t owner; /* may own the files, besides root and our own user */
	const char *path; /* of the folder; borrowed */
};

/* Opens and checks the folder d->path and takes the lock, waiting at most 200
 * ms. The caller has set owner and path, and fd and lock to -1. @create makes a
 * missing folder; otherwise fails with -ENOENT, without a message. Also fails
 * with -EPERM if it belongs to another user or is open to others, with
 * -ENOTDIR, or with -EBUSY if the lock is taken; nothing is open then. End with
 * sfile_end(). */
int sfile_begin(struct sfile_dir *d, bool create, struct err *err) ATTR_WUR;
/* Unlocks and closes the folder. No effect if it is not open. */
void sfile_end(struct sfile_dir *d);

/* Opens the file @name for reading; the caller closes *@ret_fd. Fails with
 * -ENOENT (no message), -EPERM if it belongs to another user or is open to
 * others, -EINVAL if it is not a regular file, or -EFBIG beyond @max bytes. */
int sfile_open(const struct sfile_dir *d, const char *name, size_t max,
	       int *ret_fd, struct stat *ret_st, struct err *err) ATTR_WUR;
/* Reads exactly @len bytes from the beginning of the file. Returns 0, -EIO if
 * it has fewer, or -errno; sets no message. */
int sfile_read(int fd, void *to, size_t len) ATTR_WUR;
/* Replaces the file @name by one of mode 0600 with @data. The old one is kept
 * under the name @backup, or removed if @backup is NULL. */
int sfile_write(const struct sfile_dir *d, const char *name, const char *backup,
		struct slice data, struct err *err) ATTR_WUR;
/* Removes those of @names (NULL-terminated) that exist, in that order, and
 * syncs the folder. */
int sfile_remove(const struct sfile_dir *d, const char *const *names,
		 struct err *err) ATTR_WUR;

/* Read and write the key file (store_key.c). Reading fails with -ENOENT (no
 * message) if there is none and with -EKEYREVOKED if it is damaged; else both
 * fail like sfile_open(), sfile_read() and sfile_write(). The caller wipes
 * @key. */
#define SFILE_KEY "key"
int sfile_key_read(const struct sfile_dir *d, uint8_t key[VSTORE_KEY],
		   struct err *err) ATTR_WUR;
int sfile_key_write(const struct sfile_dir *d, const uint8_t key[VSTORE_KEY],
		    struct err *err) ATTR_WUR;

#endif
