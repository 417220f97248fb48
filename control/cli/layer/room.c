/* SPDX-License-Identifier: Apache-2.0 */
/*
 * room.c - whether the user's disk has room for an apply
 *
 * Only a help: others may fill the disk meanwhile, and then what was done is taken
 * back. It saves that work, and a disk that is full for a while.
 */
#include "control/cli/layer/room.h"

#include <sys/stat.h>

/* Returns what a file takes on a disk, without its holes. */
static int size_of(int copies, const struct state *st, uint64_t *ret)
{
	SCOPED_FD fd = -1;
	struct stat is;

	*ret = 0;
	if (st->kind != SPOT_FILE)
		return 0;
	fd = stage_file(copies, st->letter, st->number);
	if (fd < 0 || fstat(fd, &is) < 0)
		return fd < 0 ? fd : -errno;
	*ret = (uint64_t)is.st_blocks * 512;
	return 0;
}

int room_need(const struct steps *steps, int copies, struct room_need *ret)
{
	/* A new file is made beside the one that it replaces: for that time both
	 * are there, which is the smaller of the two more than is counted. */
	uint64_t bytes = 0, inodes = 1, both = 0;

	for (size_t i = 0; i < steps->n; i++) {
		const struct step *s = &steps->v[i];
		uint64_t old = 0, now = 0, less;
		int rc = size_of(copies, &s->now, &now);

		if (rc == 0)
			rc = size_of(copies, &s->old, &old);
		if (rc < 0)
			return rc;
		bytes += now > old ? now - old : 0;
		less = now < old ? now : old;
		both = less > both ? less : both;
		inodes += s->old.kind == SPOT_NONE;
	}
	*ret = (struct room_need){ .bytes = bytes + both, .inodes = inodes };
	return 0;
}

static uint64_t with_spare(uint64_t need)
{
	return need + need / 100 * ROOM_SPARE_PERCENT;
}

bool room_fits(const struct room_need *need, const struct statvfs *fs)
{
	uint64_t bytes = (uint64_t)fs->f_bavail * fs->f_frsize;

	/* Some file systems make inodes as they need them, and say 0. */
	return with_spare(need->bytes) <= bytes &&
	       (fs->f_files == 0 ||
		with_spare(need->inodes) <= (uint64_t)fs->f_favail);
}

int room_check(const struct steps *steps, int copies, int root,
	       const char *path, struct err *err)
{
	char want[32], have[32];
	struct room_need need;
	struct statvfs fs;
	int rc = room_need(steps, copies, &need);

	if (rc < 0)
		return err_set(err, rc, "the copies of what is applied: %s",
			       err_text(rc));
	if (fstatvfs(root, &fs) < 0)
		return err_sys(err, "%s", path);
	if (room_fits(&need, &fs))
		return 0;
	return err_set(
		err, -ENOSPC,
		"%s has no room for the changes: they need %s and %llu files, "
		"%s and %llu files are free; nothing was applied",
		path, str_format_size(want, sizeof(want), need.bytes),
		(unsigned long long)need.inodes,
		str_format_size(have, sizeof(have),
				(uint64_t)fs.f_bavail * fs.f_frsize),
		(unsigned long long)fs.f_favail);
}
