/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say.h - answers of E2B's API
 *
 * The control plane and /files say {"code": STATUS, "message": …}, the calls of
 * Connect {"code": WORD, "message": …}.
 */
#ifndef CONTROL_ACD_API_E2B_SAY_H
#define CONTROL_ACD_API_E2B_SAY_H

#include "control/acd/api/e2b/e2b.h"
#include "control/acd/api/http/server.h"

/* What its SDKs may expect of the daemon in a sandbox: below 0.6.2 they store no
 * metadata of files, which acd cannot. */
#define SAY_ENVD "0.6.1"
/* Of the names that they make of a sandbox and a port: it never resolves, RFC
 * 2606, so that nothing is sent to a stranger. */
#define SAY_DOMAIN "sandbox.invalid"
#define SAY_TIME_MAX 32u

json_t *say_status(int status, const char *message); /* a new reference */
/* Answers with the status for the errno, of the control plane and /files. */
void say_refusal(struct http_req *req, const struct err *err);
/* The same of a unary call of Connect. */
void say_connect_error(struct http_req *req, const struct err *err);
/* Sets @err to what a sandbox that is not running is told of. Returns its
 * code. */
int say_gone(const char *id, struct err *err);
/* Answers for a sandbox that is not there. */
void say_no_box(struct http_req *req, const char *id);

/* Writes a time as RFC 3339 has it. */
void say_time(int64_t ms, char ret[SAY_TIME_MAX]);
/* A sandbox that was made or connected to; one of a list; one with all. New
 * references, NULL without memory. */
json_t *say_made(struct e2b *e, const struct e2b_box *b);
json_t *say_listed(struct e2b *e, const struct e2b_box *b);
json_t *say_detail(struct e2b *e, const struct e2b_box *b);

#endif
