/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.c - copies the files of an instance, and puts copies in their place
 */
#include "control/acd/storage/snapshot.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/acd/storage/snapshot_impl.h"
#include "control/acd/storage/treecopy.h"
#include "lib/file.h"
#include "lib/str.h"

/* What an instance has; each may be missing. The work directory of a layer is
 * the kernel's and means nothing elsewhere. */
static const struct tree {
	const char *dir; /* of an instance */
	const char *leaf; /* of @dir: what is copied; NULL: all of it */
} trees[] = { { "home", NULL }, { "workspace", NULL }, { "layer", "upper" } };

/* It is never copied: instance/snapshot/memory.h. */
static const struct tree memory = { "memory", NULL };

char *snapshot_memory_path(const char *dir)
{
	return str_printf("%s/%s", dir, memory.dir);
}

char *snapshot_path(const char *instances, const char *name, const char *tag)
{
	return tag ? str_printf("%s/.snapshots/%s/%s", instances, name, tag) :
		     str_printf("%s/.snapshots/%s", instances, name);
}

char *snapshot_fork_path(const char *instances, const char *name,
			 const char *to)
{
	return str_printf("%s/.forks/%s:%s", instances, name, to);
}

/* ---- copying ---- */

/* Makes the directory @to like @from. Returns 0, or -ENOENT if that does not
 * exist. */
static int dir_like(const char *from, const char *to)
{
	struct stat st;

	if (lstat(from, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (mkdir(to, 0700) < 0 || lchown(to, st.st_uid, st.st_gid) < 0 ||
	    chmod(to, st.st_mode & 07777) < 0)
		return -errno;
	return 0;
}

static char *below(const char *dir, const struct tree *t, bool leaf)
{
	return leaf && t->leaf ? str_printf("%s/%s/%s", dir, t->dir, t->leaf) :
				 str_printf("%s/%s", dir, t->dir);
}

static int tree_copy(const char *from, const char *to, const struct tree *t,
		     struct err *err)
{
	SCOPED_STR from_dir = below(from, t, false);
	SCOPED_STR to_dir = below(to, t, false);
	SCOPED_STR from_leaf = below(from, t, true);
	SCOPED_STR to_leaf = below(to, t, true);
	struct stat st;
	int rc;

	if (!from_dir || !to_dir || !from_leaf || !to_leaf)
		return err_nomem(err);
	if (lstat(from_leaf, &st) < 0 && errno == ENOENT)
		return 0;
	rc = dir_like(from_dir, to_dir);
	if (rc == 0 && t->leaf)
		rc = dir_like(from_leaf, to_leaf);
	if (rc < 0)
		return err_set(err, rc, "cannot make %s: %s", to_leaf,
			       err_text(rc));
	return treecopy(from_leaf, to_leaf, err);
}

static int tree_hash(const char *dir, const struct tree *t, struct treehash *h,
		     struct err *err)
{
	SCOPED_STR leaf = below(dir, t, true);
	struct stat st;

	if (!leaf)
		return err_nomem(err);
	if (lstat(leaf, &st) < 0 && errno == ENOENT)
		return 0;
	return treehash_add(h, t->dir, leaf, err);
}

int snapshot_hash(const char *dir, struct treehash *h, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(trees) && rc == 0; i++)
		rc = tree_hash(dir, &trees[i], h, err);
	return rc == 0 ? tree_hash(dir, &memory, h, err) : rc;
}

/* A copy of damaged files would be good by its own digest, so the files are
 * looked at before. */
static int check(const struct snapshot_copy *c, struct err *err)
{
	struct snapshot_meta m = { 0 };
	struct treehash now = { 0 };
	int rc = snapshot_load(c->from, &m, err);

	if (rc == 0)
		rc = snapshot_hash(c->from, &now, err);
	if (rc == 0 && (memcmp(now.digest, m.hash.digest, TREEHASH_LEN) != 0 ||
			now.files != m.hash.files || now.bytes != m.hash.bytes))
		rc = err_set(err, -EUCLEAN,
			     "the files of the snapshot %s are not those that "
			     "were saved (%s): it is not used; `ac snapshots` "
			     "lists the others",
			     c->check, c->from);
	snapshot_meta_done(&m);
	return rc;
}

/* Makes the directories above @path, which acd owns. */
static int above_make(const char *path)
{
	SCOPED_STR dir = strdup(path);
	char *slash = dir ? strrchr(dir, '/') : NULL;

	if (!slash)
		return -ENOMEM;
	*slash = '\0';
	return file_mkdir_p(dir, 0700);
}

int snapshot_copy(const void *copy, struct err *err)
{
	const struct snapshot_copy *c = copy;
	int rc = c->check ? check(c, err) : 0;

	if (rc < 0)
		return rc;
	rc = file_remove_tree(c->to);
	if (rc == 0)
		rc = above_make(c->to);
	if (rc == 0)
		rc = dir_like(c->from, c->to);
	if (rc < 0)
		return err_set(err, rc, "cannot make %s: %s", c->to,
			       err_text(rc));
	for (size_t i = 0; i < ARRAY_SIZE(trees) && rc == 0; i++)
		rc = tree_copy(c->from, c->to, &trees[i], err);
	if (rc < 0)
		file_remove_tree(c->to);
	return rc;
}

/* ---- putting in place ---- */

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* @all has the trees to be put in place, and those that were replaced in old. A
 * tree without a new one goes, too: it is moved before the first comes in. */
static int one_swap(const char *dir, const char *all, const struct tree *t,
		    bool out)
{
	SCOPED_STR now = str_printf("%s/%s", dir, t->dir);
	SCOPED_STR new = str_printf("%s/%s", all, t->dir);
	SCOPED_STR old = str_printf("%s/old/%s", all, t->dir);

	if (!now || !new || !old)
		return -ENOMEM;
	if (out)
		return is_there(now) && rename(now, old) < 0 ? -errno : 0;
	return is_there(new) && rename(new, now) < 0 ? -errno : 0;
}

int snapshot_swap(const char *dir, struct err *err)
{
	SCOPED_STR all = str_printf("%s/" SNAPSHOT_RESTORED, dir);
	SCOPED_STR old = str_printf("%s/" SNAPSHOT_RESTORED "/old", dir);
	SCOPED_STR half = str_printf("%s/" SNAPSHOT_RESTORED "/out", dir);
	int rc = 0;

	if (!all || !old || !half)
		return err_nomem(err);
	/* "out" marks that the old ones are out, all of them: what has their
	 * names from then on is new. */
	if (!is_there(half)) {
		rc = dir_like(all, old);
		rc = rc == -EEXIST ? 0 : rc;
		for (size_t i = 0; i < ARRAY_SIZE(trees) && rc == 0; i++)
			rc = one_swap(dir, all, &trees[i], true);
		if (rc == 0 && mkdir(half, 0700) < 0)
			rc = -errno;
	}
	for (size_t i = 0; i < ARRAY_SIZE(trees) && rc == 0; i++)
		rc = one_swap(dir, all, &trees[i], false);
	return rc < 0 ? err_set(err, rc,
				"cannot put the files of %s in place: "
				"%s",
				all, err_text(rc)) :
			0;
}
