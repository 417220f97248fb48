/* SPDX-License-Identifier: Apache-2.0 */
/*
 * box_calls.h - what calls about one sandbox share
 */
#ifndef CONTROL_ACD_API_E2B_BOX_CALLS_H
#define CONTROL_ACD_API_E2B_BOX_CALLS_H

#include "control/acd/acd.h"
#include "control/acd/api/e2b/e2b.h"
#include "control/acd/api/http/server.h"

/* Returns the sandbox in the path, which is running or paused; or NULL after an
 * answer. */
struct e2b_box *box_of(struct acd *acd, struct http_req *req);
/* Reads the body of a call of the control plane: an object, which the caller
 * releases. Returns NULL after an answer. */
json_t *box_body(struct http_req *req);

/* Returns the instance of the sandbox whose token the request has, which runs.
 * Returns NULL with @err, as say_gone(). */
struct instance *box_instance(struct acd *acd, struct http_req *req,
			      struct err *err);

#endif
