/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netns.h - the network namespace of a sandbox, with its pinned port
 */
#ifndef CONTROL_ACD_NET_NETNS_H
#define CONTROL_ACD_NET_NETNS_H

#include <stdint.h>

#include "control/acd/net/veth.h"
#include "lib/err.h"

struct netns_spec {
	const char *path; /* of a new file; it must not exist yet */
	const char *bridge;
	const char *gateway; /* next hop of the default route */
	unsigned prefix; /* length of the bridge's subnet */
};

/* Fills @ret with a new port name and, in the kernel's spelling, the MAC for
 * @address. netns_destroy() needs it, so it exists before anything is made.
 * Returns 0, -EINVAL for a malformed address, or -EIO. */
int netns_veth(const char *address, struct veth *ret);
/*
 * Makes a network namespace, kept by a mount on @spec->path, with "lo" and
 * "eth0" up, address and default route set, IPv4 only. The other end of eth0 is
 * the port @v of the bridge (netns_veth()). It is pinned (veth.h) before it is
 * up, so the sandbox can never send as another. Returns 0, or a negative errno
 * with @err, and undoes everything then; if the caller is killed,
 * netns_destroy() removes what is left. The caller needs CAP_SYS_ADMIN and
 * CAP_NET_ADMIN, must have one thread, and leaves its own namespace for a
 * moment; aborts the process if it cannot return to it.
 */
int netns_create(const struct netns_spec *spec, const struct veth *v,
		 struct err *err);
/* Unpins the port and removes the namespace. The kernel removes the pair of
 * links later, when the last process in the namespace has ended. Nothing there,
 * or an empty @v, is fine; failures are only logged. */
void netns_destroy(const char *path, const char *bridge, const struct veth *v);
/* Sets the bytes that the sandbox has received and sent. Returns 0 or a
 * negative errno, -ENODATA if the kernel gave no counters. */
int netns_counters(const struct veth *v, uint64_t *ret_rx, uint64_t *ret_tx);
/* Removes the namespaces that an earlier process left in the folder @dir, but
 * unpins no port. Failures are only logged. */
void netns_sweep(const char *dir);

#endif
