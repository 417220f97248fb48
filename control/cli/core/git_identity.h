/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_identity.h - the user's name and e-mail in git, for a new instance
 */
#ifndef CONTROL_CLI_CORE_GIT_IDENTITY_H
#define CONTROL_CLI_CORE_GIT_IDENTITY_H

#include "control/cli/core/cli.h"
#include "lib/str.h"

#define GIT_IDENTITY_MAX 256u /* bytes of each; init-guard has the same */

/*
 * Appends "AC_GIT_NAME=…" and "AC_GIT_EMAIL=…" to @ret; init-guard makes git's
 * system configuration in the sandbox of them. They come from the user's global
 * configuration, else the system's, never from a project's. Appends nothing if
 * @env has an identity, git is missing, or a value is empty, too long or has
 * control bytes. Returns 0 or -ENOMEM.
 */
int git_identity_get(const struct strv *env, struct strv *ret);

/* Tells the user which name git in the sandbox has, if @identity has one. */
void git_identity_tell(const struct cli *cli, const struct strv *identity);

#endif
