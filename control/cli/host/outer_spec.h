/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outer_spec.h - how ac-host is created: the body of the engine's call
 */
#ifndef CONTROL_CLI_HOST_OUTER_SPEC_H
#define CONTROL_CLI_HOST_OUTER_SPEC_H

#include <jansson.h>
#include <stdint.h>

#include "lib/str.h"

struct outer_spec {
	const char *name; /* of the container, also its host name */
	const char *image, *build; /* "ac/host:<tag>", build identity */
	const char *home; /* $AC_HOME, becomes /var/lib/ac */
	const char *volume; /* becomes /var/lib/docker */
	const char *pid_max; /* of this machine, NULL: not known */
	const char *runtime; /* of all sandboxes: "docker", NULL: acd's own */
	uint64_t caps; /* bounding set of this machine, bit per capability */
	struct strv devices; /* paths in /dev to pass on: GPUs, loop devices */
};

/* A new reference, NULL without memory. Pure. */
json_t *outer_spec_json(const struct outer_spec *spec);

/* "CAP_…" names of what ac-host wants and @bounding has. */
int outer_spec_caps(uint64_t bounding, struct strv *ret);

/* CapBnd of /proc/self/status text, all ones when it is not there. */
uint64_t outer_spec_bounding(const char *status_text);

/*
 * NVIDIA device nodes below @dev ("/dev"), as paths, that @wish asks for: NULL
 * or "" none, "all", or numbers ("0,1") and what all GPUs share. That there
 * are none is a success, another @wish is -EINVAL.
 */
int outer_spec_gpus(const char *dev, const char *wish, struct strv *ret);

/*
 * Loop devices that @wish ("8", NULL or "" for none) asks for: so many of
 * those below @dev that no file is attached to by @sys ("/sys/block"), the
 * highest numbers first, which other programs take last. Fewer are a success;
 * -EINVAL: not a number of 1 to OUTER_LOOPS_MAX.
 */
#define OUTER_LOOPS_MAX 256u
int outer_spec_loops(const char *dev, const char *sys, const char *wish,
		     struct strv *ret);

#endif
