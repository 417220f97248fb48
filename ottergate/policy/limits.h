/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits.h - what one sandbox may use; every limit of the gateway is here
 *
 * Counters are atomics with relaxed order: a worker may see another's count a
 * connection too late, but no count is lost. @now_ms is the caller's monotonic
 * clock in milliseconds.
 *
 * What happens beyond a limit (`on_limit`): throttle refuses what is too much
 * or makes it wait; deny does the same, and closes a connection when the volume
 * is used up; kill cuts the sandbox off until it is bound again. Beyond the
 * bandwidth a connection only waits, since any fast peer reaches it.
 *
 * Functions that return an enum reason return REASON_ALLOWED, or the reason why
 * not, and count nothing then. Unless the comment says otherwise, a limit that
 * is reached also kills the sandbox, if `on_limit` says so.
 */
#ifndef OTTERGATE_POLICY_LIMITS_H
#define OTTERGATE_POLICY_LIMITS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ottergate/policy/policy.h"

/* Of one process, whatever the policy says. */
#define LIMIT_CONNS_TOTAL 200000u
#define LIMIT_DEFAULT_CONNS 1024u /* of one sandbox */
#define LIMIT_DEFAULT_HALF_OPEN 64u
#define LIMIT_DEFAULT_NEW_CONNS 200u
#define LIMIT_DEFAULT_DNS_QPS 200u
#define LIMIT_DEFAULT_NEW_NAMES 2000u
#define LIMIT_DEFAULT_NEW_SUBDOMAINS 50u /* below one wildcard, an hour (D2) */
/* Bytes of memory that the gateway holds for one sandbox: what was read and is
 * not sent yet, bodies that are judged as a whole, hellos and names that are
 * waited for, and what each connection needs. */
#define LIMIT_DEFAULT_MEMORY (UINT64_C(64) << 20)
#define LIMIT_MEMORY_MIN (UINT64_C(1) << 20)
#define LIMIT_MEMORY_MAX (UINT64_C(1) << 40)
#define LIMIT_MEMORY_LOOKUP 2048u /* bytes for a name that is looked up */
/* Names of one sandbox that are being looked up, over all workers: names that
 * are slow to resolve must leave room for the other sandboxes (resolve.h). It
 * is the gateway's own limit, so `on_limit` does not apply. */
#define LIMIT_LOOKUPS 256u
/* Questions of programs before they connect (net-preload/PROTOCOL), a second
 * and sandbox, in bursts of twice that. It is the gateway's own limit, too. A
 * library asks these questions, not the program, so they do not count against
 * the policy's `dns`, and the sandbox is not cut off for them. */
#define LIMIT_ASKS 200u
/* Packets of DNS, a second and sandbox, or twice what its policy allows if that
 * is more. Others are dropped unread, so that a flood costs no answers and does
 * not fill the socket that all share. */
#define LIMIT_DNS_PACKETS 4000u
#define LIMIT_LABELS_BELOW 4u /* labels below a wildcard (D2) */
#define LIMIT_LABEL_BELOW_LEN 40u

/* Counters of a sandbox for the requests of a minute. Rules whose ids hash to
 * the same one are counted together. */
#define LIMIT_REQUEST_SLOTS 256u

struct bucket { /* token bucket: one word, changed by one compare-and-swap */
	_Atomic uint64_t state;
};

/* Bounded set of the hashes of the current hour's names: limits_names.c. */
struct names_seen;

struct usage {
	atomic_uint conns, half_open, lookups;
	struct bucket new_conns, dns, asks, told, packets, up, down;
	/* Bytes of the current hour, with the hour in the upper bits; only for
	 * limits.c. */
	_Atomic uint64_t hour_up, hour_down;
	_Atomic uint64_t total_up, total_down;
	_Atomic uint64_t allowed, denied, dns_queries;
	_Atomic uint64_t memory; /* bytes held now */
	atomic_bool killed; /* by on_limit: kill, until bound again */
	struct names_seen *names; /* has a lock, taken for new names only */
	/* Inspected requests of the current minute, with the minute in the
	 * upper bits; only for limits.c. */
	_Atomic uint64_t requests[LIMIT_REQUEST_SLOTS];
};
/* Initialises @u, to be released with usage_done(). Returns 0 or -ENOMEM. */
int usage_init(struct usage *u);
/* Frees what @u holds, not @u itself. */
void usage_done(struct usage *u);
/* Returns true if the sandbox is killed. Then no byte of it may go up, on an
 * open connection neither. */
bool usage_is_killed(const struct usage *u);

/* Counts a new connection as open and half open. Returns REASON_ALLOWED, or a
 * LIMIT_ reason: KILLED, VOLUME, MEMORY, CONNS, HALF_OPEN or RATE. After
 * success the caller calls usage_request() when the request is complete, and
 * usage_close() at the end. */
enum reason usage_open(struct usage *u, const struct limits *l,
		       uint64_t now_ms);
/* Counts a connection as no longer half open. */
void usage_request(struct usage *u);
/* Counts a further request on a kept connection against the rate of new
 * connections: it could fill the audit without end otherwise. Returns
 * REASON_ALLOWED, LIMIT_KILLED or LIMIT_RATE. */
enum reason usage_again(struct usage *u, const struct limits *l,
			uint64_t now_ms);
/* Counts the end of a connection. @half_open: usage_request() was not
 * called. */
void usage_close(struct usage *u, bool half_open);
/* Counts an inspected request by the rule with this id, which allows
 * @per_minute; 0: any number. Returns REASON_ALLOWED, LIMIT_KILLED or
 * LIMIT_REQUESTS; never kills. */
enum reason usage_inspected(struct usage *u, const char *rule,
			    uint64_t per_minute, uint64_t now_ms);
/* Counts a packet of DNS, before it is read. Returns false if there are too
 * many (LIMIT_DNS_PACKETS) and it must be dropped. */
bool usage_packet(struct usage *u, const struct limits *l, uint64_t now_ms);
/* Counts memory that the gateway holds for the sandbox: something that held
 * @was bytes holds @is bytes from now on. Cannot fail; see usage_room(). */
void usage_hold(struct usage *u, uint64_t was, uint64_t is);
/* Which connections may read more. */
enum usage_room {
	ROOM_FREE, /* all */
	ROOM_SCARCE, /* those that hold little: half is used */
	ROOM_NONE, /* those that hold nothing: all is used */
};
/* Returns how much of the policy's `memory` is left; ROOM_FREE if that has no
 * limit. */
enum usage_room usage_room(const struct usage *u, const struct limits *l);
/* Counts a DNS question, a refused one too. Returns REASON_ALLOWED,
 * LIMIT_KILLED or LIMIT_DNS. */
enum reason usage_dns(struct usage *u, const struct limits *l, uint64_t now_ms);
/* Counts a question of a program before it connects, at most LIMIT_ASKS a
 * second. Returns REASON_ALLOWED, LIMIT_KILLED or LIMIT_DNS; never kills. */
enum reason usage_ask(struct usage *u, uint64_t now_ms);
/* Counts such a question that is denied and is to be audited, in a bucket of
 * its own with the rate of new connections. Returns REASON_ALLOWED, or
 * LIMIT_RATE if there is to be no audit line; never kills. */
enum reason usage_told(struct usage *u, const struct limits *l,
		       uint64_t now_ms);
/* Counts a name that has to be looked up, and its memory. Returns false if
 * LIMIT_LOOKUPS are running; else the caller calls usage_looked_up() at the end
 * of the lookup. Never kills. */
bool usage_lookup(struct usage *u);
/* Counts the end of a lookup. */
void usage_looked_up(struct usage *u);
/* Counts a name that is about to be dialled, as one of the hour's distinct
 * names. @rule allowed it, may be NULL; @below: labels below the rule's
 * wildcard, 0 for an exact name. Returns REASON_ALLOWED, LIMIT_KILLED or
 * LIMIT_NAMES (without memory too). With an empty name, for an address, nothing
 * is counted and only LIMIT_KILLED can come. */
enum reason usage_name(struct usage *u, const struct limits *l,
		       const struct name *name, const struct rule *rule,
		       unsigned below, uint64_t now_ms);
/*
 * Counts @n bytes that were moved. Returns 0 to go on; for how many
 * milliseconds this direction must rest, at most a minute; -EDQUOT if the
 * volume is used up and the connection must be closed (deny); -ECONNABORTED if
 * the sandbox is killed.
 */
int usage_bytes(struct usage *u, const struct limits *l, bool up, uint64_t n,
		uint64_t now_ms);
/* Asks whether a direction that has rested may go on; counts nothing. Returns
 * like usage_bytes(): more rest if the volume is still used up. */
int usage_rested(struct usage *u, const struct limits *l, bool up,
		 uint64_t now_ms);

/* --- limits_names.c ------------------------------------------------------ */

#define NAMES_SEEN_MAX 12000u /* names an hour; higher limits are cut to this */
/* Wildcards an hour with a counter of their own; the rest share one. */
#define NAMES_WILDCARDS_MAX 64u

/* Returns an empty set, owned by the caller, or NULL without memory. */
struct names_seen *names_seen_new(void);
void names_seen_free(struct names_seen *s); /* NULL is fine */
/*
 * Adds @name to the set of this @hour, which begins empty. Returns true if it
 * is there, since earlier or now. Returns false, and adds nothing, if the set
 * has @max_names, or @max_below names of this @wildcard (a rule's id; NULL:
 * none), or without memory. A maximum of 0 is no limit, but NAMES_SEEN_MAX
 * always applies. May be called by several threads.
 */
bool names_seen_add(struct names_seen *s, uint64_t hour,
		    const struct name *name, const char *wildcard,
		    uint32_t max_names, uint32_t max_below);

#endif
