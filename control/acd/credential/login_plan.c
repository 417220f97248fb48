/* SPDX-License-Identifier: Apache-2.0 */
/*
 * login_plan.c - when a login is refreshed, and what follows from an answer
 */
#include "control/acd/credential/login_plan.h"

#include <stdio.h>

#define MOMENT 10u /* seconds that a request may be under way */

uint64_t login_due(const struct vstore_login *l)
{
	uint64_t life = l->since && l->since < l->ends ? l->ends - l->since :
							 LOGIN_LIFE_DEFAULT;
	uint64_t ahead = life / 10;

	if (ahead < LOGIN_AHEAD_MIN)
		ahead = LOGIN_AHEAD_MIN;
	if (ahead > LOGIN_AHEAD_MAX)
		ahead = LOGIN_AHEAD_MAX;
	if (ahead > life / 2) /* a token of seconds */
		ahead = life / 2;
	return l->ends > ahead ? l->ends - ahead : 0;
}

bool login_has_ended(const struct vstore_login *l, uint64_t now)
{
	return l->ends <= now + MOMENT;
}

bool login_wants(const struct vstore_login *l, const struct login_state *s,
		 uint64_t now, uint64_t now_ms)
{
	return (login_due(l) <= now || login_has_ended(l, now)) &&
	       s->not_before_ms <= now_ms;
}

void login_went_well(struct login_state *s, uint64_t now_ms)
{
	*s = (struct login_state){ .not_before_ms =
					   now_ms + LOGIN_PAUSE_DONE_MS };
}

void login_went_wrong(struct login_state *s, bool refused, uint64_t after_s,
		      const char *why, uint64_t now_ms)
{
	uint64_t pause = LOGIN_PAUSE_FIRST_MS;

	for (unsigned i = 0; i < s->failures && pause < LOGIN_PAUSE_MAX_MS; i++)
		pause *= 2;
	if (pause > LOGIN_PAUSE_MAX_MS)
		pause = LOGIN_PAUSE_MAX_MS;
	if (refused)
		pause = LOGIN_PAUSE_REFUSED_MS;
	if (after_s > LOGIN_PAUSE_ASKED_MS / 1000)
		after_s = LOGIN_PAUSE_ASKED_MS / 1000;
	if (pause < after_s * 1000)
		pause = after_s * 1000;
	s->failures += s->failures < UINT32_MAX;
	s->not_before_ms = now_ms + pause;
	snprintf(s->why, sizeof(s->why), "%s", why);
}
