/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepare.h - what a guest is told before it is anybody's
 */
#ifndef CONTROL_ACD_PREPARE_H
#define CONTROL_ACD_PREPARE_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "control/acd/session.h"

/* Bytes of PEM. That of a sandbox is one certificate that ottergate made. The
 * two and a line's end fit into a PREPARE. */
#define PREPARE_OWN_CA_MAX 8191u
#define PREPARE_MACHINE_CA_MAX (LINK_CA_MAX - PREPARE_OWN_CA_MAX - 1u)

/* Which CA was given; all zero: none. */
struct prepare_ca {
	struct timespec mtime;
	off_t size;
	ino_t ino;
};

/*
 * PREPARE, in answer to a HELLO: the CA that sandboxes of this machine are to
 * trust, @own_ca (PEM; NULL: none) besides, and, after @isolation, what must not
 * be skipped. @nameless: its host name comes with the ASSIGN only. -EFBIG: a CA
 * is too large, @err names the file; or another -errno.
 */
int prepare_guest(struct session *s, const char *isolation, bool nameless,
		  const char *own_ca, struct err *err);
/* The CA as it is now. */
struct prepare_ca prepare_ca_now(void);
bool prepare_ca_same(const struct prepare_ca *a, const struct prepare_ca *b);
/* Where it lies: AC_STATE_CA_EXTRA but for tests; borrowed. */
void prepare_set_ca(const char *path);

#endif
