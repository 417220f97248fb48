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
	const char *path; /* a file that is not there yet; its folder is made */
	const char *bridge;
	const char *gateway; /* where its default route leads */
	unsigned prefix; /* length, of the bridge's subnet */
};

/* A port's name, and MAC and address for it in the kernel's spelling: what
 * netns_destroy() needs, and known before anything is made. -EINVAL: that is
 * no IPv4 address. */
int netns_veth(const char *address, struct veth *ret);
/*
 * Makes a network namespace, kept by a mount on @spec->path, with "lo" and
 * "eth0" up, address and default route set, IPv4 only. The other end of eth0
 * is the port @v of the bridge, by netns_veth(), pinned (veth.h) before it is
 * up: there is no moment at which the sandbox could send as another. A
 * failure undoes everything; whoever is killed meanwhile leaves what
 * netns_destroy() takes away. Needs CAP_SYS_ADMIN, CAP_NET_ADMIN and a caller
 * with one thread, whose own namespace it leaves for a moment.
 */
int netns_create(const struct netns_spec *spec, const struct veth *v,
		 struct err *err);
/* Unpins at once; the kernel takes the pair away in its own time, after the
 * last process in there has ended. Gone already is fine, never made too, and
 * so is an empty @v. */
void netns_destroy(const char *path, const char *bridge, const struct veth *v);
/* Bytes as the sandbox sees them: what it received, what it sent. */
int netns_counters(const struct veth *v, uint64_t *ret_rx, uint64_t *ret_tx);
/* Whatever an earlier life left in @dir. */
void netns_sweep(const char *dir);

#endif
