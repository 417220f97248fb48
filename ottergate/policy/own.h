/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own.h - the addresses of the machine that the gateway runs on
 *
 * Whatever listens there is ac-host, or the user's machine around it, and no
 * server that a policy could mean, even where the address is a public one: no
 * built-in range has it. The kernel says only what ac-host's own namespace has;
 * those of the machine come in a file.
 */
#ifndef OTTERGATE_POLICY_OWN_H
#define OTTERGATE_POLICY_OWN_H

#include "lib/err.h"
#include "ottergate/policy/addr.h"

#define OWN_MAX 1280u /* of the kernel and of the file together */
#define OWN_FILE_MAX 65536u /* bytes */

struct own {
	struct addr v[OWN_MAX];
	size_t n;
};
bool own_has(const struct own *o, const struct addr *a);

/*
 * Adds what a part of the kernel's answer (rtnetlink(7), RTM_NEWADDR) says.
 * 1: that was its end, 0: more is to come; -EBADMSG; -E2BIG: above OWN_MAX;
 * another error is the kernel's.
 */
int own_parse(struct slice in, struct own *o) ATTR_WUR;

/* The socket of the process to ask by, before system calls are filtered. */
int own_open(struct err *err);
void own_close(void);
/* What is true now; none when own_open() was not called: who does not run a
 * gateway has nothing to keep anybody from. One thread at a time. */
int own_read(struct own *ret, struct err *err);
/*
 * Adds the addresses in the file @path, one a line. Those that are denied as
 * they are (private, loopback, …) keep their class. A file that is not there
 * has none; one with anything else in it fails with -EBADMSG, more than OWN_MAX
 * with -E2BIG.
 */
int own_file(const char *path, struct own *o, struct err *err);

#endif
