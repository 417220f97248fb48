/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_spec.h - a sandbox as runsc is told to make it: an OCI configuration
 */
#ifndef CONTROL_ACD_RUNTIME_RUNSC_SPEC_H
#define CONTROL_ACD_RUNTIME_RUNSC_SPEC_H

#include <jansson.h>

#include "control/runtime.h"

struct runsc_spec {
	const struct runtime_spec *want;
	const char *root; /* where the root file system is mounted */
	const char *netns; /* path of the network namespace */
	const char *bundle; /* holds the files "hosts" and "hostname" */
	uint64_t nofile; /* descriptors a process may have */
};

/* A new reference, NULL without memory. Pure. */
json_t *runsc_spec_json(const struct runsc_spec *s);

/* What PID 1 of a sandbox may; the self-test runs with the same. As above. */
json_t *runsc_caps_json(void);

/* What a mount hides or needs below the root: directories, and files where
 * @file is set. An image without them gets them from a layer of ours. A file
 * with a @source is not mounted: it is the copy of one of ac-host. */
struct runsc_place {
	const char *path; /* relative to the root */
	bool file;
	const char *source; /* absolute, or NULL */
};
extern const struct runsc_place runsc_places[]; /* ends with a NULL path */

#endif
