/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_calls.h - sandboxes that begin with a snapshot
 */
#ifndef CONTROL_ACD_API_E2B_SNAPSHOT_CALLS_H
#define CONTROL_ACD_API_E2B_SNAPSHOT_CALLS_H

#include "control/acd/acd.h"
#include "control/acd/api/e2b/ask.h"
#include "control/acd/api/http/server.h"

/* Answers, now or later, if the template that is asked for is a snapshot. Returns
 * false if it is none. */
bool snapshot_create(struct acd *acd, struct http_req *req,
		     const struct ask_box *ask);

#endif
