/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_options.h - what a request asks to run: one process and how it is held
 *
 * It has one shape from the body of a request to the EXEC of the guest link.
 * The parser of the request passes it to instance_run(), which keeps it until
 * the run has begun. Nothing is copied on the way.
 */
#ifndef CONTROL_ACD_INSTANCE_RUN_OPTIONS_H
#define CONTROL_ACD_INSTANCE_RUN_OPTIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/str.h"

struct blueprint;

struct run_options {
	/* Empty: the blueprint's command. If the blueprint appends words to its
	 * command, with a prompt, or to go on: what follows that. */
	struct strv argv;
	char *prompt; /* NULL: none; else the blueprint's headless command */
	struct strv env; /* "NAME=value", on top of the instance's */
	struct strv without; /* credentials of the blueprint, left out */
	char *cwd; /* NULL: the instance's */
	bool resume; /* the blueprint's command that goes on with the last
		      * conversation */
	bool memory; /* it goes on from the memory that the instance was given:
		      * that says all of the above, but for detached */
	json_t *state; /* of that memory (snapshot/memory.c), once it is read */
	bool shell; /* argv empty: the blueprint's shell instead */
	bool files; /* the sandbox's file server, nothing of the above */
	bool connect; /* a connection to the port that argv is */
	bool tty, use_stdin;
	bool detached; /* goes on when its client leaves */
	bool unnoticed; /* acd's own exec: no sign of life of the instance */
	uint16_t rows, cols; /* of its terminal; 0: 24, 80 */
	uint64_t timeout_ms; /* 0: the instance's, for a main run */
};

/* Frees what @o has and zeroes it. Accepts a zeroed one. */
void run_options_done(struct run_options *o);

/* Moves what @from has into *@to, which is freed first. @from is zeroed. */
void run_options_move(struct run_options *to, struct run_options *from);

/* Returns 0 if a run of @bp can take the prompt and the words of @o, or go on.
 * Fails with -EINVAL: with the word "no_headless" if @bp has no headless command,
 * "no_resume" if it has none to go on, and if there are words that would be a
 * command of their own. */
int run_options_may(const struct blueprint *bp, const struct run_options *o,
		    struct err *err);

/* Completes @o for a main run of @bp, once: puts the command in front of what
 * follows it, and gives a detached run of the blueprint's own command a
 * terminal. Removes from @bp the credentials that the run goes without. Fails as run_options_may(), and with -ENOMEM. */
int run_options_complete(struct blueprint *bp, struct run_options *o,
			 struct err *err);

/* Copies @argv to @ret, which the caller releases, with @prompt in place of the
 * first "{prompt}". Returns 0 or -ENOMEM. */
int run_argv_fill(const struct strv *argv, const char *prompt,
		  struct strv *ret);

#endif
