/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dial_proxy.h - the few words that open a tunnel through an upstream proxy
 *
 * RFC 9110 §9.3.6, RFC 9112 §4. Pure, no allocation.
 */
#ifndef OTTERGATE_CONN_DIAL_PROXY_H
#define OTTERGATE_CONN_DIAL_PROXY_H

#include "lib/slice.h"

#define DIAL_PROXY_HEAD_MAX 8192u /* of what the proxy answers */
#define DIAL_PROXY_REQUEST_MAX 4096u

/*
 * "CONNECT @host:@port", @host a canonical name or an address as text
 * (brackets are added); @authorization NULL: none. Returns the length,
 * -ENOBUFS, -EBADMSG when @authorization is no field value.
 */
ssize_t dial_proxy_request(const char *host, uint16_t port,
			   const char *authorization,
			   char out[DIAL_PROXY_REQUEST_MAX]) ATTR_WUR;
/*
 * The head of the answer at the front of @in. 0: *ret_status, and *ret_len
 * bytes are the head's, the rest is the tunnel's. -EAGAIN: it is not all
 * there; -EBADMSG: no HTTP, or too long.
 */
int dial_proxy_answer(struct slice in, unsigned *ret_status,
		      size_t *ret_len) ATTR_WUR;

#endif
