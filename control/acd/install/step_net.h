/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_net.h - makes and removes the network of an install sandbox, in a child
 */
#ifndef CONTROL_ACD_INSTALL_STEP_NET_H
#define CONTROL_ACD_INSTALL_STEP_NET_H

#include "control/acd/daemon/children.h"
#include "control/acd/net/veth.h"
#include "lib/err.h"

/* A function of this file, or a test's. */
typedef int (*step_net_fn)(struct children *children, const char *path,
			   const struct veth *v, child_fn fn, void *arg,
			   struct err *err);

/* Makes the network namespace @path, with the pinned port @v of the sandboxes'
 * bridge, in a child that ends with 0 if it is there; it logs a failure. Calls
 * @fn when the child has ended. Returns 0, or a negative errno with @err, and
 * there is no callback. */
int step_net_make(struct children *children, const char *path,
		  const struct veth *v, child_fn fn, void *arg,
		  struct err *err);
/* Unpins and removes it in the same way. */
int step_net_remove(struct children *children, const char *path,
		    const struct veth *v, child_fn fn, void *arg,
		    struct err *err);

#endif
