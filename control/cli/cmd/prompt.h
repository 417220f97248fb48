/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prompt.h - `ac run --prompt`: a task for an agent, and its last message
 */
#ifndef CONTROL_CLI_CMD_PROMPT_H
#define CONTROL_CLI_CMD_PROMPT_H

#include <jansson.h>

#include "control/cli/host/launch.h"
#include "lib/buf.h"

#define PROMPT_OUTPUT_MAX (16u * 1024 * 1024) /* kept of the output's end */

struct prompt {
	char *text; /* NULL: no prompt was given */
	/* Where the output has the message and the usage; NULL: all of it is
	 * the message; there is none. */
	char *message_path, *usage_path;
	bool collects; /* the output is kept in @out for prompt_print() */
	struct buf out;
	bool cut; /* @out has only the end */
};

/* Reads the prompt that --prompt names: "-" is stdin, "@FILE" a file, anything
 * else is the text. Cuts line ends behind it. The caller frees *ret. Fails with
 * -EINVAL if it is empty, longer than AC_PROMPT_MAX, or not UTF-8. */
int prompt_read(const char *given, char **ret, struct err *err);

/* Asks acd how to read the output of the blueprint of @l, which has begun, and
 * makes @l keep the output in @p, which must outlive the launch, if that is
 * needed. Without an answer all of the output is the message. */
void prompt_attach(struct prompt *p, struct launch *l);

/* Prints the result of the run on stdout if the output was kept: the last
 * message, or with --json an object that has the exit code @code and the usage
 * too. Returns 0 or a negative errno with @err. */
int prompt_print(struct prompt *p, const struct cli *cli, int code,
		 struct err *err);

/* Returns the member @path, such as ".a.b" or ".list.0", of @output, if that is
 * JSON, else of its last line that is JSON and has it. A new reference, NULL if
 * there is none. */
json_t *prompt_member(struct slice output, const char *path);

void prompt_done(struct prompt *p); /* accepts zeroed */

#endif
