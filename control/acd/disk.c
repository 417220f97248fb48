/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk.c - how much the workspace and the home of an instance may hold
 *
 * Files move between the directories and disk.img by copying all, then
 * removing: whatever ends this in between, the next start finds both and goes
 * on. What lies in the directories is the newer then: it goes into disk.img
 * first, both ways, and replaces what has the same name there, whatever that
 * is. So files that a user puts into the empty directories while disk.img is
 * not mounted arrive, too.
 */
#include "control/acd/disk.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "control/acd/disk_image.h"
#include "control/acd/disk_quota.h"
#include "control/acd/treecopy.h"
#include "lib/file.h"
#include "lib/str.h"

#define BLOCK 512u /* of st_blocks */
#define EXT4_ROOT 2u /* inode number */

/* The paths of one instance. */
struct place {
	char *image;
	char *dir[3], *in[3]; /* outside and in disk.img; NULL-terminated */
};

static void place_done(struct place *p)
{
	free(p->image);
	for (size_t i = 0; i < ARRAY_SIZE(p->dir); i++) {
		free(p->dir[i]);
		free(p->in[i]);
	}
}

#define SCOPED_PLACE ATTR_CLEANUP(place_done) struct place

static int place_make(const struct disk_spec *s, struct place *p,
		      struct err *err)
{
	static const char *const leaves[] = { "home", "workspace" };

	p->image = str_printf("%s/disk.img", s->dir);
	for (size_t i = 0; i < ARRAY_SIZE(leaves); i++) {
		p->dir[i] = str_printf("%s/%s", s->dir, leaves[i]);
		p->in[i] = str_printf("%s/%s", s->at, leaves[i]);
		if (!p->dir[i] || !p->in[i])
			return err_nomem(err);
	}
	return p->image ? 0 : err_nomem(err);
}

static bool has_image(const struct place *p)
{
	struct stat st;

	return p->image && lstat(p->image, &st) == 0;
}

/* ---- moving ---- */

/* Missing counts as empty. */
static bool dir_is_empty(const char *path)
{
	SCOPED_FD fd =
		open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	SCOPED_DIR dir = fd < 0 ? NULL : fdopendir(fd);
	int n = 0;

	if (!dir)
		return fd < 0 && errno == ENOENT;
	fd_take(&fd);
	while (n < 3 && readdir(dir))
		n++;
	return n < 3;
}

static int dir_make(const char *path, const struct disk_spec *s,
		    struct err *err)
{
	struct stat st;

	if (mkdir(path, 0700) == 0) {
		if (lchown(path, s->uid, s->gid) < 0)
			return err_sys(err, "give %s to its owner", path);
		return 0;
	}
	if (errno != EEXIST)
		return err_sys(err, "make %s", path);
	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(err, -ENOTDIR, "%s is not a directory", path);
	return 0;
}

static int tree_sync(const char *path, struct err *err)
{
	SCOPED_FD fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || syncfs(fd) < 0)
		return err_sys(err, "sync %s", path);
	return 0;
}

/* Moves what is in @from to @to; @from is empty then, or gone. */
static int tree_move(const char *from, const char *to,
		     const struct disk_spec *s, struct err *err)
{
	int r = dir_make(to, s, err);

	if (r < 0 || dir_is_empty(from))
		return r;
	r = treecopy(from, to, err);
	if (r == 0)
		r = tree_sync(to, err);
	if (r < 0)
		return r;
	r = file_remove_tree(from);
	return r < 0 ? err_set(err, r, "empty %s: %s", from, err_text(r)) :
		       dir_make(from, s, err);
}

/* Is there room in disk.img for what lies outside? Told before it is tried:
 * half a file there would be taken for a whole one later. */
static int room_check(const struct place *p, const struct disk_spec *s,
		      struct err *err)
{
	uint64_t need = 0, one = 0;
	struct statvfs fs;

	for (size_t i = 0; p->dir[i]; i++) {
		int r = dir_is_empty(p->dir[i]) ?
				0 :
				file_tree_size(p->dir[i], &one);

		if (r < 0)
			return err_set(err, r, "the size of %s: %s", p->dir[i],
				       err_text(r));
		need += one;
		one = 0;
	}
	if (statvfs(s->at, &fs) < 0)
		return err_sys(err, "look at %s", s->at);
	if (need > (uint64_t)fs.f_bavail * fs.f_frsize)
		return err_set(err, -EDQUOT,
			       "workspace and home hold %llu MiB, which does "
			       "not fit",
			       (unsigned long long)(need >> 20) + 1);
	return 0;
}

/* ---- by a file ---- */

static void unmount(const char *at)
{
	umount2(at, MNT_DETACH | UMOUNT_NOFOLLOW);
}

/* A whole one, or none that had any use. */
static int file_fresh(const struct place *p, const struct disk_spec *s,
		      struct err *err)
{
	int r = disk_image_make(p->image, s->bytes, s->uid, s->gid, err);

	if (r == 0)
		r = disk_image_mount(p->image, s->at, err);
	if (r == 0)
		r = room_check(p, s, err);
	if (r < 0) {
		unmount(s->at);
		unlink(p->image); /* nothing was moved into it */
	}
	return r;
}

static int file_again(const struct place *p, const struct disk_spec *s,
		      struct err *err)
{
	int r = disk_image_resize(p->image, s->bytes, err);

	if (r == 0)
		r = disk_image_mount(p->image, s->at, err);
	return r < 0 ? r : room_check(p, s, err);
}

static int file_settle(const struct place *p, const struct disk_spec *s,
		       struct err *err)
{
	int r = has_image(p) ? file_again(p, s, err) : file_fresh(p, s, err);

	for (size_t i = 0; r == 0 && p->dir[i]; i++)
		r = tree_move(p->dir[i], p->in[i], s, err);
	if (r < 0)
		unmount(s->at);
	return r;
}

/*
 * A whole tree or none: it is copied beside its place and put there by a
 * rename, so that a copy that was cut off is never taken for the files. What
 * lies outside goes in first, which leaves the place empty.
 */
static int tree_return(const char *in, const char *dir,
		       const struct disk_spec *s, struct err *err)
{
	SCOPED_STR fresh = str_printf("%s.new", dir);
	int r;

	if (!fresh)
		return err_nomem(err);
	r = tree_move(dir, in, s, err);
	if (r == 0 && file_remove_tree(fresh) < 0 && errno != ENOENT)
		r = err_sys(err, "remove %s", fresh);
	if (r == 0)
		r = dir_make(fresh, s, err);
	if (r == 0)
		r = treecopy(in, fresh, err);
	if (r == 0)
		r = tree_sync(fresh, err);
	if (r == 0 &&
	    ((rmdir(dir) < 0 && errno != ENOENT) || rename(fresh, dir) < 0))
		r = err_sys(err, "put %s in place", dir);
	if (r < 0)
		file_remove_tree(fresh);
	return r;
}

/* The limit is gone: everything goes back to where it was. */
static int file_undo(const struct place *p, const struct disk_spec *s,
		     struct err *err)
{
	int r = disk_image_mount(p->image, s->at, err);

	if (r < 0)
		return err_wrap(err, "its files are in disk.img");
	for (size_t i = 0; r == 0 && p->dir[i]; i++)
		r = tree_return(p->in[i], p->dir[i], s, err);
	unmount(s->at);
	if (r == 0 && unlink(p->image) < 0)
		r = err_sys(err, "remove %s", p->image);
	return r;
}

/* ---- either ---- */

bool disk_is_settled(const struct disk_spec *s)
{
	SCOPED_PLACE p = { 0 };
	uint64_t used, limit;

	if (s->bytes > 0 || place_make(s, &p, NULL) < 0 || has_image(&p))
		return false;
	for (size_t i = 0; p.dir[i]; i++)
		if (disk_quota_look(p.dir[i], &used, &limit) == 0 && limit > 0)
			return false;
	return true;
}

static int settle(const struct disk_spec *s, struct err *err)
{
	SCOPED_PLACE p = { 0 };
	struct err why = { 0 };
	int r = place_make(s, &p, err);

	if (r < 0)
		return r;
	unmount(s->at);
	if (s->bytes == 0 && has_image(&p))
		return file_undo(&p, s, err);
	if (s->bytes == 0)
		return disk_quota_drop((const char *const *)p.dir, err);
	if (!has_image(&p)) {
		r = disk_quota_set((const char *const *)p.dir, s->bytes, &why);
		if (r != -ENOTSUP)
			return r < 0 ? err_set(err, r, "%s", why.msg) : 0;
	}
	r = file_settle(&p, s, &why);
	if (r == -ENODEV)
		return err_set(err, r,
			       "%s; or put $AC_HOME on a file system with "
			       "project quota (ext4 made with '-O "
			       "quota,project' and mounted with 'prjquota', "
			       "or xfs with 'pquota')",
			       why.msg);
	return r < 0 ? err_set(err, r, "%s", why.msg) : 0;
}

int disk_settle(const void *spec, struct err *err)
{
	const struct disk_spec *s = spec;
	char size[32];
	int r = settle(s, err);

	if (r < 0 && s->bytes > 0) {
		str_format_size(size, sizeof(size), s->bytes);
		err_wrap(err,
			 "the disk limit of %s cannot be kept (it stays with "
			 "the instance; `--disk 0` takes it back)",
			 size);
	} else if (r < 0) {
		err_wrap(err, "the earlier disk limit cannot be taken away");
	}
	return r;
}

bool disk_has_image(const char *dir)
{
	SCOPED_STR image = str_printf("%s/disk.img", dir);
	struct stat st;

	return image && lstat(image, &st) == 0;
}

const char *disk_held_name(enum disk_held held)
{
	return held == DISK_QUOTA ? "quota" : held == DISK_FILE ? "file" : NULL;
}

static bool file_look(const char *dir, const char *at, struct disk_use *ret)
{
	SCOPED_STR image = str_printf("%s/disk.img", dir);
	struct stat st, top, above;
	struct statvfs fs;

	if (!image || lstat(image, &st) < 0)
		return false;
	ret->held = DISK_FILE;
	ret->limit = (uint64_t)st.st_size;
	ret->used = (uint64_t)st.st_blocks * BLOCK;
	/* Mounted: the root of another file system than the image's. */
	if (lstat(at, &top) == 0 && top.st_ino == EXT4_ROOT &&
	    lstat(dir, &above) == 0 && top.st_dev != above.st_dev &&
	    statvfs(at, &fs) == 0)
		ret->used = ret->limit - (uint64_t)fs.f_bavail * fs.f_frsize;
	return true;
}

void disk_look(const char *dir, const char *at, struct disk_use *ret)
{
	SCOPED_STR home = str_printf("%s/home", dir);

	*ret = (struct disk_use){ 0 };
	if (file_look(dir, at, ret) || !home)
		return;
	if (disk_quota_look(home, &ret->used, &ret->limit) == 0 && ret->limit)
		ret->held = DISK_QUOTA;
	else
		*ret = (struct disk_use){ 0 };
}

int disk_means(const char *dir, char *text, size_t size)
{
	unsigned loops = disk_image_devices();

	if (disk_quota_here(dir))
		snprintf(text, size, "by project quota");
	else if (loops > 0)
		snprintf(text, size,
			 "by files; %u loop devices, one for each sandbox that "
			 "runs with a limit",
			 loops);
	else
		return -ENOTSUP;
	return 0;
}

/* ---- removal ---- */

/* Credentials are in the home, also when that is in disk.img. */
static int home_remove(const struct place *p, const struct disk_spec *s,
		       struct err *err)
{
	int r = 0;

	if (has_image(p)) {
		r = disk_image_mount(p->image, s->at, err);
		if (r < 0)
			return err_wrap(err, "the home is in disk.img");
		r = file_remove_tree(p->in[0]);
		unmount(s->at);
	}
	if (r == 0)
		r = file_remove_tree(p->dir[0]);
	return r < 0 ? err_set(err, r, "cannot remove all files: %s",
			       err_text(r)) :
		       0;
}

int disk_remove(const void *removal, struct err *err)
{
	const struct disk_removal *d = removal;
	SCOPED_STR log = str_printf("%s/log", d->spec.dir);
	SCOPED_PLACE p = { 0 };
	struct err ignored = { 0 };
	int r = log ? place_make(&d->spec, &p, err) : err_nomem(err);

	if (r < 0)
		return r;
	if (!d->all) {
		r = home_remove(&p, &d->spec, err);
		if (r < 0)
			return r;
	} else {
		/* No files, no limit: the number may be used again. */
		disk_quota_drop((const char *const *)p.dir, &ignored);
	}
	r = file_remove_tree(d->all ? d->spec.dir : log);
	return r < 0 ? err_set(err, r, "cannot remove all files: %s",
			       err_text(r)) :
		       0;
}
