/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_impl.h - inside of pool.c, member.c and claim.c
 */
#ifndef CONTROL_ACD_POOL_POOL_IMPL_H
#define CONTROL_ACD_POOL_POOL_IMPL_H

#include <sys/queue.h>

#include "control/acd/blueprint/blueprint.h"
#include "control/acd/guest/links.h"
#include "control/acd/pool/pool.h"
#include "control/acd/guest/prepare.h"

#define POOL_DIR ".pool" /* in the directory of the instances */
#define POOL_MISSES (POOL_MISS_LOST + 1)

enum member_state {
	MEMBER_STARTING, /* the runtime is busy with it */
	MEMBER_GREETING, /* until PREPARED comes */
	MEMBER_READY,
	MEMBER_REMOVING, /* the runtime is busy with it */
	MEMBER_LEFT, /* its removal failed; tried again */
};

struct member {
	LIST_ENTRY(member) link;
	struct pool *pool;
	struct kind *kind; /* NULL: unwanted, and not counted */
	enum member_state state;
	char name[POOL_NAME_LEN];
	char *address;
	char id[LINKS_ID_MAX + 1]; /* the runtime's; "" before it is known */
	struct session *session;
	struct loop_timer *limit; /* for its PREPARED */
	struct prepare_ca ca; /* the one that it was given */
	uint64_t born_ms;
	struct err why; /* of its removal, if that is a failure */
};
LIST_HEAD(members, member);

/* The members of one blueprint, and what they are made of. */
struct kind {
	LIST_ENTRY(kind) link;
	char *blueprint;
	struct blueprint bp; /* as of the last look */
	unsigned built; /* build_count() of its image at the last look */
	const char *off; /* why none are kept ready; NULL: they are */
	bool seen; /* by the current look */
	unsigned hits, started, lost;
	unsigned misses[POOL_MISSES];
	char last_error[256];
};
LIST_HEAD(kinds, kind);

struct pool {
	struct pool_spec spec;
	struct kinds kinds;
	struct members members;
	struct strv empties; /* names of directories that were given away */
	struct loop_timer *timer; /* for the next step */
	uint64_t look_at_ms; /* when the blueprints are read again */
	uint64_t rest_until_ms; /* no start before */
	uint64_t left_at_ms; /* no failed removal is tried again before */
	uint64_t failed_ms; /* length of the rest after a failure; 0: none */
	unsigned serial;
	bool open;
	void (*drained)(void *arg);
	void *drained_arg;
};

/* ---- pool.c, which calls member.c; not the other way round ---- */

/* Notes that the directory of @m is empty; it is removed when no run waits. */
void pool_place_left(struct pool *p, const struct member *m);
/* Returns true if the members of @k fit @bp and the @built-th build of its
 * image. */
bool kind_matches(const struct kind *k, const struct blueprint *bp,
		  unsigned built);
struct kind *kind_find(const struct pool *p, const char *blueprint);
/* Returns true if @bp asks for a pool and nothing prevents one. */
bool kind_is_wanted(const struct blueprint *bp);
/* Returns the oldest member that is ready, or NULL. Claims take it, as the
 * others may be kept for longer. */
struct member *kind_oldest(const struct pool *p, const struct kind *k);
/* Discards the ready members that have another CA than the machine has now.
 * Returns true if there were any. */
bool members_check_ca(struct pool *p);

/* ---- member.c ---- */

/* Makes the next step soon: something has changed. */
void pool_wake(struct pool *p);
/* Called when a member is gone or its removal has failed; may end a drain. */
void pool_member_gone(struct pool *p);

/* Starts a member of @k. A failure is logged and counted, at once or later. */
void member_start(struct pool *p, struct kind *k);
/* Removes the member, in any state; @why is its failure, NULL: it is
 * unwanted. */
void member_discard(struct member *m, const struct err *why);
/* Frees the member with its address and its session. Only if the runtime owes
 * no answer about it. */
void member_free(struct member *m);

#endif
