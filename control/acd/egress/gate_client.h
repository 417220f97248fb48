/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_client.h - calls to the gateway's admin socket, in acd's loop
 *
 * Calls that change something are sent one after the other, in order: a bind
 * must not overtake the unbind before it. Questions have a queue of their own.
 * Each accepted call ends in exactly one callback, from the loop or from
 * gate_client_free().
 */
#ifndef CONTROL_ACD_EGRESS_GATE_CLIENT_H
#define CONTROL_ACD_EGRESS_GATE_CLIENT_H

#include "lib/err.h"
#include "lib/loop.h"
#include "ottergate/admin.h"

#define GATE_ANSWER_MAX (16u * 1024 * 1024) /* bytes; more is -EMSGSIZE */
#define GATE_CALLS_MAX 1024u /* unfinished at once */

struct gate_client;

/*
 * @text: all data of the answer, @len bytes and a NUL, borrowed; "" if there is
 * none. A failure has a text too: a refused policy comes with the linter's
 * output. @err: NULL on success; else -ECONNREFUSED or -ENOENT if the gateway
 * does not listen, -ETIMEDOUT, -EPIPE if the answer broke off, -EPROTO or
 * -EMSGSIZE for an unusable one, -EINVAL with the gateway's message if it
 * refused, -ECANCELED by gate_client_free().
 */
typedef void (*gate_fn)(void *arg, const char *text, size_t len,
			const struct err *err);

/* @line: a line of the audit, JSON of @len bytes without a NUL, borrowed. */
typedef void (*gate_line_fn)(void *arg, const char *line, size_t len);
/* Calls @fn for each line of the gateway's audit with the reason @code
 * (copied), from now on and after restarts of the gateway; lines that are
 * written while the connection is down are not passed. To be called once for a
 * client. Returns 0 or -ENOMEM. */
int gate_follow(struct gate_client *g, const char *code, gate_line_fn fn,
		void *arg);
/* The same for all lines of the sandbox @agent (copied). */
int gate_follow_agent(struct gate_client *g, const char *agent, gate_line_fn fn,
		      void *arg);

/* Makes a client of the gateway that listens at @sock_path (copied); each call
 * connects. Returns NULL with @err without memory. */
struct gate_client *gate_client_new(struct loop *loop, const char *sock_path,
				    struct err *err);
/* Ends all calls with -ECANCELED and frees @g. NULL is fine. */
void gate_client_free(struct gate_client *g);
/* Makes a call with the arguments @a and @b of @verb (ottergate/admin.h), which
 * are copied. A list (one JSON object a frame) becomes a line for each object.
 * Returns 0; or, and then @fn is not called, -EBUSY for too many calls,
 * -EMSGSIZE for too long arguments, -ENOMEM, or -ECANCELED during
 * gate_client_free(). */
int gate_call(struct gate_client *g, enum admin_verb verb, struct slice a,
	      struct slice b, gate_fn fn, void *arg);

#endif
