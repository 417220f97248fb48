/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.h - the gateway, ottergate: its files, its process, calls to it
 *
 * It starts when the sandboxes' bridge has its address. While it is down
 * nothing leaves a sandbox, since there is no other way out. It is started
 * again with growing pauses and finds the policies of running sandboxes in the
 * folder of agents.
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
#define GATE_PRESETS AC_SHARE_PRESETS "/egress"
/* Folders and files in AC_GATE, the gateway's working directory. They are
 * relative because messages name files as they were given, and users know
 * "policy/policy.yaml:…" below $AC_HOME. */
#define GATE_DIR_PRESETS "presets"
#define GATE_DIR_POLICY "policy"
#define GATE_DIR_AGENTS "agents"
#define GATE_DIR_EDGE "edge" /* sockets of ac-edge */
#define GATE_ROOTS "roots.pem"
#define GATE_OWN GATE_DIR_POLICY "/addresses" /* of the machine */
#define GATE_UID 991u /* the gateway's, after its start */
#define GATE_POLICY_MAX \
	(64u * 1024 * 1024) /* bytes of one of the user's files */

/* ---- gate_files.c: what it may read and write ---- */

/* Makes AC_GATE. Its folders of agents and of the audit are mounts of those in
 * AC_STATE, where files belong to the user (@uid, @gid). Removes the policies
 * that an earlier acd has left: no sandbox runs yet. Returns 0 or a negative
 * errno with @err. */
int gate_files_init(uid_t uid, gid_t gid, struct err *err);
#define GATE_FILES_WORD "policy_file"
/* Copies presets, the user's policy, the machine's addresses and its CA to
 * where the gateway reads them; to be called before each start and reload.
 * Returns 0 or a negative errno with @err; @err has the word above (err.h) if
 * the user's files are the cause. */
int gate_files_copy(struct err *err);
/* Stores the machine's addresses, @text (addresses.h), for the next
 * gate_files_copy(), in a file of the user (@uid, @gid). Returns 0 if the
 * gateway has loaded these already, 1 if it has to load them, or a negative
 * errno with @err. */
int gate_files_addresses(const char *text, uid_t uid, gid_t gid,
			 struct err *err);
/* Returns 0 with the addresses that were set last in *ret, "" if none were; the
 * caller frees them. Else a negative errno with @err: what is not known must
 * not be taken for none. */
int gate_files_own(char **ret, struct err *err);
/* Returns how often other addresses were stored since acd's start: a number for
 * those that are stored now. */
unsigned gate_files_addresses_no(void);
/* Records that the gateway has loaded the addresses with this number. */
void gate_files_loaded(unsigned no);
/* Returns true if there is a preset of the machine's package registries. */
bool gate_files_have_machine(void);
/* Returns true if there is a preset @name, shipped or the user's. Also if a
 * file of presets cannot be read: then the gateway's linter reports it. */
bool gate_files_have_preset(const char *name);

/* ---- gate.c: the process ---- */

struct gate;

struct gate *gate_new(struct loop *loop, struct children *children,
		      struct err *err);
/* Kills the gateway and frees @g; its calls end with -ECANCELED before this
 * returns. NULL is fine. */
void gate_free(struct gate *g);
/* Starts it, once. Calls @settled each time it has come up or has failed, which
 * may be before this returns. */
void gate_start(struct gate *g, supervise_fn settled, void *arg);
/* If it waits for the next try, tries now: its files may be better. */
void gate_retry(struct gate *g);
/* Stops it, and calls @down when it has ended (supervise_stop()). */
void gate_stop(struct gate *g, supervise_fn down, void *arg);
/* Returns the status of its process. */
struct supervise_status gate_status(const struct gate *g);
/* Returns true if it answers, and the packet filter lets sandboxes reach it. */
bool gate_is_up(const struct gate *g);
/* Returns true if it is up but denies everything, since its audit cannot be
 * written. */
bool gate_audit_full(const struct gate *g);
/* Returns the client for calls to it, borrowed from @g. */
struct gate_client *gate_client(struct gate *g);

/* Returns true if it is down and likely to be up soon: for a short time only,
 * and not because of its policy. */
bool gate_is_starting(const struct gate *g);
/* Sets @err to why the gateway is not up and what to do. Always returns
 * -EAGAIN, so it is for a gateway for which gate_is_up() is false. */
int gate_down(const struct gate *g, struct err *err);

/* Records that the user's policy, as it is now, was loaded (@problem NULL) or
 * refused with the message @problem, which is copied. */
void gate_policy_note(struct gate *g, const char *problem);
/* Returns true, with the reason in @out, if the user's policy was changed and
 * is not loaded, or was refused at the last reload. Else @out is "". */
bool gate_policy_problem(const struct gate *g, char *out, size_t size);

#endif
