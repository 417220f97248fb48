/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phase.c - how far the start or the end of an instance is
 *
 * A run goes through these in turn; each but "guest" and "running" waits for
 * one answer, which in->waits names, and an end that is wanted meanwhile waits
 * with it:
 *
 *	disk → policy → sandbox → guest → running ⇄ paused
 *	         └ replaced ┘ (one of the pool was lost)
 *	running → ending → asked → thaw → removal → files → idle
 */
#include "control/acd/instance/instance_impl.h"

static const char *const waits[] = {
	[WAIT_DISK] = "disk",       [WAIT_POLICY] = "policy",
	[WAIT_SANDBOX] = "sandbox", [WAIT_REPLACED] = "replaced",
	[WAIT_END] = "asked",       [WAIT_THAW] = "thaw",
	[WAIT_REMOVAL] = "removal",
};

const char *instance_phase(const struct instance *in)
{
	if (in->waits != WAIT_NONE)
		return waits[in->waits];
	if (in->tree)
		return "files";
	switch (in->rec.state) {
	case INSTANCE_STARTING:
		return "guest";
	case INSTANCE_RUNNING:
		return "running";
	case INSTANCE_PAUSED:
		return "paused";
	case INSTANCE_STOPPING:
		return "ending";
	default:
		return "idle";
	}
}
