/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.c - finds the packages in the files of an image
 *
 * dpkg has its list in one place. npm and pip have none: each package has a file
 * of its own, so the whole tree is walked, by names alone. What npm knew of the
 * archives is in the lock file that it leaves in node_modules, and is joined at
 * the end by the path.
 *
 * The walk is recursive, with a limit: names, depth and width are hostile. It
 * does not use lib/walk.h, since the files of an overlay may say that they are
 * on other file systems than their directories.
 */
#include "control/sbom/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/file.h"
#include "lib/sock.h"
#include "lib/str.h"

#define MODULES "node_modules"
#define LOCK ".package-lock.json"

struct locked {
	const char *path; /* of the package, in the arena */
	struct sbom_sum sum;
};

struct tree {
	struct sbom *s;
	char path[SBOM_PATH_MAX]; /* of the directory, without "/" before it */
	size_t len;
	unsigned entries;
	struct locked *locks;
	size_t n_locks, room;
};

/* ---- names ---- */

/* Returns the @n-th last name of the directory's path, from 0; NULL if there are
 * fewer. Sets *ret_len. */
static const char *name_of(const struct tree *t, unsigned n, size_t *ret_len)
{
	size_t end = t->len, at = end;

	for (;; end = at - 1, n--) {
		const char *slash = memrchr(t->path, '/', end);

		at = slash ? (size_t)(slash - t->path) + 1 : 0;
		if (n == 0)
			break;
		if (at == 0)
			return NULL;
	}
	*ret_len = end - at;
	return end > at ? t->path + at : NULL;
}

static bool name_is(const struct tree *t, unsigned n, const char *text)
{
	size_t len = 0;
	const char *name = name_of(t, n, &len);

	return name && len == strlen(text) && memcmp(name, text, len) == 0;
}

static bool name_ends(const struct tree *t, const char *text)
{
	size_t len = 0, n = strlen(text);
	const char *name = name_of(t, 0, &len);

	return name && len > n && memcmp(name + len - n, text, n) == 0;
}

/* Returns true if the directory is that of a package: node_modules/NAME or
 * node_modules/@SCOPE/NAME. */
static bool in_module(const struct tree *t)
{
	size_t len = 0;
	const char *scope = name_of(t, 1, &len);

	if (name_is(t, 1, MODULES))
		return true;
	return scope && scope[0] == '@' && name_is(t, 2, MODULES);
}

/* ---- files ---- */

/* Reads a file of an image. Returns 0; 1 if it is to be left out, which is
 * counted; or -ENOMEM. */
static int read_at(struct tree *t, int dir, const char *name, size_t max,
		   char **ret, size_t *ret_len)
{
	int rc = file_read_at(dir, name, max, ret, ret_len);

	if (rc == 0 || rc == -ENOMEM)
		return rc;
	t->s->left_out++;
	return 1;
}

static int add_lock(void *arg, struct slice path, const struct sbom_sum *sum)
{
	struct tree *t = arg;
	/* Its paths begin beside node_modules. */
	size_t head = t->len - strlen(MODULES);
	char full[SBOM_PATH_MAX];
	struct locked *l;

	if (head + path.len >= sizeof(full))
		return 0;
	if (t->n_locks == t->room) {
		size_t room = t->room ? t->room * 2 : 256;

		if (room > TREE_LOCKED_MAX)
			return -E2BIG;
		l = reallocarray(t->locks, room, sizeof(*l));
		if (!l)
			return -ENOMEM;
		t->locks = l;
		t->room = room;
	}
	snprintf(full, sizeof(full), "%.*s%.*s", (int)head, t->path,
		 (int)path.len, (const char *)path.ptr);
	l = &t->locks[t->n_locks];
	l->sum = *sum;
	l->path = arena_strn(&t->s->arena, full, strlen(full));
	if (!l->path)
		return -ENOMEM;
	t->n_locks++;
	return 0;
}

static int read_lock(struct tree *t, int dir)
{
	SCOPED_STR text = NULL;
	size_t len = 0;
	int rc = read_at(t, dir, LOCK, TREE_LOCK_MAX, &text, &len);

	if (rc == 0)
		rc = sbom_read_lock(slice_of(text, len), add_lock, t);
	/* Without it there are no checksums, and the packages all the same. */
	return rc == -EBADMSG ? 0 : rc;
}

static int read_package(struct tree *t, int dir, const char *name, bool npm)
{
	char at[SBOM_PATH_MAX + 300];
	SCOPED_STR text = NULL;
	size_t len = 0;
	int rc = read_at(t, dir, name, TREE_FILE_MAX, &text, &len);

	if (rc != 0)
		return rc;
	snprintf(at, sizeof(at), "%.*s/%.255s", (int)t->len, t->path, name);
	return npm ? sbom_read_npm(t->s, slice_of(text, len), at) :
		     sbom_read_pypi(t->s, slice_of(text, len), at);
}

static int read_file(struct tree *t, int dir, const char *name)
{
	int rc = 0;

	if (strcmp(name, "package.json") == 0 && in_module(t))
		rc = read_package(t, dir, name, true);
	else if (strcmp(name, LOCK) == 0 && name_is(t, 0, MODULES))
		rc = read_lock(t, dir);
	else if ((strcmp(name, "METADATA") == 0 &&
		  name_ends(t, ".dist-info")) ||
		 (strcmp(name, "PKG-INFO") == 0 && name_ends(t, ".egg-info")) ||
		 str_ends(name, ".egg-info"))
		rc = read_package(t, dir, name, false);
	return rc < 0 ? rc : 0;
}

/* ---- the walk ---- */

static int walk(struct tree *t, int dir, unsigned depth);

/* Goes into the directory @name. What cannot be read is counted. */
static int walk_into(struct tree *t, int dir, const char *name, unsigned depth)
{
	size_t len = t->len, n = strlen(name);
	SCOPED_FD fd = -1;
	int rc = 0;

	if (depth == 0 || len + 1 + n >= sizeof(t->path)) {
		t->s->closed++;
		return 0;
	}
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		t->s->closed++;
		return errno == ENOMEM || errno == EMFILE ? -errno : 0;
	}
	if (len > 0)
		t->path[t->len++] = '/';
	memcpy(t->path + t->len, name, n);
	t->len += n;
	rc = walk(t, fd, depth - 1);
	t->len = len;
	return rc;
}

static int walk_entry(struct tree *t, int dir, const struct dirent *de,
		      unsigned depth)
{
	unsigned char type = de->d_type;
	struct stat st;

	if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
		return 0;
	if (++t->entries > TREE_ENTRIES_MAX)
		return -E2BIG;
	if (type == DT_UNKNOWN &&
	    fstatat(dir, de->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		type = S_ISDIR(st.st_mode) ? DT_DIR :
		       S_ISREG(st.st_mode) ? DT_REG :
					     DT_UNKNOWN;
	if (type == DT_DIR)
		return walk_into(t, dir, de->d_name, depth);
	return type == DT_REG ? read_file(t, dir, de->d_name) : 0;
}

static int walk(struct tree *t, int dir, unsigned depth)
{
	int own = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = own < 0 ? NULL : fdopendir(own);
	const struct dirent *de;
	int rc = 0;

	if (!d) {
		rc = -errno;
		fd_closep(&own);
		return rc;
	}
	while (rc == 0 && (errno = 0, de = readdir(d)))
		rc = walk_entry(t, dir, de, depth);
	if (rc == 0 && errno)
		rc = -errno;
	closedir(d);
	return rc;
}

/* ---- all ---- */

/* Reads dpkg's files. An image without dpkg has none. */
static int read_dpkg(struct sbom *s, int root)
{
	SCOPED_STR release = NULL;
	SCOPED_STR status = NULL;
	size_t len = 0;
	int rc = 0;

	if (file_read_at(root, "usr/lib/os-release", TREE_FILE_MAX, &release,
			 &len) == 0)
		sbom_read_release(s, slice_of(release, len));
	rc = file_read_at(root, "var/lib/dpkg/status", TREE_STATUS_MAX, &status,
			  &len);
	if (rc < 0)
		return rc == -ENOENT ? 0 : rc;
	rc = sbom_read_dpkg(s, slice_of(status, len));
	for (size_t k = 0; rc == 0 && k < s->n; k++) {
		char path[SBOM_NAME_MAX + 64];
		SCOPED_STR text = NULL;

		snprintf(path, sizeof(path), "usr/share/doc/%s/copyright",
			 s->v[k].name);
		/* A name is no path. */
		if (!strchr(s->v[k].name, '/') &&
		    file_read_at(root, path, TREE_FILE_MAX, &text, &len) == 0)
			rc = sbom_read_copyright(s, &s->v[k],
						 slice_of(text, len));
	}
	return rc;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct locked *)a)->path,
		      ((const struct locked *)b)->path);
}

/* Gives each package of npm the checksum of its path. */
static void join_locks(struct tree *t)
{
	if (t->n_locks == 0)
		return;
	qsort(t->locks, t->n_locks, sizeof(*t->locks), by_path);
	for (size_t k = 0; k < t->s->n; k++) {
		struct sbom_package *p = &t->s->v[k];
		const char *slash = strrchr(p->at, '/');
		char path[SBOM_PATH_MAX + 1];
		struct locked want = { .path = path };
		const struct locked *found;

		if (p->kind != SBOM_NPM || !slash)
			continue;
		snprintf(path, sizeof(path), "%.*s", (int)(slash - p->at),
			 p->at);
		found = bsearch(&want, t->locks, t->n_locks, sizeof(*t->locks),
				by_path);
		if (found)
			p->sum = found->sum;
	}
}

int tree_read(int root, struct sbom *s)
{
	struct tree t = { .s = s };
	int rc = read_dpkg(s, root);

	if (rc == 0)
		rc = walk(&t, root, TREE_DEPTH_MAX);
	if (rc == 0)
		join_locks(&t);
	free(t.locks);
	if (rc == 0)
		sbom_sort(s);
	return rc;
}
