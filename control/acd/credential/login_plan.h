/* SPDX-License-Identifier: Apache-2.0 */
/*
 * login_plan.h - when a login is refreshed, and what follows from an answer
 *
 * No side effects. Two clocks: the provider's times are seconds since 1970; a
 * pause after a failure is in milliseconds of clock_ms(), so that a jump of the
 * wall clock does not lengthen it.
 */
#ifndef CONTROL_ACD_CREDENTIAL_LOGIN_PLAN_H
#define CONTROL_ACD_CREDENTIAL_LOGIN_PLAN_H

#include "control/acd/credential/login_parse.h"

#define LOGIN_AHEAD_MIN 60u /* seconds before the end of the access token */
#define LOGIN_AHEAD_MAX 3600u
#define LOGIN_PAUSE_FIRST_MS 2000u /* doubled after each failure */
#define LOGIN_PAUSE_MAX_MS 300000u
#define LOGIN_PAUSE_REFUSED_MS 600000u /* only a person can mend that */
#define LOGIN_PAUSE_ASKED_MS 3600000u /* the longest that is obeyed */
#define LOGIN_PAUSE_DONE_MS 30000u /* after a success, whatever it said */

/* What is known of the refreshes of one login. */
struct login_state {
	unsigned failures; /* in a row */
	uint64_t not_before_ms; /* of clock_ms(): when to ask again */
	char why[160]; /* the last failure; "": none since a success */
};

/* Returns when the refresh of @l is due, seconds since 1970: a tenth of the
 * token's life before its end, within the limits above. */
uint64_t login_due(const struct vstore_login *l);
/* Returns true if the access token of @l is not usable at @now, or will not be
 * in a moment. */
bool login_has_ended(const struct vstore_login *l, uint64_t now);
/* Returns true if @l should be refreshed now. @s may be zeroed. */
bool login_wants(const struct vstore_login *l, const struct login_state *s,
		 uint64_t now, uint64_t now_ms);
/* Records an answer that brought new tokens. */
void login_went_well(struct login_state *s, uint64_t now_ms);
/* Records a failure for the reason @why (copied). @refused: LOGIN_REFUSED;
 * @after_s: the pause that the server wants, 0 for none. */
void login_went_wrong(struct login_state *s, bool refused, uint64_t after_s,
		      const char *why, uint64_t now_ms);

#endif
