/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mounts.c - the mounts at /workspace and /home/node of a sandbox
 *
 * The place of a directory on the user's machine is never used: only the
 * descriptor that was sent for it counts.
 */
#include "control/acd/storage/mounts.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "control/acd/storage/blocked.h"
#include "control/acd/storage/idmap.h"
#include "control/acd/storage/layer.h"
#include "control/acd/storage/mount_sock.h"
#include "control/acd/storage/volumes.h"
#include "control/shared/names.h"
#include "control/shared/paths.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/str.h"

/* A directory that was sent and waits for its run, or is in use by one. */
struct external {
	struct external *next;
	char name[AC_NAME_MAX + 1];
	char to[NAME_MOUNT_MAX + 1]; /* of a blueprint's mount; "": the
				      * workspace */
	int fd; /* -1 when mounted */
	bool ro;
};

static struct {
	char state[256], run[256];
	char covers[256 + 8]; /* files that cover blocked paths */
	struct external *externals;
	unsigned n_externals;
	char idmap_problem[192];
} mounts;

static struct external *external_find(const char *name, const char *to)
{
	struct external *x = mounts.externals;

	while (x && (strcmp(x->name, name) != 0 || strcmp(x->to, to) != 0))
		x = x->next;
	return x;
}

static void external_drop(const struct external *x)
{
	struct external **at = &mounts.externals;

	while (*at && *at != x)
		at = &(*at)->next;
	if (*at) {
		struct external *gone = *at;

		*at = gone->next;
		mounts.n_externals--;
		if (gone->fd >= 0)
			close(gone->fd);
		free(gone);
	}
}

/* Takes ownership of @fd, also on failure. */
static int external_add(const char *name, const char *to, int fd, bool ro,
			struct err *err)
{
	struct external *x;

	external_drop(external_find(name, to));
	x = mounts.n_externals < MOUNTS_EXTERNAL_MAX ? calloc(1, sizeof(*x)) :
						       NULL;
	if (!x) {
		close(fd);
		return err_set(err, -ENOSPC,
			       "too many directories wait for their runs");
	}
	snprintf(x->name, sizeof(x->name), "%s", name);
	snprintf(x->to, sizeof(x->to), "%s", to);
	x->fd = fd;
	x->ro = ro;
	x->next = mounts.externals;
	mounts.externals = x;
	mounts.n_externals++;
	return 0;
}

static void unmount(const char *path)
{
	while (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
		;
}

/* Calls @fn for each instance with a folder below mounts.run. */
static void run_each(void (*fn)(const char *name))
{
	SCOPED_DIR dir = opendir(mounts.run);
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (name_check_instance(d->d_name, NULL) == 0)
			fn(d->d_name);
}

/* Tries a mapping on the file system of the instances. */
static void idmap_probe(uint32_t uid, uint32_t gid)
{
	SCOPED_FD fd = idmap_open(mounts.state);
	int rc;

	mounts.idmap_problem[0] = '\0';
	if (fd < 0) {
		snprintf(mounts.idmap_problem, sizeof(mounts.idmap_problem),
			 "detached mounts do not work here: %s", err_text(fd));
		return;
	}
	rc = idmap_apply(fd, uid, gid, false);
	if (rc != 0)
		snprintf(mounts.idmap_problem, sizeof(mounts.idmap_problem),
			 "this kernel or the file system of $AC_HOME has no "
			 "identity-mapped mounts: files that agents make "
			 "belong to uid %u outside",
			 AC_AGENT_UID);
}

int mounts_init(struct loop *loop, const char *sock_path, uint32_t uid,
		uint32_t gid, const char *state, const char *run,
		struct err *err)
{
	int rc;

	snprintf(mounts.state, sizeof(mounts.state), "%s", state);
	snprintf(mounts.run, sizeof(mounts.run), "%s", run);
	/* No instance's name begins with a dot. */
	snprintf(mounts.covers, sizeof(mounts.covers), "%s/.cover", run);
	run_each(mounts_release);
	rc = blocked_prepare(mounts.covers);
	if (rc < 0)
		return err_set(err, rc, "make %s: %s", mounts.covers,
			       err_text(rc));
	idmap_probe(uid, gid);
	if (mounts.idmap_problem[0])
		log_warn("%s", mounts.idmap_problem);
	return sock_path ? mount_sock_open(loop, sock_path, uid, gid,
					   external_add, err) :
			   0;
}

void mounts_done(void)
{
	if (mounts.run[0])
		run_each(mounts_release);
	while (mounts.externals)
		external_drop(mounts.externals);
	mount_sock_close();
	mounts.run[0] = '\0';
	idmap_done();
}

static void release_one(const char *name, const char *leaf)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s/%s", mounts.run, name, leaf);
	unmount(path);
	rmdir(path);
}

void mounts_disk_path(const char *name, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/%s/disk", mounts.run, name);
}

void mounts_home_path(const char *name, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/%s/home", mounts.run, name);
}

void mounts_skills_path(const char *name, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/%s/skills", mounts.run, name);
}

void mounts_mnt_path(const char *name, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/%s/mnt", mounts.run, name);
}

void mounts_extra_path(const char *name, const char *to, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/%s/mounts%s", mounts.run, name,
		 to + strlen(AC_MNT));
}

/* Undoes what is in the folder @leaf of @name, and removes it. */
static void release_all(const char *name, const char *leaf)
{
	char path[PATH_MAX];
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s/%s", mounts.run, name, leaf);
	dir = opendir(path);
	for (struct dirent *d; dir && (d = readdir(dir));) {
		char below[NAME_MAX + 16];
		int n = snprintf(below, sizeof(below), "%s/%s", leaf,
				 d->d_name);

		if (d->d_name[0] != '.' && n > 0 && (size_t)n < sizeof(below))
			release_one(name, below);
	}
	if (dir)
		closedir(dir);
	rmdir(path);
}

void mounts_release(const char *name)
{
	struct external *x = mounts.externals, *next;
	char path[PATH_MAX];

	for (; x; x = next) {
		next = x->next;
		if (strcmp(x->name, name) == 0)
			external_drop(x);
	}
	release_all(name, "mounts");
	release_all(name, "mnt");
	release_one(name, "workspace");
	/* After the overlay of both. */
	release_one(name, "below");
	release_one(name, "layer");
	release_one(name, "home");
	release_one(name, "disk");
	snprintf(path, sizeof(path), "%s/%s", mounts.run, name);
	rmdir(path);
}

void mounts_place(const char *name, char out[PATH_MAX])
{
	snprintf(out, PATH_MAX, "%s/%s", mounts.run, name);
}

int mounts_rename(const char *name, const char *to)
{
	char from[PATH_MAX], path[PATH_MAX];

	mounts_release(to);
	mounts_place(name, from);
	mounts_place(to, path);
	/* Mounts below a directory move with it. */
	return rename(from, path) < 0 ? -errno : 0;
}

/* Mounts @fd (borrowed), whose files are @uid's and @gid's outside, at
 * <run>/<name>/<leaf>, whose path goes to @out. */
static int mount_as(int fd, const struct mounts_spec *spec, const char *leaf,
		    uint32_t uid, uint32_t gid, bool ro, char *out,
		    struct err *err)
{
	int rc;

	snprintf(out, PATH_MAX, "%s/%s/%s", mounts.run, spec->name, leaf);
	rc = file_mkdir_p(out, 0700);
	if (rc < 0)
		return err_set(err, rc, "mkdir %s: %s", out, err_text(rc));
	unmount(out);
	rc = idmap_apply(fd, uid, gid, ro);
	if (rc > 0)
		log_warn("%s of %s: file owners are not mapped", leaf,
			 spec->name);
	if (rc >= 0)
		rc = idmap_attach(fd, out);
	if (rc < 0)
		return err_set(err, rc, "mount the %s of %s: %s", leaf,
			       spec->name, err_text(rc));
	return 0;
}

/* The same for files of the instance's owner. */
static int mount_at(int fd, const struct mounts_spec *spec, const char *leaf,
		    bool ro, char *out, struct err *err)
{
	return mount_as(fd, spec, leaf, spec->host_uid, spec->host_gid, ro, out,
			err);
}

/* Returns where the instance's own directory @leaf is; the caller frees it. */
static char *own_path(const struct mounts_spec *spec, const char *leaf)
{
	return spec->disk ?
		       str_printf("%s/%s/disk/%s", mounts.run, spec->name,
				  leaf) :
		       str_printf("%s/%s/%s", mounts.state, spec->name, leaf);
}

static int mount_own(const struct mounts_spec *spec, const char *leaf, bool ro,
		     char *out, struct err *err)
{
	SCOPED_STR path = own_path(spec, leaf);
	SCOPED_FD fd = -1;

	if (!path)
		return err_nomem(err);
	fd = idmap_open(path);
	if (fd < 0)
		return err_set(err, fd, "open %s: %s", path, err_text(fd));
	return mount_at(fd, spec, leaf, ro, out, err);
}

/* Mounts the overlay of the directory @fd and the instance's layer, which needs a
 * mount of its own for each: the mapping of owners is one of mounts. */
static int mount_copy(const struct mounts_spec *spec, int fd,
		      const struct stat *st, char *out, struct err *err)
{
	char below[PATH_MAX], layer[PATH_MAX];
	SCOPED_STR own = NULL;
	int rc = mount_at(fd, spec, "below", true, below, err);

	if (rc == 0)
		rc = mount_own(spec, "layer", false, layer, err);
	if (rc < 0)
		return rc;
	snprintf(out, PATH_MAX, "%s/%s/workspace", mounts.run, spec->name);
	own = own_path(spec, "layer");
	rc = own ? layer_make(own, st) : -ENOMEM;
	if (rc == 0)
		rc = file_mkdir_p(out, 0700);
	if (rc < 0)
		return err_set(err, rc, "make the layer of %s: %s", spec->name,
			       err_text(rc));
	unmount(out);
	return layer_mount(below, layer, out, err);
}

/* Returns when the directory was made, 0 if that is not known. */
static int64_t born_ns(int fd)
{
	struct statx sx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &sx) < 0 ||
	    !(sx.stx_mask & STATX_BTIME))
		return 0;
	return (int64_t)sx.stx_btime.tv_sec * 1000000000 + sx.stx_btime.tv_nsec;
}

static int mount_external(const struct mounts_spec *spec,
			  struct mounts_paths *ret, struct err *err)
{
	struct external *x = external_find(spec->name, "");
	struct stat st;
	int rc;

	if (!x || x->fd < 0)
		return err_set(err, -ENOENT,
			       "the workspace directory was not sent");
	if (fstat(x->fd, &st) < 0)
		return err_sys(err, "the workspace directory");
	ret->workspace_dev = st.st_dev;
	ret->workspace_ino = st.st_ino;
	ret->workspace_born_ns = born_ns(x->fd);
	rc = spec->copy ?
		     mount_copy(spec, x->fd, &st, ret->workspace, err) :
		     mount_at(x->fd, spec, "workspace",
			      spec->workspace_ro || x->ro, ret->workspace, err);
	if (rc == 0)
		fd_closep(&x->fd); /* the mount keeps it alive */
	return rc;
}

static int mount_dir(const struct mounts_spec *spec, struct mounts_extra *e,
		     const char *leaf, char *out, struct err *err)
{
	struct external *x = external_find(spec->name, e->to);
	struct stat st;
	int rc;

	if (!x || x->fd < 0)
		return err_set(err, -ENOENT,
			       "the directory for %s was not sent", e->to);
	if (fstat(x->fd, &st) < 0)
		return err_sys(err, "the directory for %s", e->to);
	e->dev = st.st_dev;
	e->ino = st.st_ino;
	rc = mount_at(x->fd, spec, leaf, e->ro || x->ro, out, err);
	if (rc == 0)
		fd_closep(&x->fd);
	return rc;
}

static int mount_volume(const struct mounts_spec *spec,
			const struct mounts_extra *e, const char *leaf,
			char *out, struct err *err)
{
	uid_t uid;
	gid_t gid;
	SCOPED_FD data = volume_data_open(e->volume, &uid, &gid, err);
	SCOPED_FD fd = -1;

	if (data < 0)
		return data;
	fd = idmap_open_at(data);
	if (fd < 0)
		return err_set(err, fd, "mount the volume '%s': %s", e->volume,
			       err_text(fd));
	return mount_as(fd, spec, leaf, uid, gid, e->ro, out, err);
}

static int mount_extra(const struct mounts_spec *spec, struct mounts_extra *e,
		       struct err *err)
{
	SCOPED_STR leaf = str_printf("mounts%s", e->to + strlen(AC_MNT));
	SCOPED_STR place = str_printf("%s/%s%s", mounts.run, spec->name, e->to);
	char path[PATH_MAX];
	int rc;

	if (!leaf || !place)
		return err_nomem(err);
	rc = file_mkdir_p(place, 0755);
	if (rc < 0)
		return err_set(err, rc, "mkdir %s: %s", place, err_text(rc));
	return e->volume ? mount_volume(spec, e, leaf, path, err) :
			   mount_dir(spec, e, leaf, path, err);
}

int mounts_prepare(const struct mounts_spec *spec, struct mounts_paths *ret,
		   struct err *err)
{
	int rc;

	*ret = (struct mounts_paths){ 0 };
	if (spec->external)
		rc = mount_external(spec, ret, err);
	else
		rc = mount_own(spec, "workspace", spec->workspace_ro,
			       ret->workspace, err);
	if (rc == 0 && spec->blocked)
		rc = blocked_cover(ret->workspace, mounts.covers, spec->blocked,
				   err);
	if (rc == 0)
		rc = mount_own(spec, "home", false, ret->home, err);
	for (size_t i = 0; rc == 0 && i < spec->n_extras; i++)
		rc = mount_extra(spec, &spec->extras[i], err);
	if (rc < 0)
		mounts_release(spec->name);
	return rc;
}

char *mounts_uncovered(const char *name, const struct strv *blocked)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s/workspace", mounts.run, name);
	return blocked_missing(path, blocked);
}

bool mounts_has_extra(const char *name, const char *to)
{
	const struct external *x = external_find(name, to);

	return x && x->fd >= 0;
}

void mounts_forget_extras(const char *name)
{
	struct external *x = mounts.externals, *next;

	for (; x; x = next) {
		next = x->next;
		if (x->to[0] && x->fd >= 0 && strcmp(x->name, name) == 0)
			external_drop(x);
	}
}

bool mounts_has_external(const char *name)
{
	const struct external *x = external_find(name, "");

	return x && x->fd >= 0;
}

void mounts_forget_external(const char *name)
{
	if (mounts_has_external(name))
		external_drop(external_find(name, ""));
}

void mounts_keep_external(const char *name, dev_t dev, ino_t ino)
{
	const struct external *x = external_find(name, "");
	struct stat st;

	if (x && x->fd >= 0 &&
	    (fstat(x->fd, &st) < 0 || st.st_dev != dev || st.st_ino != ino))
		external_drop(x);
}

const char *mounts_idmap_problem(void)
{
	return mounts.idmap_problem[0] ? mounts.idmap_problem : NULL;
}
