/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust.h - makes the sandbox's programs trust further CA certificates
 */
#ifndef INIT_GUARD_START_TRUST_H
#define INIT_GUARD_START_TRUST_H

#include "init-guard/start/agent.h"
#include "init-guard/start/report.h"

struct trust {
	bool ca, java; /* there are files for variables to name */
	int bundle_fd; /* trust_add() appends to it; -1: nothing is expected */
};
/* Initialises @t. */
void trust_init(struct trust *t);
/* Closes bundle_fd; what is installed stays. */
void trust_done(struct trust *t);

/*
 * Installs the CAs @pem for all kinds of programs: files in ETC_DIR and the
 * system's bundle. Needs CAP_SYS_ADMIN. "": changes nothing, unless @more
 * announces a trust_add(): as no mount is possible then, the bundle is mounted
 * in any case. Returns 0, or a negative errno with @err.
 */
int trust_install(struct trust *t, const char *pem, bool more, struct report *r,
		  struct err *err) ATTR_WUR;
/* Returns true if trust_add() may add one. */
bool trust_expects(const struct trust *t);
/*
 * Adds the CA @pem ("": none), once and before any program reads the files.
 * Does nothing if none is expected. Needs no right but to its own files.
 * Returns 0, or a negative errno with @err: -EBADMSG if it is no certificate.
 */
int trust_add(struct trust *t, const char *pem, struct report *r,
	      struct err *err) ATTR_WUR;
/* Adds the variables that @ag does not have itself. */
void trust_name(const struct trust *t, struct agent *ag);

#endif
