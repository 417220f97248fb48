/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fresh.h - whether this program is as new as the sources beside it
 */
#ifndef CONTROL_CLI_CORE_FRESH_H
#define CONTROL_CLI_CORE_FRESH_H

#include <stdbool.h>

#include "lib/attr.h"

/*
 * Returns true if an input of the build, as @root/images/host/inputs lists
 * them, was changed after @root/build/ac was built: its own time is later, or
 * that of its directory, which a new and a removed entry change. Symbolic links
 * are not followed. A listed input that is missing counts as changed; what
 * cannot be read does not, nor if there is no list or no build.
 */
bool fresh_sources_changed(const char *root) ATTR_WUR;

/*
 * Does nothing unless the launcher (ac) named itself in AC_LAUNCHER, which is
 * removed from the environment. Sets AC_ROOT to the directory of the launcher.
 * If the sources changed, does not return: executes the launcher with @argv and
 * AC_STALE=1, which builds. Returns if they did not change, or if that fails,
 * which it says on stderr.
 */
void fresh_check(char **argv);

#endif
