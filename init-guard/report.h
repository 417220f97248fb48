/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - what a start has done and tested, for READY
 */
#ifndef INIT_GUARD_REPORT_H
#define INIT_GUARD_REPORT_H

#include <stdbool.h>

#include "init-guard/link.h"
#include "lib/err.h"

struct report {
	bool own_kernel; /* nothing may be missing for want of a right */
	size_t n;
	char text[LINK_CHECKS_MAX][LINK_CHECK_MAX + 1];
	const char *list[LINK_CHECKS_MAX + 1]; /* NULL-terminated */
};

void report_ok(struct report *r, const char *check);
/* There is nothing to do here, or no way to do it. Cut to what fits. */
void report_skip(struct report *r, const char *check, const char *fmt, ...)
	ATTR_PRINTF(3, 4);
/*
 * Enters the outcome of a step that wants CAP_SYS_ADMIN. 0 when it succeeded
 * or is skipped, that is when the right was missing on a kernel that is not
 * the sandbox's own; else @ret, with @err as it was.
 */
int report_judge(struct report *r, const char *check, int ret,
		 struct err *err) ATTR_WUR;

#endif
