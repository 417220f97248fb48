/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_log.h - what the gateway blocked, counted
 */
#ifndef CONTROL_CLI_CMD_POLICY_LOG_H
#define CONTROL_CLI_CMD_POLICY_LOG_H

#include <stdio.h>

#include "control/cli/host/gatelog.h"

/* Lines that differ by nothing but their time, as one. A sandbox makes up the
 * names, so there is a limit to what is kept apart. */
struct denials;

struct denials *denials_new(void); /* NULL without memory */
void denials_free(struct denials *d); /* NULL is fine */
static inline void denials_freep(struct denials **d)
{
	denials_free(*d);
	*d = NULL;
}
#define SCOPED_DENIALS ATTR_CLEANUP(denials_freep) struct denials *
/* -ENOMEM. */
int denials_add(struct denials *d, const json_t *line);
/* One line for each, the latest last, and of them the last @max; with @agents
 * whose it was. */
int denials_print(struct denials *d, FILE *out, size_t max, bool agents,
		  time_t now);

/* "blocked: x.example:443 (not-allowed)" with @count and the time, and what
 * would allow it. -ENOMEM. */
int denial_print(FILE *out, const json_t *line, unsigned long count, bool agent,
		 time_t now);

/*
 * After a run of @name that began at @since_ms (CLOCK_REALTIME): says what was
 * blocked meanwhile and was not before, unless somebody denied it, and what was
 * allowed and not reached. @first: the instance is new, what there is of its
 * name is another's. One call on a connection that is open, which acd answers
 * when the gateway has written all of it down; its failure is none of the run.
 */
void denials_tell(const struct cli *cli, struct client *c, const char *name,
		  uint64_t since_ms, bool first);
/* What of @name was blocked last, as `ac policy allow` takes it. Fails with
 * -ENOENT if nothing was, and with -EINVAL if no rule would help. */
int denials_last(struct client *c, const char *name,
		 char hint[GATELOG_HINT_MAX], struct err *err);
/* Asks whether @name may reach @hint; @yes: without a question. Returns 0 to go
 * on, else the code to exit with; negative with @err when there is no terminal,
 * which names the command to type. */
int denials_agree(const struct cli *cli, bool yes, const char *name,
		  const char *hint, struct err *err);
/* Milliseconds since 1970. */
uint64_t denials_now_ms(void);

#endif
