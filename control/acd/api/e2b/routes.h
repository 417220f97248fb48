/* SPDX-License-Identifier: Apache-2.0 */
/*
 * routes.h - the API of E2B's SDKs, at acd's entrance over TCP (docs/E2B.md)
 *
 * It has two halves. The control plane makes sandboxes, and takes one of acd's
 * tokens as its key, whose scope must cover the call (access/access.h). The calls of
 * a sandbox, which E2B's SDKs send to a daemon inside of it, are answered by acd,
 * and take the access token of that sandbox alone. What is in neither is answered
 * with 501.
 */
#ifndef CONTROL_ACD_API_E2B_ROUTES_H
#define CONTROL_ACD_API_E2B_ROUTES_H

#include "control/acd/acd.h"
#include "control/acd/api/http/server.h"

extern const struct http_route e2b_routes[]; /* ends with a NULL method */

/* Of the control plane: calls that look, that change, that acd does not have. */
extern const struct http_call e2b_look, e2b_detail, e2b_change, e2b_missing;

/* Returns true for a call of these routes. */
bool e2b_has(const struct http_call *call);
/* Judges a request of them by its key or token; as http_guard_fn. */
bool e2b_guard(struct acd *acd, struct http_req *req,
	       const struct http_call *call, unsigned hold_ms);

/* The control plane: sandbox_calls.c, create_call.c, state_calls.c, snapshot_calls.c */
void e2b_sandbox_list(void *ctx, struct http_req *req);
void e2b_sandbox_list_v1(void *ctx, struct http_req *req);
void e2b_sandbox_get(void *ctx, struct http_req *req);
void e2b_sandbox_create(void *ctx, struct http_req *req);
void e2b_sandbox_kill(void *ctx, struct http_req *req);
void e2b_sandbox_timeout(void *ctx, struct http_req *req);
void e2b_sandbox_refresh(void *ctx, struct http_req *req);
void e2b_sandbox_pause(void *ctx, struct http_req *req);
void e2b_sandbox_resume(void *ctx, struct http_req *req);
void e2b_sandbox_connect(void *ctx, struct http_req *req);
void e2b_sandbox_fork(void *ctx, struct http_req *req);
void e2b_snapshot_make(void *ctx, struct http_req *req);
void e2b_snapshot_list(void *ctx, struct http_req *req);
void e2b_snapshot_remove(void *ctx, struct http_req *req);
void e2b_sandbox_metrics(void *ctx, struct http_req *req);

/* A sandbox: box/process_calls.c, fs_calls.c, file_get.c, file_post.c */
void e2b_health(void *ctx, struct http_req *req);
void e2b_process_start(void *ctx, struct http_req *req);
void e2b_process_connect(void *ctx, struct http_req *req);
void e2b_process_list(void *ctx, struct http_req *req);
void e2b_process_update(void *ctx, struct http_req *req);
void e2b_process_input(void *ctx, struct http_req *req);
void e2b_process_stream(void *ctx, struct http_req *req);
void e2b_process_signal(void *ctx, struct http_req *req);
void e2b_process_close(void *ctx, struct http_req *req);
void e2b_fs_stat(void *ctx, struct http_req *req);
void e2b_fs_list(void *ctx, struct http_req *req);
void e2b_fs_mkdir(void *ctx, struct http_req *req);
void e2b_fs_move(void *ctx, struct http_req *req);
void e2b_fs_remove(void *ctx, struct http_req *req);
void e2b_file_get(void *ctx, struct http_req *req);
void e2b_file_post(void *ctx, struct http_req *req);

#endif
