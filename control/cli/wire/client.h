/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - calls to acd: HTTP/1.1 and JSON over its unix socket
 *
 * acd is trusted, but its answers are bounded all the same. One connection is
 * kept between a command's calls. The outer engine is called in the same way;
 * its errors are {"message": …}.
 */
#ifndef CONTROL_CLI_WIRE_CLIENT_H
#define CONTROL_CLI_WIRE_CLIENT_H

#include <jansson.h>

#include "control/shared/paths.h"
#include "lib/err.h"

#define CLIENT_ANSWER_MAX (16u * 1024 * 1024) /* bytes of one JSON answer */

struct client;

/* acd's refusal; empty if acd did not refuse. */
struct client_error {
	int status; /* of HTTP, 0: no answer */
	char code[32]; /* stable word, "image_missing" */
	char image[64]; /* with image_missing */
	char credential[64]; /* with credential_missing */
	/* For a run: the instance that was meant; "" if unknown. */
	char instance[AC_NAME_MAX + 1], blueprint[AC_NAME_MAX + 1];
	char state[16]; /* of the instance, with already_running */
};

/* @who ("acd") is the peer's name in messages, kept by reference. Returns NULL
 * without memory. The first call connects. */
struct client *client_new(const char *sock, const char *who);
void client_free(struct client *c); /* NULL is fine */
static inline void client_freep(struct client **c)
{
	client_free(*c);
	*c = NULL;
}
#define SCOPED_CLIENT ATTR_CLEANUP(client_freep) struct client *
/* Returns the refusal of the last call; valid until the next. */
const struct client_error *client_error(const struct client *c);

/*
 * Makes a call. @path is "/v1/…", its variable parts escaped by client_path().
 * @body is borrowed, NULL: none. On success *ret (may be NULL) is a new
 * reference to the answer, or NULL if it has no body. Fails with -ECONNREFUSED
 * if the peer does not listen, -EACCES, -ETIMEDOUT, -EPROTO for an unusable
 * answer, -EMSGSIZE; else with a code for the HTTP status and the peer's
 * message.
 */
int client_call(struct client *c, const char *method, const char *path,
		const json_t *body, json_t **ret, struct err *err);

/* The same, but passes the body as it comes. A negative result of @fn ends the
 * call and is returned; @err is left alone then. */
typedef int (*client_data_fn)(void *arg, const char *data, size_t len);
int client_stream(struct client *c, const char *method, const char *path,
		  const json_t *body, client_data_fn fn, void *arg,
		  struct err *err);

/* PUTs exactly @file->len bytes of a file. Like client_call(); -ENODATA if the
 * file has fewer. */
struct http_file;
int client_put(struct client *c, const char *path, const struct http_file *file,
	       json_t **ret, struct err *err);

/* Sets a limit in ms for a GET by client_stream(); 0, the default: none. */
void client_stream_limit(struct client *c, unsigned ms);

/* Sets a function that is called twice a second while a call waits for the
 * peer; NULL: none. */
void client_on_idle(struct client *c, void (*fn)(void *arg), void *arg);

/* Returns "<prefix><name, percent-encoded><suffix>", to be freed, or NULL
 * without memory. */
char *client_path(const char *prefix, const char *name, const char *suffix);

/* acd names the member @key of the request that it refuses, and begins the
 * message @in with it in quotes. Copies the message with the option that the user
 * gave in its place; @key "": as it is. Returns @out. */
char *client_option_words(char *out, size_t size, const char *key,
			  const char *in);

/* Reads the error in an answer with @status into @ce and @err, with its word.
 * Returns the negative errno. @text may be other than JSON. */
int client_error_parse(const char *who, int status, const char *text,
		       size_t len, struct client_error *ce, struct err *err);

#endif
