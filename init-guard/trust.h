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
	int bundle_fd; /* to be appended to by trust_add(); -1: none */
};
void trust_init(struct trust *t);
void trust_done(struct trust *t); /* closes; what is installed stays */

/*
 * Makes the CAs @pem known to every kind of program: files in ETC_DIR and the
 * system's bundle. "": nothing is changed. Wants CAP_SYS_ADMIN. @more: another
 * may come by trust_add(), when no mount can be made any more, so the bundle
 * is put in its place whatever @pem is. -errno with @err filled.
 */
int trust_install(struct trust *t, const char *pem, bool more, struct report *r,
		  struct err *err) ATTR_WUR;
/* May trust_add() bring one? */
bool trust_expects(const struct trust *t);
/*
 * The CA @pem besides, which must be expected ("": none comes), while nobody
 * reads the files yet. Once; wants no right but that to files of its own.
 * -errno with @err filled; -EBADMSG: it is no certificate.
 */
int trust_add(struct trust *t, const char *pem, struct report *r,
	      struct err *err) ATTR_WUR;
/* The variables that @ag does not have of its own. */
void trust_name(const struct trust *t, struct agent *ag);

#endif
