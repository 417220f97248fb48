/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - what a start has done and tested, for READY
 */
#ifndef INIT_GUARD_START_REPORT_H
#define INIT_GUARD_START_REPORT_H

#include <stdbool.h>

#include "init-guard/link.h"
#include "lib/err.h"

/* Zeroed before the first entry, except own_kernel. */
struct report {
	bool own_kernel; /* no step may be skipped for lack of a right */
	size_t n; /* entries */
	char text[LINK_CHECKS_MAX][LINK_CHECK_MAX + 1];
	const char *list[LINK_CHECKS_MAX + 1]; /* NULL-terminated */
};

/* Enters "@check=ok". Without room, here and below, it replaces the last
 * entry. */
void report_ok(struct report *r, const char *check);
/* Enters "@check=skipped: " and the reason, cut to fit: there is nothing to do,
 * or no way to do it. */
void report_skip(struct report *r, const char *check, const char *fmt, ...)
	ATTR_PRINTF(3, 4);
/* Enters the result @rc of a step that needs CAP_SYS_ADMIN. Returns 0 if it
 * succeeded, or if it may be skipped: @rc is -EPERM or -EACCES and the kernel
 * is not the sandbox's own. It enters the text of @err then and clears it. Else
 * returns @rc, keeps @err and enters nothing. */
int report_judge(struct report *r, const char *check, int rc,
		 struct err *err) ATTR_WUR;

#endif
