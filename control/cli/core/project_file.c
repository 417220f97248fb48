/* SPDX-License-Identifier: Apache-2.0 */
/*
 * project_file.c - reads the blueprint that a directory brings along
 *
 * The directory's content is hostile: a repository may have links in it, and an
 * agent may change it at any time, put a FIFO in the file's place, or let it
 * grow while it is read.
 */
#include "control/cli/core/project_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/beneath.h"
#include "lib/file.h"

#define GO_ON "; --no-project goes on without it"

/* Returns a descriptor or a negative errno. A FIFO does not block. */
static int open_below(int dir)
{
	return beneath_open_how(dir, PROJECT_FILE,
				O_RDONLY | O_NONBLOCK | O_NOCTTY, 0,
				BENEATH_MOUNTS);
}

static int check_kind(int fd, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(err, PROJECT_FILE);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL,
			       PROJECT_FILE " is not a regular file" GO_ON);
	return 0;
}

static int read_once(int fd, char *text, size_t *ret_len, struct err *err)
{
	ssize_t n = fd_read_all(fd, text, PROJECT_FILE_MAX);

	if (n == -EMSGSIZE)
		return err_set(err, -EFBIG,
			       PROJECT_FILE
			       " has more than %u KiB, which no blueprint "
			       "has" GO_ON,
			       PROJECT_FILE_MAX / 1024);
	if (n < 0)
		return err_set(err, (int)n, PROJECT_FILE ": %s",
			       err_text((int)n));
	if (memchr(text, '\0', (size_t)n))
		return err_set(err, -EINVAL,
			       PROJECT_FILE " has a NUL in it" GO_ON);
	text[n] = '\0';
	*ret_len = (size_t)n;
	return 0;
}

int project_file_read(int dir, char **ret, size_t *ret_len, struct err *err)
{
	SCOPED_FD fd = open_below(dir);
	SCOPED_STR text = NULL;
	int rc;

	if (fd == -ENOENT || fd == -ENOTDIR)
		return -ENOENT;
	if (fd == -ELOOP || fd == -EXDEV)
		return err_set(err, -ELOOP,
			       PROJECT_FILE
			       " is a link, or below one: it must be a file of "
			       "the project itself" GO_ON);
	if (fd < 0)
		return err_set(err, fd, PROJECT_FILE ": %s" GO_ON,
			       err_text(fd));
	text = malloc(PROJECT_FILE_MAX + 1);
	if (!text)
		return err_nomem(err);
	rc = check_kind(fd, err);
	if (rc == 0)
		rc = read_once(fd, text, ret_len, err);
	if (rc == 0)
		*ret = ptr_take(&text);
	return rc;
}
