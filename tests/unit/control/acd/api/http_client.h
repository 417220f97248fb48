/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_client.h - a blocking client for tests of the HTTP server
 *
 * It runs in a forked child, where a failed check() ends it with exit code 1.
 */
#ifndef TESTS_UNIT_CONTROL_ACD_API_HTTP_CLIENT_H
#define TESTS_UNIT_CONTROL_ACD_API_HTTP_CLIENT_H

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "lib/sock.h"

static char sock_path[64];

static inline int fail_at(int line)
{
	printf("# client failed at line %d\n", line);
	fflush(stdout);
	return 1;
}

/* Ends the client, telling the line of the check that failed. */
#define check(cond)                               \
	do {                                      \
		if (!(cond))                      \
			_exit(fail_at(__LINE__)); \
	} while (0)

static inline int dial(void)
{
	struct timeval limit = { .tv_sec = 10 };
	int fd = sock_unix_connect(sock_path);

	check(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	return fd;
}

static inline void put(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		check(n > 0);
		p += n;
		len -= (size_t)n;
	}
}

static inline void say(int fd, const char *text)
{
	put(fd, text, strlen(text));
}

/* Reads until @until has come, or the end; the text so far. */
static inline const char *hear(int fd, const char *until)
{
	static char text[65536];
	size_t len = 0;

	text[0] = '\0';
	while (len < sizeof(text) - 1) {
		ssize_t n = recv(fd, text + len, sizeof(text) - 1 - len, 0);

		if (n <= 0)
			break;
		len += (size_t)n;
		text[len] = '\0';
		if (until && strstr(text, until))
			break;
	}
	return text;
}

static inline const char *ask(const char *request)
{
	int fd = dial();
	const char *text;

	say(fd, request);
	text = hear(fd, NULL);
	close(fd);
	return text;
}

#define CLOSE "Host: x\r\nConnection: close\r\n"

static inline void post(int fd, const char *path, const char *body, size_t len)
{
	char head[256];

	snprintf(head, sizeof(head),
		 "POST %s HTTP/1.1\r\n" CLOSE "Content-Length: %zu\r\n\r\n",
		 path, len);
	say(fd, head);
	put(fd, body, len);
}

static inline const char *ask_post(const char *path, const char *body)
{
	int fd = dial();
	const char *text;

	post(fd, path, body, strlen(body));
	text = hear(fd, NULL);
	close(fd);
	return text;
}

#endif
