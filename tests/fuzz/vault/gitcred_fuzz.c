/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gitcred_fuzz.c - git's credential protocol
 *
 * What is accepted makes a request that vaultd takes, and means the same when
 * it is written plainly and read again.
 */
#include <stdlib.h>
#include <string.h>

#include "vault/gitcred.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vault_request r = { 0 }, again = { 0 }, sent;
	struct buf b;

	if (gitcred_parse(slice_of(data, size), &r) < 0)
		return 0;
	if (strpbrk(r.host, "\r\n :/@") || !grant_host_valid(r.host))
		abort();
	buf_init(&b, GITCRED_INPUT_MAX);
	if (vault_put_request(&b, &r) < 0 ||
	    vault_get_request(buf_slice(&b), &sent) < 0 ||
	    strcmp(sent.host, r.host) != 0 || strcmp(sent.path, r.path) != 0)
		abort();
	buf_consume(&b, buf_len(&b));
	buf_printf(&b, "protocol=%s\nhost=%s\npath=%s\n\n", r.proto, r.host,
		   r.path);
	if (gitcred_parse(buf_slice(&b), &again) < 0 ||
	    memcmp(&again, &r, sizeof(r)) != 0)
		abort();
	buf_done(&b);
	return 0;
}
