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
 * Adds "AC_GIT_NAME=…" and "AC_GIT_EMAIL=…" to @ret, of which init-guard makes
 * git's system configuration in the sandbox. Read from the user's global
 * configuration, else the system's, and nothing else of it: no configuration of
 * a project is read. Adds nothing when @env has an identity already, when git is
 * missing, or when a value is empty, too long or has control bytes. -ENOMEM.
 */
int git_identity_get(const struct strv *env, struct strv *ret);

/* Says whose name git in the sandbox has, if @identity holds one. */
void git_identity_tell(const struct cli *cli, const struct strv *identity);

#endif
