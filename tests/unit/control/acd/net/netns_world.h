/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netns_world.h - commands of a shell, and processes that hold namespaces
 */
#ifndef TESTS_UNIT_CONTROL_ACD_NET_NETNS_WORLD_H
#define TESTS_UNIT_CONTROL_ACD_NET_NETNS_WORLD_H

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/attr.h"

/* Did it end well? */
static inline bool sh(const char *fmt, ...) ATTR_PRINTF(1, 2);
static inline bool sh(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return system(text) == 0; /* NOLINT(cert-env33-c): a test's own words */
}

/* A child that has got new namespaces of the kinds @flags (unshare(2)) and
 * waits to be killed; -1: it got none. */
static inline pid_t netns_holder(int flags)
{
	int go[2];
	char c;
	pid_t pid;

	if (pipe(go) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		if (unshare(flags) == 0 && write(go[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	close(go[1]);
	if (read(go[0], &c, 1) != 1)
		pid = -1;
	close(go[0]);
	return pid;
}

#endif
