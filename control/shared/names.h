/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h - names of instances, blueprints and volumes, states, environment
 */
#ifndef CONTROL_SHARED_NAMES_H
#define CONTROL_SHARED_NAMES_H

#include <stdbool.h>

#include "lib/err.h"

/* Bytes of a prompt: an EXEC of the guest link has 128 KiB for all words. */
#define AC_PROMPT_MAX (120u * 1024)

/* What the names of image builds begin with at the gateway, where instances have
 * theirs. */
#define NAME_BUILD "build."

/* The header of acd's 101 that names the instance of a run. */
#define API_INSTANCE_HEADER "Ac-Instance"

/*
 * Instance: 2-63 characters of a-z 0-9 A-Z _ . -, the first a letter or a digit
 * (it becomes a host name and a folder), and not NAME_BUILD at the beginning.
 * Blueprint: the same in lower case, whatever its beginning. Volume: the same,
 * whatever its beginning. Tag of a snapshot: the same, also of one character.
 * Return 0, or -EINVAL with the broken rule in @err.
 */
int name_check_instance(const char *name, struct err *err);
int name_check_blueprint(const char *name, struct err *err);
int name_check_volume(const char *name, struct err *err);
int name_check_tag(const char *tag, struct err *err);
int name_check_token(const char *name, struct err *err);
/* Returns true for the place of a mount in a sandbox: AC_MNT/NAME, of at most
 * NAME_MOUNT_MAX bytes, NAME of letters, digits and _ . -, the first no dot and
 * no dash. */
bool name_is_mount(const char *to);
#define NAME_MOUNT_MAX 69u /* "/mnt/" and 64 */
/* "NAME=value", NAME of letters, digits and _, not beginning with a digit.
 * Returns 0 or -EINVAL. */
int name_check_env(const char *entry, struct err *err);

enum instance_state {
	INSTANCE_CREATED, /* never ran */
	INSTANCE_STARTING,
	INSTANCE_RUNNING,
	INSTANCE_PAUSED, /* running, but frozen */
	INSTANCE_HIBERNATED, /* the same, and its memory is on the disk */
	INSTANCE_STOPPING,
	INSTANCE_STOPPED, /* ran; exit_code and reason are set */
	INSTANCE_EXPIRED, /* stopped; its ttl removed home and log */
	INSTANCE_FAILED, /* could not start, or was lost; reason says why */
};
/* Returns true from starting to stopping. */
static inline bool instance_state_is_live(enum instance_state st)
{
	return st >= INSTANCE_STARTING && st <= INSTANCE_STOPPING;
}
/* Returns true if nothing in the sandbox runs, although it has not ended. */
static inline bool instance_state_is_still(enum instance_state st)
{
	return st == INSTANCE_PAUSED || st == INSTANCE_HIBERNATED;
}
/* Returns a constant, "?" for an unknown state. */
const char *instance_state_name(enum instance_state st);
/* Returns 0 or -EINVAL. */
int instance_state_parse(const char *name, enum instance_state *ret);

#endif
