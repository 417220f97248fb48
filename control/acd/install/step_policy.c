/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_policy.c - what the steps of an image's build may reach, and take
 */
#include "control/acd/install/step_policy.h"

#include <string.h>

#include "control/acd/blueprint/blueprint.h"
#include "control/shared/names.h"

void step_agent(const char *image, char out[static STEP_AGENT_MAX + 1])
{
	snprintf(out, STEP_AGENT_MAX + 1, NAME_BUILD "%s", image);
}

/* Reads the blueprint that @image is of. Returns 0 if there is none: *ret is
 * zeroed then. */
static int blueprint_of(const char *image, struct blueprint *ret,
			struct err *err)
{
	int rc = blueprint_load(image, ret, err);

	if (rc == -ENOENT) {
		*ret = (struct blueprint){ 0 };
		return 0;
	}
	if (rc < 0)
		return rc;
	/* A blueprint that takes another image says nothing about this one. */
	if (strcmp(ret->image, image) != 0)
		blueprint_done(ret);
	return 0;
}

int step_policy(const char *image, const char *address, bool packages,
		struct buf *out, struct step_limits *ret, struct err *err)
{
	const struct egress none = { 0 };
	struct blueprint bp = { 0 };
	struct egress all = { 0 };
	char agent[STEP_AGENT_MAX + 1];
	int rc = name_check_blueprint(image, err);

	if (rc == 0)
		rc = blueprint_of(image, &bp, err);
	if (rc < 0)
		return rc;
	step_agent(image, agent);
	if (egress_merge(&bp.build.egress, &none, packages, &all) < 0)
		rc = err_nomem(err);
	if (rc == 0) {
		rc = egress_yaml(&all, agent, address, out);
		if (rc < 0)
			err_set(err, rc, "the policy of '%s': %s", agent,
				err_text(rc));
	}
	ret->time_ms = bp.build.time_ms ? bp.build.time_ms :
					  BLUEPRINT_BUILD_TIME_MS;
	ret->disk = bp.build.disk ? bp.build.disk : BLUEPRINT_BUILD_DISK;
	ret->memory = bp.build.memory ? bp.build.memory :
					BLUEPRINT_BUILD_MEMORY;
	egress_done(&all);
	blueprint_done(&bp);
	return rc;
}
