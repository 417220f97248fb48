/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance_calls.h - what the handlers of /v1/instances share
 */
#ifndef CONTROL_ACD_API_INSTANCE_CALLS_H
#define CONTROL_ACD_API_INSTANCE_CALLS_H

#include "control/acd/acd.h"
#include "control/acd/api/api.h"
#include "control/acd/instance/instance.h"

#define API_TIMEOUT_MAX_MS (3660ull * 86400 * 1000) /* of "timeout_ms" */

/* The instance in the path; NULL: the request was answered. */
struct instance *api_instance_of(struct acd *acd, struct http_req *req);
/* The wishes about egress @stored (NULL: none), changed as @body says; NULL
 * when they are empty. *ret is the caller's. */
int api_egress_apply(const json_t *body, const char *stored, char **ret,
		     struct err *err);
/* What the last request changed of @in (NULL: 404) is taken back: 200 and the
 * instance, or 204 when it was made by that request and is gone again. */
void api_instance_undo(struct acd *acd, struct http_req *req,
		       struct instance *in);
/* 409 with the code "not_running". */
void api_reply_not_running(struct http_req *req, const char *name);
/* 409 with the code "paused", and with what INSTANCE_IS_PAUSED came with. */
void api_reply_paused(struct http_req *req, const struct err *err);

#endif
