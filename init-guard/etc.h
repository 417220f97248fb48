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
/* A file in it, whole or not at all, read-only for all. */
int etc_write(const char *path, const void *data, size_t len,
	      struct err *err) ATTR_WUR;
/* Shows @path at @target, which must be there. -EPERM without the right. */
int etc_show(const char *path, const char *target, struct err *err) ATTR_WUR;
/* The host name, in the kernel and in files. */
int etc_name(const char *name, struct report *r, struct err *err) ATTR_WUR;
/* git's system configuration. */
int etc_git(struct err *err) ATTR_WUR;

/*
 * /etc/hosts with every name @from turned into @to, and a line of its own
 * for @to where none had it. Pure. -ENOBUFS.
 */
int etc_hosts_rename(const char *text, const char *from, const char *to,
		     struct buf *out) ATTR_WUR;

#endif
