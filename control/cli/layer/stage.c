/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage.c - receives the changes of a workspace into a private directory
 */
#include "control/cli/layer/stage.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "lib/file.h"
#include "lib/str.h"

#define PREFIX "stage."
#define SPARE (256u << 20) /* bytes of room that are left to others */
#define LOOK_EVERY (16u << 20) /* bytes */

/* ---- the directory ---- */

/* Removes the directories of programs that were killed: those without a lock. */
static void sweep(const struct stage *s)
{
	SCOPED_FD fd = openat(s->base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	SCOPED_DIR dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (!dir)
		return;
	fd_take(&fd); /* the stream's now */
	while ((de = readdir(dir)) != NULL) {
		SCOPED_STR path = NULL;
		SCOPED_FD own = -1;

		if (!str_starts(de->d_name, PREFIX))
			continue;
		own = openat(s->base, de->d_name,
			     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (own < 0 || flock(own, LOCK_EX | LOCK_NB) < 0)
			continue;
		path = str_printf("%s/%s", s->path, de->d_name);
		if (path)
			(void)file_remove_tree(path);
	}
}

static int make_own(struct stage *s)
{
	uint64_t number;
	SCOPED_FD fd = -1;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -errno;
	snprintf(s->name, sizeof(s->name), PREFIX "%016llx",
		 (unsigned long long)number);
	if (mkdirat(s->base, s->name, 0700) < 0) {
		s->name[0] = '\0';
		return -errno;
	}
	fd = openat(s->base, s->name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	s->dir = fd_take(&fd);
	return 0;
}

int stage_open(const char *path, struct stage *ret, struct err *err)
{
	int rc;

	*ret = (struct stage)STAGE_NONE;
	ret->path = str_printf("%s", path);
	if (!ret->path)
		return err_nomem(err);
	if (sodium_init() < 0)
		return err_set(err, -EIO, "libsodium does not start");
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_sys(err, "%s", path);
	ret->base = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (ret->base < 0)
		return err_sys(err, "%s", path);
	/* One at a time, so that a new directory is locked before another
	 * program looks for those without a lock. */
	if (flock(ret->base, LOCK_EX) < 0)
		return err_sys(err, "%s", path);
	sweep(ret);
	rc = make_own(ret);
	flock(ret->base, LOCK_UN);
	return rc < 0 ? err_set(err, rc, "%s: %s", path, err_text(rc)) : 0;
}

void stage_done(struct stage *s)
{
	if (s->name[0] && s->path) {
		SCOPED_STR own = str_printf("%s/%s", s->path, s->name);

		if (own)
			(void)file_remove_tree(own);
	}
	changes_reader_free(s->reader);
	layer_set_done(&s->set);
	layer_set_done(&s->git);
	fd_closep(&s->fd);
	fd_closep(&s->dir);
	fd_closep(&s->base);
	free(s->path);
	*s = (struct stage)STAGE_NONE;
}

int stage_keep(struct stage *s)
{
	SCOPED_STR last = str_printf("%s/last", s->path);
	int rc = last ? file_remove_tree(last) : -ENOMEM;

	if (rc < 0)
		return rc;
	if (renameat(s->base, s->name, s->base, "last") < 0)
		return -errno;
	s->name[0] = '\0';
	return fsync(s->base) < 0 ? -errno : 0;
}

static void name_of(char out[16], char kind, uint32_t number)
{
	snprintf(out, 16, "%c%u", kind, number);
}

int stage_new_file(struct stage *s, char kind, uint32_t *ret_number)
{
	char name[16];
	int fd;

	name_of(name, kind, s->last + 1);
	fd = openat(s->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return -errno;
	*ret_number = ++s->last;
	return fd;
}

int stage_file(int dir, char kind, uint32_t number)
{
	char name[16];
	int fd;

	name_of(name, kind, number);
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* ---- the archive ---- */

int stage_add_git(struct stage *s, const struct change *c)
{
	int rc = 0;

	s->set.git++;
	/* They are only named: too many are no failure. */
	return layer_set_add(&s->git, c, &rc) || rc == -E2BIG ? 0 : rc;
}

static int on_entry(void *arg, const struct change *c)
{
	struct stage *s = arg;
	SCOPED_STR path = NULL;
	struct layer_item *it;
	int rc = slice_dup_str(c->path, &path);

	if (rc < 0 || !path)
		return rc < 0 ? rc : -ENOMEM;
	s->comes = false;
	if (layer_path_is_git(path))
		return stage_add_git(s, c);
	it = layer_set_add(&s->set, c, &rc);
	if (!it)
		return rc;
	if (c->kind != CHANGE_FILE)
		return 0;
	s->comes = true;
	if (s->most == 0 || c->size <= s->most) {
		s->fd = stage_new_file(s, 'n', &it->number);
		if (s->fd < 0)
			return s->fd;
	}
	blob_begin(&s->writer, s->fd);
	return 0;
}

/* A sandbox may have room for more than there is here. What others need to go on
 * with their work is not taken. */
static int check_room(struct stage *s, size_t len)
{
	struct statvfs fs;

	s->looked += len;
	if (s->looked < LOOK_EVERY || s->fd < 0)
		return 0;
	s->looked = 0;
	if (fstatvfs(s->dir, &fs) < 0)
		return -errno;
	return (uint64_t)fs.f_bavail * fs.f_frsize < SPARE ? -ENOSPC : 0;
}

static int on_content(void *arg, struct slice piece)
{
	struct stage *s = arg;

	int rc = s->comes ? check_room(s, piece.len) : 0;

	return s->comes && rc == 0 ? blob_write(&s->writer, piece) : rc;
}

static int on_end(void *arg, bool torn)
{
	struct stage *s = arg;
	struct layer_item *it;
	int rc;

	if (!s->comes)
		return 0;
	s->comes = false;
	it = &s->set.v[s->set.n - 1];
	it->torn = torn;
	rc = blob_end(&s->writer, &it->blob);
	fd_closep(&s->fd);
	return rc;
}

static int refused(const struct stage *s, int rc, struct err *err)
{
	const char *why = s->reader ? changes_why(s->reader) : "";

	if (rc == -EBADMSG)
		return err_set(err, rc,
			       "the changes that acd sent are refused: they "
			       "have %s",
			       *why ? why : "a path twice, or below a file");
	if (rc == -E2BIG)
		return err_set(err, rc,
			       "the sandbox has changed more than %u files",
			       LAYER_ITEMS_MAX);
	if (rc == -ENOMEM)
		return err_nomem(err);
	return err_set(err, rc, "cannot keep the changes in %s: %s", s->path,
		       err_text(rc));
}

int stage_feed(struct stage *s, struct slice piece, struct err *err)
{
	static const struct changes_ops ops = {
		.entry = on_entry,
		.content = on_content,
		.end = on_end,
	};
	int rc;

	if (!s->reader)
		s->reader = changes_reader_new(&ops, s);
	if (!s->reader)
		return err_nomem(err);
	rc = changes_feed(s->reader, piece);
	return rc < 0 ? refused(s, rc, err) : 0;
}

int stage_finish(struct stage *s, struct err *err)
{
	int rc = s->reader ? changes_finish(s->reader) : -EBADMSG;

	if (rc == 0)
		rc = layer_set_sort(&s->set);
	/* They are only named: a path that is there twice harms nothing. */
	(void)layer_set_sort(&s->git);
	return rc < 0 ? refused(s, rc, err) : 0;
}
