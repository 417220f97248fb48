/* SPDX-License-Identifier: Apache-2.0 */
/*
 * box_calls.c - what calls about one sandbox share
 */
#include "control/acd/api/e2b/box_calls.h"

#include "control/acd/api/e2b/connect.h"
#include "control/acd/api/e2b/say.h"
#include "control/acd/instance/instance.h"

struct e2b_box *box_of(struct acd *acd, struct http_req *req)
{
	const char *id = http_param(req, "id");
	struct e2b_box *b = id ? e2b_find(acd->e2b, id) : NULL;

	if (b && e2b_state(acd->e2b, b) != E2B_GONE)
		return b;
	say_no_box(req, id ? id : "");
	return NULL;
}

json_t *box_body(struct http_req *req)
{
	json_t *body = NULL;
	struct err err = { 0 };

	if (connect_read(http_body_bytes(req), &body, &err) == 0)
		return body;
	say_refusal(req, &err);
	return NULL;
}

struct instance *box_instance(struct acd *acd, struct http_req *req,
			      struct err *err)
{
	const char *id = http_header(req, "E2b-Sandbox-Id");
	struct e2b_box *b = id ? e2b_find(acd->e2b, id) : NULL;

	if (b && e2b_state(acd->e2b, b) == E2B_RUNNING)
		return e2b_instance(acd->e2b, b);
	say_gone(id ? id : "", err);
	return NULL;
}
