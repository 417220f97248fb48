/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attr.h - compiler attributes and scoped variables
 *
 * A scoped variable is released when it goes out of scope, unless fd_take() or
 * ptr_take() has moved it out. It must be initialised where it is declared.
 */
#ifndef LIB_ATTR_H
#define LIB_ATTR_H

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ATTR_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define ATTR_CLEANUP(fn) __attribute__((cleanup(fn)))
#define ATTR_WUR __attribute__((warn_unused_result))
#define ATTR_NORETURN __attribute__((noreturn))
/* A function that older versions of its library lack; its address is NULL
 * there. */
#define ATTR_WEAK __attribute__((weak))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Closes *fd unless it is negative, and sets it to -1. Keeps errno. */
static inline void fd_closep(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

/* Returns *fd, now owned by the caller, and sets *fd to -1. */
static inline int fd_take(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

static inline void ptr_freep(void *p)
{
	void *mem = *(void **)p;
	int saved = errno;

	free(mem);
	errno = saved;
}

static inline void file_closep(FILE **f)
{
	if (*f)
		fclose(*f);
	*f = NULL;
}

static inline void dir_closep(DIR **d)
{
	if (*d)
		closedir(*d);
	*d = NULL;
}

/* Returns *p, now owned by the caller, and sets *p to NULL. */
static inline void *ptr_take(void *p)
{
	void *taken = *(void **)p;

	*(void **)p = NULL;
	return taken;
}

#define SCOPED_FD ATTR_CLEANUP(fd_closep) int
#define SCOPED_STR ATTR_CLEANUP(ptr_freep) char *
#define SCOPED_MEM ATTR_CLEANUP(ptr_freep) void *
#define SCOPED_FILE ATTR_CLEANUP(file_closep) FILE *
#define SCOPED_DIR ATTR_CLEANUP(dir_closep) DIR *

#endif
