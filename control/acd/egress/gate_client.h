/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_client.h - calls to the gateway's admin socket, inside our loop
 *
 * Calls that change something go out one after the other, in the order in
 * which they were made: a bind must not overtake the unbind before it.
 * Questions have a line of their own. Each call that was accepted ends in
 * exactly one callback, from the loop or from gate_client_free().
 */
#ifndef CONTROL_ACD_EGRESS_GATE_CLIENT_H
#define CONTROL_ACD_EGRESS_GATE_CLIENT_H

#include "lib/err.h"
#include "lib/loop.h"
#include "ottergate/admin.h"

#define GATE_ANSWER_MAX (16u * 1024 * 1024) /* bytes; more fails a call */
#define GATE_CALLS_MAX 1024u /* waiting at once */

struct gate_client;

/*
 * @text: all data of the answer, of @len bytes and ended by a NUL, "" when
 * there was none; borrowed. Of a failure as well: a policy that is refused
 * comes with what the linter said. @err: NULL on success; else nobody listens
 * (-ECONNREFUSED, -ENOENT), no answer came in time (-ETIMEDOUT), it broke off
 * (-EPIPE) or was none (-EPROTO, -EMSGSIZE), the gateway refused (-EINVAL,
 * the message is its own), gate_client_free() came first (-ECANCELED).
 */
typedef void (*gate_fn)(void *arg, const char *text, size_t len,
			const struct err *err);

/* Each line of the gateway's audit that has the reason @code, from now on and
 * whenever the gateway is there. One for a client. -ENOMEM. */
typedef void (*gate_line_fn)(void *arg, const char *line, size_t len);
int gate_follow(struct gate_client *g, const char *code, gate_line_fn fn,
		void *arg);

struct gate_client *gate_client_new(struct loop *loop, const char *sock_path,
				    struct err *err);
void gate_client_free(struct gate_client *g); /* NULL is fine */
/* For lists (one JSON object a frame) the objects come as lines. -EBUSY too
 * many calls, -EMSGSIZE, -ENOMEM, -ECANCELED. */
int gate_call(struct gate_client *g, enum admin_verb verb, struct slice a,
	      struct slice b, gate_fn fn, void *arg);

#endif
