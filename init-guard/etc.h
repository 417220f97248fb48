/* SPDX-License-Identifier: Apache-2.0 */
/*
 * etc.h - what this sandbox's programs are to find as system configuration
 *
 * The root file system is read-only and shared with others of the same image,
 * so what belongs to one sandbox lies in ETC_DIR, in memory, and is shown at
 * its usual place by a mount.
 */
#ifndef INIT_GUARD_ETC_H
#define INIT_GUARD_ETC_H

#include "init-guard/report.h"
#include "lib/buf.h"

#define ETC_DIR "/run/ac-guard"
#define ETC_GITCONFIG ETC_DIR "/gitconfig"

/* Makes ETC_DIR; nobody but root may have a say in it. */
int etc_init(struct err *err) ATTR_WUR;
/* A file in it, which nobody reads yet: read-only for all. */
int etc_write(const char *path, const void *data, size_t len,
	      struct err *err) ATTR_WUR;
/* Shows @path at @target, which must be there. -EPERM without the right. */
int etc_show(const char *path, const char *target, struct err *err) ATTR_WUR;
/*
 * A host name that is given late, when mounts cannot be made any more: the
 * files that will say it are at their places already, empty, and are written
 * when it is known.
 */
struct etc_name {
	bool expected; /* etc_name_expect() was called */
	char *hosts; /* the image's or the runtime's, NULL: none */
	int hosts_fd, hostname_fd; /* -1: no such file */
};
void etc_name_init(struct etc_name *n);
void etc_name_done(struct etc_name *n); /* what etc_name_init() has made */
/* Wants CAP_SYS_ADMIN; where it may be missing, the name stays as it is. */
int etc_name_expect(struct etc_name *n, const struct report *r,
		    struct err *err) ATTR_WUR;
/*
 * The host name, in the kernel and in files; @name "": as it is. Another one
 * than it has must have been expected, and wants CAP_SYS_ADMIN still.
 */
int etc_name_set(struct etc_name *n, const char *name, struct report *r,
		 struct err *err) ATTR_WUR;
/* git's system configuration: the user that AC_GIT_NAME and AC_GIT_EMAIL of
 * @env (NULL: none) name, then the image's own, ours, and @more of it (may be
 * empty). What git is told later, in any way, goes before this user. */
int etc_git(char *const *env, struct slice more, struct err *err) ATTR_WUR;
/* The section of that user; nothing for a value that is empty, longer than 256
 * bytes or has control bytes. Pure. -ENOBUFS. */
int etc_git_user(char *const *env, struct buf *out) ATTR_WUR;

/*
 * /etc/hosts with every name @from turned into @to, and a line of its own
 * for @to where none had it. Pure. -ENOBUFS.
 */
int etc_hosts_rename(const char *text, const char *from, const char *to,
		     struct buf *out) ATTR_WUR;

#endif
