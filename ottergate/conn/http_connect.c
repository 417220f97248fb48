/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_connect.c - CONNECT to the explicit proxy
 */
#include "ottergate/conn/plain_http.h"

#include <sys/socket.h>

/* If nothing waits to be sent, a few bytes always fit; otherwise the client
 * does not read and need not be served. */
static bool say_established(struct conn *c)
{
	static const char text[] =
		"HTTP/1.1 200 Connection established\r\n\r\n";
	ssize_t n = send(c->client.fd, text, sizeof(text) - 1,
			 MSG_NOSIGNAL | MSG_DONTWAIT);

	return n == (ssize_t)(sizeof(text) - 1);
}

/*
 * The tunnel's first bytes must be a TLS hello for the very name that was
 * decided on (H5), and a client sends them only after a 200. So the 200
 * precedes the dial, and a failed dial shows as a TLS alert. A `proto: tcp`
 * rule needs no hello: there the dial comes first and the answer is 200, 502 or
 * 504.
 */
enum http_step http_connect(struct conn *c, const struct verdict *v)
{
	struct http_conn *h = c->proto;
	struct name name = h->target.name;

	if (v->proto == RULE_TCP) {
		h->tcp = true;
		return http_dial(c);
	}
	if (!say_established(c)) {
		conn_close(c);
		return HTTP_GONE;
	}
	fd_closep(&c->upstream.fd);
	c->upstream_eof = false;
	tunnel_begin(c, &name);
	return HTTP_GONE;
}

enum http_step http_connected(struct conn *c)
{
	if (!say_established(c)) {
		conn_close(c);
		return HTTP_GONE;
	}
	conn_relay(c);
	return HTTP_GONE;
}
