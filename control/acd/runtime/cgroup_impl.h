/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup_impl.h - what the parts of cgroup.h share
 */
#ifndef CONTROL_ACD_RUNTIME_CGROUP_IMPL_H
#define CONTROL_ACD_RUNTIME_CGROUP_IMPL_H

#include "control/acd/runtime/cgroup.h"

/* Of v1, the hierarchies that matter. The first is never missing. */
enum cgroup_part {
	CGROUP_MEMORY,
	CGROUP_CPU,
	CGROUP_CPUACCT,
	CGROUP_PIDS,
	CGROUP_FREEZER,
	CGROUP_PARTS
};

/* Where the sandboxes' folders are: of v2 all in the first, of v1 each part
 * in its own. "": there is none. */
struct cgroups {
	bool ready, v2;
	char dir[CGROUP_PARTS][96];
	bool twin[CGROUP_PARTS]; /* an earlier one by another name */
};
extern struct cgroups cgroups;

struct cgroup_path {
	char text[96 + CGROUP_ID_MAX + 64];
};

bool cgroup_id_is_good(const char *id);
/* Is there a folder of its own for @part? */
bool cgroup_part_counts(enum cgroup_part part);
/* The folder where @part of a sandbox is ruled; "": nowhere. */
const char *cgroup_dir(enum cgroup_part part);
/* A file of a sandbox, "" its folder. Allocates nothing: a child between fork
 * and exec uses it too. */
int cgroup_path(struct cgroup_path *p, enum cgroup_part part, const char *id,
		const char *file);
int cgroup_put(enum cgroup_part part, const char *id, const char *file,
	       const char *text);
int cgroup_take(enum cgroup_part part, const char *id, const char *file,
		char **ret);
/* The first line of it as a number; "max" is 0. */
int cgroup_take_u64(enum cgroup_part part, const char *id, const char *file,
		    uint64_t *ret);
/* The number behind @key and a blank, in a file of such lines. */
int cgroup_take_key(enum cgroup_part part, const char *id, const char *file,
		    const char *key, uint64_t *ret);

/* All of @l, for a group that is there. */
int cgroup_limits_set(const char *id, const struct cgroup_limits *l,
		      struct err *err);

#endif
