/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stamp.c - a number that changes with what is in a folder
 *
 * Not by contents: a start of an instance waits for it. What a program writes
 * changes ctime, whatever it does to the other times.
 */
#include "control/acd/blueprint/stamp.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/err.h"
#include "lib/log.h"
#include "lib/walk.h"

#define FNV_PRIME 0x100000001b3u

struct stamp {
	uint64_t sum; /* of the entries, in whatever order they come */
	unsigned n;
};

static uint64_t mix(uint64_t h, const void *data, size_t len)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * FNV_PRIME;
	return h;
}

static int on_entry(void *arg, int dirfd, const char *name,
		    const struct stat *st)
{
	struct stamp *s = arg;
	const uint64_t v[] = {
		st->st_ino,
		(uint64_t)st->st_size,
		st->st_mode,
		(uint64_t)st->st_mtim.tv_sec,
		(uint64_t)st->st_mtim.tv_nsec,
		(uint64_t)st->st_ctim.tv_sec,
		(uint64_t)st->st_ctim.tv_nsec,
	};

	(void)dirfd;
	if (++s->n > STAMP_ENTRIES_MAX)
		return -E2BIG;
	s->sum += mix(mix(FNV_PRIME, name, strlen(name)), v, sizeof(v));
	return 0;
}

uint64_t stamp_folder(uint64_t seed, const char *path)
{
	const struct walk_ops ops = { .entry = on_entry };
	struct stamp s = { 0 };
	int rc = walk_tree(path, &ops, &s);

	if (rc < 0 && rc != -ENOENT) {
		log_debug("changes in %s are not seen: %s", path, err_text(rc));
		s.sum = 0;
	}
	return mix(seed, &s.sum, sizeof(s.sum));
}
