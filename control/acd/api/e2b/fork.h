/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork.h - copies of a sandbox that run on
 */
#ifndef CONTROL_ACD_API_E2B_FORK_H
#define CONTROL_ACD_API_E2B_FORK_H

#include "control/acd/acd.h"
#include "control/acd/api/e2b/e2b.h"
#include "control/acd/api/http/server.h"

#define FORKS_MAX 20u

struct fork_want {
	const struct e2b_box *like; /* but for its id and its times */
	const char *tag; /* of the snapshot that they begin with; NULL: now */
	size_t n; /* 1 to FORKS_MAX */
	uint64_t timeout_s;
	bool single; /* it is a new sandbox, not a list of copies */
};

/* Copies @in and lets the copies run on from its memory; answers when all of them
 * do, or do not. What @w has is borrowed for the call. */
void fork_answer(struct acd *acd, struct http_req *req, struct instance *in,
		 const struct fork_want *w);

#endif
