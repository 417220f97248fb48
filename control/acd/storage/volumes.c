/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volumes.c - volumes: directories that sandboxes share, apart from any instance
 */
#include "control/acd/storage/volumes.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "control/acd/storage/treejob.h"
#include "control/shared/json.h"
#include "control/shared/volume.h"
#include "lib/beneath.h"
#include "lib/file.h"
#include "lib/log.h"

#define DATA "data"
#define ABOUT "volume.json"
#define ABOUT_MAX 1024u
#define NEW ".new-" /* no volume's name begins with a dot */
#define TAKEN ".taken-"
#define GONE ".gone-"

static struct {
	char dir[256];
	uid_t uid;
	gid_t gid;
} volumes;

static int dir_open(struct err *err)
{
	int fd = open(volumes.dir,
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? err_sys(err, "open %s", volumes.dir) : fd;
}

/* Writes @stem and 64 random bits: a name that nothing has. */
static int name_random(const char *stem, char out[static 32])
{
	uint64_t bits;

	if (getrandom(&bits, sizeof(bits), 0) != sizeof(bits))
		return -EIO;
	snprintf(out, 32, "%s%016llx", stem, (unsigned long long)bits);
	return 0;
}

/* ---- what is there ---- */

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int volumes_names(struct strv *ret, struct err *err)
{
	SCOPED_DIR dir = opendir(volumes.dir);
	const struct dirent *d;
	size_t had = ret->n;

	if (!volumes.dir[0])
		return 0;
	if (!dir)
		return err_sys(err, "open %s", volumes.dir);
	while ((d = readdir(dir))) {
		if (name_check_volume(d->d_name, NULL) == 0 &&
		    strv_push(ret, d->d_name) < 0)
			return err_nomem(err);
	}
	if (ret->n > had)
		qsort(ret->v + had, ret->n - had, sizeof(*ret->v), compare);
	return 0;
}

/* @name has been checked. */
static int missing(const char *name, struct err *err)
{
	err_set(err, -ENOENT,
		"there is no volume '%s': `ac volume create %s` makes it, `ac "
		"volume ls` shows those that are there",
		name, name);
	return err_name(err, VOLUME_MISSING);
}

/* Opens @leaf of a volume. Fails as volume_find(). */
static int leaf_open(const char *name, const char *leaf, int flags,
		     struct err *err)
{
	SCOPED_FD dir = dir_open(err);
	SCOPED_STR path = str_printf("%s/%s", name, leaf);
	int fd;

	if (dir < 0)
		return dir;
	if (!path)
		return err_nomem(err);
	if (name_check_volume(name, err) < 0)
		return -EINVAL;
	fd = beneath_open(dir, path, flags);
	if (fd == -ENOENT)
		return missing(name, err);
	return fd < 0 ? err_set(err, fd, "the volume '%s' cannot be opened: %s",
				name, err_text(fd)) :
			fd;
}

/* Returns when it was made, 0 if its file does not tell. */
static int64_t created_at(const char *name)
{
	struct err ignored = { 0 };
	SCOPED_FD fd = leaf_open(name, ABOUT, O_RDONLY | O_NONBLOCK, &ignored);
	char text[ABOUT_MAX + 1];
	SCOPED_JSON v = NULL;
	uint64_t at = 0;
	ssize_t len = fd < 0 ? fd : fd_read_all(fd, text, ABOUT_MAX);

	if (len > 0 && jsonx_parse(text, (size_t)len, &v, &ignored) == 0)
		jsonx_u64(v, "created_at", 0, INT64_MAX, 0, &at, &ignored);
	return (int64_t)at;
}

int volume_find(const char *name, struct volume *ret, struct err *err)
{
	SCOPED_FD fd = leaf_open(name, DATA, O_PATH | O_DIRECTORY, err);

	if (fd < 0)
		return fd;
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	ret->created_at = created_at(name);
	return 0;
}

int volume_data_open(const char *name, uid_t *ret_uid, gid_t *ret_gid,
		     struct err *err)
{
	int fd = leaf_open(name, DATA, O_PATH | O_DIRECTORY, err);

	if (fd < 0)
		return fd;
	/* Not who owns data itself: root of a sandbox may change that. */
	*ret_uid = volumes.uid;
	*ret_gid = volumes.gid;
	return fd;
}

uint64_t volume_bytes(const char *name)
{
	SCOPED_STR path = str_printf("%s/%s/" DATA, volumes.dir, name);
	uint64_t bytes = UINT64_MAX;

	if (path)
		file_tree_size(path, &bytes);
	return bytes;
}

/* ---- changes ---- */

/* Refuses the name of a volume whose removal has failed halfway: the next start
 * finishes that, and would take the new one from its instances. */
static int check_taken(const char *name, struct err *err)
{
	SCOPED_STR path = str_printf("%s/" TAKEN "%s", volumes.dir, name);

	if (!path)
		return err_nomem(err);
	if (access(path, F_OK) < 0)
		return 0;
	return err_set(err, -EBUSY,
		       "the volume '%s' is not removed completely; `ac "
		       "restart` finishes that",
		       name);
}

/* Refuses a name that is in use: names that differ in case alone would be one
 * directory on some disks. */
static int check_new(const char *name, struct err *err)
{
	struct strv names = { 0 };
	int rc = name_check_volume(name, err);

	if (rc == 0 && strcmp(name, VOLUME_NO_USE) == 0)
		rc = err_set(err, -EINVAL,
			     "no volume can be called '" VOLUME_NO_USE
			     "': `--volume " VOLUME_NO_USE "` means no volume");
	if (rc == 0)
		rc = volumes_names(&names, err);
	for (size_t i = 0; rc == 0 && i < names.n; i++) {
		if (strcasecmp(names.v[i], name) == 0)
			rc = err_set(err, -EEXIST,
				     "there is a volume '%s' already%s",
				     names.v[i],
				     strcmp(names.v[i], name) == 0 ?
					     "" :
					     " (case does not count)");
	}
	if (rc == 0 && names.n >= VOLUMES_MAX)
		rc = err_set(err, -ENOSPC,
			     "there are %u volumes, and no more can be: `ac "
			     "volume rm` removes one",
			     VOLUMES_MAX);
	strv_done(&names);
	return rc == 0 ? check_taken(name, err) : rc;
}

/* Makes a directory below @dir, for the owner of the volumes. */
static int own_mkdir(int dir, const char *name)
{
	if (mkdirat(dir, name, 0700) < 0 ||
	    fchownat(dir, name, volumes.uid, volumes.gid, AT_SYMLINK_NOFOLLOW) <
		    0)
		return -errno;
	return 0;
}

static int about_write(int dir)
{
	SCOPED_FD fd = openat(dir, ABOUT,
			      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	char text[64];
	int len = snprintf(text, sizeof(text), "{\"created_at\": %lld}\n",
			   (long long)time(NULL));
	int rc;

	if (fd < 0)
		return -errno;
	rc = fd_write_all(fd, text, (size_t)len);
	if (rc == 0 &&
	    (fchown(fd, volumes.uid, volumes.gid) < 0 || fsync(fd) < 0))
		rc = -errno;
	return rc;
}

/* Fills the new directory @temp of @dir and gives it its name. */
static int make(int dir, const char *temp, const char *name)
{
	SCOPED_FD fd = -1;
	int rc = own_mkdir(dir, temp);

	if (rc < 0)
		return rc;
	fd = beneath_open(dir, temp, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd;
	rc = own_mkdir(fd, DATA);
	if (rc == 0)
		rc = about_write(fd);
	if (rc == 0 && (fsync(fd) < 0 ||
			renameat2(dir, temp, dir, name, RENAME_NOREPLACE) < 0))
		rc = -errno;
	if (rc == 0)
		fsync(dir);
	return rc;
}

int volume_create(const char *name, struct err *err)
{
	SCOPED_FD dir = -1;
	SCOPED_STR path = NULL;
	char temp[32];
	int rc = check_new(name, err);

	if (rc < 0)
		return rc;
	dir = dir_open(err);
	if (dir < 0)
		return dir;
	rc = name_random(NEW, temp);
	if (rc == 0)
		rc = make(dir, temp, name);
	if (rc == 0)
		return 0;
	path = str_printf("%s/%s", volumes.dir, temp);
	if (path)
		file_remove_tree(path);
	return err_set(err, rc, "the volume '%s' cannot be made: %s", name,
		       err_text(rc));
}

/* Renames @from to @to, of which there must be none, for good. */
static int move(const char *from, const char *to)
{
	struct err ignored = { 0 };
	SCOPED_FD dir = dir_open(&ignored);

	if (dir < 0)
		return dir;
	if (renameat2(dir, from, dir, to, RENAME_NOREPLACE) < 0)
		return -errno;
	fsync(dir);
	return 0;
}

static int move_failed(int rc, const char *name, struct err *err)
{
	return err_set(err, rc, "the volume '%s' cannot be removed: %s", name,
		       err_text(rc));
}

int volume_take(const char *name, struct err *err)
{
	SCOPED_STR taken = str_printf(TAKEN "%s", name);
	struct volume v;
	int rc = volume_find(name, &v, err);

	if (rc < 0)
		return rc;
	if (!taken)
		return err_nomem(err);
	rc = move(name, taken);
	return rc < 0 ? move_failed(rc, name, err) : 0;
}

int volume_take_undo(const char *name)
{
	SCOPED_STR taken = str_printf(TAKEN "%s", name);

	return taken ? move(taken, name) : -ENOMEM;
}

int volume_drop(const char *name, char **ret, struct err *err)
{
	SCOPED_STR taken = str_printf(TAKEN "%s", name);
	char gone[32];
	int rc = name_random(GONE, gone);
	SCOPED_STR path = rc == 0 ? str_printf("%s/%s", volumes.dir, gone) :
				    NULL;

	if (rc == 0 && (!taken || !path))
		return err_nomem(err);
	if (rc == 0)
		rc = move(taken, gone);
	if (rc < 0)
		return move_failed(rc, name, err);
	*ret = path;
	path = NULL;
	return 0;
}

int volumes_taken(struct strv *ret)
{
	SCOPED_DIR dir = opendir(volumes.dir);
	const struct dirent *d;

	while (dir && (d = readdir(dir))) {
		if (str_starts(d->d_name, TAKEN) &&
		    strv_push(ret, d->d_name + strlen(TAKEN)) < 0)
			return -ENOMEM;
	}
	return dir ? 0 : -errno;
}

/* ---- the beginning and the end ---- */

static void on_swept(void *arg, const struct err *err)
{
	(void)arg;
	if (err)
		log_warn("volumes: what was left could not be removed: %s",
			 err->msg);
}

/* What is removed is not to be waited for: it may be large. */
void volumes_sweep(struct loop *loop)
{
	SCOPED_DIR dir = opendir(volumes.dir);
	struct strv paths = { 0 };
	struct treejob *job;
	struct err err = { 0 };
	const struct dirent *d;

	while (dir && (d = readdir(dir))) {
		if (!str_starts(d->d_name, NEW) && !str_starts(d->d_name, GONE))
			continue;
		if (strv_pushf(&paths, "%s/%s", volumes.dir, d->d_name) < 0)
			break; /* the next acd removes it */
	}
	if (paths.n > 0 && treejob_start(loop, (const char *const *)paths.v,
					 on_swept, NULL, &job, &err) < 0)
		log_warn("volumes: %s", err.msg);
	strv_done(&paths);
}

int volumes_open(const char *dir, uid_t uid, gid_t gid, struct err *err)
{
	int rc = file_mkdir_for(dir, uid, gid);

	if (rc < 0)
		return err_set(err, rc, "make %s: %s", dir, err_text(rc));
	snprintf(volumes.dir, sizeof(volumes.dir), "%s", dir);
	volumes.uid = uid;
	volumes.gid = gid;
	return 0;
}

void volumes_close(void)
{
	volumes.dir[0] = '\0';
}
