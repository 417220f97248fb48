/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatelog.h - reads the gateway's audit, and describes its lines
 *
 * A line is one JSON object; see ottergate/audit/audit.h. Names in it come from
 * a sandbox, so all text for people is escaped here.
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

/* ---- descriptions; no side effects ---- */

enum gatelog_kind {
	GATELOG_BLOCKED,
	GATELOG_FAILED, /* allowed, but the host could not be reached */
	GATELOG_OBSERVED, /* allowed by mode open, by no rule */
	GATELOG_ALLOWED,
	GATELOG_OTHER, /* ends of connections, loads of policies */
};
enum gatelog_kind gatelog_kind(const json_t *line);

/* Writes "x.example:443", or the address if there is no name; "?" if there is
 * neither. Returns @out. */
char *gatelog_target(char out[GATELOG_TARGET_MAX], const json_t *line);
/* Returns the time in ms since 1970, 0 if it has none. */
uint64_t gatelog_ms(const json_t *line);
/* The same for text that begins with "2026-01-31T12:00:00.000Z". If it has a
 * time, *ret_rest is what follows. */
uint64_t gatelog_stamp(const char *text, const char **ret_rest);
/* Writes local time, without the date if it is @now's. Returns @out. */
char *gatelog_time(char out[GATELOG_TIME_MAX], uint64_t ms, time_t now);
/* Returns true if a rule for the target would help. */
bool gatelog_may_be_allowed(const json_t *line);
/* Writes the argument for `ac policy allow NAME`, "" if no rule would help. For
 * ssh and the like the host's name is unknown: then it is "tcp://HOST:PORT".
 * Returns @out. */
char *gatelog_hint(char out[GATELOG_HINT_MAX], const json_t *line);
/* Writes " by /usr/bin/git (pid 12)" as far as the program has told, else "".
 * This is the sandbox's claim. Returns @out. */
char *gatelog_program(char out[GATELOG_PROGRAM_MAX], const json_t *line);
/* Returns what a reason's code means, a constant; "" for an unknown one. */
const char *gatelog_reason(const char *code);
/* Writes the whole line for people, without its time. Returns @out. */
char *gatelog_text(char out[GATELOG_TEXT_MAX], const json_t *line);

/* ---- reading ---- */

struct gatelog_query {
	const char *name; /* of an instance; NULL: all */
	uint64_t tail; /* how many lines to begin with */
	bool follow;
};

/* @line is NULL if @raw is malformed. @raw has no line end. */
typedef int (*gatelog_fn)(void *arg, const json_t *line, const char *raw,
			  size_t len);

/* Reads lines from acd. A negative result of @fn ends it and is returned. */
int gatelog_fetch(struct client *c, const struct gatelog_query *q,
		  gatelog_fn fn, void *arg, struct err *err);
/* The same, or reads the file if ac-host does not run, and tells the user that.
 * Returns 1 if there is no line in it: then the caller tells. */
int gatelog_read(const struct cli *cli, const struct gatelog_query *q,
		 gatelog_fn fn, void *arg, struct err *err);
/* Returns 0, or -ENOENT if there is no instance @name. */
int gatelog_check_name(const struct cli *cli, const char *name,
		       struct err *err);

#endif
