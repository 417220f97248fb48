/* SPDX-License-Identifier: Apache-2.0 */
/*
 * login_plan_test.c - when a login is refreshed, by a clock of the test's
 */
#include "control/acd/credential/login_plan.h"

#include "tests/unit/tap.h"

#define NOW 1800000000u
#define DAY 86400u

static void test_due(void)
{
	static const struct {
		uint64_t life, ahead;
		bool since;
	} rows[] = {
		{ 3600, 360, true }, /* an hour */
		{ 10 * DAY, 3600, true }, /* days: never more than an hour */
		{ 300, 60, true }, /* never less than a minute */
		{ 40, 20, true }, /* but half of a token of seconds */
		{ 0, 0, true },
		{ 600, 360, false }, /* as if it were of an hour */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct vstore_login l = {
			.ends = NOW + rows[i].life,
			.since = rows[i].since ? NOW : 0,
		};
		const uint64_t due = l.ends - login_due(&l);

		/* Without a life it is taken for one of an hour. */
		is_int((long long)due,
		       (long long)(rows[i].life ? rows[i].ahead : 360),
		       "row %zu", i);
	}
}

static void test_wants(void)
{
	const struct vstore_login l = { .ends = NOW + 3600, .since = NOW };
	struct login_state s = { 0 };

	ok(!login_wants(&l, &s, NOW, 0), "not at once");
	ok(!login_wants(&l, &s, NOW + 3239, 0), "nor a moment before");
	ok(login_wants(&l, &s, NOW + 3240, 0), "but a tenth before its end");
	ok(!login_has_ended(&l, NOW + 3240), "when it is still good");
	ok(login_has_ended(&l, NOW + 3590), "until a moment before its end");
	ok(login_wants(&l, &s, NOW + 9 * DAY, 0), "and long after it");
	ok(!login_wants(&l, &s, 1, 0), "not if the clock was set back");
}

static void test_pauses(void)
{
	const struct vstore_login l = { .ends = 1 };
	struct login_state s = { 0 };
	uint64_t at = 0, pause = 0;

	for (unsigned i = 0; i < 20; i++) {
		login_went_wrong(&s, false, 0, "no", at);
		ok(!login_wants(&l, &s, NOW, s.not_before_ms - 1) &&
			   login_wants(&l, &s, NOW, s.not_before_ms),
		   "a pause");
		ok(s.not_before_ms - at >= pause, "which does not shrink");
		pause = s.not_before_ms - at;
		at = s.not_before_ms;
	}
	is_int((long long)pause, LOGIN_PAUSE_MAX_MS, "nor grow for ever");
	is_str(s.why, "no", "its reason");
	login_went_well(&s, at);
	ok(s.failures == 0 && !*s.why, "a success ends that");
	ok(!login_wants(&l, &s, NOW, at + LOGIN_PAUSE_DONE_MS - 1),
	   "a token without a life is not asked for again at once");
	login_went_wrong(&s, false, 0, "no", at);
	is_int((long long)(s.not_before_ms - at), LOGIN_PAUSE_FIRST_MS,
	       "it begins anew");
	login_went_wrong(&s, false, 120, "later", at);
	is_int((long long)(s.not_before_ms - at), 120000,
	       "what the server says");
	login_went_wrong(&s, false, UINT64_MAX, "never", at);
	is_int((long long)(s.not_before_ms - at), LOGIN_PAUSE_ASKED_MS,
	       "as far as it is reasonable");
	login_went_wrong(&s, true, 0, "refused", at);
	is_int((long long)(s.not_before_ms - at), LOGIN_PAUSE_REFUSED_MS,
	       "what only a person can mend");
}

int main(void)
{
	test_due();
	test_wants();
	test_pauses();
	return done_testing();
}
