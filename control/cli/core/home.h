/* SPDX-License-Identifier: Apache-2.0 */
/*
 * home.h - makes $AC_HOME, and checks that it can be used
 */
#ifndef CONTROL_CLI_CORE_HOME_H
#define CONTROL_CLI_CORE_HOME_H

#include "control/cli/core/cli.h"

/* Makes the directories of the state, owned by the user, and checks that files
 * and sockets can be made in them. To be called before anything is installed or
 * built, which takes minutes. Returns 0 or a negative errno with the reason in
 * @err. */
int home_make(const struct cli *cli, struct err *err);

#endif
