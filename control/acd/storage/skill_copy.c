/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skill_copy.c - copies the skills of a blueprint to where a sandbox reads them
 *
 * Theory of operation: a skill is a folder beside a blueprint that a user wrote
 * or took from elsewhere, so a link in it may lead to any file that acd can read.
 * Each file is opened below the open folder (lib/beneath.h), without links and
 * mounts; what is no file and no folder ends the start. The sandbox gets the
 * copy: no change of the user's reaches it while it runs, and its owner and mode
 * do not depend on the user's.
 */
#include "control/acd/storage/skill_copy.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/beneath.h"
#include "lib/file.h"
#include "lib/str.h"

#define SHOWN_MAX 256u /* bytes of a path in a message */

struct copy {
	size_t files, bytes; /* so far */
	struct err *err;
};

/* A folder that is being copied, and how it is named in messages. */
struct folder {
	int from, to;
	unsigned depth;
	const char *path;
};

static int refuse(struct copy *c, int code, const char *path, const char *why)
{
	char shown[SHOWN_MAX];

	return err_set(c->err, code, "skill %s: %s",
		       str_escape(shown, sizeof(shown), path, strlen(path)),
		       why);
}

static int copy_bytes(struct copy *c, int from, int to, const char *path)
{
	char data[64 * 1024];
	ssize_t n;
	int rc;

	while ((n = read(from, data, sizeof(data))) > 0) {
		if ((size_t)n > SKILL_BYTES_MAX - c->bytes)
			return refuse(c, -EFBIG, path,
				      "all skills together have at most 8 MiB");
		c->bytes += (size_t)n;
		rc = fd_write_all(to, data, (size_t)n);
		if (rc < 0)
			return refuse(c, rc, path, err_text(rc));
	}
	return n < 0 ? refuse(c, -errno, path, err_text(-errno)) : 0;
}

static int copy_file(struct copy *c, const struct folder *f, const char *name,
		     const char *path)
{
	/* What it is may not be what it was: nothing blocks here. */
	SCOPED_FD from = beneath_open(
		f->from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	SCOPED_FD to = -1;
	struct stat st;

	if (from < 0)
		return refuse(c, from, path, err_text(from));
	if (fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
		return refuse(c, -EINVAL, path, "it is no file any more");
	to = openat(f->to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    st.st_mode & 0111 ? 0755 : 0644);
	if (to < 0)
		return refuse(c, -errno, path, err_text(-errno));
	return copy_bytes(c, from, to, path);
}

static int copy_folder(struct copy *c, const struct folder *f);

static int copy_below(struct copy *c, const struct folder *f, const char *name,
		      const char *path)
{
	SCOPED_FD from = beneath_open(f->from, name, O_RDONLY | O_DIRECTORY);
	SCOPED_FD to = -1;
	struct folder below = { .depth = f->depth + 1, .path = path };

	if (from < 0)
		return refuse(c, from, path, err_text(from));
	if (below.depth > SKILL_DEPTH_MAX)
		return refuse(c, -EINVAL, path, "more than 8 folders deep");
	if (mkdirat(f->to, name, 0755) < 0)
		return refuse(c, -errno, path, err_text(-errno));
	to = openat(f->to, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0)
		return refuse(c, -errno, path, err_text(-errno));
	below.from = from;
	below.to = to;
	return copy_folder(c, &below);
}

static int copy_entry(struct copy *c, const struct folder *f, const char *name)
{
	SCOPED_STR path = str_printf("%s/%s", f->path, name);
	struct stat st;

	if (!path)
		return err_nomem(c->err);
	if (fstatat(f->from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return refuse(c, -errno, path, err_text(-errno));
	if (++c->files > SKILL_FILES_MAX)
		return refuse(c, -EFBIG, path,
			      "all skills together have at most 512 files");
	if (S_ISDIR(st.st_mode))
		return copy_below(c, f, name, path);
	if (S_ISREG(st.st_mode))
		return copy_file(c, f, name, path);
	return refuse(c, -EINVAL, path,
		      S_ISLNK(st.st_mode) ?
			      "is a link; a skill has files and folders alone" :
			      "is no file; a skill has files and folders "
			      "alone");
}

static int copy_folder(struct copy *c, const struct folder *f)
{
	int own = fcntl(f->from, F_DUPFD_CLOEXEC, 0);
	SCOPED_DIR d = own < 0 ? NULL : fdopendir(own);
	int rc = 0;

	if (!d) {
		if (own >= 0)
			close(own);
		return refuse(c, -errno, f->path, err_text(-errno));
	}
	errno = 0;
	for (struct dirent *e = readdir(d); e && rc == 0; e = readdir(d)) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = copy_entry(c, f, e->d_name);
	}
	return rc;
}

static int copy_skill(struct copy *c, const struct skill_source *s, int to)
{
	SCOPED_FD dir = open(s->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	SCOPED_FD from = -1;
	SCOPED_FD file = -1;
	SCOPED_FD copy = -1;
	struct folder all = { .path = s->folder };
	struct stat st;

	if (s->dir[0] != '/')
		return refuse(c, -EINVAL, s->folder,
			      "only a stored blueprint can have skills");
	if (dir < 0)
		return refuse(c, -errno, s->dir, err_text(-errno));
	from = beneath_open(dir, s->folder, O_RDONLY | O_DIRECTORY);
	if (from == -ELOOP)
		return refuse(c, from, s->folder, "a link leads to it");
	if (from < 0)
		return refuse(c, from, s->folder,
			      from == -ENOENT ?
				      "there is no such folder beside its "
				      "blueprint" :
				      err_text(from));
	file = beneath_open(from, SKILL_FILE, O_PATH | O_NOFOLLOW);
	if (file < 0 || fstat(file, &st) < 0 || !S_ISREG(st.st_mode))
		return refuse(c, -ENOENT, s->folder, "it has no " SKILL_FILE);
	if (mkdirat(to, s->name, 0755) == 0)
		copy = openat(to, s->name,
			      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (copy < 0)
		return refuse(c, -errno, s->folder, err_text(-errno));
	all.from = from;
	all.to = copy;
	return copy_folder(c, &all);
}

int skill_copy(const void *what, struct err *err)
{
	const struct skill_spec *spec = what;
	struct copy c = { .err = err };
	SCOPED_FD to = -1;
	int rc = file_remove_tree(spec->to);

	umask(022);
	if (rc == 0)
		rc = file_mkdir_p(spec->to, 0755);
	if (rc == 0) {
		to = open(spec->to,
			  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		rc = to < 0 ? -errno : 0;
	}
	if (rc < 0)
		return err_set(err, rc, "make %s: %s", spec->to, err_text(rc));
	for (size_t i = 0; i < spec->n && rc == 0; i++)
		rc = copy_skill(&c, &spec->v[i], to);
	if (rc < 0)
		file_remove_tree(spec->to);
	return rc;
}
