/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h - makes the outer container a place where an engine can run
 */
#ifndef CONTROL_ACD_RUNTIME_HOST_H
#define CONTROL_ACD_RUNTIME_HOST_H

#include <sys/types.h>

#include "lib/err.h"

#define HOST_RESOLV_CONF "/run/ac/resolv.conf" /* shown to every sandbox */

/* Is AC_STATE there and writable? Makes its folders; tells who owns it. */
int host_check_state(uid_t *ret_owner, gid_t *ret_group, struct err *err);
/* AC_RUN and what is in it, /sys and /proc/sys writable, cgroups ready for
 * containers. *ret_cgroup is "v1" or "v2" (static storage). */
int host_prepare(const char **ret_cgroup, struct err *err);

/* Of host_prepare(), alone for tests: moves every process of the cgroup v2
 * at @root into its leaf "init" and switches its controllers on for
 * children. */
int host_cgroup2_prepare(const char *root, struct err *err);

#endif
