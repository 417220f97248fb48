/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_request_fuzz.c - what a client asks of a channel, one request after another,
 * each of a u16 and so many bytes: it is refused, or starts one process at most,
 * for which acd is not there
 */
#include "control/cli/ssh/request.h"

#include <sodium.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool cond)
{
	if (!cond)
		abort();
}

static void ask(struct channel *c, struct slice request)
{
	bool began = c->started;
	int rc = request_handle(c, request);

	must(rc == 0 || rc == -EPROTO || rc == -ENOBUFS);
	must(c->started || !began);
	must(json_array_size(c->env) <= REQUEST_ENV_MAX);
	must(c->exec.fd < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t secret[HOSTKEY_SECRET];
	static struct hostkey key = { .secret = secret };
	struct transport t;
	const struct channel_home home = { .t = &t,
					   .sock = "/nonexistent/sock",
					   .name = "work" };
	struct slice all = slice_of(data, size), one;
	struct channel *c;
	uint16_t len;

	if (sodium_init() < 0 || transport_init(&t, &key) < 0)
		return 0;
	c = channel_new(&home, 0, 1, 1u << 20, CHANNEL_PACKET_MAX);
	must(c);
	while (slice_u16(&all, &len) == 0 && slice_take(&all, len, &one) == 0)
		ask(c, one);
	(void)!channel_move(c);
	channel_free(c);
	transport_done(&t);
	return 0;
}
