/* SPDX-License-Identifier: Apache-2.0 */
/*
 * home_write.c - writes files into a home that an agent owns
 *
 * Theory of operation: between two runs a home is what its agent has left
 * there: links that lead out of it, pipes that block a reader, directories in
 * the place of files. So this runs in a child, with the rights of the home's
 * owner and no others, while no process of the sandbox can reach the home. It
 * goes down name by name, each relative to the open directory above it, and the
 * kernel follows no link, no mount and no ".." on the way (lib/beneath.h). A file
 * is never opened for writing: a new one is renamed over it, so other names of
 * the old one (hard links) keep the old content.
 */
#include "control/acd/storage/home_write.h"

#include <fcntl.h>
#include <grp.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/shared/json.h"
#include "lib/beneath.h"
#include "lib/file.h"
#include "lib/str.h"

#define DIR_MODE 0755
#define KEPT_MAX 9 /* things put aside under one name, then a random one */

/* The file that is being written. */
struct place {
	const struct home_file *f;
	struct home_report *report;
};

/* ---- the report ---- */

struct home_report *home_report_new(void)
{
	void *mem = mmap(NULL, sizeof(struct home_report),
			 PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			 0);

	return mem == MAP_FAILED ? NULL : mem; /* zeroed */
}

void home_report_free(struct home_report *r)
{
	if (r)
		munmap(r, sizeof(*r));
}

static void tell(const struct place *p, const char *fmt, ...) ATTR_PRINTF(2, 3);

static void tell(const struct place *p, const char *fmt, ...)
{
	char *lines = p->report->lines;
	size_t used = strlen(lines), room = sizeof(p->report->lines) - used;
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* A line is there as a whole, or not at all. */
	if (strlen(text) + 2 <= room)
		snprintf(lines + used, room, "%s\n", text);
}

/* ---- below an open directory ---- */

/* Returns a name that an agent cannot have taken before: @stem and 64 random
 * bits. For the caller to free; NULL if there is no memory. */
static char *random_name(const char *stem)
{
	uint64_t bits;

	if (getrandom(&bits, sizeof(bits), 0) != sizeof(bits))
		return NULL;
	return str_printf("%s-%016llx", stem, (unsigned long long)bits);
}

/* Returns the name under which what has the name @name is kept, at the @nth try;
 * for the caller to free. */
static char *kept_name(const char *name, unsigned nth)
{
	SCOPED_STR stem = NULL;

	if (nth == 1)
		return str_printf("%s" HOME_BROKEN, name);
	if (nth <= KEPT_MAX)
		return str_printf("%s" HOME_BROKEN "-%u", name, nth);
	stem = str_printf("%s" HOME_BROKEN, name);
	return stem ? random_name(stem) : NULL;
}

/* Renames what has the name @name to @name.ac-broken, or to the first of
 * @name.ac-broken-2 and so on that is free. */
static int put_aside(const struct place *p, int dir, const char *name,
		     const char *why)
{
	for (unsigned nth = 1; nth <= KEPT_MAX + 1; nth++) {
		SCOPED_STR kept = kept_name(name, nth);

		if (!kept)
			return -ENOMEM;
		if (renameat2(dir, name, dir, kept, RENAME_NOREPLACE) == 0) {
			tell(p, "~/%s: '%s' %s, and is kept as '%s'",
			     p->f->path, name, why, kept);
			return 0;
		}
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* Gives the owner the rights to a directory that an agent has taken from it, so
 * that no file keeps its old content. Another's directory stays as it is. */
static void dir_unlock(int dir)
{
	struct stat st;
	char path[40];

	if (fstat(dir, &st) < 0 || (st.st_mode & S_IRWXU) == S_IRWXU)
		return;
	/* A descriptor of O_PATH can be changed by its link in /proc alone. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
	if (chmod(path, (st.st_mode & 07777) | S_IRWXU) < 0)
		return; /* what it keeps from being written is reported */
}

/* Opens the directory @name, which is made if it is missing. Returns a
 * descriptor for *at() calls, or a negative errno. */
static int dir_open(const struct place *p, int dir, const char *name)
{
	const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW;
	int fd = beneath_open(dir, name, flags), rc = 0;

	if (fd == -ELOOP || fd == -ENOTDIR)
		rc = put_aside(p, dir, name, "was no directory");
	else if (fd != -ENOENT)
		return fd;
	if (rc == 0 && mkdirat(dir, name, DIR_MODE) < 0)
		rc = -errno;
	return rc < 0 ? rc : beneath_open(dir, name, flags);
}

/* Opens the directory of the file. Sets *ret_leaf to the file's name. */
static int parent_open(const struct place *p, int home, const char **ret_leaf)
{
	SCOPED_STR path = strdup(p->f->path);
	SCOPED_FD dir = fcntl(home, F_DUPFD_CLOEXEC, 0);
	const char *leaf = strrchr(p->f->path, '/');
	char *rest = path, *name;

	*ret_leaf = leaf ? leaf + 1 : p->f->path;
	if (!path)
		return -ENOMEM;
	if (dir < 0)
		return -errno;
	while ((name = strsep(&rest, "/")) && rest) {
		int below = dir_open(p, dir, name);

		if (below < 0)
			return below;
		close(dir);
		dir = below;
		dir_unlock(dir);
	}
	return fd_take(&dir);
}

/* ---- content ---- */

static int replace(int dir, const char *leaf, const char *text, mode_t mode)
{
	SCOPED_STR temp = random_name(".ac-new");
	SCOPED_FD fd = temp ? beneath_open_how(dir, temp,
					       O_WRONLY | O_CREAT | O_EXCL |
						       O_NOFOLLOW,
					       0600, BENEATH_STRICT) :
			      -ENOMEM;
	int rc;

	if (fd < 0)
		return fd;
	rc = fd_write_all(fd, text, strlen(text));
	if (rc == 0 && fchmod(fd, mode) < 0)
		rc = -errno;
	if (rc == 0 && renameat(dir, temp, dir, leaf) < 0)
		rc = -errno;
	if (rc < 0)
		unlinkat(dir, temp, 0);
	return rc;
}

/* Returns @v as people write it, for the caller to free, or NULL. */
static char *json_text(const json_t *v)
{
	SCOPED_STR text = json_dumps(v, JSON_INDENT(2));

	return text ? str_printf("%s\n", text) : NULL;
}

static int replace_json(int dir, const char *leaf, const json_t *v, mode_t mode)
{
	SCOPED_STR text = json_text(v);

	return text ? replace(dir, leaf, text, mode) : -ENOMEM;
}

static int write_new(const struct place *p, int dir, const char *leaf)
{
	SCOPED_JSON v = NULL;

	if (!p->f->is_json)
		return replace(dir, leaf, p->f->text, p->f->mode);
	v = json_loads(p->f->text, 0, NULL);
	return v ? replace_json(dir, leaf, v, p->f->mode) : -EINVAL;
}

/* Reads the object in the file @leaf, with its mode; *ret is NULL for an empty
 * file. Returns NULL, or why it has none. */
static const char *object_read(int dir, const char *leaf, json_t **ret,
			       mode_t *ret_mode)
{
	/* What it is may not be what it was: nothing blocks here. */
	SCOPED_FD fd = beneath_open(
		dir, leaf, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	SCOPED_STR text = NULL;
	struct stat st;
	ssize_t len;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return "could not be read";
	*ret_mode = st.st_mode & 0777;
	if (st.st_size > (off_t)HOME_MERGE_MAX)
		return "was larger than 1 MiB";
	text = malloc((size_t)st.st_size + 1);
	len = text ? fd_read_all(fd, text, (size_t)st.st_size) : -ENOMEM;
	if (len < 0)
		return "could not be read";
	if (len == 0)
		return NULL;
	/* Each level indents all that is in it, when it is written. */
	if (!jsonx_is_shallow(text, (size_t)len))
		return "was nested too deeply";
	*ret = json_loadb(text, (size_t)len, JSON_ALLOW_NUL, NULL);
	return json_is_object(*ret) ? NULL : "was no JSON object";
}

static int merge(const struct place *p, int dir, const char *leaf)
{
	SCOPED_JSON ours = json_loads(p->f->text, 0, NULL);
	SCOPED_JSON had = NULL;
	SCOPED_JSON merged = NULL;
	mode_t mode = p->f->mode;
	const char *why = object_read(dir, leaf, &had, &mode);
	int rc;

	if (why) {
		rc = put_aside(p, dir, leaf, why);
		return rc < 0 ? rc : write_new(p, dir, leaf);
	}
	if (!had)
		return write_new(p, dir, leaf);
	merged = json_deep_copy(had);
	if (!ours || !merged || json_object_update_recursive(merged, ours) < 0)
		return -ENOMEM;
	return json_equal(had, merged) ? 0 :
					 replace_json(dir, leaf, merged, mode);
}

/* ---- a file ---- */

static int link_in(const struct place *p, int dir, const char *leaf)
{
	char had[PATH_MAX];
	ssize_t len = readlinkat(dir, leaf, had, sizeof(had) - 1);
	int rc = 0;

	if (len >= 0) {
		had[len] = '\0';
		if (strcmp(had, p->f->text) == 0)
			return 0;
	}
	if (len >= 0 || errno != ENOENT)
		rc = put_aside(p, dir, leaf, "was something else");
	if (rc == 0 && symlinkat(p->f->text, dir, leaf) < 0)
		rc = -errno;
	return rc;
}

static int write_in(const struct place *p, int dir, const char *leaf)
{
	struct stat st;
	int rc = 0;

	if (p->f->link)
		return link_in(p, dir, leaf);
	if (fstatat(dir, leaf, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? write_new(p, dir, leaf) : -errno;
	if (!S_ISREG(st.st_mode)) {
		rc = put_aside(p, dir, leaf, "was no file");
		return rc < 0 ? rc : write_new(p, dir, leaf);
	}
	if (p->f->merge)
		return merge(p, dir, leaf);
	return p->f->always ? write_new(p, dir, leaf) : 0;
}

static void write_one(const struct place *p, int home)
{
	const char *leaf;
	SCOPED_FD dir = parent_open(p, home, &leaf);
	int rc = dir < 0 ? dir : write_in(p, dir, leaf);

	if (rc < 0)
		tell(p, "~/%s could not be written: %s", p->f->path,
		     err_text(rc));
}

/* Becomes the home's owner, without any other right. */
static int become_owner(int home, struct err *err)
{
	struct stat st;

	if (fstat(home, &st) < 0)
		return err_sys(err, "the agent's home");
	if (geteuid() != 0 || st.st_uid == 0)
		return 0;
	if (setgroups(0, NULL) < 0 ||
	    setresgid(st.st_gid, st.st_gid, st.st_gid) < 0 ||
	    setresuid(st.st_uid, st.st_uid, st.st_uid) < 0)
		return err_sys(err, "cannot become the owner of the home");
	return 0;
}

int home_write(const void *what, struct err *err)
{
	const struct home_spec *spec = what;
	SCOPED_FD home = open(spec->home,
			      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int rc;

	if (home < 0)
		return err_sys(err, "open the agent's home %s", spec->home);
	rc = become_owner(home, err);
	if (rc == 0)
		dir_unlock(home);
	umask(0);
	for (size_t i = 0; i < spec->n && rc == 0; i++) {
		const struct place p = { &spec->files[i], spec->report };

		write_one(&p, home);
	}
	return rc;
}
