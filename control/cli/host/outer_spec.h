/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outer_spec.h - the description with which ac-host is created
 */
#ifndef CONTROL_CLI_HOST_OUTER_SPEC_H
#define CONTROL_CLI_HOST_OUTER_SPEC_H

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/str.h"

struct outer_spec {
	const char *name; /* of the container, also its host name */
	const char *image, *build; /* "ac/host:<tag>", identity of the build */
	const char *home; /* $AC_HOME, becomes /var/lib/ac */
	const char *volume; /* becomes /var/lib/docker */
	const char *pid_max; /* of this machine, NULL: unknown */
	const char *runtime; /* of all sandboxes: "docker", NULL: acd's own */
	uint64_t caps; /* this machine's bounding set, a bit for each */
	struct strv devices; /* paths in /dev to pass on: GPUs, loop devices */
};

struct outer_edge { /* ac-edge's container */
	const char *name;
	const char *image, *build; /* those of ac-host */
	const char
		*home; /* $AC_HOME; of it, the folder of sockets is mounted */
	uid_t uid;
	gid_t gid;
};

/* Return the body of the engine's call, a new reference, NULL without
 * memory. */
json_t *outer_spec_json(const struct outer_spec *spec);
json_t *outer_edge_json(const struct outer_edge *spec);

/* Appends the names "CAP_…" of what ac-host needs and @bounding has. Returns 0
 * or -ENOMEM. */
int outer_spec_caps(uint64_t bounding, struct strv *ret);

/* Returns CapBnd in the text of /proc/self/status, all ones if it is not
 * there. */
uint64_t outer_spec_bounding(const char *status_text);

/*
 * Appends the paths of the NVIDIA device nodes below @dev ("/dev") that @asked
 * asks for: NULL or "" none, "all", or numbers ("0,1") and the shared nodes.
 * Having none is no failure. Returns 0, -EINVAL for another @asked, or -ENOMEM.
 */
int outer_spec_gpus(const char *dev, const char *asked, struct strv *ret);

/*
 * Appends the loop devices that @asked ("8"; NULL or "" none) asks for: so many
 * below @dev that are free according to @sys ("/sys/block"), the highest
 * numbers first, which other programs take last. Fewer are no failure. Returns
 * 0, -EINVAL if @asked is no number from 1 to OUTER_LOOPS_MAX, or -ENOMEM.
 */
#define OUTER_LOOPS_MAX 256u
int outer_spec_loops(const char *dev, const char *sys, const char *asked,
		     struct strv *ret);

#endif
