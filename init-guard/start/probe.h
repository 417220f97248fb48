/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.h - tests at every start that dropped rights are gone
 */
#ifndef INIT_GUARD_START_PROBE_H
#define INIT_GUARD_START_PROBE_H

#include "init-guard/start/report.h"

/*
 * Checks the list of setuid, setgid and capability files that the image's build
 * has written: only our own may be in it. An image without a list is accepted,
 * and noted, unless the kernel is the sandbox's own. Returns 0, or -EPERM with
 * @err.
 */
int probe_image(struct report *r, struct err *err) ATTR_WUR;
/* Makes a process without rights, under the filter, try what the agent could.
 * Call it after PID 1 has dropped its own rights. Returns 0, or -EPERM with
 * @err. */
int probe_rights(struct report *r, struct err *err) ATTR_WUR;

#endif
