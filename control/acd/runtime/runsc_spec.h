/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runsc_spec.h - runsc's description of a sandbox: an OCI configuration
 */
#ifndef CONTROL_ACD_RUNTIME_RUNSC_SPEC_H
#define CONTROL_ACD_RUNTIME_RUNSC_SPEC_H

#include <jansson.h>
#include <sys/types.h>

#include "control/runtime.h"

/* All borrowed. */
struct runsc_spec {
	const struct runtime_spec *want;
	const char *root; /* where the root file system is mounted */
	const char *netns; /* path of the network namespace */
	const char *bundle; /* holds the files "hosts" and "hostname" */
	uint64_t nofile; /* descriptors a process may have */
};

/* Returns the text of config.json as a new reference, NULL without memory. Has
 * no side effects. */
json_t *runsc_spec_json(const struct runsc_spec *s);

/* Returns the capabilities of a sandbox's PID 1, which the self-test has too,
 * in the form of config.json: a new reference, or NULL without memory. */
json_t *runsc_caps_json(void);

/* Directories and files (@file) below the root that a mount needs. If an image
 * lacks them, they come from the layer of ours at the bottom. A file with a @source is not
 * mounted: it is a copy of ac-host's. */
struct runsc_place {
	const char *path; /* relative to the root */
	bool file;
	const char *source; /* absolute, or NULL */
};
extern const struct runsc_place runsc_places[]; /* ends with a NULL path */

/* Files that replace those of every image. They are copies of ac-host's in the
 * layer of ours at the top, so none is mounted. */
struct runsc_cover {
	const char *path; /* relative to the root */
	const char *source; /* absolute */
	mode_t mode;
};
extern const struct runsc_cover runsc_covers[]; /* ends with a NULL path */

#endif
