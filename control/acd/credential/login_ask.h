/* SPDX-License-Identifier: Apache-2.0 */
/*
 * login_ask.h - asks a token endpoint for a new access token (RFC 6749, 6)
 *
 * Makes one request in a child, which reads the answer, too, and ends with
 * libcurl's copies of the tokens. Uses the machine's proxy and the CAs that
 * builds use; follows no redirect.
 */
#ifndef CONTROL_ACD_CREDENTIAL_LOGIN_ASK_H
#define CONTROL_ACD_CREDENTIAL_LOGIN_ASK_H

#include "control/acd/credential/login_parse.h"
#include "control/acd/daemon/children.h"

#define LOGIN_ASK_MS 20000u /* for the whole exchange */

struct login_ask; /* one request under way */

/* What became of a request. */
struct login_result {
	struct login_answer answer;
	long status; /* of HTTP; 0: no answer */
	uint64_t after_s; /* the pause that the server wants; 0: none */
	char text[160]; /* for the user: why there are no new tokens */
};

/* @res is borrowed and wiped afterwards. */
typedef void (*login_ask_fn)(void *arg, const struct login_result *res);

/* Asks for the login of @e, which is borrowed for the call. Calls @fn once,
 * from the loop, unless login_ask_cancel() was called. Returns 0 and *ret, which
 * is valid until then; or a negative errno with @err. */
int login_ask(struct children *children, const struct vstore_entry *e,
	      login_ask_fn fn, void *arg, struct login_ask **ret,
	      struct err *err) ATTR_WUR;
/* Ends a request, without a callback. NULL is fine. */
void login_ask_cancel(struct login_ask *a);

/* Returns the host of the token endpoint of @kind; a constant. */
const char *login_ask_host(enum secret_kind kind);
/* Writes the body of the request for @e into @out. Returns 0, or -ENOBUFS if it
 * is longer than @size - 1 bytes. */
int login_ask_body(const struct vstore_entry *e, char *out, size_t size);
/* For tests: uses @instead in place of "https://HOST"; kept by reference, NULL: no
 * longer. */
void login_ask_set(const char *instead);

#endif
