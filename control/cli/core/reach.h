/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reach.h - what --egress, --allow and --deny ask for
 *
 * Only what cannot be meant is refused here, in words that fit a command
 * line; whether a name is one, and whether the policy is a good one, is for
 * acd and the gateway to say. Pure.
 */
#ifndef CONTROL_CLI_CORE_REACH_H
#define CONTROL_CLI_CORE_REACH_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/err.h"
#include "lib/str.h"

struct reach {
	const char *mode; /* one of reach_modes, NULL: none was given */
	struct strv words; /* of --egress: the mode and presets */
	struct strv allow, deny;
};

#define REACH_MODES 3u
extern const char *const reach_modes[REACH_MODES];

void reach_done(struct reach *r); /* accepts zeroed */

/* The value of --egress: modes and presets, by commas. Two modes exclude each
 * other. -EINVAL. */
int reach_add_egress(struct reach *r, const char *list, struct err *err);
/* Hosts by commas to @to; @what is "--allow", for a message. -EINVAL. */
int reach_add_targets(struct strv *to, const char *what, const char *list,
		      struct err *err);
/* -EINVAL when @word is none of reach_modes. */
int reach_check_mode(const char *word, struct err *err);

/*
 * HOST[:PORT[-PORT]], with http://, https:// or tcp:// before it or not; HOST
 * is a name, .NAME, *.NAME, +NAME or an address. -EINVAL: the message tells
 * what is too much or missing.
 */
int reach_check_target(const char *target, struct err *err);

static inline bool reach_is_given(const struct reach *r)
{
	return r->words.n || r->allow.n || r->deny.n;
}

/* What was given, as members of a body for acd. -ENOMEM. */
int reach_put(json_t *body, const struct reach *r);

#endif
