/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume_use.h - which instance uses which volume, and who writes to it
 *
 * An instance has the volumes of its blueprint and those that its user gave it,
 * which take the place of what the blueprint shows at the same place. At any time
 * one sandbox at most may write to a volume; any number may read it.
 */
#ifndef CONTROL_ACD_INSTANCE_VOLUME_USE_H
#define CONTROL_ACD_INSTANCE_VOLUME_USE_H

#include <jansson.h>

#include "lib/err.h"

struct blueprint;
struct instance;
struct instance_record;
struct instances;

/* Adds the volumes that @r has by itself to the mounts of @bp. Returns 0; -EINVAL
 * with @err if there are more than BLUEPRINT_MOUNTS_MAX then, or the record is
 * damaged; -ENOMEM. */
int volume_use_add(const struct instance_record *r, struct blueprint *bp,
		   struct err *err);
/* Returns 0 if @in, whose blueprint is loaded, may start with its volumes. Fails
 * with -ENOENT (VOLUME_MISSING) or, if another sandbox writes to one that @in is
 * to write to, with -EBUSY (VOLUME_IN_USE); @err says what to do. */
int volume_use_check(const struct instance *in, struct err *err);

/* Returns {VOLUME: [{"instance", "mode", "running"}]} of all instances, a new
 * reference, or NULL without memory. "running": its sandbox has it mounted, or
 * a run that waits will have it. */
json_t *volume_use_all(struct instances *is);
/* Removes the volume @name, which no sandbox may have mounted, from its place and
 * from the options of all instances. Sets *ret to where its files are then, for
 * the caller to free, and to remove. Fails as volume_find(), or with another
 * negative errno: its files stay then, but some instances may be without it. If
 * acd is killed in between, volume_use_recover() finishes it. */
int volume_use_drop(struct instances *is, const char *name, char **ret,
		    struct err *err);
/* Finishes at the start of acd the removals that were cut short; their files are
 * for volumes_sweep(). */
void volume_use_recover(struct instances *is);

#endif
