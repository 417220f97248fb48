/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h - compares changes with the user's directory as it is now
 */
#ifndef CONTROL_CLI_LAYER_PLAN_H
#define CONTROL_CLI_LAYER_PLAN_H

#include <limits.h>

#include "control/cli/layer/written.h"
#include "control/cli/layer/set.h"
#include "control/cli/layer/tree.h"
#include "lib/err.h"

enum plan_kind {
	PLAN_SAME, /* the user's directory has it already, or has had it */
	PLAN_NEW,
	PLAN_CHANGED,
	PLAN_DELETED,
	PLAN_TYPE, /* a file becomes a directory, and the like */
	PLAN_LEFT_OUT, /* a device, socket or FIFO, or too large */
	PLAN_KINDS
};

/* Why a change is not simply applied. */
enum plan_why {
	PLAN_FREE, /* it is */
	PLAN_EDITED, /* the user has changed or made it too */
	PLAN_INSIDE, /* the user has changed something in it */
	/* from here on --theirs does not help */
	PLAN_TORN, /* it was written to while it was read */
	PLAN_WAY, /* its directory is a link, a file or another mount now */
	PLAN_SPECIAL, /* the user has a FIFO, socket or device there */
	PLAN_GIT, /* the user has a .git in it */
	PLAN_WHYS
};

/* What git makes of the user's version and the agent's. */
struct plan_merged {
	struct blob_id ours; /* the user's that was merged */
	struct blob_id blob; /* the result */
	uint32_t number; /* of the staged file with it, 'n' */
	bool runs; /* it can be executed */
	bool marked; /* with marks where both have changed the same lines */
	struct state was; /* the version that was brought before */
};

struct plan_item {
	const struct layer_item *item; /* borrowed from the set */
	struct spot now; /* what the user has */
	const char *risky; /* risky.h; NULL: it runs nothing */
	enum plan_kind kind;
	enum plan_why why;
	bool theirs; /* a conflict that --theirs has decided */
	struct plan_merged *merged; /* the same by a merge; owned by the plan */
};

struct plan { /* zeroed: empty */
	struct plan_item *v; /* in the order of the set */
	size_t n;
	size_t count[PLAN_KINDS]; /* conflicts are not in it */
	size_t conflicts;
	size_t merged; /* without marks */
	size_t marked; /* with marks */
	size_t risky; /* with conflicts */
};

/* The last directory that plan_touched() has looked at, with those above. */
struct plan_above {
	char dir[PATH_MAX];
	bool moved;
};

struct plan_input {
	const struct layer_set *set; /* sorted, and spread */
	int root; /* descriptor of the user's directory */
	struct layer_key key;
	const struct written *written;
	bool theirs; /* decides conflicts */
	struct plan_above *above; /* NULL: nothing is remembered */
};

/* Compares. @ret borrows from @in->set. Returns 0 or a negative errno with @err;
 * the caller calls plan_done() in any case. Changes nothing. */
int plan_make(const struct plan_input *in, struct plan *ret,
	      struct err *err) ATTR_WUR;
void plan_done(struct plan *p); /* accepts zeroed */
#define SCOPED_PLAN ATTR_CLEANUP(plan_done) struct plan

/* Returns true if the user has changed the file @path, whose @spot is no
 * directory, or moved a directory above it, since the sandbox began with the
 * layer. */
bool plan_touched(const struct plan_input *in, const char *path,
		  const struct spot *spot);

/* Decides a conflict by @merged, which is copied. Returns 0 or -ENOMEM. */
int plan_merge(struct plan *plan, struct plan_item *p,
	       const struct plan_merged *merged) ATTR_WUR;

/* Returns true if it is a conflict that nothing has decided. */
bool plan_is_conflict(const struct plan_item *p);
/* Returns true if the change is to be applied. */
bool plan_applies(const struct plan_item *p);
/* Returns what happens to it: "new", "changed" …, for people and programs. */
const char *plan_kind_word(enum plan_kind kind);
/* Returns "clean" or "conflicts", NULL if it is not merged. */
const char *plan_merge_word(const struct plan_item *p);
/* Returns why it is a conflict, "" if it is none: a clause for people. */
const char *plan_why_text(enum plan_why why);
/* Returns the same as a stable word for programs. */
const char *plan_why_word(enum plan_why why);

#endif
