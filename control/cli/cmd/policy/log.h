/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - what the gateway blocked, counted
 */
#ifndef CONTROL_CLI_CMD_POLICY_LOG_H
#define CONTROL_CLI_CMD_POLICY_LOG_H

#include <stdio.h>

#include "control/cli/host/gatelog.h"

/* Blocked targets. Lines that differ only in time are one entry. A sandbox
 * chooses the names, so the number of entries is limited. */
struct denials;

struct denials *denials_new(void); /* NULL: out of memory */
void denials_free(struct denials *d); /* accepts NULL */
static inline void denials_freep(struct denials **d)
{
	denials_free(*d);
	*d = NULL;
}
#define SCOPED_DENIALS ATTR_CLEANUP(denials_freep) struct denials *
/* Adds a line of the audit, of which it keeps a copy. Returns 0 or -ENOMEM. */
int denials_add(struct denials *d, const json_t *line);
/* Prints one line for each entry, the latest last, at most the last @max; with
 * @agents also the instance. Returns 0 or -EIO. */
int denials_print(struct denials *d, FILE *out, size_t max, bool agents,
		  time_t now);

/* Prints "blocked: x.example:443 (not-allowed)", with @count if it is not 0,
 * the time, and what would allow it; with @agent also the instance. Returns 0
 * or -EIO. */
int denial_print(FILE *out, const json_t *line, unsigned long count, bool agent,
		 time_t now);

/*
 * Tells, after a run of @name that began at @since_ms (CLOCK_REALTIME), what
 * was newly blocked and not by a rule, and what was allowed and not reached.
 * @first: the instance is new, so older lines are of another one with its name.
 * acd answers on @c once the gateway has written the run's lines. Failures are
 * ignored.
 */
void denials_tell(const struct cli *cli, struct client *c, const char *name,
		  uint64_t since_ms, bool first);
/* Writes the target of @name that was blocked last to @hint, as `ac policy
 * allow` takes it. Returns 0. Fails with -ENOENT if there is none, or -EINVAL
 * if no rule would help. */
int denials_last(struct client *c, const char *name,
		 char hint[GATELOG_HINT_MAX], struct err *err);
/* Asks whether @name may reach @hint, unless @yes. Returns 0 to go on, else the
 * exit code. Without a terminal it fails as cli_usage(), with @err naming the
 * command to type. */
int denials_agree(const struct cli *cli, bool yes, const char *name,
		  const char *hint, struct err *err);
/* Returns CLOCK_REALTIME in milliseconds. */
uint64_t denials_now_ms(void);

#endif
