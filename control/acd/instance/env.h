/* SPDX-License-Identifier: Apache-2.0 */
/*
 * env.h - the environment of a sandbox
 */
#ifndef CONTROL_ACD_INSTANCE_ENV_H
#define CONTROL_ACD_INSTANCE_ENV_H

#include "control/acd/storage/store.h"
#include "lib/str.h"

/*
 * Puts together what a run of @rec has in its environment: the variables of its
 * @blueprint, its own, its name, and those of @more (NULL-terminated; NULL:
 * none) that it does not set itself. With a workspace of the user's, watchers
 * are told to poll, where nobody said otherwise. Fails with -ENOMEM, -ENOBUFS.
 * The caller releases @ret in any case.
 */
int instance_env(const struct instance_record *rec,
		 const struct strv *blueprint, const char *const *more,
		 struct strv *ret);

#endif
