/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show_test.c - policies for people to look at
 */
#include "ottergate/policy/load.h"

#include <errno.h>

#include "lib/buf.h"
#include "tests/unit/tap.h"

static bool buf_has(const struct buf *b, const char *text)
{
	return memmem(buf_slice(b).ptr, buf_len(b), text, strlen(text));
}

int main(void)
{
	struct buf out;

	buf_init(&out, 1 << 16);
	is_int(policy_show_builtin(&out), 0, "built-ins");
	ok(buf_has(&out, "169.254.169.0/24") && buf_has(&out, "+dns.google"),
	   "with addresses and names");
	buf_done(&out);
	buf_init(&out, 64);
	is_int(policy_show_builtin(&out), -ENOBUFS, "too small a buffer");
	buf_done(&out);
	return done_testing();
}
