/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dial_proxy.c - opens a tunnel through an upstream proxy: request and answer
 *
 * The proxy is the user's own and more trusted than a sandbox, but its answer
 * is still limited and read strictly: a status line of HTTP/1.0 or 1.1, field
 * lines ended by CRLF, no bare CR or LF, no NUL. Its fields are ignored: a 2xx
 * answer to CONNECT has no body, whatever they say.
 */
#include "ottergate/conn/dial_proxy.h"

#include <string.h>

ssize_t dial_proxy_request(const char *host, uint16_t port,
			   const char *authorization,
			   char out[DIAL_PROXY_REQUEST_MAX])
{
	bool v6 = strchr(host, ':') != NULL;
	const char *open = v6 ? "[" : "", *close = v6 ? "]" : "";
	int n;

	for (const char *p = authorization; p && *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return -EBADMSG;
	n = snprintf(out, DIAL_PROXY_REQUEST_MAX,
		     "CONNECT %s%s%s:%u HTTP/1.1\r\n"
		     "Host: %s%s%s:%u\r\n"
		     "%s%s%s\r\n",
		     open, host, close, port, open, host, close, port,
		     authorization ? "Proxy-Authorization: " : "",
		     authorization ? authorization : "",
		     authorization ? "\r\n" : "");
	if (n < 0 || (unsigned)n >= DIAL_PROXY_REQUEST_MAX)
		return -ENOBUFS;
	return n;
}

/* Parses "HTTP/1.1 200 words"; the words may be missing (RFC 9112 §4). */
static int status_line(struct slice line, unsigned *ret)
{
	static const char proto[] = "HTTP/1.";
	const uint8_t *p = line.ptr;
	unsigned status = 0;

	if (line.len < 12 || memcmp(p, proto, 7) != 0 ||
	    (p[7] != '0' && p[7] != '1') || p[8] != ' ')
		return -EBADMSG;
	for (unsigned i = 9; i < 12; i++) {
		if (p[i] < '0' || p[i] > '9')
			return -EBADMSG;
		status = status * 10 + (unsigned)(p[i] - '0');
	}
	if (line.len > 12 && p[12] != ' ')
		return -EBADMSG;
	*ret = status;
	return 0;
}

/* Takes a line and its CRLF from the front. */
static int take_line(struct slice *in, struct slice *ret)
{
	for (size_t i = 0; i < in->len; i++) {
		uint8_t c = in->ptr[i];

		if (c == '\n' || c == 0)
			return -EBADMSG;
		if (c != '\r')
			continue;
		if (i + 1 == in->len)
			return -EAGAIN;
		if (in->ptr[i + 1] != '\n')
			return -EBADMSG;
		*ret = slice_of(in->ptr, i);
		*in = slice_of(in->ptr + i + 2, in->len - i - 2);
		return 0;
	}
	return -EAGAIN;
}

int dial_proxy_answer(struct slice in, unsigned *ret_status, size_t *ret_len)
{
	struct slice all = in, line;
	unsigned status;
	int rc;

	if (in.len > DIAL_PROXY_HEAD_MAX)
		in.len = DIAL_PROXY_HEAD_MAX;
	all.len = in.len;
	rc = take_line(&in, &line);
	if (rc == 0)
		rc = status_line(line, &status);
	while (rc == 0) {
		rc = take_line(&in, &line);
		if (rc < 0 || line.len > 0)
			continue;
		*ret_status = status;
		*ret_len = all.len - in.len;
		return 0;
	}
	if (rc == -EAGAIN && all.len == DIAL_PROXY_HEAD_MAX)
		return -EBADMSG;
	return rc;
}
