/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reach.h - the options --egress, --allow, --deny, --service and --model-url
 *
 * Refuses only what cannot be meant, with messages for a command line. acd and
 * the gateway check names and the policy. No side effects.
 */
#ifndef CONTROL_CLI_CORE_REACH_H
#define CONTROL_CLI_CORE_REACH_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/err.h"
#include "lib/str.h"

struct reach {
	const char *mode; /* one of reach_modes, NULL: none was given */
	struct strv words; /* of --egress: mode and presets */
	struct strv allow, deny;
	struct strv services; /* names; "none" may be the first */
	const char *model_url; /* NULL: not given; "none" */
};

#define REACH_MODES 3u
extern const char *const reach_modes[REACH_MODES];

void reach_done(struct reach *r); /* accepts zeroed */

/* Adds the value of --egress: modes and presets, separated by commas. Two modes
 * exclude each other. Returns 0, -EINVAL or -ENOMEM. */
int reach_add_egress(struct reach *r, const char *list, struct err *err);
/* Adds hosts, separated by commas, to @to. @what is "--allow", for messages.
 * Returns 0, -EINVAL or -ENOMEM. */
int reach_add_targets(struct strv *to, const char *what, const char *list,
		      struct err *err);
/* Returns 0, or -EINVAL if @word is not one of reach_modes. */
int reach_check_mode(const char *word, struct err *err);

/*
 * Checks HOST[:PORT[-PORT]] with or without http://, https:// or tcp:// before
 * it; HOST is a name, .NAME, *.NAME, +NAME or an address. Returns 0, or -EINVAL
 * with what is wrong.
 */
int reach_check_target(const char *target, struct err *err);

static inline bool reach_is_given(const struct reach *r)
{
	return r->words.n || r->allow.n || r->deny.n || r->services.n ||
	       r->model_url;
}

/* Adds what was given to a request's body for acd. Returns 0 or -ENOMEM. */
int reach_put(json_t *body, const struct reach *r);

#endif
