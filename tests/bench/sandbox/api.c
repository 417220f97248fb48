/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api.c - acd's API as a program sees it that knows what it wants
 *
 * Blocking, and with a request made by hand: what is measured is acd's share
 * and the sandbox's, not a client library's.
 */
#include "tests/bench/sandbox/api.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/sock.h"
#include "lib/str.h"

static void send_all(int fd, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0)
			err(1, "write to acd");
		p += n;
		len -= (size_t)n;
	}
}

/* Words of a benchmark need no escapes in JSON. */
static void request(int fd, const char *name, char *const argv[], bool input)
{
	char body[2048], head[512];
	size_t used;
	int n;

	n = snprintf(body, sizeof(body), "{\"stdin\":%s,\"cmd\":[",
		     input ? "true" : "false");
	used = (size_t)n;
	for (size_t i = 0; argv[i] && used < sizeof(body); i++)
		used += (size_t)snprintf(body + used, sizeof(body) - used,
					 "%s\"%s\"", i ? "," : "", argv[i]);
	if (used + 3 > sizeof(body))
		errx(1, "the command is too long");
	memcpy(body + used, "]}", 3);
	n = snprintf(head, sizeof(head),
		     "POST /v1/instances/%s/exec HTTP/1.1\r\nHost: ac\r\n"
		     "Connection: Upgrade\r\nUpgrade: ac-link/1\r\n"
		     "Content-Type: application/json\r\n"
		     "Content-Length: %zu\r\n\r\n%s",
		     name, strlen(body), body);
	if (n < 0 || (size_t)n >= sizeof(head))
		errx(1, "the request is too long");
	send_all(fd, head, (size_t)n);
}

static bool receive(struct api *a)
{
	ssize_t n;

	if (a->start == a->end)
		a->start = a->end = 0;
	if (a->end == sizeof(a->rx)) {
		memmove(a->rx, a->rx + a->start, a->end - a->start);
		a->end -= a->start;
		a->start = 0;
	}
	n = read(a->fd, a->rx + a->end, sizeof(a->rx) - a->end);
	if (n < 0)
		err(1, "read from acd");
	a->end += (size_t)n;
	return n > 0;
}

static void granted(struct api *a)
{
	static const char ok[] = "HTTP/1.1 101";
	const uint8_t *end;

	do {
		if (!receive(a))
			errx(1, "acd closed the connection");
		end = memmem(a->rx, a->end, "\r\n\r\n", 4);
	} while (!end);
	if (memcmp(a->rx, ok, sizeof(ok) - 1) != 0)
		errx(1, "acd refused: %.*s", (int)a->end, (const char *)a->rx);
	a->start = (size_t)(end + 4 - a->rx);
}

void api_exec(struct api *a, const char *sock, const char *name,
	      char *const argv[], bool input)
{
	a->start = a->end = 0;
	a->fd = sock_unix_connect(sock);
	if (a->fd < 0)
		errx(1, "connect to %s: %s", sock, err_text(a->fd));
	request(a->fd, name, argv, input);
	granted(a);
}

bool api_frame(struct api *a, struct link_frame *f)
{
	for (;;) {
		struct slice in = slice_of(a->rx + a->start, a->end - a->start);
		size_t before = in.len;
		int rc = link_parse(&in, f, NULL);

		if (rc == 0) {
			a->start += before - in.len;
			return true;
		}
		if (rc != -EAGAIN)
			errx(1, "acd sent a malformed frame");
		if (!receive(a))
			return false;
	}
}

void api_input(struct api *a, const char *text)
{
	uint8_t frame[LINK_HEADER + 256];
	size_t len = strlen(text);

	if (len > sizeof(frame) - LINK_HEADER)
		errx(1, "too much input");
	link_put_header(frame, LINK_STDIN, 1, len);
	for (size_t i = 0; i < len; i++)
		frame[LINK_HEADER + i] = (uint8_t)text[i];
	send_all(a->fd, frame, LINK_HEADER + len);
}

void api_close(struct api *a)
{
	close(a->fd);
	a->fd = -1;
}
