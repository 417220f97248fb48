/* SPDX-License-Identifier: Apache-2.0 */
/*
 * egress.h - what an instance may reach, in the user's words
 *
 * A blueprint says it, and an instance on top of that. Together they become
 * the policy of one agent, as ac-policy(5) describes it; whether that is a
 * good one is for the gateway's linter to say. Pure.
 *
 * A target is HOST[:PORT[-PORT]] with HOST a name, .NAME (what is below it),
 * +NAME (both) or an address; before it http:// (port 80), https:// (443) or
 * tcp:// (no TLS, and a port). Without a port it is the policy's, 443.
 */
#ifndef CONTROL_ACD_EGRESS_EGRESS_H
#define CONTROL_ACD_EGRESS_EGRESS_H

#include <jansson.h>

#include "control/acd/credential/credentials.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/str.h"

#define EGRESS_TARGETS_MAX 1024u /* of each list */
#define EGRESS_TARGET_MAX 300u /* bytes */
#define EGRESS_PRESETS_MAX 64u
#define EGRESS_PACKAGES "packages" /* the machine's own registries */

enum egress_mode {
	EGRESS_UNSET,
	EGRESS_LOCKED, /* what was allowed by name, no preset of a blueprint */
	EGRESS_BALANCED, /* also presets, and that of packages */
	EGRESS_OPEN, /* everything that is not denied, and written down */
};
/* "locked"; "" for EGRESS_UNSET. */
const char *egress_mode_name(enum egress_mode m);

struct egress {
	enum egress_mode mode;
	struct strv presets;
	struct strv allow, deny; /* targets */
	size_t n_base_deny; /* of egress_merge(): so many are the blueprint's */
	enum git_push push; /* of the instance; unset: as its credentials say */
	char *limits; /* of a blueprint: flow YAML, checked; NULL */
	char *rules; /* of its credentials, items of a YAML list; NULL: none.
		      * Not stored. */
};
void egress_done(struct egress *e); /* accepts zeroed */

/* One word of `--egress` or of a blueprint: a mode, or a preset's name.
 * -EINVAL. */
int egress_add_word(struct egress *e, const char *word, struct err *err);
int egress_mode_parse(const char *word, enum egress_mode *ret); /* -ENOENT */
int egress_add_preset(struct egress *e, const char *name, struct err *err);
/* Adds @target to @list unless it is there, a name of another script as xn--….
 * Fails with -EINVAL if it is none. */
int egress_add_target(struct strv *list, const char *target, struct err *err);
/* Says whether a policy can allow @target. Returns 0 if so; fails with -EINVAL
 * for a name or an address that the gateway denies whatever a policy says, with
 * the way that there is. Returns 0 for what is no target at all. */
int egress_check_allowable(const char *target, struct err *err);
/* The same of the machine's addresses @own, one a line. */
int egress_check_own(const char *target, const char *own, struct err *err);
/* What was said last holds: egress_allow() takes away each denial of the same
 * host, since a denial wins; egress_deny() the allowances that it covers. A
 * host is the same whatever its port and scheme. -EINVAL. */
int egress_allow(struct egress *e, const char *target, struct err *err);
int egress_deny(struct egress *e, const char *target, struct err *err);
/* Says whether the host is the same and @denial leaves nothing of
 * @allowance. */
bool egress_denial_covers(const char *denial, const char *allowance);

bool egress_is_empty(const struct egress *e);

/* As stored with an instance; NULL and "" are an empty one. */
int egress_load(const char *json, struct egress *ret, struct err *err);
/* The text; NULL without memory. Caller frees. */
char *egress_store(const struct egress *e);
/* {"mode", "presets", "allow", "deny"}; NULL without memory. */
json_t *egress_json(const struct egress *e);

/* What holds for an instance with wishes @own of a blueprint with @base;
 * @packages: there is a preset of that name. */
int egress_merge(const struct egress *base, const struct egress *own,
		 bool packages, struct egress *ret);
/* The policy file of agent @id at @address. */
int egress_yaml(const struct egress *e, const char *id, const char *address,
		struct buf *out);

#endif
