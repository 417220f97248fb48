/* SPDX-License-Identifier: Apache-2.0 */
/*
 * treehash.c - a digest of all files of a tree
 *
 * Theory of operation: each file has a digest (BLAKE2b) of the digest of its
 * directory's path, its name and what it is; these are summed up as four numbers
 * modulo 2^64. So no list of names is sorted or kept, however wide a directory,
 * and the stack of paths has one digest for each directory above.
 */
#include "control/acd/storage/treehash.h"

#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "control/acd/storage/treejob.h"
#include "lib/walk.h"

#define BLOCK (256 * 1024)
#define ABOVE_FIRST 64u

struct digest {
	uint8_t v[TREEHASH_LEN];
};

struct hash {
	struct treehash *sum;
	struct digest path; /* of the walk's current directory */
	struct digest *above; /* of those above it */
	size_t depth, room;
	uint8_t *block;
};

static void hash_begin(crypto_generichash_state *s, const struct digest *path)
{
	crypto_generichash_init(s, NULL, 0, TREEHASH_LEN);
	crypto_generichash_update(s, path->v, sizeof(path->v));
}

/* Adds bytes with their length before them, so that no two lists of these are
 * the same bytes. */
static void hash_bytes(crypto_generichash_state *s, const void *data,
		       size_t len)
{
	uint64_t n = len;

	crypto_generichash_update(s, (const uint8_t *)&n, sizeof(n));
	if (len > 0)
		crypto_generichash_update(s, data, len);
}

static void hash_end(struct hash *h, crypto_generichash_state *s)
{
	struct digest d;
	uint64_t one, all;

	crypto_generichash_final(s, d.v, sizeof(d.v));
	for (size_t i = 0; i < TREEHASH_LEN; i += sizeof(one)) {
		memcpy(&one, d.v + i, sizeof(one));
		memcpy(&all, h->sum->digest + i, sizeof(all));
		all += one;
		memcpy(h->sum->digest + i, &all, sizeof(all));
	}
}

/* What of stat() is the same in a copy. */
static void hash_stat(crypto_generichash_state *s, const struct stat *st)
{
	const uint64_t v[] = {
		st->st_mode,
		st->st_uid,
		st->st_gid,
		S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0,
		S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode) ? st->st_rdev : 0,
		(uint64_t)st->st_mtim.tv_sec,
		(uint64_t)st->st_mtim.tv_nsec,
	};

	hash_bytes(s, v, sizeof(v));
}

/* The order of attributes is the file system's, so they are summed up, too. */
static int attrs_add(struct hash *h, const struct digest *path,
		     const char *name, int fd)
{
	static char names[XATTR_LIST_MAX], value[XATTR_SIZE_MAX];
	ssize_t all = flistxattr(fd, names, sizeof(names));

	if (all < 0)
		return errno == ENOTSUP ? 0 : -errno;
	for (ssize_t at = 0; at < all; at += (ssize_t)strlen(names + at) + 1) {
		ssize_t n = fgetxattr(fd, names + at, value, sizeof(value));
		crypto_generichash_state s;

		if (n < 0)
			return errno == ENODATA ? -EAGAIN : -errno;
		hash_begin(&s, path);
		hash_bytes(&s, name, strlen(name));
		hash_bytes(&s, names + at, strlen(names + at));
		hash_bytes(&s, value, (size_t)n);
		hash_end(h, &s);
	}
	return 0;
}

/* ---- one entry ---- */

static bool is_zero(const uint8_t *p, size_t len)
{
	return len == 0 || (p[0] == 0 && memcmp(p, p + 1, len - 1) == 0);
}

/* Reads the block at @at; what the file has not is an error. */
static int block_read(struct hash *h, int fd, off_t at, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, h->block + done, len - done,
				  at + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EAGAIN; /* it shrank */
		done += (size_t)n;
	}
	return 0;
}

/* Blocks that are zero are not added, nor read if they are a hole: a copy may
 * have other holes. */
static int contents_add(struct hash *h, crypto_generichash_state *s, int fd,
			off_t size)
{
	off_t at = 0, data;
	size_t len;
	int rc;

	h->sum->bytes += (uint64_t)size;
	while (at < size) {
		if (treejob_is_canceled())
			return -ECANCELED;
		data = lseek(fd, at, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			break;
		if (data > at)
			at = data / BLOCK * BLOCK;
		len = size - at < (off_t)BLOCK ? (size_t)(size - at) : BLOCK;
		rc = block_read(h, fd, at, len);
		if (rc < 0)
			return rc;
		if (!is_zero(h->block, len)) {
			hash_bytes(s, &at, sizeof(at));
			hash_bytes(s, h->block, len);
		}
		at += (off_t)len;
	}
	return 0;
}

static int file_add(struct hash *h, crypto_generichash_state *s, int dirfd,
		    const char *name)
{
	SCOPED_FD fd = openat(dirfd, name,
			      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	int rc;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EAGAIN;
	hash_stat(s, &st);
	rc = contents_add(h, s, fd, st.st_size);
	return rc < 0 ? rc : attrs_add(h, &h->path, name, fd);
}

static int link_add(crypto_generichash_state *s, int dirfd, const char *name,
		    const struct stat *st)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(dirfd, name, target, sizeof(target));

	if (n < 0)
		return -errno;
	hash_stat(s, st);
	hash_bytes(s, target, (size_t)n);
	return 0;
}

static int on_entry(void *arg, int dirfd, const char *name,
		    const struct stat *st)
{
	struct hash *h = arg;
	crypto_generichash_state s;
	int rc = 0;

	if (treejob_is_canceled())
		return -ECANCELED;
	h->sum->files++;
	if (S_ISDIR(st->st_mode))
		return 0; /* on_leave() has its attributes */
	hash_begin(&s, &h->path);
	hash_bytes(&s, name, strlen(name));
	if (S_ISREG(st->st_mode))
		rc = file_add(h, &s, dirfd, name);
	else if (S_ISLNK(st->st_mode))
		rc = link_add(&s, dirfd, name, st);
	else
		hash_stat(&s, st);
	if (rc == 0)
		hash_end(h, &s);
	return rc;
}

static int on_enter(void *arg, int fd, const char *name)
{
	struct hash *h = arg;
	crypto_generichash_state s;

	(void)fd;
	if (h->depth == h->room) {
		size_t room = h->room ? 2 * h->room : ABOVE_FIRST;
		struct digest *mem = reallocarray(h->above, room, sizeof(*mem));

		if (!mem)
			return -ENOMEM;
		h->above = mem;
		h->room = room;
	}
	h->above[h->depth++] = h->path;
	hash_begin(&s, &h->path);
	hash_bytes(&s, name, strlen(name));
	crypto_generichash_final(&s, h->path.v, sizeof(h->path.v));
	return 0;
}

static int on_leave(void *arg, int fd)
{
	struct hash *h = arg;
	crypto_generichash_state s;
	struct stat st;
	int rc;

	if (fstat(fd, &st) < 0)
		return -errno;
	hash_begin(&s, &h->path);
	hash_stat(&s, &st);
	hash_end(h, &s);
	rc = attrs_add(h, &h->path, "", fd);
	if (h->depth > 0)
		h->path = h->above[--h->depth];
	return rc;
}

int treehash_add(struct treehash *sum, const char *label, const char *path,
		 struct err *err)
{
	static const struct walk_ops ops = { .entry = on_entry,
					     .enter = on_enter,
					     .leave = on_leave,
					     .one_only = true };
	struct hash h = { .sum = sum, .block = malloc(BLOCK) };
	crypto_generichash_state s;
	int rc = h.block && sodium_init() >= 0 ? 0 : -ENOMEM;

	if (rc == 0) {
		hash_begin(&s, &h.path);
		hash_bytes(&s, label, strlen(label));
		crypto_generichash_final(&s, h.path.v, sizeof(h.path.v));
		rc = walk_tree(path, &ops, &h);
	}
	free(h.above);
	free(h.block);
	if (rc == -ECANCELED)
		return err_set(err, rc, "reading %s was stopped", path);
	return rc < 0 ? err_set(err, rc, "cannot read all files of %s: %s",
				path, err_text(rc)) :
			0;
}
