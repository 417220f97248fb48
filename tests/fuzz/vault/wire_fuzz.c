/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_fuzz.c - vaultd's requests and answers, the grant, and /proc
 *
 * What is accepted is written back byte for byte: one encoding for each. A
 * process may choose its name in /proc: what is read of it has an end.
 */
#include <stdlib.h>
#include <string.h>

#include "vault/attest.h"
#include "vault/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct buf *b, struct slice in, int rc)
{
	if (rc < 0 || !slice_eq(buf_slice(b), in))
		abort();
	buf_consume(b, buf_len(b));
}

static void check_proc(const uint8_t *data, size_t size)
{
	struct attest_hop h = { 0 };
	char text[1024] = "";

	if (size > 0 && size < sizeof(text))
		memcpy(text, data, size);
	if (attest_parse_stat(text, &h) == 0 &&
	    (strnlen(h.comm, sizeof(h.comm)) == sizeof(h.comm) || h.pid <= 0))
		abort();
	if (attest_parse_status(text, &h) == 0 && !strstr(text, "\nUid:"))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = slice_of(data, size);
	struct vault_request r;
	struct vault_answer a;
	struct grant g;
	struct buf b;

	check_proc(data, size);
	buf_init(&b, GRANT_MAX);
	if (vault_get_request(in, &r) == 0)
		check(&b, in, vault_put_request(&b, &r));
	if (vault_get_answer(in, &a) == 0)
		check(&b, in, vault_put_answer(&b, &a));
	if (grant_get(in, &g) == 0) {
		check(&b, in, grant_put(&b, &g));
		grant_done(&g);
	}
	buf_done(&b);
	return 0;
}
