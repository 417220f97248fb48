/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_lines.h - what the gateway's log says of a step of a build
 */
#ifndef CONTROL_ACD_INSTALL_STEP_LINES_H
#define CONTROL_ACD_INSTALL_STEP_LINES_H

#include <stddef.h>

#include "lib/str.h"

enum step_line {
	STEP_LINE_OTHER,
	STEP_LINE_BOUND, /* the policy counts */
	STEP_LINE_UNBOUND, /* all lines before it have been seen */
	STEP_LINE_REFUSED, /* it tried to reach what is not allowed */
};

/*
 * Reads a line of the audit (ottergate/audit/audit.h), @len bytes. For
 * STEP_LINE_REFUSED appends the place to @places, "host:port", unless it is
 * there; with more than STEP_REFUSED_MAX places, the last says so. What a rule
 * of the blueprint itself denies is not STEP_LINE_REFUSED, nor is a host that is
 * allowed and could not be reached. Without memory a place may be missing.
 */
enum step_line step_line_read(const char *line, size_t len,
			      struct strv *places);

#endif
