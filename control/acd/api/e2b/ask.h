/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.h - what clients of E2B's API ask for, read out of its JSON
 *
 * What acd does not have is refused with -ENOTSUP and a reason, also a member that
 * it does not know: a sandbox is never less than was asked for. These have no side
 * effects; each returns 0, or a negative errno with @err.
 */
#ifndef CONTROL_ACD_API_E2B_ASK_H
#define CONTROL_ACD_API_E2B_ASK_H

#include <jansson.h>

#include "control/acd/instance/run_options.h"
#include "init-guard/filewire.h"

#define E2B_HOME "/home/node" /* of relative paths, and of commands */
#define E2B_TIMEOUT_S 300u /* of a sandbox, if none is said */
#define E2B_TIMEOUT_MAX_S (30u * 86400)
#define E2B_METADATA_MAX 64u /* pairs */
#define E2B_TEXT_MAX 4096u /* bytes of a key or value */
#define E2B_ENV_MAX 256u

/* A new sandbox. All is borrowed from the body but the options. */
struct ask_box {
	char blueprint[64]; /* of its template; else the template as it is */
	const char *template;
	uint64_t timeout_s;
	json_t *metadata; /* an object of texts; NULL: none */
	json_t *options; /* of an instance, as the API has them; released by
			  * its reader */
	bool pauses; /* at its timeout */
	bool internet, internet_said;
};
int ask_box(json_t *body, struct ask_box *ret, struct err *err);
/* Reads the member @key, seconds; @def if it is absent. */
int ask_seconds(json_t *body, const char *key, uint64_t def, uint64_t *ret,
		struct err *err);
/* Reads "memory" of a pause, a resume or a snapshot, which must be true or absent:
 * a sandbox goes on from its memory. */
int ask_memory(json_t *body, struct err *err);

/* A path: absolute, or below E2B_HOME. */
int ask_path(const char *path, char ret[FILEWIRE_PATH_MAX + 1],
	     struct err *err);

/* A command to start. The caller releases the options, on failure too. */
struct ask_start {
	struct run_options options;
	bool input; /* it may be sent input */
};
int ask_start(json_t *body, struct ask_start *ret, struct err *err);
/* Which command is meant; by its pid alone. */
int ask_pid(const json_t *body, uint32_t *ret, struct err *err);
/* Input for one; the caller frees *@ret_mem. */
int ask_input(const json_t *body, uint8_t **ret_mem, struct slice *ret,
	      struct err *err);
int ask_signal(const json_t *body, uint32_t *ret, struct err *err);
/* The size of a terminal. */
int ask_size(const json_t *pty, uint16_t *ret_rows, uint16_t *ret_cols,
	     struct err *err);
/* Checks whom the request of an Authorization header (NULL: none) is for: the
 * agent's user is the only one. */
int ask_user(const char *authorization, struct err *err);
/* The same of a name. */
int ask_user_name(const char *name, struct err *err);

#endif
