/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - client of a Docker Engine API at a unix socket, in acd's loop
 *
 * Calls are sent at once and in parallel; connections are reused. Each accepted
 * call ends in exactly one callback, from the loop or from engine_free().
 */
#ifndef CONTROL_ACD_RUNTIME_ENGINE_H
#define CONTROL_ACD_RUNTIME_ENGINE_H

#include <jansson.h>

#include "lib/err.h"
#include "lib/loop.h"

#define ENGINE_ANSWER_MAX (16u * 1024 * 1024) /* bytes; more is -EMSGSIZE */
#define ENGINE_CALLS_MAX 1024u /* unfinished at once */
#define ENGINE_NAME_MAX 512u /* see engine_escape() */

struct engine;

/*
 * @status: the HTTP status, 0 without an answer. @body: the JSON answer
 * (borrowed) or NULL. @err: NULL on success. Else the code is -ETIMEDOUT,
 * -ECONNREFUSED if the engine does not listen, -EPROTO or -EMSGSIZE for an
 * unusable answer, -ECANCELED by engine_free(). For a status of 400 and above
 * it follows the status (404 -ENOENT, 409 -EEXIST, 400 -EINVAL, others -EIO),
 * and the text is the engine's.
 */
typedef void (*engine_fn)(void *arg, int status, json_t *body,
			  const struct err *err);

/* Returns a client, or NULL with @err. The socket may appear later. */
struct engine *engine_new(struct loop *loop, const char *sock_path,
			  struct err *err);
/* Ends open calls with -ECANCELED and frees @e. Calls made by their callbacks
 * are refused with -ECANCELED. NULL is fine. */
void engine_free(struct engine *e);

/* Makes a call. @path begins with "/", without the API version; its variable
 * parts must be escaped by engine_escape(). @timeout_ms > 0 is for the whole
 * call. Returns 0, -EBUSY for too many calls, -ECANCELED, or -ENOMEM. */
int engine_call(struct engine *e, const char *method, const char *path,
		uint64_t timeout_ms, engine_fn fn, void *arg);
/* The same with a JSON body, whose reference it takes, also on failure. A NULL
 * body returns -ENOMEM, so the result of json_pack() can be passed. */
int engine_call_json(struct engine *e, const char *method, const char *path,
		     json_t *takes_body, uint64_t timeout_ms, engine_fn fn,
		     void *arg);

/* Writes @in percent-encoded, as a path segment or a query value. Returns 0, or
 * -ENOBUFS if @out (of @size bytes, usually ENGINE_NAME_MAX) is too small. */
int engine_escape(char *out, size_t size, const char *in);

#endif
