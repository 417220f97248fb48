/* SPDX-License-Identifier: Apache-2.0 */
/*
 * home.h - $AC_HOME: can all that ac keeps be there?
 */
#ifndef CONTROL_CLI_CORE_HOME_H
#define CONTROL_CLI_CORE_HOME_H

#include "control/cli/core/cli.h"

/* Makes the directories of the state, which then belong to the user, and proves
 * that files and sockets can be made in them: before anything is installed or
 * built, which takes minutes. Fails with what is wrong with AC_HOME. */
int home_make(const struct cli *cli, struct err *err);

#endif
