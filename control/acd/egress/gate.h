/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.h - the gateway, ottergate: its files, its process, calls to it
 *
 * It starts when the bridge of the sandboxes has its address. While it is
 * down nothing leaves a sandbox, since there is no other way out; it is
 * started again with growing pauses, and finds the policies of those that run
 * in the folder of agents.
 */
#ifndef CONTROL_ACD_EGRESS_GATE_H
#define CONTROL_ACD_EGRESS_GATE_H

#include <sys/types.h>

#include "control/acd/daemon/children.h"
#include "control/acd/egress/gate_client.h"
#include "control/acd/daemon/supervise.h"
#include "control/shared/paths.h"
#include "lib/err.h"
#include "lib/loop.h"

#define GATE_PROGRAM "/usr/sbin/ottergate"
#define GATE_LOG AC_STATE_LOG "/gateway.log"
#define GATE_AUDIT AC_STATE_AUDIT "/audit.jsonl"
#define GATE_AGENTS AC_STATE_POLICY "/agents"
#define GATE_PRESETS AC_SHARE "/blueprints/presets"
/* Folders in AC_GATE, so that what comes later is found. They are named from
 * there, since messages name files as they were given: "policy/policy.yaml:…"
 * is how the user knows it, below his $AC_HOME. */
#define GATE_DIR_PRESETS "presets"
#define GATE_DIR_POLICY "policy"
#define GATE_DIR_AGENTS "agents"
#define GATE_ROOTS "roots.pem" /* a file; also named from there */
#define GATE_OWN GATE_DIR_POLICY "/addresses" /* the machine's; likewise */
#define GATE_UID 991u /* what it becomes */
#define GATE_POLICY_MAX \
	(64u * 1024 * 1024) /* bytes of one file of the user's */

/* ---- gate_files.c: what it may read and write ---- */

/* Makes AC_GATE: the folders of agents and of the audit, seen from there as
 * its own while they stay the user's (@uid, @gid) outside. */
int gate_files_init(uid_t uid, gid_t gid, struct err *err);
#define GATE_FILES_WORD "policy_file"
/* Copies presets and the user's policy to where it reads them. Before each
 * start and each reload. A failure that the user's files are to blame for has the
 * word above. */
int gate_files_copy(struct err *err);
/* Takes @text (addresses.h) as the machine's addresses for the next copy. 0:
 * the gateway has loaded these. 1: it has to. */
int gate_files_addresses(const char *text, uid_t uid, gid_t gid,
			 struct err *err);
/* Those that were taken last; NULL: none. The caller frees it. */
char *gate_files_own(void);
/* The number of the addresses that were taken last, and that the gateway has
 * loaded those with this number. */
unsigned gate_files_addresses_no(void);
void gate_files_loaded(unsigned no);
/* Is there a preset of the machine's own package registries? */
bool gate_files_have_machine(void);
/* Is there a preset @name? True as well when a file cannot be read: then the
 * linter has the word. */
bool gate_files_have_preset(const char *name);

/* ---- gate.c: the process ---- */

struct gate;

struct gate *gate_new(struct loop *loop, struct children *children,
		      struct err *err);
void gate_free(struct gate *g); /* NULL is fine; calls end with -ECANCELED */
/* @settled: it has come up, or a start failed; each time. */
void gate_start(struct gate *g, supervise_fn settled, void *arg);
/* A next try that waits is made now: its files may be better. */
void gate_retry(struct gate *g);
void gate_stop(struct gate *g, supervise_fn down, void *arg);
struct supervise_status gate_status(const struct gate *g);
bool gate_is_up(const struct gate *g); /* listens, and the door is open */
/* It is up, and denies everything since its audit cannot be written. */
bool gate_audit_full(const struct gate *g);
struct gate_client *gate_client(struct gate *g); /* borrowed */

/* It is down, and will soon be up: it was not its policy that it ended of,
 * and not long ago. */
bool gate_is_starting(const struct gate *g);
/* Of one that is not up: what is the matter and what to do. Returns -EAGAIN,
 * as in @err. */
int gate_down(const struct gate *g, struct err *err);

/* The user's policy was loaded as it is (@problem NULL), or refused. */
void gate_policy_note(struct gate *g, const char *problem);
/* Would its next start refuse, or change, what holds now? Then why. */
bool gate_policy_problem(const struct gate *g, char *out, size_t size);

#endif
