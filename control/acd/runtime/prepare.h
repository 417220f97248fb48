/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepare.h - prepares the outer container for an engine
 */
#ifndef CONTROL_ACD_RUNTIME_PREPARE_H
#define CONTROL_ACD_RUNTIME_PREPARE_H

#include <sys/types.h>

#include "lib/err.h"

/* Checks that AC_STATE is there and writable, makes its folders, and sets its
 * owner. Returns 0 or a negative errno with @err. */
int host_check_state(uid_t *ret_owner, gid_t *ret_group, struct err *err);
/* Makes AC_RUN and its folders, /sys and /proc/sys writable, and cgroups ready
 * for an engine. *ret_cgroup is "v1" or "v2", a constant. Returns 0 or a
 * negative errno with @err. */
int host_prepare(const char **ret_cgroup, struct err *err);

/* A part of host_prepare(), exported for tests: moves every process of the
 * cgroup v2 at @root into its leaf "init" and enables its controllers for
 * children. */
int host_cgroup2_prepare(const char *root, struct err *err);

#endif
