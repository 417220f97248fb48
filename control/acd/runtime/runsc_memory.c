/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_memory.c - the files of a sandbox's memory, for others that go on from it
 *
 * gVisor refuses a memory that another version of it has written, and one of a
 * sandbox with other mounts. It does not know the image, nor the programs of ours
 * in it: that the files of the root are the same, of which a memory has parts, is
 * checked here.
 */
#include "control/acd/runtime/runsc_impl.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "lib/buf.h"
#include "lib/file.h"
#include "lib/str.h"

#define IMAGE_FILE "image" /* beside gVisor's, whose names end in ".img" */
#define IMAGE_MAX 256u
#define PAGES_FILE "pages.img"

/* Returns what the files of the root are, a new text. */
static char *files_id(const struct layers_image *img)
{
	const char *build = getenv("AC_BUILD_ID");

	return str_printf("%s %s", layers_id(img), build ? build : "");
}

static int image_write(const char *dir, const struct layers_image *img)
{
	SCOPED_STR path = str_printf("%s/" IMAGE_FILE, dir);
	SCOPED_STR id = files_id(img);

	return path && id ? file_replace(path, id, strlen(id), 0600) : -ENOMEM;
}

/* Looks at what is in the sandbox's end of the link, and leaves it there. */
static int unread_look(int fd, struct buf *ret)
{
	int there = 0;
	uint8_t *at;
	ssize_t n;

	if (ioctl(fd, FIONREAD, &there) < 0)
		return -errno;
	if (there <= 0)
		return 0;
	at = buf_reserve(ret, (size_t)there);
	if (!at)
		return -ENOBUFS;
	n = recv(fd, at, (size_t)there, MSG_PEEK | MSG_DONTWAIT);
	if (n != there)
		return n < 0 ? -errno : -EIO;
	buf_commit(ret, (size_t)n);
	return 0;
}

int runsc_op_memory_keep(struct runtime *rt, const char *id, const char *dir,
			 struct buf *unread, struct err *err)
{
	const struct box *b = runsc_is_ours(id) ? box_find(runsc_of(rt), id) :
						  NULL;
	const char *files = b ? sleep_files(b) : NULL;
	int rc = 0;

	if (!b || (!files && !hold_is(b)))
		return err_set(err, -EAGAIN, "its memory was not written");
	if (access(b->paths.upper, F_OK) == 0)
		return err_set(err, -ENOTSUP,
			       "what it has written over the files of its "
			       "image (root_rw) cannot be copied");
	if (files)
		rc = file_link_all(files, dir);
	if (rc == 0)
		rc = image_write(dir, b->image);
	if (rc == 0)
		rc = unread_look(b->theirs[0], unread);
	return rc < 0 ? err_set(err, rc, "keep its memory in %s: %s", dir,
				err_text(rc)) :
			0;
}

int runsc_memory_check(const char *dir, const struct layers_image *img,
		       struct err *err)
{
	SCOPED_STR path = str_printf("%s/" IMAGE_FILE, dir);
	SCOPED_STR now = files_id(img);
	SCOPED_STR id = NULL;
	int rc = path && now ? file_read(path, IMAGE_MAX, &id, NULL) : -ENOMEM;

	if (rc < 0)
		return err_set(err, rc, "read %s/" IMAGE_FILE ": %s", dir,
			       err_text(rc));
	if (strcmp(id, now) == 0)
		return 0;
	return err_set(err, -ESTALE,
		       "its memory is of an image that was built again since, "
		       "or of another version of ac");
}

unsigned runsc_memory_ms(const char *dir)
{
	SCOPED_STR path = str_printf("%s/" PAGES_FILE, dir);
	struct stat st;

	if (!path || stat(path, &st) < 0)
		return runsc_bytes_ms(0);
	return runsc_bytes_ms((uint64_t)st.st_blocks * 512);
}
