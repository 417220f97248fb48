/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance_room.h - how much room the file system of $AC_HOME has left
 */
#ifndef CONTROL_ACD_INSTANCE_ROOM_H
#define CONTROL_ACD_INSTANCE_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "control/acd/cgroup.h"
#include "control/acd/instance.h"

enum room_state { ROOM_FINE, ROOM_LOW, ROOM_FULL };

struct room {
	enum room_state state;
	uint64_t left, total; /* bytes; total 0: not known yet */
	uint64_t files_left; /* UINT64_MAX: it counts none */
	bool close; /* the last look counted what was written */
	bool refused; /* that a writer cannot be paused is in the log */
};

/* Low below a tenth, at most 1 GiB; full below a fortieth, at most 128 MiB, or
 * when it takes hardly any file more. Pure. */
enum room_state room_judge(uint64_t left, uint64_t total, uint64_t files_left);
/* Says whether one that wrote @wrote bytes since the last look will have filled
 * it at the next but one. Pure. */
bool room_must_stop(uint64_t left, uint64_t total, uint64_t wrote);
/*
 * Returns what the processes of an instance wrote between two looks. Of one that
 * was not counted before nothing is known: it may have written all of it long
 * ago. Only when the disk is full, and none was counted before, all counts, as
 * no other may be found. Pure.
 */
uint64_t room_wrote(enum room_state st, const struct cgroup_writers *before,
		    const struct cgroup_writers *now);
/* Returns true if what wrote @wrote bytes must be paused. Unless the last look
 * @counted as well, what it is compared with may be hours old; but a full disk
 * waits for nothing, as who filled it may write no more. Pure. */
bool room_must_pause(const struct room *r, bool counted, uint64_t wrote);
const char *room_state_name(enum room_state st); /* "fine", "low", "full" */

/*
 * Begins to look, once a second and more often when it is needed. What the
 * instances' own files do not get belongs to the audit and the store, which
 * have theirs allocated ahead; so a full disk ends nobody's network. But while
 * it is full, the instance that has written most since the last look is paused,
 * one after the other, until none writes any more; and while it is low already
 * one that would fill it before the next look but one. -ENOMEM.
 */
int instances_room_begin(struct instances *is, struct err *err);
const struct room *instances_room(const struct instances *is);
/* For a run that would start: -ENOSPC and what to do while it is full. */
int instances_room_check(const struct instances *is, struct err *err);

#endif
