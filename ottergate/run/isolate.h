/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isolate.h - what the gateway gives up before it reads a stranger's byte
 *
 * Order: descriptors are open → isolate_root() (own mount namespace, root
 * read-only but for the audit's folder) → isolate_ids() (uid, no groups, no
 * capability but CAP_NET_BIND_SERVICE, bounding set empty, no_new_privs, no
 * dumps) → isolate_seccomp() (allow-list, kill) → threads start.
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
