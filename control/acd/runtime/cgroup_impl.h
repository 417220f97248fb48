/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup_impl.h - shared by the cgroup*.c files
 */
#ifndef CONTROL_ACD_RUNTIME_CGROUP_IMPL_H
#define CONTROL_ACD_RUNTIME_CGROUP_IMPL_H

#include "control/acd/runtime/cgroup.h"

/* The hierarchies of v1 that are needed. The first is never missing. */
enum cgroup_part {
	CGROUP_MEMORY,
	CGROUP_CPU,
	CGROUP_CPUACCT,
	CGROUP_PIDS,
	CGROUP_FREEZER,
	CGROUP_PARTS
};

/* Folders of the sandboxes: v2 has one, in the first place; v1 one for each
 * part. "": there is none. */
struct cgroups {
	bool ready, v2;
	char dir[CGROUP_PARTS][96];
	bool twin[CGROUP_PARTS]; /* the folder of an earlier part */
};
extern struct cgroups cgroups;

struct cgroup_path {
	char text[96 + CGROUP_ID_MAX + 64];
};

/* Returns true for a valid id. */
bool cgroup_id_is_good(const char *id);
/* Returns true if @part has a folder of its own. */
bool cgroup_part_counts(enum cgroup_part part);
/* Returns the folder in which @part of sandboxes is controlled, "" for none. */
const char *cgroup_dir(enum cgroup_part part);
/* Makes the path of a sandbox's file, for "" of its folder. Allocates nothing,
 * so a child between fork and exec may use it. Returns 0, -ENODEV, -EINVAL or
 * -ENAMETOOLONG. */
int cgroup_path(struct cgroup_path *p, enum cgroup_part part, const char *id,
		const char *file);
/* Write and read such a file. The caller frees *ret. Return 0 or a negative
 * errno. */
int cgroup_put(enum cgroup_part part, const char *id, const char *file,
	       const char *text);
int cgroup_take(enum cgroup_part part, const char *id, const char *file,
		char **ret);
/* Reads its first line as a number; "max" is 0. */
int cgroup_take_u64(enum cgroup_part part, const char *id, const char *file,
		    uint64_t *ret);
/* Reads the number after @key and a blank. Returns -ENODATA without such a
 * line. */
int cgroup_take_key(enum cgroup_part part, const char *id, const char *file,
		    const char *key, uint64_t *ret);

/* Sets all limits of an existing group. */
int cgroup_limits_set(const char *id, const struct cgroup_limits *l,
		      struct err *err);

#endif
