/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dial_proxy.h - opens a tunnel through an upstream proxy: request and answer
 *
 * RFC 9110 §9.3.6, RFC 9112 §4. No side effects, no allocation.
 */
#ifndef OTTERGATE_CONN_DIAL_PROXY_H
#define OTTERGATE_CONN_DIAL_PROXY_H

#include "lib/slice.h"

#define DIAL_PROXY_HEAD_MAX 8192u /* bytes of the proxy's answer */
#define DIAL_PROXY_REQUEST_MAX 4096u

/* Writes "CONNECT @host:@port". @host is a canonical name or an address as text
 * (brackets are added); @authorization NULL: none. Returns the length,
 * -ENOBUFS, or -EBADMSG if @authorization is no field value. */
ssize_t dial_proxy_request(const char *host, uint16_t port,
			   const char *authorization,
			   char out[DIAL_PROXY_REQUEST_MAX]) ATTR_WUR;
/* Parses the head of the answer at the front of @in. Returns 0 with the status;
 * *@ret_len bytes are the head, the rest is the tunnel's. Returns -EAGAIN if
 * bytes are missing, -EBADMSG if it is not HTTP or too long. */
int dial_proxy_answer(struct slice in, unsigned *ret_status,
		      size_t *ret_len) ATTR_WUR;

#endif
