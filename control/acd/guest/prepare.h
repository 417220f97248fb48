/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepare.h - what a guest is told before it is anybody's
 */
#ifndef CONTROL_ACD_GUEST_PREPARE_H
#define CONTROL_ACD_GUEST_PREPARE_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "control/acd/guest/session.h"

#define PREPARE_MACHINE_CA_MAX 57344u /* bytes of PEM */

/* Which CA was given; all zero: none. */
struct prepare_ca {
	struct timespec mtime;
	off_t size;
	ino_t ino;
};

/*
 * PREPARE, in answer to a HELLO: the CA that sandboxes of this machine are to
 * trust and, after @isolation, what must not be skipped. @flags: of
 * LINK_PREPARE_NAMELESS and LINK_PREPARE_OWN_CA, what comes with the ASSIGN
 * only. -EFBIG: the CA is too large, @err names the file; or another -errno.
 */
int prepare_guest(struct session *s, const char *isolation, uint32_t flags,
		  struct err *err);
/* The CA as it is now. */
struct prepare_ca prepare_ca_now(void);
bool prepare_ca_same(const struct prepare_ca *a, const struct prepare_ca *b);
/* Where it lies: AC_STATE_CA_EXTRA but for tests; borrowed. */
void prepare_set_ca(const char *path);

#endif
