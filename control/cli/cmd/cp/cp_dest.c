/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cp_dest.c - the destination of a copy out of a sandbox
 */
#include "control/cli/cmd/cp/cp_dest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/file.h"
#include "lib/str.h"

#define DIR_FLAGS (O_PATH | O_DIRECTORY | O_CLOEXEC)

int cp_base_name(const char *path, char *ret, size_t size)
{
	size_t len = strlen(path), from;

	while (len > 0 && path[len - 1] == '/')
		len--;
	for (from = len; from > 0 && path[from - 1] != '/'; from--)
		;
	len -= from;
	if (len == 0 || len >= size)
		return -EINVAL;
	memcpy(ret, path + from, len);
	ret[len] = '\0';
	return strcmp(ret, ".") == 0 || strcmp(ret, "..") == 0 ? -EINVAL : 0;
}

/* Opens the parent of @path, which is not a directory. */
static int parent_open(const char *path, struct cp_dest *ret, struct err *err)
{
	const char *slash = strrchr(path, '/');
	SCOPED_STR parent =
		slash ? str_printf("%.*s", (int)(slash - path) + 1, path) :
			str_printf(".");

	ret->shown = str_printf("%s", path);
	if (!parent || !ret->shown)
		return err_nomem(err);
	if ((slash && slash[1] == '\0') ||
	    cp_base_name(path, ret->name, sizeof(ret->name)) < 0)
		return err_set(err, -EINVAL, "%s: no directory is there", path);
	ret->dir = open(parent, DIR_FLAGS);
	return ret->dir < 0 ? err_sys(err, "%s", path) : 0;
}

int cp_dest_open(const char *path, const char *base, struct cp_dest *ret,
		 struct err *err)
{
	*ret = (struct cp_dest)CP_DEST_INIT;
	ret->dir = open(path, DIR_FLAGS);
	if (ret->dir < 0)
		return parent_open(path, ret, err);
	ret->shown = str_printf("%s/%s", path, base);
	if (!ret->shown)
		return err_nomem(err);
	if (strlen(base) >= sizeof(ret->name))
		return err_set(err, -EINVAL, "%s: the name is too long", base);
	snprintf(ret->name, sizeof(ret->name), "%s", base);
	return 0;
}

void cp_dest_done(struct cp_dest *dest)
{
	fd_closep(&dest->dir);
	free(dest->shown);
	dest->shown = NULL;
}

int cp_dest_kind(const struct cp_dest *dest, struct err *err)
{
	struct stat st;

	if (fstatat(dest->dir, dest->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? CP_DEST_PLACE :
					 err_sys(err, "%s", dest->shown);
	if (S_ISLNK(st.st_mode))
		return err_set(err, -ELOOP,
			       "%s is a symbolic link; name what it points to",
			       dest->shown);
	return S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) ? CP_DEST_PLACE :
							    CP_DEST_WRITE;
}

int cp_dest_temp(char ret[CP_DEST_TEMP])
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -errno;
	snprintf(ret, CP_DEST_TEMP, ".ac-cp.%016" PRIx64, number);
	return 0;
}
