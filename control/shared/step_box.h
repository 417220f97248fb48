/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_box.h - makes the OCI bundle of a build's step that of an install
 * sandbox
 */
#ifndef CONTROL_SHARED_STEP_BOX_H
#define CONTROL_SHARED_STEP_BOX_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

/* What looks through an image instead of a program of that name: the exec form
 * of the last step of images for agents (images/build.sh). */
#define STEP_STRIP "/usr/libexec/ac/strip"

/* What a bundle asks for; the texts are owned by the caller. */
struct step_bundle {
	char *root; /* absolute path of its root file system */
	char *image; /* its host name: the image that is built */
	bool boxed; /* it has a network namespace of its own */
	bool strips; /* its only argument is STEP_STRIP */
};

/* Reads config.json of the bundle in @dir. Returns 0, and the caller releases
 * @ret with step_bundle_done(); or a negative errno with @err. */
int step_bundle_read(const char *dir, struct step_bundle *ret, struct err *err);
/* Frees what @b holds. Accepts zeroed. */
void step_bundle_done(struct step_bundle *b);

/* What the sandbox of a step gets; the texts are borrowed. */
struct step_box {
	const char *netns; /* its network namespace, a file */
	const char *resolv; /* its resolver's configuration, a file */
	uint64_t memory; /* bytes that its programs are told of */
};

/*
 * Changes config.json of the bundle in @dir for runsc: it gets what @box says,
 * and what only a kernel of the host could grant or enforce is left out. Returns
 * 0, or a negative errno with @err; on failure config.json is unchanged.
 */
int step_box_prepare(const char *dir, const struct step_box *box,
		     struct err *err);

#endif
