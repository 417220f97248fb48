/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits.h - what one sandbox may use; every limit of the gateway is here
 *
 * Counters are atomics with relaxed order: a worker that is a connection
 * late in seeing another's count is all right, a lost count is not. Time is
 * the caller's monotonic clock in milliseconds.
 *
 * What a passed limit does (`on_limit`): throttle: what is too much is refused
 * or made to wait, deny: the same, and a connection whose volume is used is
 * closed, kill: the sandbox is cut off until it is bound anew. Bandwidth is
 * always a matter of waiting: any fast peer reaches it.
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
/* Memory that the gateway holds for one sandbox: what was read and is not sent
 * yet, bodies that are judged whole, hellos and names that are waited for, and
 * what each connection needs. */
#define LIMIT_DEFAULT_MEMORY (UINT64_C(64) << 20)
#define LIMIT_MEMORY_MIN (UINT64_C(1) << 20)
#define LIMIT_MEMORY_MAX (UINT64_C(1) << 40)
#define LIMIT_MEMORY_LOOKUP 2048u /* of a name that is looked up */
/* Names of one sandbox that are being looked up, over all workers: what is slow
 * to answer must leave the others a place (resolve.h). Of the gateway, not of
 * the policy: `on_limit` does not ask about it. */
#define LIMIT_LOOKUPS 256u
/* Questions of programs before they connect (net-preload/PROTOCOL), a second of
 * one sandbox, in bursts of twice that. Of the gateway as well, and apart from
 * the policy's `dns`: a library asks them, not the program, so they take nothing
 * from its own questions, and it is not cut off for them. */
#define LIMIT_ASKS 200u
/* Packets of DNS, a second of one sandbox, or twice what its policy allows: what
 * is beyond is dropped unread, so that a flood costs no answers and does not
 * fill the socket that all share. */
#define LIMIT_DNS_PACKETS 4000u
#define LIMIT_LABELS_BELOW 4u /* labels below a wildcard (D2) */
#define LIMIT_LABEL_BELOW_LEN 40u

/* Rules whose requests of a minute are counted apart; those that meet in a
 * place are counted together. */
#define LIMIT_REQUEST_SLOTS 256u

struct bucket { /* token bucket: one word, so that one CAS moves it */
	_Atomic uint64_t state;
};

struct names_seen; /* bounded set of name hashes of the current hour:
		    * limits_names.c */

struct usage {
	atomic_uint conns, half_open, lookups;
	struct bucket new_conns, dns, asks, told, packets, up, down;
	/* Bytes of the current hour, and which hour that is: limits.c. */
	_Atomic uint64_t hour_up, hour_down;
	_Atomic uint64_t total_up, total_down;
	_Atomic uint64_t allowed, denied, dns_queries;
	_Atomic uint64_t memory; /* bytes held now */
	atomic_bool killed; /* by on_limit: kill, until bound anew */
	struct names_seen *names; /* own lock: only on new names */
	/* Inspected requests of the current minute, by rule: limits.c. */
	_Atomic uint64_t requests[LIMIT_REQUEST_SLOTS];
};
int usage_init(struct usage *u);
void usage_done(struct usage *u);

/* A new connection: counts it as open and half open, or says why not
 * (REASON_ALLOWED is success). usage_request() when its request is
 * complete, usage_close() at its end. */
enum reason usage_open(struct usage *u, const struct limits *l,
		       uint64_t now_ms);
void usage_request(struct usage *u);
/* A further request on a connection that was kept: from the same rate as new
 * connections, or a kept one could fill the audit without end. */
enum reason usage_again(struct usage *u, const struct limits *l,
			uint64_t now_ms);
void usage_close(struct usage *u, bool half_open);
/* An inspected request by the rule of this id, which allows @per_minute; 0: any
 * number. LIMIT_REQUESTS, or REASON_ALLOWED. */
enum reason usage_inspected(struct usage *u, const char *rule,
			    uint64_t per_minute, uint64_t now_ms);
/* A packet of DNS, before it is read. False: LIMIT_DNS_PACKETS; drop it. */
bool usage_packet(struct usage *u, const struct limits *l, uint64_t now_ms);
/* What held @was bytes holds @is now. */
void usage_hold(struct usage *u, uint64_t was, uint64_t is);
enum usage_room {
	ROOM_FREE,
	ROOM_SCARCE, /* half is used: only those that hold little read more */
	ROOM_NONE, /* only those that hold nothing do */
};
enum usage_room usage_room(const struct usage *u, const struct limits *l);
/* One DNS question. */
enum reason usage_dns(struct usage *u, const struct limits *l, uint64_t now_ms);
/* A question of a program before it connects: LIMIT_ASKS. LIMIT_DNS, or
 * LIMIT_KILLED; it never is what kills. */
enum reason usage_ask(struct usage *u, uint64_t now_ms);
/* One of these is denied, and to be audited: as many as new connections may
 * come, but not out of their number. LIMIT_RATE; it never kills. */
enum reason usage_told(struct usage *u, const struct limits *l,
		       uint64_t now_ms);
/* A name that has to be looked up; true: usage_looked_up() at its end. */
bool usage_lookup(struct usage *u);
void usage_looked_up(struct usage *u);
/* A name that is about to be dialled; @below: labels below the wildcard that
 * allowed it, 0 for exact rules. Counts distinct names an hour. Len 0, an
 * address: may the sandbox do anything at all? */
enum reason usage_name(struct usage *u, const struct limits *l,
		       const struct name *name, const struct rule *rule,
		       unsigned below, uint64_t now_ms);
/*
 * @n bytes have been moved. Returns the milliseconds that this direction must
 * rest (throttle), 0: go on, negative: -EDQUOT (deny: close it), -ECONNABORTED
 * (kill).
 */
int usage_bytes(struct usage *u, const struct limits *l, bool up, uint64_t n,
		uint64_t now_ms);
/* The direction has rested: the same results. A volume that is used up still
 * asks for more rest, before a byte has moved. */
int usage_rested(struct usage *u, const struct limits *l, bool up,
		 uint64_t now_ms);

/* --- limits_names.c ------------------------------------------------------ */

#define NAMES_SEEN_MAX 12000u /* names an hour; a higher limit means this */
#define NAMES_WILDCARDS_MAX 64u /* counted apart, an hour; the rest together */

struct names_seen *names_seen_new(void);
void names_seen_free(struct names_seen *s); /* NULL is fine */
/*
 * True: @name was here in this @hour, or is now, as one of at most
 * @max_names; with @wildcard (a rule's id, else NULL) also as one of at most
 * @max_below of that one. 0: no limit.
 */
bool names_seen_add(struct names_seen *s, uint64_t hour,
		    const struct name *name, const char *wildcard,
		    uint32_t max_names, uint32_t max_below);

#endif
