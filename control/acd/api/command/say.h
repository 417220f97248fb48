/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say.h - a command in JSON, and the ids of its events
 *
 * Output is text if it is UTF-8; else it is Base64, and a member beside it says
 * which. The id of an event is the position in the output behind it, with
 * ".end" for that of the command's end.
 */
#ifndef CONTROL_ACD_API_COMMAND_SAY_H
#define CONTROL_ACD_API_COMMAND_SAY_H

#include <jansson.h>

#include "control/acd/instance/command/command.h"

#define SAY_EVENT_ID_MAX 32u /* with the NUL */

/* Returns how many bytes at the end of @data begin a character of UTF-8 that is
 * not complete; 0 to 3. */
size_t say_unfinished(struct slice data);
/* Sets the member @key of @obj to @data, and @encoding to "utf-8" or "base64".
 * Returns 0 or -ENOMEM. */
int say_bytes(json_t *obj, const char *key, const char *encoding,
	      struct slice data);
/* Returns Command of the API, with its output if @output; a new reference, NULL
 * without memory. */
json_t *say_command(const struct command *c, bool output);
/* Returns the data of the event of its end, likewise. */
json_t *say_end(const struct command *c);
/* Returns the name of a stream, which is that of its event. */
const char *say_stream(enum output_stream stream);

void say_event_id(char ret[SAY_EVENT_ID_MAX], uint64_t pos, bool end);
/* Reads what say_event_id() wrote. Returns 0, or -EINVAL for another text. */
int say_event_id_parse(const char *text, uint64_t *ret_pos, bool *ret_end);

#endif
