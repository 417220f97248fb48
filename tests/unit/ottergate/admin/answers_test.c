/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answers_test.c - requests of the admin socket that are refused as they are
 */
#include "ottergate/admin/admin_impl.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/tap.h"

static void test_follow(void)
{
	static struct admin_conn c;
	static char text[4096];
	struct admin_request rq = { .verb = ADMIN_FOLLOW };
	struct err err = { 0 };

	memset(text, 'x', sizeof(text) - 1);
	rq.a = slice_str(text);
	is_int(admin_answers[ADMIN_FOLLOW](&c, &rq, &err), -EINVAL,
	       "a long agent is refused");
	is_str(err.msg, "the agent's id is too long", "and named");
	rq.a = slice_str("");
	rq.b = slice_str(text);
	is_int(admin_answers[ADMIN_FOLLOW](&c, &rq, &err), -EINVAL,
	       "a long reason is refused");
	is_str(err.msg, "the reason is too long", "and named");
}

int main(void)
{
	test_follow();
	return done_testing();
}
