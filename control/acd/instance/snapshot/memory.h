/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h - inside of control/acd/instance: the memory of a sandbox, for
 * instances that go on from it
 *
 *	INSTANCES/.snapshots/NAME/TAG/memory/  of a snapshot
 *	INSTANCES/.memory/:NAME/               of NAME, while it is being written
 *	INSTANCES/.memory/NAME/                for the next run of NAME, once
 *		*.img, image                   the runtime's (memory_keep())
 *		state.json                     what acd knew of the sandbox
 *
 * All of it is root's, and secret: it has the surrogates of a run and the keys
 * that made them.
 */
#ifndef CONTROL_ACD_INSTANCE_SNAPSHOT_MEMORY_H
#define CONTROL_ACD_INSTANCE_SNAPSHOT_MEMORY_H

#include "control/acd/instance/instance_impl.h"

/* Writes down, in instance_memory_new(), what belongs to the memory of @in, which
 * a task with memory holds. Returns 0; -EAGAIN if it is not held, has ended or
 * is about to; -ENOTSUP; another negative errno. */
int memory_save(struct instance *in, struct err *err);
/* Its name in .memory. */
void memory_new_name(const struct instance *in, char ret[AC_NAME_MAX + 2]);
/* Returns the path of what the next run of @name goes on from, or NULL without
 * memory. */
char *memory_path(const struct instances *is, const char *name);
/* Gives the memory in @dir to the next run of @name, too, by links. Returns 0 or
 * a negative errno; nothing is left then. */
int memory_give(struct instances *is, const char *dir, const char *name,
		struct err *err);
/* Removes what memory_give() has made, if it is there, later. */
void memory_drop(struct instances *is, const char *name);

#endif
