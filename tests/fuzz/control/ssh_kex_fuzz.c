/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_kex_fuzz.c - bytes of a client before there are keys: they are refused with
 * a reason, or wait for more; nothing of them is a message
 */
#include "control/cli/ssh/transport.h"

#include <sodium.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool cond)
{
	if (!cond)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t secret[HOSTKEY_SECRET];
	static struct hostkey key = { .secret = secret };
	struct kex_offer offer = { 0 };
	struct transport t;
	struct slice m;
	int rc;

	if (size > TRANSPORT_IN_MAX || sodium_init() < 0)
		return 0;
	rc = kex_get_init(slice_of(data, size), &offer);
	must(rc == 0 || rc == -EBADMSG || rc == -ENOTSUP);
	must(transport_init(&t, &key) == 0);
	must(buf_append(&t.in, data, size) == 0);
	rc = transport_next(&t, &m);
	must(rc == 0 || rc == -ECONNRESET || (rc == -EPROTO && t.why));
	transport_done(&t);
	return 0;
}
