/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk.c - limits what the workspace and the home of an instance hold together
 *
 * Files move between the directories and disk.img by a complete copy and then a
 * removal. If that is interrupted, the next start finds both and continues.
 * Files in the directories are then the newer ones: in either direction, they
 * first go into disk.img and replace what has the same name there. So files
 * that a user puts into the empty directories while disk.img is not mounted
 * arrive too.
 *
 * The first copy into a new disk.img is made under another name and counts from
 * its rename on; an interruption before has changed nothing. The same holds for
 * the directories on their way back. The next start removes left-overs of
 * either. While the files are in both places, between rename and removal, the
 * file "disk.img.twin" tells so: they need no further room in disk.img then.
 */
#include "control/acd/storage/disk.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "control/acd/storage/disk_image.h"
#include "control/acd/storage/disk_quota.h"
#include "control/acd/storage/treecopy.h"
#include "control/acd/storage/treejob.h"
#include "lib/file.h"
#include "lib/str.h"
#include "lib/walk.h"

#define BLOCK 512u /* of st_blocks */
#define EXT4_ROOT 2u /* inode number */

/* Paths of one instance. */
struct place {
	char *image, *image_new, *twin;
	char *dir[4], *in[4]; /* outside and in disk.img; NULL-terminated */
};

static void place_done(struct place *p)
{
	free(p->image);
	free(p->image_new);
	free(p->twin);
	for (size_t i = 0; i < ARRAY_SIZE(p->dir); i++) {
		free(p->dir[i]);
		free(p->in[i]);
	}
}

#define SCOPED_PLACE ATTR_CLEANUP(place_done) struct place

static int place_make(const struct disk_spec *s, struct place *p,
		      struct err *err)
{
	static const char *const leaves[] = { "home", "workspace", "layer" };

	p->image = str_printf("%s/disk.img", s->dir);
	p->image_new = str_printf("%s/disk.img.new", s->dir);
	p->twin = str_printf("%s/disk.img.twin", s->dir);
	for (size_t i = 0; i < ARRAY_SIZE(leaves); i++) {
		p->dir[i] = str_printf("%s/%s", s->dir, leaves[i]);
		p->in[i] = str_printf("%s/%s", s->at, leaves[i]);
		if (!p->dir[i] || !p->in[i])
			return err_nomem(err);
	}
	return p->image && p->image_new && p->twin ? 0 : err_nomem(err);
}

static bool has_image(const struct place *p)
{
	struct stat st;

	return p->image && lstat(p->image, &st) == 0;
}

/* ---- moving ---- */

/* Returns true for a missing directory, too. */
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
	int rc = file_mkdir_for(path, s->uid, s->gid);

	return rc < 0 ? err_set(err, rc, "make %s: %s", path, err_text(rc)) : 0;
}

/* Copies @from to @to and flushes it to the disk. */
static int tree_copy(const char *from, const char *to,
		     const struct disk_spec *s, struct err *err)
{
	int rc = dir_make(to, s, err);

	if (rc < 0 || dir_is_empty(from))
		return rc;
	rc = treecopy(from, to, err);
	return rc < 0 ? rc : tree_sync(to, err);
}

static int tree_empty(const char *dir, const struct disk_spec *s,
		      struct err *err)
{
	int rc = dir_is_empty(dir) ? 0 : file_remove_tree(dir);

	return rc < 0 ? err_set(err, rc, "empty %s: %s", dir, err_text(rc)) :
			dir_make(dir, s, err);
}

/* Moves the contents of @from to @to. */
static int tree_move(const char *from, const char *to,
		     const struct disk_spec *s, struct err *err)
{
	int rc = tree_copy(from, to, s, err);

	return rc < 0 ? rc : tree_empty(from, s, err);
}

/* Inodes, in parts: each name of a file counts its share of it. */
#define INODE_PARTS UINT64_C(65536)

static int on_count(void *arg, int dirfd, const char *name,
		    const struct stat *st)
{
	uint64_t *parts = arg;

	(void)dirfd;
	(void)name;
	*parts += S_ISDIR(st->st_mode) || st->st_nlink <= 1 ?
			  INODE_PARTS :
			  INODE_PARTS / st->st_nlink;
	return treejob_is_canceled() ? -ECANCELED : 0;
}

/* Adds up what is in @dir, without @dir itself. */
static int tree_needs(const char *dir, uint64_t *bytes, uint64_t *parts)
{
	static const struct walk_ops ops = { .entry = on_count };
	uint64_t one = 0;
	int rc;

	if (dir_is_empty(dir))
		return 0;
	rc = file_tree_size(dir, &one);
	*bytes += one;
	return rc < 0 ? rc : walk_tree(dir, &ops, parts);
}

/* Checks for room in disk.img before copying: a half copied file would be taken
 * for a complete one later. */
static int room_check(const struct place *p, const struct disk_spec *s,
		      struct err *err)
{
	uint64_t need = 0, parts = 0;
	struct statvfs fs;

	for (size_t i = 0; p->dir[i]; i++) {
		int rc = tree_needs(p->dir[i], &need, &parts);

		if (rc < 0)
			return err_set(err, rc, "the size of %s: %s", p->dir[i],
				       err_text(rc));
	}
	if (statvfs(s->at, &fs) < 0)
		return err_sys(err, "look at %s", s->at);
	if (need > (uint64_t)fs.f_bavail * fs.f_frsize)
		return err_set(err, -EDQUOT,
			       "workspace and home hold %llu MiB, which does "
			       "not fit",
			       (unsigned long long)(need >> 20) + 1);
	/* The directories themselves. */
	parts += (ARRAY_SIZE(p->dir) - 1) * INODE_PARTS;
	if (parts / INODE_PARTS > fs.f_favail)
		return err_set(err, -EDQUOT,
			       "workspace and home hold %llu files, and there "
			       "is room for %llu",
			       (unsigned long long)(parts / INODE_PARTS),
			       (unsigned long long)fs.f_favail);
	return 0;
}

/* ---- by a file ---- */

static void unmount(const char *at)
{
	umount2(at, MNT_DETACH | UMOUNT_NOFOLLOW);
}

/* Marks that the files may be in both places from now on. */
static int twin_say(const struct place *p, struct err *err)
{
	SCOPED_FD fd = open(p->twin,
			    O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? err_sys(err, "make %s", p->twin) : 0;
}

/* Makes a new disk.img with all files. On failure there is none, and nothing
 * has changed. */
static int file_fresh(const struct place *p, const struct disk_spec *s,
		      struct err *err)
{
	int rc = disk_image_make(p->image_new, s->bytes, s->uid, s->gid, err);

	if (rc == 0)
		rc = disk_image_mount(p->image_new, s->at, err);
	if (rc == 0)
		rc = room_check(p, s, err);
	for (size_t i = 0; rc == 0 && p->dir[i]; i++)
		rc = tree_copy(p->dir[i], p->in[i], s, err);
	if (rc == 0)
		rc = twin_say(p, err);
	if (rc == 0 && rename(p->image_new, p->image) < 0)
		rc = err_sys(err, "put %s in place", p->image);
	if (rc == 0)
		rc = tree_sync(s->dir, err);
	return rc;
}

static int file_again(const struct place *p, const struct disk_spec *s,
		      struct err *err)
{
	int rc = disk_image_resize(p->image, s->bytes, err);

	if (rc == 0 && treejob_is_canceled())
		rc = err_set(err, -ECANCELED, "stopped");
	if (rc == 0)
		rc = disk_image_mount(p->image, s->at, err);
	if (rc == 0 && access(p->twin, F_OK) < 0)
		rc = room_check(p, s, err);
	for (size_t i = 0; rc == 0 && p->dir[i]; i++)
		rc = tree_copy(p->dir[i], p->in[i], s, err);
	return rc;
}

/* Copies everything into disk.img, then removes it outside. */
static int file_settle(const struct place *p, const struct disk_spec *s,
		       struct err *err)
{
	int rc = has_image(p) ? file_again(p, s, err) : file_fresh(p, s, err);

	for (size_t i = 0; rc == 0 && p->dir[i]; i++)
		rc = tree_empty(p->dir[i], s, err);
	if (rc == 0) {
		unlink(p->twin);
		return 0;
	}
	unmount(s->at);
	unlink(p->image_new);
	return rc;
}

/* Copies @in to <dir>.new. What is in @dir goes into @in first, so @dir is
 * empty then. */
static int tree_fetch(const char *in, const char *dir,
		      const struct disk_spec *s, struct err *err)
{
	SCOPED_STR fresh = str_printf("%s.new", dir);
	int rc;

	if (!fresh)
		return err_nomem(err);
	rc = tree_move(dir, in, s, err);
	if (rc == 0)
		rc = dir_make(fresh, s, err);
	if (rc == 0)
		rc = treecopy(in, fresh, err);
	return rc < 0 ? rc : tree_sync(fresh, err);
}

static int tree_place(const char *dir, struct err *err)
{
	SCOPED_STR fresh = str_printf("%s.new", dir);

	if (!fresh)
		return err_nomem(err);
	if ((rmdir(dir) < 0 && errno != ENOENT) || rename(fresh, dir) < 0)
		return err_sys(err, "put %s in place", dir);
	return 0;
}

/* Removes what an interrupted or failed copy has left. */
static int leftovers_remove(const struct place *p, struct err *err)
{
	static const char *const ends[] = { ".new", ".new.links", ".gone" };
	int rc = file_remove_tree(p->image_new);

	for (size_t i = 0; rc == 0 && p->dir[i]; i++) {
		for (size_t k = 0; rc == 0 && k < ARRAY_SIZE(ends); k++) {
			SCOPED_STR path =
				str_printf("%s%s", p->dir[i], ends[k]);

			rc = path ? file_remove_tree(path) : -ENOMEM;
		}
	}
	return rc < 0 ? err_set(err, rc, "remove a copy that was cut off: %s",
				err_text(rc)) :
			0;
}

/* Without a limit: moves everything back out of disk.img. */
static int file_undo(const struct place *p, const struct disk_spec *s,
		     struct err *err)
{
	struct err ignored = { 0 };
	int rc = disk_image_mount(p->image, s->at, err);

	if (rc < 0)
		return err_wrap(err, "its files are in disk.img");
	for (size_t i = 0; rc == 0 && p->dir[i]; i++)
		rc = tree_fetch(p->in[i], p->dir[i], s, err);
	if (rc == 0)
		rc = twin_say(p, err);
	for (size_t i = 0; rc == 0 && p->dir[i]; i++)
		rc = tree_place(p->dir[i], err);
	unmount(s->at);
	if (rc == 0 && unlink(p->image) < 0)
		rc = err_sys(err, "remove %s", p->image);
	if (rc == 0)
		unlink(p->twin);
	else
		leftovers_remove(p, &ignored);
	return rc;
}

/* ---- either ---- */

bool disk_is_settled(const struct disk_spec *s)
{
	SCOPED_PLACE p = { 0 };
	struct disk_quota q;

	if (s->bytes > 0 || place_make(s, &p, NULL) < 0 || has_image(&p) ||
	    access(p.image_new, F_OK) == 0)
		return false;
	for (size_t i = 0; p.dir[i]; i++)
		if (disk_quota_look(p.dir[i], &q) == 0 && q.limit > 0)
			return false;
	return true;
}

static int settle(const struct disk_spec *s, struct err *err)
{
	SCOPED_PLACE p = { 0 };
	struct err why = { 0 };
	int rc = place_make(s, &p, err);

	if (rc < 0)
		return rc;
	unmount(s->at);
	rc = leftovers_remove(&p, err);
	if (rc < 0)
		return rc;
	if (s->bytes == 0 && has_image(&p))
		return file_undo(&p, s, err);
	if (s->bytes == 0)
		return disk_quota_drop((const char *const *)p.dir, err);
	if (!has_image(&p)) {
		rc = disk_quota_set((const char *const *)p.dir, s->bytes, &why);
		if (rc != -ENOTSUP)
			return rc < 0 ? err_set(err, rc, "%s", why.msg) : 0;
	}
	rc = file_settle(&p, s, &why);
	if (rc == -ENODEV)
		return err_set(err, rc,
			       "%s; or put $AC_HOME on a file system with "
			       "project quota (ext4 made with '-O "
			       "quota,project' and mounted with 'prjquota', "
			       "or xfs with 'pquota')",
			       why.msg);
	return rc < 0 ? err_set(err, rc, "%s", why.msg) : 0;
}

int disk_settle(const void *spec, struct err *err)
{
	const struct disk_spec *s = spec;
	char size[32];
	int rc = settle(s, err);

	if (rc < 0 && s->bytes > 0) {
		str_format_size(size, sizeof(size), s->bytes);
		err_wrap(err, "the disk limit of %s cannot be kept", size);
	} else if (rc < 0) {
		err_wrap(err, "the earlier disk limit cannot be taken away");
	}
	return rc;
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

json_t *disk_use_json(const struct disk_use *use)
{
	if (use->held == DISK_FREE)
		return json_null();
	return json_pack("{s:s, s:I, s:I, s:I, s:I}", "held",
			 disk_held_name(use->held), "used",
			 (json_int_t)use->used, "limit", (json_int_t)use->limit,
			 "files", (json_int_t)use->files, "files_limit",
			 (json_int_t)use->files_limit);
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
	/* Mounted: the root of a file system other than the image's. */
	if (lstat(at, &top) == 0 && top.st_ino == EXT4_ROOT &&
	    lstat(dir, &above) == 0 && top.st_dev != above.st_dev &&
	    statvfs(at, &fs) == 0) {
		ret->used = ret->limit - (uint64_t)fs.f_bavail * fs.f_frsize;
		ret->files_limit = fs.f_files;
		ret->files = fs.f_files - fs.f_favail;
	}
	return true;
}

void disk_look(const char *dir, const char *at, struct disk_use *ret)
{
	SCOPED_STR home = str_printf("%s/home", dir);
	struct disk_quota q;

	*ret = (struct disk_use){ 0 };
	if (file_look(dir, at, ret) || !home || disk_quota_look(home, &q) < 0 ||
	    q.limit == 0)
		return;
	*ret = (struct disk_use){ .held = DISK_QUOTA,
				  .used = q.used,
				  .limit = q.limit,
				  .files = q.files,
				  .files_limit = q.files_limit };
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

enum leaf { LEAF_HOME, LEAF_WORKSPACE, LEAF_LAYER };

/* Removes a tree. It is whole or not there: half of a layer would be read as one
 * that deletes the rest of the user's files. */
static int tree_vanish(const char *dir)
{
	SCOPED_STR gone = str_printf("%s.gone", dir);
	SCOPED_FD fd =
		open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int rc = gone ? file_remove_tree(gone) : -ENOMEM;

	if (rc < 0)
		return rc;
	if (rename(dir, gone) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fd >= 0 && syncfs(fd) < 0)
		return -errno;
	return file_remove_tree(gone);
}

/* Removes one of the trees, also in disk.img: a home holds credentials. */
static int leaf_remove(const struct place *p, const struct disk_spec *s,
		       enum leaf leaf, struct err *err)
{
	int rc = leftovers_remove(p, err);

	if (rc < 0)
		return rc;
	if (has_image(p)) {
		rc = disk_image_mount(p->image, s->at, err);
		if (rc < 0)
			return err_wrap(err, "its files are in disk.img");
		rc = tree_vanish(p->in[leaf]);
		unmount(s->at);
	}
	if (rc == 0)
		rc = tree_vanish(p->dir[leaf]);
	return rc < 0 ? err_set(err, rc, "cannot remove all files: %s",
				err_text(rc)) :
			0;
}

int disk_remove(const void *removal, struct err *err)
{
	const struct disk_removal *d = removal;
	SCOPED_STR log = str_printf("%s/log", d->spec.dir);
	SCOPED_PLACE p = { 0 };
	struct err ignored = { 0 };
	int rc = log ? place_make(&d->spec, &p, err) : err_nomem(err);

	if (rc < 0)
		return rc;
	if (!d->all && d->layer)
		rc = leaf_remove(&p, &d->spec, LEAF_LAYER, err);
	if (rc == 0 && !d->all && d->home)
		rc = leaf_remove(&p, &d->spec, LEAF_HOME, err);
	if (rc < 0 || (!d->all && !d->home))
		return rc;
	/* Without files and limit the project's number is free. */
	if (d->all)
		disk_quota_drop((const char *const *)p.dir, &ignored);
	rc = file_remove_tree(d->all ? d->spec.dir : log);
	if (rc == 0 && d->all && d->snapshots)
		rc = file_remove_tree(d->snapshots);
	return rc < 0 ? err_set(err, rc, "cannot remove all files: %s",
				err_text(rc)) :
			0;
}
