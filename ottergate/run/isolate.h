/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isolate.h - drops privileges before the first byte from a sandbox is read
 *
 * Order: descriptors are open → isolate_root() (own mount namespace, root
 * read-only except for the audit's folder) → isolate_ids() (uid, no groups, no
 * capability but CAP_NET_BIND_SERVICE, bounding set empty, no_new_privs, no
 * dumps) → isolate_seccomp() (other system calls than those of a list kill the
 * process) → threads start. None can be undone. Each returns 0, or a negative
 * errno with @err; a part may be done then, so the caller must exit.
 */
#ifndef OTTERGATE_RUN_ISOLATE_H
#define OTTERGATE_RUN_ISOLATE_H

#include <sys/types.h>

#include "lib/err.h"

#define ISOLATE_UID 991u

/* @writable: NULL-terminated folders that stay writable. */
int isolate_root(const char *const *writable, struct err *err);
int isolate_ids(uid_t uid, gid_t gid, struct err *err);
int isolate_seccomp(struct err *err);

#endif
