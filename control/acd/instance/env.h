/* SPDX-License-Identifier: Apache-2.0 */
/*
 * env.h - the environment of a sandbox
 */
#ifndef CONTROL_ACD_INSTANCE_ENV_H
#define CONTROL_ACD_INSTANCE_ENV_H

#include "control/acd/storage/store.h"
#include "lib/str.h"

/*
 * Appends to @ret the environment of a run of @rec: the variables of its
 * @blueprint, its own, AC_INSTANCE and AC_BLUEPRINT, then those of @more
 * (NULL-terminated; NULL: none) whose names are not there yet. If the workspace
 * is a directory of the user's, adds variables that make file watchers poll,
 * unless they are set. Returns 0, -ENOMEM or -ENOBUFS. The caller releases @ret
 * in any case.
 */
int instance_env(const struct instance_record *rec,
		 const struct strv *blueprint, const char *const *more,
		 struct strv *ret);

#endif
