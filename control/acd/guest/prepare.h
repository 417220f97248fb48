/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepare.h - the first message to a sandbox, before it has an instance
 */
#ifndef CONTROL_ACD_GUEST_PREPARE_H
#define CONTROL_ACD_GUEST_PREPARE_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "control/acd/guest/session.h"

#define PREPARE_MACHINE_CA_MAX 57344u /* bytes of PEM */

/* Identity of a CA file; all zero: there is none. */
struct prepare_ca {
	struct timespec mtime;
	off_t size;
	ino_t ino;
};

/*
 * Answers HELLO with PREPARE: the CA that sandboxes of this machine trust and
 * @flags, LINK_PREPARE_NAMELESS and LINK_PREPARE_OWN_CA, which say what ASSIGN
 * will bring. For the @isolation "runsc" it adds LINK_PREPARE_OWN_KERNEL.
 * Returns 0, -EFBIG if the CA's file is too large, or another negative errno,
 * with @err.
 */
int prepare_guest(struct session *s, const char *isolation, uint32_t flags,
		  struct err *err);
/* Returns the identity of the CA file as it is now. */
struct prepare_ca prepare_ca_now(void);
/* Returns true if both are the same file, unchanged. */
bool prepare_ca_same(const struct prepare_ca *a, const struct prepare_ca *b);
/* Sets another path than AC_STATE_CA_EXTRA, for tests; borrowed. */
void prepare_set_ca(const char *path);

#endif
