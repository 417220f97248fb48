/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_policy.h - what the steps of an image's build may reach, and take
 */
#ifndef CONTROL_ACD_INSTALL_STEP_POLICY_H
#define CONTROL_ACD_INSTALL_STEP_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"

#define STEP_AGENT_MAX 63u /* characters of an agent's id at the gateway */

struct step_limits {
	uint64_t time_ms;
	uint64_t disk, memory; /* bytes */
};

/* Writes the id that the steps of @image have at the gateway: no instance has
 * such a name (names.h). */
void step_agent(const char *image, char out[static STEP_AGENT_MAX + 1]);

/*
 * Appends the policy file of the steps of @image at @address to @out, and sets
 * *ret: this machine's package registries, if @packages says that there is a
 * preset of them, and what `image` of the blueprint of that name says. An image
 * without a blueprint of its own has the registries alone. Returns 0, or a
 * negative errno with @err.
 */
int step_policy(const char *image, const char *address, bool packages,
		struct buf *out, struct step_limits *ret, struct err *err);

#endif
