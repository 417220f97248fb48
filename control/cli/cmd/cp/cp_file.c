/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cp_file.c - one regular file into or out of a running sandbox
 *
 * Uses acd's file API, which needs no shell and no tar in the image and costs a
 * fraction of starting them. Both sides see the whole file or none: it is
 * written under another name and renamed at the end. A pipe or a device on this
 * side is written to directly.
 *
 * What acd says about a file in the sandbox comes from the agent. It never
 * becomes a name here, and of the mode only permission bits are used.
 */
#include "control/cli/cmd/cp/cp_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "control/cli/cmd/cp/cp.h"
#include "control/cli/wire/http_client.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/str.h"

#define MODE_TAKEN 0777u
#define HOLE_BLOCK 4096
#define UMASK_THERE 022u /* as for any copy into a sandbox */

/* Returns the URL of a file in the sandbox; the caller frees it. NULL: out of
 * memory. */
static char *files_path(const struct cp_file *f, const char *path,
			const char *rest)
{
	SCOPED_STR query = client_path("/files?path=", path, rest);

	return query ? client_path("/v1/instances/", f->name, query) : NULL;
}

/* Returns the type of @path in the sandbox: "" if nothing is there, NULL if acd
 * could not tell (see not_told()). The caller frees *ret. */
static const char *type_there(const struct cp_file *f, const char *path,
			      const char *how, json_t **ret, struct err *err)
{
	SCOPED_STR url = files_path(f, path, how);

	if (url && client_call(f->client, "GET", url, NULL, ret, err) == 0)
		return json_text(*ret, "type");
	return client_error(f->client)->status == 404 &&
			       strcmp(client_error(f->client)->code,
				      "not_found") == 0 ?
		       "" :
		       NULL;
}

/* Returns CP_FILE_NOT, or @why if the sandbox gave no valid answer: then a tar
 * stream would fail as well. */
static int not_told(const struct cp_file *f, const struct err *why,
		    struct err *err)
{
	if (client_error(f->client)->status != 502)
		return CP_FILE_NOT;
	*err = *why;
	return why->code;
}

/* ---- in ---- */

/* Tells a missing instance from a missing file: acd has one code for both. */
static int put_missing(const struct cp_file *f, const char *path,
		       struct err *err)
{
	SCOPED_STR url = client_path("/v1/instances/", f->name, "");
	SCOPED_JSON rec = NULL;
	struct err why = { 0 };

	if (url && client_call(f->client, "GET", url, NULL, &rec, &why) < 0 &&
	    client_error(f->client)->status == 404) {
		*err = why;
		return why.code;
	}
	return cp_there_error(CP_THERE_ENOENT, f->name, path, err);
}

static int put_error(const struct cp_file *f, const char *path, struct err *err)
{
	const char *code = client_error(f->client)->code;

	if (strcmp(code, "not_found") == 0)
		return put_missing(f, path, err);
	if (strcmp(code, "denied") == 0)
		return cp_there_error(CP_THERE_EACCES, f->name, path, err);
	if (strcmp(code, "not_directory") == 0)
		return cp_there_error(CP_THERE_ENOTDIR, f->name, path, err);
	return err->code;
}

static int put(const struct cp_file *f, int fd, const struct stat *st,
	       const char *path, struct err *err)
{
	const struct http_file file = {
		.fd = fd,
		.len = (uint64_t)st->st_size,
		.sent = f->moved,
		.arg = f->arg,
	};
	SCOPED_STR how =
		str_printf("&mode=%03o&mtime=%lld",
			   st->st_mode & MODE_TAKEN & ~UMASK_THERE,
			   st->st_mtime > 0 ? (long long)st->st_mtime : 0);
	SCOPED_STR url = how ? files_path(f, path, how) : NULL;
	int rc;

	if (!url)
		return err_nomem(err);
	rc = client_put(f->client, url, &file, NULL, err);
	return rc < 0 ? put_error(f, path, err) : 0;
}

/* Gives a file of size 0 a size. It may have content, as in /proc: it is read
 * to its end, and *fd becomes a copy in memory. */
static int give_size(const char *src, int *fd, struct stat *st, struct err *err)
{
	SCOPED_FD copy = -1;
	char block[65536];
	ssize_t n;
	int rc;

	if (st->st_size > 0)
		return 0;
	copy = memfd_create("ac-cp", MFD_CLOEXEC);
	if (copy < 0)
		return err_sys(err, "%s", src);
	while ((n = read(*fd, block, sizeof(block))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, "%s", src);
		rc = fd_write_all(copy, block, (size_t)n);
		if (rc < 0)
			return err_set(err, rc, "%s: %s", src, err_text(rc));
		st->st_size += n;
	}
	if (lseek(copy, 0, SEEK_SET) < 0)
		return err_sys(err, "%s", src);
	fd_closep(fd);
	*fd = fd_take(&copy);
	return 0;
}

int cp_file_in(const struct cp_file *f, const char *src, const char *dst,
	       const char *base, struct err *err)
{
	SCOPED_FD fd =
		open(src, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	SCOPED_JSON there = NULL;
	SCOPED_STR inside = NULL;
	struct err why = { 0 };
	const char *type;
	struct stat st;
	int rc;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    str_ends(dst, "/"))
		return CP_FILE_NOT;
	type = type_there(f, dst, "&stat=1&follow=1", &there, &why);
	if (!type)
		return not_told(f, &why, err);
	if (strcmp(type, "directory") == 0) {
		inside = str_printf("%s/%s", dst, base);
		if (!inside)
			return err_nomem(err);
		dst = inside;
	} else if (*type && strcmp(type, "file") != 0) {
		return CP_FILE_NOT;
	}
	rc = give_size(src, &fd, &st, err);
	return rc < 0 ? rc : put(f, fd, &st, dst, err);
}

/* ---- out ---- */

struct incoming {
	const struct cp_file *f;
	struct err *err;
	int fd;
	bool holes; /* a new file: bytes not written are zero */
	off_t at; /* position, if @holes */
};

/* Returns how many bytes at the start of @data belong to blocks of the same
 * sort: all zero (*ret_zero is true) or not. */
static size_t run_length(off_t at, const char *data, size_t len, bool *ret_zero)
{
	static const char zeros[HOLE_BLOCK];
	size_t done = 0;

	while (done < len) {
		size_t n =
			HOLE_BLOCK - (size_t)((at + (off_t)done) % HOLE_BLOCK);
		bool zero;

		if (n > len - done)
			n = len - done;
		zero = memcmp(data + done, zeros, n) == 0;
		if (done == 0)
			*ret_zero = zero;
		else if (zero != *ret_zero)
			break;
		done += n;
	}
	return done;
}

/* Writes @data without blocks of zeros. A sandbox can claim terabytes of zeros
 * at no cost; they must not use disk space here. */
static int write_with_holes(struct incoming *in, const char *data, size_t len)
{
	while (len > 0) {
		bool zero = false;
		size_t n = run_length(in->at, data, len, &zero);
		int rc = 0;

		if (!zero && lseek(in->fd, in->at, SEEK_SET) < 0)
			rc = -errno;
		if (!zero && rc == 0)
			rc = fd_write_all(in->fd, data, n);
		if (rc < 0)
			return rc;
		in->at += (off_t)n;
		data += n;
		len -= n;
	}
	return 0;
}

static int take(void *arg, const char *data, size_t len)
{
	struct incoming *in = arg;
	int rc = in->holes ? write_with_holes(in, data, len) :
			     fd_write_all(in->fd, data, len);

	if (rc < 0)
		return err_set(in->err, rc, "cannot write it here: %s",
			       err_text(rc));
	if (in->f->moved)
		in->f->moved(in->f->arg, len);
	return 0;
}

/* Writes @src to @fd. If @holes, @fd is a new, empty file. */
static int get(const struct cp_file *f, const char *src, int fd, bool holes,
	       struct err *err)
{
	struct incoming in = { .f = f, .err = err, .fd = fd, .holes = holes };
	SCOPED_STR url = files_path(f, src, "");
	int rc;

	if (!url)
		return err_nomem(err);
	rc = client_stream(f->client, "GET", url, NULL, take, &in, err);
	/* The file may end in a hole. */
	if (rc >= 0 && holes && ftruncate(fd, in.at) < 0)
		return err_sys(err, "cannot write it here");
	return rc;
}

/* Sets mode, under our umask, and time as tar would. */
static int dress(int fd, const json_t *there)
{
	const uint64_t mode =
		(uint64_t)json_integer_value(json_object_get(there, "mode"));
	const struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = (time_t)json_integer_value(
			  json_object_get(there, "mtime")) },
	};
	mode_t mask = umask(0);

	umask(mask);
	if (fchmod(fd, (mode_t)mode & MODE_TAKEN & ~mask) < 0 ||
	    futimens(fd, times) < 0)
		return -errno;
	return 0;
}

/* Writes to a pipe or a device; blocks until a pipe has a reader, as cp(1)
 * does. */
static int write_into(const struct cp_file *f, const char *src,
		      const struct cp_dest *dest, struct err *err)
{
	SCOPED_FD fd = openat(dest->dir, dest->name,
			      O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(err, "%s", dest->shown);
	return get(f, src, fd, false, err);
}

/*
 * Names the unnamed file @fd. linkat() replaces nothing, so a rename follows.
 */
static int name_give(int fd, const struct cp_dest *dest, const char *temp)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, self, dest->dir, temp, AT_SYMLINK_FOLLOW) < 0 ?
		       -errno :
		       0;
}

static int put_in_place(const struct cp_file *f, const char *src,
			const json_t *there, const struct cp_dest *dest,
			struct err *err)
{
	char temp[CP_DEST_TEMP];
	bool named = false;
	SCOPED_FD fd = -1;
	int rc = cp_dest_temp(temp);

	if (rc < 0)
		return err_set(err, rc, "a random name: %s", err_text(rc));
	/* An unnamed file disappears if we are killed; not every file system
	 * has them. */
	fd = openat(dest->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0) {
		named = true;
		fd = openat(dest->dir, temp,
			    O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	}
	if (fd < 0)
		return err_sys(err, "%s", dest->shown);
	rc = get(f, src, fd, true, err);
	if (rc == 0) {
		rc = dress(fd, there);
		if (rc == 0 && !named)
			rc = name_give(fd, dest, temp);
		named = named || rc == 0;
		if (rc == 0 &&
		    renameat(dest->dir, temp, dest->dir, dest->name) < 0)
			rc = -errno;
		if (rc < 0)
			err_set(err, rc, "%s: %s", dest->shown, err_text(rc));
	}
	if (rc < 0 && named)
		unlinkat(dest->dir, temp, 0);
	return rc;
}

int cp_file_out(const struct cp_file *f, const char *src,
		const struct cp_dest *dest, struct err *err)
{
	SCOPED_JSON there = NULL;
	struct err why = { 0 };
	const char *type = type_there(f, src, "&stat=1", &there, &why);
	int rc;

	if (!type)
		return not_told(f, &why, err);
	if (strcmp(type, "file") != 0)
		return CP_FILE_NOT;
	rc = cp_dest_kind(dest, err);
	if (rc == CP_DEST_PLACE)
		return put_in_place(f, src, there, dest, err);
	return rc < 0 ? rc : write_into(f, src, dest, err);
}
