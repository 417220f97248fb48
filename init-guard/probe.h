/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.h - is what was taken away really gone? Asked at every start
 */
#ifndef INIT_GUARD_PROBE_H
#define INIT_GUARD_PROBE_H

#include "init-guard/report.h"

/*
 * The list of setuid, setgid and capability files that the build of the
 * image left, which must be empty but for our own. An image without the list
 * is let pass, and noted, where the kernel is not our own. -EPERM with @err
 * filled.
 */
int probe_image(struct report *r, struct err *err) ATTR_WUR;
/*
 * A process without rights, under the filter, tries what the agent would.
 * To be called when PID 1 has dropped its own rights.
 */
int probe_rights(struct report *r, struct err *err) ATTR_WUR;

#endif
