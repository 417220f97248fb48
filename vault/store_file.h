/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_file.h - the files of a store: who may have touched them, how they
 * change
 *
 * A file is written whole beside its name, synced, and renamed; the folder is
 * synced behind that. So a name holds the old content or the new one, whatever
 * is killed or runs full meanwhile.
 */
#ifndef VAULT_STORE_FILE_H
#define VAULT_STORE_FILE_H

#include <sys/stat.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/slice.h"
#include "vault/store.h"

struct sfile_dir {
	int fd; /* -1: not there */
	int lock; /* held while it is not -1 */
	uid_t owner; /* besides root and ourselves */
	const char *path; /* for messages */
};

/* Opens the folder, checks it, takes the lock. @create: makes what is missing;
 * else -ENOENT, silently. -EPERM, -ENOTDIR, -EBUSY. End with sfile_end(). */
int sfile_begin(struct sfile_dir *d, bool create, struct err *err) ATTR_WUR;
void sfile_end(struct sfile_dir *d);

/* Opens a file of mode 0600 for reading; -ENOENT, silently, -EPERM, -EINVAL:
 * no regular file; -EFBIG: beyond @max. */
int sfile_open(const struct sfile_dir *d, const char *name, size_t max,
	       int *ret_fd, struct stat *ret_st, struct err *err) ATTR_WUR;
/* Exactly @len bytes from the beginning; -EIO when there are fewer. */
int sfile_read(int fd, void *to, size_t len) ATTR_WUR;
/* @backup: what was there before stays under this name; NULL: it goes. */
int sfile_write(const struct sfile_dir *d, const char *name, const char *backup,
		struct slice data, struct err *err) ATTR_WUR;
/* Those of @names (NULL-terminated) that are there, in that order, and for
 * good. */
int sfile_remove(const struct sfile_dir *d, const char *const *names,
		 struct err *err) ATTR_WUR;

/* store_key.c: the key file. -ENOENT, silently: there is none; -EKEYREVOKED: it
 * is damaged; else as the two above. */
#define SFILE_KEY "key"
int sfile_key_read(const struct sfile_dir *d, uint8_t key[VSTORE_KEY],
		   struct err *err) ATTR_WUR;
int sfile_key_write(const struct sfile_dir *d, const uint8_t key[VSTORE_KEY],
		    struct err *err) ATTR_WUR;

#endif
