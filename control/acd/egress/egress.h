/* SPDX-License-Identifier: Apache-2.0 */
/*
 * egress.h - the egress options of a blueprint and an instance, and the policy
 *
 * Both together make the policy of one agent (ac-policy(5)); the gateway's
 * linter judges it. No function has side effects.
 *
 * A target is HOST[:PORT[-PORT]], where HOST is a name, .NAME (names below it),
 * +NAME (both) or an address. http:// before it means port 80, https:// 443,
 * tcp:// a port without TLS. Without a scheme and a port, an allowance is for
 * the policy's port, 443, and a denial for all ports.
 */
#ifndef CONTROL_ACD_EGRESS_EGRESS_H
#define CONTROL_ACD_EGRESS_EGRESS_H

#include <jansson.h>

#include "control/acd/credential/credentials.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/str.h"

#define EGRESS_TARGETS_MAX 1024u /* of each list */
#define EGRESS_PRESETS_MAX 64u
#define EGRESS_SERVICES_MAX 16u
#define EGRESS_PACKAGES "packages" /* the machine's own registries */

enum egress_mode {
	EGRESS_UNSET,
	EGRESS_LOCKED, /* allowed targets, but no presets of a blueprint */
	EGRESS_BALANCED, /* also presets, including that of packages */
	EGRESS_OPEN, /* all that is not denied, and recorded */
};
/* Returns "locked" and so on, "" for EGRESS_UNSET; a constant. */
const char *egress_mode_name(enum egress_mode m);

struct egress {
	enum egress_mode mode;
	struct strv presets;
	struct strv allow, deny; /* targets */
	size_t n_base_deny; /* set by egress_merge(): so many of deny, the
			     * first, are the blueprint's */
	enum git_push push; /* of the instance; unset: by credential */
	struct strv services; /* names of net/services.h */
	char *model_url; /* where its model is; NULL: as the blueprint says */
	/* Neither of these is stored; NULL: none. */
	char *limits; /* of a blueprint: flow YAML, checked */
	char *rules; /* of its credentials: items of a YAML list */
	char *places; /* its services: the same */
};
/* Frees what @e holds and zeroes it. Accepts zeroed. */
void egress_done(struct egress *e);

/* Adds a word of `--egress` or of a blueprint: a mode, or a preset's name.
 * Returns 0; -EINVAL for a mode other than one that was set before, or like
 * egress_add_preset(); or -ENOMEM. */
int egress_add_word(struct egress *e, const char *word, struct err *err);
/* Returns 0, or -ENOENT if @word is no mode. */
int egress_mode_parse(const char *word, enum egress_mode *ret);
/* Adds a preset unless it is in the list; it need not exist. Returns 0, -EINVAL
 * for an impossible name or a full list, or -ENOMEM. */
int egress_add_preset(struct egress *e, const char *name, struct err *err);
/* Adds a copy of @target to @list unless it is there; a name in another script
 * is stored as xn--…. Returns 0, -EINVAL if it is no target or the list is
 * full, or -ENOMEM. */
int egress_add_target(struct strv *list, const char *target, struct err *err);
/* Returns -EINVAL, with what helps instead, if @target is a name or an address
 * that the gateway always denies. Returns 0 for all else, also for what is no
 * target: egress_add_target() refuses that. */
int egress_check_allowable(const char *target, struct err *err);
/* Returns -EINVAL, with what helps instead, if @target is one of the machine's
 * own addresses @own, one a line. Returns 0 for all else. */
int egress_check_own(const char *target, const char *own, struct err *err);
/* Add a target to a list of @e, and remove what contradicts it from the other.
 * egress_allow() removes all denials of the same host, since a denial wins, and
 * checks the target by egress_check_allowable(); egress_deny() removes the
 * allowances that it covers. A host is the same with any port and scheme.
 * Return 0, -EINVAL or -ENOMEM; on failure @e is unchanged. */
int egress_allow(struct egress *e, const char *target, struct err *err);
int egress_deny(struct egress *e, const char *target, struct err *err);
/* Returns true if both are for the same host, and @denial is for all ports or
 * for the same port or range. Another range that contains the port does not
 * count. */
bool egress_denial_covers(const char *denial, const char *allowance);

/* Adds the name of a service unless it is in the list; "none" removes those
 * that are. Returns 0, -EINVAL for an impossible name or a full list, or
 * -ENOMEM. */
int egress_add_service(struct egress *e, const char *name, struct err *err);

/* Returns true if nothing is set of what egress_store() stores. */
bool egress_is_empty(const struct egress *e);

/* Reads options as they are stored; NULL and "" are empty ones. Returns 0, and
 * the caller releases @ret; or -EINVAL or -ENOMEM, with @ret unchanged. */
int egress_load(const char *json, struct egress *ret, struct err *err);
/* Returns the text to store, to be freed, or NULL without memory. */
char *egress_store(const struct egress *e);
/* Returns {"mode", "presets", "allow", "deny"}, "push" if it is set, and
 * "services" and "model_url" if there are any: a new reference, or NULL without
 * memory. */
json_t *egress_json(const struct egress *e);

/*
 * Merges copies of an instance's options @own and its blueprint's @base. The
 * mode is that of @own, else of @base, else balanced; `push`, the services and
 * model_url are those of @own, the limits those of @base, and there are no rules. The lists are joined, but
 * locked leaves out the presets of @base. @packages: a preset of that name
 * exists; it is added unless the mode is locked. Returns 0, and the caller
 * releases @ret; or a negative errno, with @ret unchanged.
 */
int egress_merge(const struct egress *base, const struct egress *own,
		 bool packages, struct egress *ret);
/* Appends the text of the policy file of agent @id at @address. Returns 0, or a
 * negative errno: -EINVAL for a list with what is no target, -ENOBUFS, -ENOMEM.
 * @out may have a part of the text then. */
int egress_yaml(const struct egress *e, const char *id, const char *address,
		struct buf *out);

#endif
