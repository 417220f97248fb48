/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own.h - the addresses of the machine that the gateway runs on
 *
 * Whatever listens there is ac-host, or the user's machine around it, and no
 * server that a policy could mean. They may be public addresses, which are in
 * no built-in range. The kernel tells the addresses of ac-host's own namespace;
 * those of the machine come in a file.
 */
#ifndef OTTERGATE_POLICY_NET_OWN_H
#define OTTERGATE_POLICY_NET_OWN_H

#include "lib/err.h"
#include "ottergate/policy/net/addr.h"

#define OWN_MAX 1280u /* of the kernel and of the file together */
#define OWN_FILE_MAX 65536u /* bytes */

struct own {
	struct addr v[OWN_MAX];
	size_t n;
};
/* Returns true if @a is one of them. */
bool own_has(const struct own *o, const struct addr *a);

/*
 * Adds the addresses in a part of the kernel's answer (rtnetlink(7),
 * RTM_NEWADDR). Returns 1 if that was the end of the answer, 0 if more is to
 * come. Fails with -EBADMSG, with -E2BIG beyond OWN_MAX, or with the error that
 * the kernel sent.
 */
int own_parse(struct slice in, struct own *o) ATTR_WUR;

/* Opens the one socket of this process by which own_read() asks. Call it before
 * system calls are filtered. Returns 0, or a negative errno with @err. */
int own_open(struct err *err);
/* Closes it, if it is open. */
void own_close(void);
/* Sets *@ret to the addresses that the kernel has now; to none if the socket is
 * not open, as in commands that run no gateway. Waits up to 2 s for each part
 * of the answer. One thread at a time. Returns 0, or a negative errno with
 * @err; *@ret is of no use then. */
int own_read(struct own *ret, struct err *err);
/*
 * Adds the public addresses in the file @path, which has one address a line.
 * Others (private, loopback, …) are skipped: they are denied anyway. A file
 * that does not exist has none. Returns 0. Fails with -EBADMSG for a line that
 * is no address, with -E2BIG beyond OWN_MAX, or with an error of file_read(),
 * always with @err.
 */
int own_file(const char *path, struct own *o, struct err *err);

#endif
