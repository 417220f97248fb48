/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world.h - a loop that a test runs in steps, and servers on the loopback
 *
 * A test program includes it once.
 */
#ifndef TESTS_UNIT_CONTROL_EDGE_WORLD_H
#define TESTS_UNIT_CONTROL_EDGE_WORLD_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "lib/loop.h"
#include "tests/unit/tap.h"

static struct loop *loop;
static struct loop_timer *tick;

static void on_tick(void *arg)
{
	loop_stop(arg, 0);
}

static inline bool world_init(void)
{
	loop = loop_new();
	tick = loop ? loop_timer_new(loop, on_tick, loop) : NULL;
	return tick != NULL;
}

/* Serves what has come. */
static inline void turn(void)
{
	loop_timer_set(tick, 2);
	loop_run(loop);
}

/* Waits until @cond holds, and gives up after GIVE_UP_MS. */
#define until(cond)                                        \
	for (uint64_t until_end = clock_ms() + GIVE_UP_MS; \
	     !(cond) && clock_ms() < until_end;)           \
	turn()

/* Listens at a port of 127.0.0.1, or of ::1; -1 if it cannot. */
static inline int serve(bool v6, uint16_t *ret_port)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr *sa = v6 ? (struct sockaddr *)&in6 :
				   (struct sockaddr *)&in;
	socklen_t len = v6 ? sizeof(in6) : sizeof(in);
	int fd = socket(sa->sa_family,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, sa, len) < 0 || listen(fd, 128) < 0 ||
	    getsockname(fd, sa, &len) < 0) {
		fd_closep(&fd);
		return -1;
	}
	*ret_port = ntohs(v6 ? in6.sin6_port : in.sin_port);
	return fd;
}

/* Accepts what is dialled; -1 if nothing is. */
static inline int accepted(int listener)
{
	int fd = -1;

	until((fd = accept4(listener, NULL, NULL,
			    SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0);
	return fd;
}

/* Returns what comes next, NUL-terminated; "" at the end, "?" for nothing. */
static inline const char *heard(int fd)
{
	static char text[256];
	ssize_t n = -1;

	until((n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT)) >= 0 ||
	      errno != EAGAIN);
	if (n < 0)
		return errno == ECONNRESET ? "reset" : "?";
	text[n] = '\0';
	return text;
}

static inline void say(int fd, const char *text)
{
	ok(send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text),
	   "'%s' is sent", text);
}

#endif
