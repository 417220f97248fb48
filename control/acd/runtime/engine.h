/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - client of a Docker Engine API at a unix socket, inside our loop
 *
 * Calls go out at once and in parallel; connections are kept and used again.
 * Each call that was accepted ends in exactly one callback, from the loop
 * or from engine_free().
 */
#ifndef CONTROL_ACD_RUNTIME_ENGINE_H
#define CONTROL_ACD_RUNTIME_ENGINE_H

#include <jansson.h>

#include "lib/err.h"
#include "lib/loop.h"

#define ENGINE_ANSWER_MAX (16u * 1024 * 1024) /* bytes; more fails a call */
#define ENGINE_CALLS_MAX 1024u /* under way at once */
#define ENGINE_NAME_MAX 512u /* see engine_escape() */

struct engine;

/*
 * @status: the HTTP status, 0 when there was no answer. @body: the JSON
 * answer (borrowed) or NULL when it had none. @err: NULL on success; else
 * no answer came in time (-ETIMEDOUT), nobody listens (-ECONNREFUSED), the
 * answer was refused (-EPROTO, -EMSGSIZE), engine_free() came first
 * (-ECANCELED), or the status is 400 and above:
 * then the text is the engine's own and the code follows the status (404
 * -ENOENT, 409 -EEXIST, 400 -EINVAL, others -EIO).
 */
typedef void (*engine_fn)(void *arg, int status, json_t *body,
			  const struct err *err);

struct engine *engine_new(struct loop *loop, const char *sock_path,
			  struct err *err);
/* Ends what is under way with -ECANCELED; a call that a callback makes then
 * is refused with that. NULL is fine. */
void engine_free(struct engine *e);

/* @path begins with "/", without the API version; everything in it that is
 * not constant goes through engine_escape(). @timeout_ms > 0 covers the whole
 * call. -EBUSY too many calls, -ECANCELED, -ENOMEM. */
int engine_call(struct engine *e, const char *method, const char *path,
		uint64_t timeout_ms, engine_fn fn, void *arg);
/* The same with a JSON body, whose reference is taken on failure as well; a
 * NULL one is -ENOMEM, so that the result of json_pack() can be passed on. */
int engine_call_json(struct engine *e, const char *method, const char *path,
		     json_t *takes_body, uint64_t timeout_ms, engine_fn fn,
		     void *arg);

/* Writes @in percent-encoded, for a path segment or a query value. -ENOBUFS
 * when @out (of @size bytes, ENGINE_NAME_MAX by habit) is too small. */
int engine_escape(char *out, size_t size, const char *in);

#endif
