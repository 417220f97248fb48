/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust.h - whose certificates the sandbox's programs believe
 */
#ifndef INIT_GUARD_TRUST_H
#define INIT_GUARD_TRUST_H

#include "init-guard/agent.h"
#include "init-guard/report.h"

struct trust {
	bool ca, java; /* there are files that variables should name */
};

/*
 * Makes the CA @pem known to every kind of program: files in ETC_DIR and the
 * system's bundle. "": nothing is changed. -errno with @err filled.
 */
int trust_install(struct trust *t, const char *pem, struct report *r,
		  struct err *err) ATTR_WUR;
/* The variables that @ag does not have of its own. */
void trust_name(const struct trust *t, struct agent *ag);

#endif
