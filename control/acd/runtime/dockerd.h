/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dockerd.h - configuration of the nested dockerd
 */
#ifndef CONTROL_ACD_RUNTIME_DOCKERD_H
#define CONTROL_ACD_RUNTIME_DOCKERD_H

#include <jansson.h>
#include <stdint.h>

#include "control/acd/runtime/engine.h"
#include "control/acd/daemon/supervise.h"
#include "control/shared/paths.h"
#include "lib/err.h"
#include "lib/str.h"

#define DOCKERD_RUNSC AC_RUN "/runsc" /* copy of the user's runsc */
#define DOCKERD_CONFIG "/run/ac/daemon.json"
#define DOCKERD_LOG "/var/lib/ac/log/engine.log"
#define DOCKERD_GVISOR_LOG "/var/lib/ac/log/gvisor/runsc.log"
#define DOCKERD_PID_FILE "/run/ac/dockerd.pid"

/* Returns how to supervise it, for supervise_new(); what it points to is
 * constant. @engine: a client of it, kept by reference. */
struct supervise_spec dockerd_spec(struct engine *engine);

/*
 * Copies the user's own runsc from @from to @to, where it belongs to root and
 * the user cannot change it: what was tested is what runs. If there is no
 * executable file at @from, or none that can be opened, only removes @to and
 * returns 0. Returns 0 or a negative errno with @err; on failure there is no
 * @to, or the earlier one if that cannot be removed.
 */
int dockerd_take_runsc(const char *from, const char *to, struct err *err);
/* Returns the path of the runsc for sandboxes: the copy of the user's if there
 * is one now, else ours; a constant. */
const char *dockerd_runsc(void);
/* Flags that every runsc gets, NULL-terminated. */
extern const char *const dockerd_runsc_flags[];
/* Sets *ret, which was made once, to the command of runsc for a step of a build,
 * up to `run`; its state is in AC_STEPS. Returns 0 or -ENOMEM. */
int dockerd_step_runsc(struct strv *ret);
/* One more flag, for a sandbox with covered files. Without it gVisor's kernel
 * opens, moves and removes files by descriptors, in a mount namespace where
 * nothing is covered, so a covered file could be moved out from under its
 * cover. The gofer has ac-host's mounts. */
#define DOCKERD_RUNSC_GOFER "--directfs=false"

/* Returns how many descriptors a process of a sandbox may have: 1048576, or
 * fewer if acd itself may have no more. */
uint64_t dockerd_nofile(void);

/* Writes the configuration to @path. Returns 0 or a negative errno with
 * @err. */
int dockerd_write_config(const char *path, struct err *err);

#endif
