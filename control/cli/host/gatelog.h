/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatelog.h - what the gateway wrote down: its audit, read and put into words
 *
 * A line is one JSON object; ottergate/audit/audit.h says what is in it. Names
 * in it were asked for by a sandbox: whatever goes to people is escaped here.
 */
#ifndef CONTROL_CLI_HOST_GATELOG_H
#define CONTROL_CLI_HOST_GATELOG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "control/cli/core/cli.h"
#include "control/cli/wire/client.h"

#define GATELOG_TARGET_MAX 320u
#define GATELOG_HINT_MAX (GATELOG_TARGET_MAX + 8)
#define GATELOG_TEXT_MAX 4096u
#define GATELOG_TIME_MAX 24u
#define GATELOG_PROGRAM_MAX 440u /* 95 bytes, each escaped */

/* ---- words; pure ---- */

enum gatelog_kind {
	GATELOG_BLOCKED,
	GATELOG_FAILED, /* let through, but nobody was there */
	GATELOG_OBSERVED, /* let through by mode open, by no rule */
	GATELOG_ALLOWED,
	GATELOG_OTHER, /* ends of connections, loads of policies */
};
enum gatelog_kind gatelog_kind(const json_t *line);

/* "x.example:443", or the address without a name; "?" when the line names
 * nothing. Returns @out. */
char *gatelog_target(char out[GATELOG_TARGET_MAX], const json_t *line);
/* Milliseconds since 1970, 0: no time is in it. */
uint64_t gatelog_ms(const json_t *line);
/* The same of a text that begins with a time, "2026-01-31T12:00:00.000Z".
 * *ret_rest is what is behind it, then. */
uint64_t gatelog_stamp(const char *text, const char **ret_rest);
/* The user's own time; without the date if that is @now's. Returns @out. */
char *gatelog_time(char out[GATELOG_TIME_MAX], uint64_t ms, time_t now);
/* Would a rule for the target help? */
bool gatelog_may_be_allowed(const json_t *line);
/* What to say to `ac policy allow NAME` then; "" when no rule would help. With
 * ssh and its like nobody may tell the host's name: then it is only its form.
 * Returns @out. */
char *gatelog_hint(char out[GATELOG_HINT_MAX], const json_t *line);
/* " by /usr/bin/git (pid 12)", as far as the program has said what it is; else
 * "". Its own claim. Returns @out. */
char *gatelog_program(char out[GATELOG_PROGRAM_MAX], const json_t *line);
/* What a reason's code means, "" for one that we do not know. */
const char *gatelog_reason(const char *code);
/* All of the line for people, without its time. Returns @out. */
char *gatelog_text(char out[GATELOG_TEXT_MAX], const json_t *line);

/* ---- reading ---- */

struct gatelog_query {
	const char *name; /* of an instance; NULL: of all */
	uint64_t tail; /* lines to begin with */
	bool follow;
};

/* @line is NULL when @raw makes no sense. @raw has no end of line. */
typedef int (*gatelog_fn)(void *arg, const json_t *line, const char *raw,
			  size_t len);

/* The lines that acd has. A negative result of @fn ends it and is returned. */
int gatelog_fetch(struct client *c, const struct gatelog_query *q,
		  gatelog_fn fn, void *arg, struct err *err);
/* The same, or what is in the file while ac-host does not run. */
int gatelog_read(const struct cli *cli, const struct gatelog_query *q,
		 gatelog_fn fn, void *arg, struct err *err);
/* -ENOENT: there is no instance @name. */
int gatelog_check_name(const struct cli *cli, const char *name,
		       struct err *err);

#endif
