/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dockerd.h - how the nested dockerd is configured
 */
#ifndef CONTROL_ACD_RUNTIME_DOCKERD_H
#define CONTROL_ACD_RUNTIME_DOCKERD_H

#include <jansson.h>
#include <stdint.h>

#include "control/acd/runtime/engine.h"
#include "control/acd/daemon/supervise.h"
#include "control/shared/paths.h"
#include "lib/err.h"

#define DOCKERD_RUNSC AC_RUN "/runsc" /* the copy */
#define DOCKERD_CONFIG "/run/ac/daemon.json"
#define DOCKERD_LOG "/var/lib/ac/log/engine.log"
#define DOCKERD_GVISOR_LOG "/var/lib/ac/log/gvisor/runsc.log"
#define DOCKERD_PID_FILE "/run/ac/dockerd.pid"

/* How it is supervised; @engine: a client of it, kept by reference. */
struct supervise_spec dockerd_spec(struct engine *engine);

/*
 * Copies the user's own runsc, @from, to @to, root's and out of his reach:
 * what is tested is what runs. Without an executable file there, @to goes.
 */
int dockerd_take_runsc(const char *from, const char *to, struct err *err);
/* The runsc that sandboxes run with: the copy of the user's, else ours. */
const char *dockerd_runsc(void);
/* The flags that every runsc of ours gets, NULL-terminated. */
extern const char *const dockerd_runsc_flags[];
/* One more for a sandbox whose files are partly covered by mounts of ac-host.
 * By itself its kernel opens, moves and removes files through descriptors,
 * from a mount namespace of its own where nothing is covered: a covered file
 * could be moved out from under its cover. The gofer has these mounts. */
#define DOCKERD_RUNSC_GOFER "--directfs=false"

/* Descriptors that a process of a sandbox may have. */
uint64_t dockerd_nofile(void);

/* The configuration; NULL without memory. @runsc: the binary. */
json_t *dockerd_config(const char *runsc);
int dockerd_write_config(const char *path, struct err *err);

#endif
