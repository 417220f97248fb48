/* SPDX-License-Identifier: Apache-2.0 */
/*
 * room.h - how much room the file system of $AC_HOME has left
 */
#ifndef CONTROL_ACD_INSTANCE_ROOM_H
#define CONTROL_ACD_INSTANCE_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "control/acd/runtime/cgroup.h"
#include "control/acd/instance/instance.h"

enum room_state { ROOM_FINE, ROOM_LOW, ROOM_FULL };

struct room {
	enum room_state state;
	uint64_t left, total; /* bytes; total 0: not known yet */
	uint64_t files_left; /* UINT64_MAX: the file system has no limit */
	bool close; /* the last look counted what instances write */
	bool refused; /* the log has it that a writer cannot be paused */
};

/* Returns ROOM_LOW if less than a tenth is left, or than 1 GiB if that is less;
 * ROOM_FULL if less than a fortieth is left, or than 128 MiB if that is less,
 * or if hardly a file more can be made. Has no side effects. */
enum room_state room_judge(uint64_t left, uint64_t total, uint64_t files_left);
/* Returns true if the disk will be full within two looks, should the writer of
 * @wrote bytes since the last look go on so. Has no side effects. */
bool room_must_stop(uint64_t left, uint64_t total, uint64_t wrote);
/*
 * Returns how many bytes the processes of an instance wrote between two looks.
 * A process that is not in @before counts for nothing: it may have written its
 * bytes long ago. If the disk is full and no process was counted before, all of
 * their bytes count, or no writer might be found. Has no side effects.
 */
uint64_t room_wrote(enum room_state st, const struct cgroup_writers *before,
		    const struct cgroup_writers *now);
/* Returns true if the instance that wrote @wrote bytes must be paused. If the
 * last look has not @counted, the bytes may have been written over hours: then
 * it is paused only if the disk is full. Has no side effects. */
bool room_must_pause(const struct room *r, bool counted, uint64_t wrote);
const char *room_state_name(enum room_state st); /* "fine", "low", "full" */

/*
 * Begins to look, once a second and more often while room is low. While the
 * disk is full, each look pauses the instance that has written most since the
 * last one. While it is low, a look pauses an instance that would fill it
 * within two looks. The audit and the store have room allocated ahead, so the
 * other instances keep their network. Fails with -ENOMEM.
 */
int instances_room_begin(struct instances *is, struct err *err);
const struct room *instances_room(const struct instances *is);
/* Called before a run starts. Fails with -ENOSPC, and with what to do, while
 * the disk is full. */
int instances_room_check(const struct instances *is, struct err *err);

#endif
