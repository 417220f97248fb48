/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_keep.c - makes a directory of files a snapshot, and lets old ones go
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/acd/storage/snapshot_impl.h"
#include "lib/file.h"
#include "lib/str.h"

static int by_tag(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lists the tags of snapshots that expire. One that cannot be read does not. */
static int tag_add(void *arg, const struct snapshot_meta *m)
{
	return m->named ? 0 : strv_push(arg, m->tag);
}

int snapshots_expire(const void *what, struct err *err)
{
	const char *dir = what;
	struct strv tags = { 0 };

	(void)err;

	if (snapshot_each(dir, tag_add, &tags) == 0 && tags.n > 0) {
		qsort(tags.v, tags.n, sizeof(*tags.v), by_tag);
		for (size_t i = 0; i + SNAPSHOT_KEPT < tags.n; i++) {
			SCOPED_STR path = str_printf("%s/%s", dir, tags.v[i]);

			if (path)
				file_remove_tree(path);
		}
	}
	strv_done(&tags);
	return 0;
}

/* Moves @path, a snapshot in @dir, to where it is removed: it is whole or not
 * there. Sets *ret to that place. */
static int vanish(const char *dir, const char *path, char **ret)
{
	SCOPED_STR gone = str_printf("%s/.gone", dir);
	int rc = gone ? file_remove_tree(gone) : -ENOMEM;

	if (rc == 0 && rename(path, gone) < 0)
		rc = -errno;
	if (rc == 0)
		*ret = ptr_take(&gone);
	return rc;
}

/* Renames @from to @to; what @to was is removed if @replace. */
static int put(const char *dir, const char *from, const char *to, bool replace)
{
	SCOPED_STR gone = NULL;
	struct stat st;
	int rc;

	if (lstat(to, &st) == 0) {
		if (!replace)
			return -EEXIST;
		rc = vanish(dir, to, &gone);
		if (rc < 0)
			return rc;
	}
	if (rename(from, to) < 0)
		return -errno;
	if (gone)
		file_remove_tree(gone);
	return 0;
}

int snapshot_remove(const void *what, struct err *err)
{
	const char *path = what;
	const char *slash = strrchr(path, '/');
	SCOPED_STR dir = slash ? strndup(path, (size_t)(slash - path)) : NULL;
	SCOPED_STR gone = NULL;
	int rc = dir ? vanish(dir, path, &gone) : -ENOMEM;

	if (rc == 0)
		rc = file_remove_tree(gone);
	return rc < 0 ? err_set(err, rc, "cannot remove %s: %s", path,
				err_text(rc)) :
			0;
}

int snapshot_keep(const void *keep, struct err *err)
{
	const struct snapshot_keep *k = keep;
	struct snapshot_meta m = *k->meta; /* its strings are borrowed */
	SCOPED_STR dir = snapshot_path(k->instances, m.instance, NULL);
	SCOPED_STR to = snapshot_path(k->instances, m.instance, m.tag);
	int rc = dir && to ? 0 : err_nomem(err);

	m.hash = (struct treehash){ 0 };
	if (rc == 0)
		rc = snapshot_hash(k->from, &m.hash, err);
	if (rc == 0)
		rc = snapshot_store(k->from, &m, err);
	if (rc < 0)
		return rc;
	rc = file_mkdir_p(dir, 0700);
	if (rc == 0)
		rc = put(dir, k->from, to, k->replace);
	if (rc == -EEXIST)
		return err_set(err, rc, "%s has a snapshot '%s' already",
			       m.instance, m.tag);
	if (rc < 0)
		return err_set(err, rc, "cannot keep the snapshot in %s: %s",
			       to, err_text(rc));
	return 0;
}

/* ---- what copies have left ---- */

char *snapshot_trash_path(const char *instances)
{
	return str_printf("%s/.trash", instances);
}

int snapshot_trash(const char *instances, const char *path)
{
	SCOPED_STR trash = snapshot_trash_path(instances);
	struct stat st;
	int rc;

	if (!trash)
		return -ENOMEM;
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	rc = file_mkdir_p(trash, 0700);
	for (unsigned i = 0; rc == 0; i++) {
		SCOPED_STR to = str_printf("%s/%u", trash, i);

		if (!to)
			return -ENOMEM;
		if (renameat2(AT_FDCWD, path, AT_FDCWD, to, RENAME_NOREPLACE) ==
		    0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return rc;
}

int snapshot_trash_all(const char *instances, struct err *err)
{
	SCOPED_STR forks = str_printf("%s/.forks", instances);
	SCOPED_STR all = str_printf("%s/.snapshots", instances);
	const struct dirent *e;
	SCOPED_DIR d = all ? opendir(all) : NULL;
	int rc = forks && all ? snapshot_trash(instances, forks) : -ENOMEM;

	while (d && rc == 0 && (e = readdir(d))) {
		SCOPED_STR half = str_printf("%s/%s/.new", all, e->d_name);
		SCOPED_STR gone = str_printf("%s/%s/.gone", all, e->d_name);

		if (e->d_name[0] == '.')
			continue;
		rc = half && gone ? snapshot_trash(instances, half) : -ENOMEM;
		if (rc == 0)
			rc = snapshot_trash(instances, gone);
	}
	return rc < 0 ? err_set(err, rc,
				"cannot move away what a copy that was cut "
				"short has left: %s",
				err_text(rc)) :
			0;
}

int snapshot_sweep(const void *what, struct err *err)
{
	SCOPED_STR trash = snapshot_trash_path(what);
	int rc = trash ? file_remove_tree(trash) : -ENOMEM;

	return rc < 0 ? err_set(err, rc, "cannot remove %s: %s", trash,
				err_text(rc)) :
			0;
}
