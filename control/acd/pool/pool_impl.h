/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_impl.h - inside of pool.c, pool_member.c and pool_claim.c
 */
#ifndef CONTROL_ACD_INSTANCE_POOL_IMPL_H
#define CONTROL_ACD_INSTANCE_POOL_IMPL_H

#include <sys/queue.h>

#include "control/acd/blueprint/blueprint.h"
#include "control/acd/guest/links.h"
#include "control/acd/instance/pool.h"
#include "control/acd/guest/prepare.h"

#define POOL_DIR ".pool" /* in the directory of the instances */
#define POOL_MISSES (POOL_MISS_LOST + 1)

enum member_state {
	MEMBER_STARTING, /* the runtime is busy with it */
	MEMBER_GREETING, /* up to its PREPARED */
	MEMBER_READY,
	MEMBER_REMOVING, /* the runtime is busy with it */
	MEMBER_LEFT, /* its removal failed; tried again */
};

struct member {
	LIST_ENTRY(member) link;
	struct pool *pool;
	struct kind *kind; /* NULL: not wanted, and not counted, any more */
	enum member_state state;
	char name[POOL_NAME_LEN];
	char *address;
	char id[LINKS_ID_MAX + 1]; /* the runtime's; "": none yet */
	struct session *session;
	struct loop_timer *limit; /* for its PREPARED */
	struct prepare_ca ca; /* that it was given */
	uint64_t born_ms;
	struct err why; /* what it is removed for, if that is a failure */
};
LIST_HEAD(members, member);

/* The members of one blueprint, and what they are made of. */
struct kind {
	LIST_ENTRY(kind) link;
	char *blueprint;
	struct blueprint bp; /* as of the last look */
	unsigned built; /* build_count() of its image then */
	const char *off; /* why none are kept ready; NULL: they are */
	bool seen; /* by this look */
	unsigned hits, started, lost;
	unsigned misses[POOL_MISSES];
	char last_error[256];
};
LIST_HEAD(kinds, kind);

struct pool {
	struct pool_spec spec;
	struct kinds kinds;
	struct members members;
	struct strv
		empties; /* names of places whose contents were given away */
	struct loop_timer *timer; /* the next step */
	uint64_t look_at_ms; /* at the blueprints */
	uint64_t rest_until_ms; /* no start before */
	uint64_t left_at_ms; /* no removal that failed is tried before */
	uint64_t failed_ms; /* length of the rest after a failure; 0: none */
	unsigned serial;
	bool open;
	void (*drained)(void *arg);
	void *drained_arg;
};

/* ---- pool.c ---- */

/* Something has changed: the next step is made soon. */
void pool_wake(struct pool *p);
/* A start has ended, well or not; it took so long. */
void pool_started(struct pool *p, bool good, uint64_t took_ms);
/* The place of @m is empty. It goes when nobody waits for us. */
void pool_place_left(struct pool *p, const struct member *m);
/* A member has gone, or cannot go. */
void pool_member_gone(struct pool *p);
/* Is what @k was made of what @bp says now? */
bool kind_matches(const struct kind *k, const struct blueprint *bp,
		  unsigned built);
struct kind *kind_find(const struct pool *p, const char *blueprint);
/* Has @bp a pool, and nothing that speaks against one? */
bool kind_is_wanted(const struct blueprint *bp);
/* Of those that are ready; the others are good for longer. NULL: none is. */
struct member *kind_oldest(const struct pool *p, const struct kind *k);
/* Gives up those that were given another CA than there is. True: there were
 * such. */
bool members_check_ca(struct pool *p);

/* ---- pool_member.c ---- */

/* Starts one of @k. What fails at once is told as what fails later. */
void member_start(struct pool *p, struct kind *k);
/* Takes it away, in any state; @why NULL: it is only not wanted. */
void member_discard(struct member *m, const struct err *why);
/* Of one that has a session and a container no more, or never will. */
void member_free(struct member *m);

#endif
