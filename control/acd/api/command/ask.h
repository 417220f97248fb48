/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.h - a command, and input for one, in the body of a request
 */
#ifndef CONTROL_ACD_API_COMMAND_ASK_H
#define CONTROL_ACD_API_COMMAND_ASK_H

#include <jansson.h>

#include "control/acd/instance/command/command.h"

/* Bytes of a text member or, decoded, of its twin KEY_base64. */
struct ask_input {
	struct slice data; /* of the body, or of @mem */
	uint8_t *mem;
};

/* Reads the member @key of @body, or @base64, which has it as Base64. Absent is
 * empty. Returns 0, and the caller calls ask_input_done(), or fails with
 * -EINVAL or -ENOMEM. */
int ask_input_read(const json_t *body, const char *key, const char *base64,
		   struct ask_input *ret, struct err *err);
void ask_input_done(struct ask_input *in); /* accepts zeroed */

struct ask {
	struct command_ask command;
	struct run_options options;
	struct ask_input input;
};

/* Reads @body, which outlives @ret. @events: the client wants these. Returns 0
 * or a negative errno; the caller calls ask_done() in both cases. */
int ask_read(json_t *body, bool events, struct ask *ret, struct err *err);
void ask_done(struct ask *a);

#endif
