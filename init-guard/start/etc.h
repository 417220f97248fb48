/* SPDX-License-Identifier: Apache-2.0 */
/*
 * etc.h - system configuration of one sandbox: host name, git
 *
 * The root file system is read-only and shared with other sandboxes of the
 * image. So files of one sandbox lie in ETC_DIR, in memory, and are mounted at
 * their usual places. Functions return 0, or a negative errno with @err.
 */
#ifndef INIT_GUARD_START_ETC_H
#define INIT_GUARD_START_ETC_H

#include "init-guard/start/report.h"
#include "lib/buf.h"

#define ETC_DIR "/run/ac-guard"
#define ETC_GITCONFIG ETC_DIR "/gitconfig"

/* Makes ETC_DIR, writable by root only. */
int etc_init(struct err *err) ATTR_WUR;
/* Writes a file in ETC_DIR, read-only for all, that no process reads yet. */
int etc_write(const char *path, const void *data, size_t len,
	      struct err *err) ATTR_WUR;
/* Mounts @path at @target, which must exist. Fails with -EPERM without
 * CAP_SYS_ADMIN. */
int etc_show(const char *path, const char *target, struct err *err) ATTR_WUR;
/* A host name that is given late, when mounts are impossible: its files are
 * mounted empty, and written when it is known. */
struct etc_name {
	bool expected; /* etc_name_expect() was called */
	char *hosts; /* the original /etc/hosts, NULL: none */
	int hosts_fd, hostname_fd; /* -1: no such file */
};
/* Initialises @n with nothing open. */
void etc_name_init(struct etc_name *n);
/* Frees and closes what is in @n. */
void etc_name_done(struct etc_name *n);
/* Mounts the empty files. Needs CAP_SYS_ADMIN; if that is missing and the
 * kernel is not the sandbox's own, returns 0 and the name stays. */
int etc_name_expect(struct etc_name *n, const struct report *r,
		    struct err *err) ATTR_WUR;
/* Sets the host name in the kernel and in the files; @name "": keeps it. A
 * different name must have been expected and still needs CAP_SYS_ADMIN. Enters
 * the outcome in @r. */
int etc_name_set(struct etc_name *n, const char *name, struct report *r,
		 struct err *err) ATTR_WUR;
/* Writes git's system configuration: the user named by AC_GIT_NAME and
 * AC_GIT_EMAIL in @env (NULL: none), then the image's own, ours, and @more (may
 * be empty). Any later configuration of git overrides this user. */
int etc_git(char *const *env, struct slice more, struct err *err) ATTR_WUR;
/* Appends the section of that user. Omits a value that is empty, longer than
 * 256 bytes or has control bytes. Returns 0 or -ENOBUFS. No side effects. */
int etc_git_user(char *const *env, struct buf *out) ATTR_WUR;

/* Appends /etc/hosts with every name @from replaced by @to, and a new line for
 * @to if there was none. Returns 0 or -ENOBUFS. No side effects. */
int etc_hosts_rename(const char *text, const char *from, const char *to,
		     struct buf *out) ATTR_WUR;

#endif
