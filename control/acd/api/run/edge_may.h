/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge_may.h - whether the services and ports of a run can be had
 */
#ifndef CONTROL_ACD_API_RUN_EDGE_MAY_H
#define CONTROL_ACD_API_RUN_EDGE_MAY_H

#include "lib/err.h"

struct acd;
struct instance_record;

/* Returns 0 unless @r names a service of the user's own loopback, or publishes a
 * port, and ac-edge, which does both, is not up. Then returns -EAGAIN with @err, whose word is
 * "edge_down": `ac` starts it and asks again. */
int edge_may(const struct acd *acd, const struct instance_record *r,
	     struct err *err);

#endif
