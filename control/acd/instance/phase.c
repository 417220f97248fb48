/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phase.c - the phases of an instance: their words, and what they mean
 *
 * A run goes through these in turn. Each but "ports", "guest", "running" and
 * "ending" waits for one answer that must come; an end that is asked for meanwhile
 * waits, too:
 *
 *	ports → disk → policy → home → sandbox → guest → running ⇄ paused
 *	                        └ replaced ┘ (a sandbox of the pool was lost)
 *	running → ending → asked → thaw → removal → files → idle
 */
#include "control/acd/instance/instance_impl.h"

#include <assert.h>

static const char *const words[] = {
	[PHASE_IDLE] = "idle",       [PHASE_DISK] = "disk",
	[PHASE_PORTS] = "ports",     [PHASE_POLICY] = "policy",
	[PHASE_SANDBOX] = "sandbox", [PHASE_HOME] = "home",
	[PHASE_GUEST] = "guest",     [PHASE_REPLACED] = "replaced",
	[PHASE_UP] = "running",      [PHASE_ENDING] = "ending",
	[PHASE_ASKED] = "asked",     [PHASE_THAW] = "thaw",
	[PHASE_REMOVAL] = "removal", [PHASE_FILES] = "files",
};
static_assert(ARRAY_SIZE(words) == PHASES, "a word for each");

const char *instance_phase(const struct instance *in)
{
	if (in->phase == PHASE_UP && in->rec.state == INSTANCE_PAUSED)
		return "paused";
	if (in->phase == PHASE_UP && in->rec.state == INSTANCE_HIBERNATED)
		return "hibernated";
	return words[in->phase];
}

bool instance_is_between(const struct instance *in)
{
	switch (in->phase) {
	case PHASE_IDLE:
	case PHASE_UP:
	case PHASE_ENDING:
	case PHASE_FILES:
		return false;
	default:
		return true;
	}
}

bool instance_main_is_awaited(const struct instance *in)
{
	return in->phase == PHASE_UP || in->phase == PHASE_ENDING;
}

void instance_main_over(struct instance *in, const struct link_exit *x)
{
	if (!instance_main_is_awaited(in))
		return; /* its end has begun */
	in->exit = *x;
	step_done(in, NULL);
}
