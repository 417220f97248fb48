/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h - names of instances and blueprints, states, environment entries
 */
#ifndef CONTROL_SHARED_NAMES_H
#define CONTROL_SHARED_NAMES_H

#include <stdbool.h>

#include "lib/err.h"

/*
 * Instance: 2-63 characters of a-z 0-9 A-Z _ . -, starting with a letter or
 * digit (it becomes a host name and a folder). Blueprint: the same, lower
 * case. On refusal @err says which rule. -EINVAL.
 */
int name_check_instance(const char *name, struct err *err);
int name_check_blueprint(const char *name, struct err *err);
/* "NAME=value" with NAME of letters, digits, _; no control bytes in NAME. */
int name_check_env(const char *entry, struct err *err);

enum instance_state {
	INSTANCE_CREATED, /* never ran */
	INSTANCE_STARTING,
	INSTANCE_RUNNING,
	INSTANCE_PAUSED, /* running, but frozen */
	INSTANCE_STOPPING,
	INSTANCE_STOPPED, /* ran; exit_code and reason are set */
	INSTANCE_EXPIRED, /* stopped; its ttl took home and log */
	INSTANCE_FAILED, /* could not start, or was lost; reason says why */
};
/* starting … stopping */
static inline bool instance_state_is_live(enum instance_state st)
{
	return st >= INSTANCE_STARTING && st <= INSTANCE_STOPPING;
}
const char *instance_state_name(enum instance_state st);
int instance_state_parse(const char *name, enum instance_state *ret);

#endif
