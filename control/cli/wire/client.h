/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - calls to acd: HTTP/1.1 and JSON over its unix socket
 *
 * acd is trusted, but its answers are bounded all the same. One connection
 * is kept between the calls of a command. The outer engine is called by the
 * same means; its errors are {"message": …}.
 */
#ifndef CONTROL_CLI_WIRE_CLIENT_H
#define CONTROL_CLI_WIRE_CLIENT_H

#include <jansson.h>

#include "lib/err.h"

#define CLIENT_ANSWER_MAX (16u * 1024 * 1024) /* bytes of one JSON answer */

struct client;

/* What acd said when it refused; empty when it was not acd. */
struct client_error {
	int status; /* of HTTP, 0: no answer */
	char code[32]; /* the stable word, "image_missing" */
	char image[64]; /* with image_missing */
};

/* @who is named in messages and kept by reference: "acd". NULL without
 * memory. The socket is first used by the first call. */
struct client *client_new(const char *sock, const char *who);
void client_free(struct client *c); /* NULL is fine */
static inline void client_freep(struct client **c)
{
	client_free(*c);
	*c = NULL;
}
#define SCOPED_CLIENT ATTR_CLEANUP(client_freep) struct client *
/* Of the last call; valid until the next. */
const struct client_error *client_error(const struct client *c);

/*
 * @path is "/v1/…", its variable parts escaped by client_path(). @body is
 * borrowed, NULL: none. On success *ret (may be NULL) is a new reference to
 * the answer, or NULL when it had no body. -ECONNREFUSED: nobody listens
 * there; -EACCES; -EPROTO: no sense in the answer; else a code that follows
 * the HTTP status and the message of acd.
 */
int client_call(struct client *c, const char *method, const char *path,
		const json_t *body, json_t **ret, struct err *err);

/* Hands over the body as it comes. A negative result of @fn ends the call
 * and is returned; the caller's own @err is then left alone. */
typedef int (*client_data_fn)(void *arg, const char *data, size_t len);
int client_stream(struct client *c, const char *method, const char *path,
		  const json_t *body, client_data_fn fn, void *arg,
		  struct err *err);

/* PUT of a file's bytes, exactly @file->len of them; -ENODATA when it has fewer,
 * with @err. @ret as for client_call(). */
struct http_file;
int client_put(struct client *c, const char *path, const struct http_file *file,
	       json_t **ret, struct err *err);

/* The longest that a GET by client_stream() may take from then on, in ms; 0, as
 * it is at first: no limit. */
void client_stream_limit(struct client *c, unsigned ms);

/* From then on @fn is called twice a second while a call waits for the peer;
 * NULL: no longer. */
void client_on_idle(struct client *c, void (*fn)(void *arg), void *arg);

/* "<prefix><name, percent-encoded><suffix>"; caller frees, NULL without
 * memory. */
char *client_path(const char *prefix, const char *name, const char *suffix);

/* acd names the member of the request that it refuses; the user gave an option,
 * which takes its place. Returns @out. Pure. */
char *client_option_words(char *out, size_t size, const char *in);

/* Reads the error of an answer with @status into @ce and @err, which gets its
 * word; returns the negative errno. @text need not be JSON. */
int client_error_parse(const char *who, int status, const char *text,
		       size_t len, struct client_error *ce, struct err *err);

#endif
