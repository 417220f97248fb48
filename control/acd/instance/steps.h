/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps.h - the steps of a start and of an end, and what drives them
 */
#ifndef CONTROL_ACD_INSTANCE_STEPS_H
#define CONTROL_ACD_INSTANCE_STEPS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

struct instance;

/* How far an instance is, and whose answer it waits for. Each is a word of the
 * API (instance/phase.c). */
enum instance_phase {
	PHASE_IDLE, /* nothing runs, nothing is under way */
	PHASE_PORTS, /* ac-edge opens the published ports */
	PHASE_DISK, /* a child puts the disk limit into effect */
	PHASE_POLICY, /* the gateway binds the policy */
	PHASE_HOME, /* a child writes the blueprint's files into the home */
	PHASE_SANDBOX, /* the runtime starts a sandbox */
	PHASE_REPLACED, /* the runtime removes a lost sandbox of the pool;
			 * another is started then */
	PHASE_GUEST, /* init-guard prepares the sandbox */
	PHASE_UP, /* the main run is running or frozen */
	PHASE_ENDING, /* the main run was told to end */
	PHASE_ASKED, /* the runtime is asked how a sandbox ended */
	PHASE_THAW, /* the runtime resumes it, before its removal */
	PHASE_REMOVAL, /* the runtime removes the sandbox */
	PHASE_FILES, /* a child removes files */
	PHASES
};

enum step_id {
	STEP_STATE,
	STEP_CHECK,
	STEP_TIME,
	STEP_PLACE,
	STEP_DISK,
	STEP_POOL,
	STEP_MOUNTS,
	STEP_LOG,
	STEP_RECORD,
	STEP_PORTS,
	STEP_DISK_HOLD,
	STEP_MOUNTS_HELD,
	STEP_POLICY,
	STEP_HOME,
	STEP_SANDBOX,
	STEP_OUTPUT,
	STEP_FREEZE,
	STEP_GUEST,
	STEP_RUN,
	STEP_END,
	STEPS
};

/* What ended a run, if not its process. */
enum run_cause {
	RUN_SELF,
	RUN_STOPPED, /* instance_stop() */
	RUN_TIMEOUT,
	RUN_OUTPUT, /* it wrote more than it may */
	RUN_IDLE,
	RUN_TTL,
	RUN_ABANDONED, /* its client has gone */
};

/* Results of a step's begin and undo, besides 0 (done) and a negative errno
 * (failed). */
#define STEP_WAITS 1 /* step_done() will be called, from the loop */
#define STEP_NOTHING 2 /* of begin: nothing to do, nor to undo */
/* A failure of begin or of step_done(), a code that no system call here
 * returns: the sandbox of the pool is lost, and another is started. */
#define STEP_AGAIN (-ERESTART)

struct step {
	const char *name;
	/* Begins the step. On failure nothing of it is left. NULL: nothing to
	 * do. */
	int (*begin)(struct instance *in, struct err *err);
	/* Undoes what begin did, or has begun to do. A failure is reported to
	 * the waiters at the end, and the undoing goes on. NULL: nothing to
	 * do. */
	int (*undo)(struct instance *in, struct err *err);
	enum instance_phase waits, undo_waits; /* the phase meanwhile */
	/* Makes the current step end soon. NULL: its answer is awaited. */
	void (*hurry)(struct instance *in, enum run_cause cause,
		      uint64_t grace_ms);
	bool leave; /* can be undone before its answer */
};

/* Where an instance is in its table. */
struct instance_steps {
	enum step_id at; /* the current step */
	enum step_id floor; /* the undoing stops at this one */
	unsigned begun; /* a bit for each that may have to be undone */
	bool back; /* steps are being undone */
	bool end_wanted; /* undo all when the current step has its answer */
	struct err failed; /* the first failure of an undo */
};

/* In the order of a start. */
extern const struct step instance_steps[STEPS];

/* Reports the answer to the current step; @err is NULL, or why it failed. */
void step_done(struct instance *in, const struct err *err);
/* Begins the end of a live instance, which is resumed if it is frozen. Of one
 * that is not live, removes the sandbox whose removal has failed. */
void instance_end(struct instance *in, enum run_cause cause, uint64_t grace_ms);

#endif
