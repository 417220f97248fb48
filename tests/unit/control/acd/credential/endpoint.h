/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endpoint.h - a token endpoint on the loopback, for the tests of logins
 *
 * It reads one request from each connection and answers in a process of its own,
 * which the test ends.
 */
#ifndef TESTS_UNIT_CONTROL_ACD_CREDENTIAL_ENDPOINT_H
#define TESTS_UNIT_CONTROL_ACD_CREDENTIAL_ENDPOINT_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* Reads a request from @fd, answers and closes it. */
typedef void (*endpoint_fn)(int fd);

static inline void endpoint_serve(int fd, endpoint_fn answer)
{
	for (;;) {
		int one = accept(fd, NULL, NULL);

		if (one >= 0)
			answer(one);
	}
}

/* Writes its address into @url. Returns the process, or -1. */
static inline pid_t endpoint_start(endpoint_fn answer, char *url, size_t size)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pid_t pid;

	if (bind(fd, (struct sockaddr *)&at, len) < 0 || listen(fd, 8) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &len) < 0)
		return -1;
	snprintf(url, size, "http://127.0.0.1:%u", ntohs(at.sin_port));
	pid = fork();
	if (pid == 0)
		endpoint_serve(fd, answer);
	close(fd);
	return pid;
}

#endif
