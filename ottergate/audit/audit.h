/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit.h - a hash-chained log of decisions, one JSON line each
 *
 * Each worker puts fixed records into a ring of its own (one producer, one
 * consumer, no lock); the control thread takes them out, writes them as JSON
 * lines, chains and rotates. Each line ends with "prev" and "hash": hash =
 * SHA-256(prev hash, the line without its hash), so that a removed or changed
 * line is detected (`ottergate audit verify FILE`). The chain continues across
 * rotation and restart. Everything from a sandbox is escaped as JSON; lengths
 * are limited.
 *
 * A line is one flat object. Empty and zero members are left out, except up and
 * down of a close:
 * 	{"time":"2026-01-31T12:00:00.123Z","event":"deny","agent":"coder",
 * 	 "conn":42,"path":"tls","name":"evil.example","port":443,
 * 	 "reason":"not-allowed","rule":"web","rule_source":"agent",
 * 	 "rule_host":"evil.example","use":"tunnel","observed":true,
 * 	 "method":"GET","source":"172.20.0.2:40000","original":"192.0.2.1",
 * 	 "dialled":"192.0.2.2","pid":12,"exe":"/usr/bin/git","ms":3,
 * 	 "up":100,"down":2000,"generation":7,
 * 	 "prev":"<64 hex>","hash":"<64 hex>"}
 *
 * An inspected request has "target" (its path) and "credential" (the id of the
 * one that was inserted); a usage line has
 * 	"api":"anthropic","model":"m","status":200,"stream":true,
 * 	"first_ms":5,"tokens_in":1,"tokens_out":2,"tokens_cached":3
 *
 * "pid" and "exe" are what a program claimed when it asked before connecting
 * (net-preload/PROTOCOL); "pid" is the sandbox's. A denial that answered such a
 * question has no "conn".
 *
 * A request for an address instead of a host has "address" where others have
 * "name", and "dialled" only if it was allowed.
 *
 * "rule_source" is the origin of the rule: a preset, "agent", "blueprint",
 * "services", "builtin" or "deny" (of the shared policy). A denial of one host
 * has the host of the rule in "rule_host", as in the policy, unless it is too
 * long.
 *
 * "use" is present if "rule" is. "reason" is present except in a close that
 * nothing forced and in a policy line, which has members of its own instead.
 */
#ifndef OTTERGATE_AUDIT_AUDIT_H
#define OTTERGATE_AUDIT_AUDIT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lib/err.h"
#include "lib/loop.h"
#include "lib/str.h"
#include "ottergate/policy/audit_event.h"
#include "ottergate/policy/policy.h"

#define AUDIT_AGENT_MAX 64u
#define AUDIT_RULE_MAX 64u
#define AUDIT_TARGET_MAX 96u
#define AUDIT_CREDENTIAL_MAX 64u
#define AUDIT_MODEL_MAX 48u
#define AUDIT_EXE_MAX 96u /* with its NUL: lease.h */
#define AUDIT_RING 4096u /* capacity in records */

struct audit_record { /* < 1024 bytes, copied into the ring */
	uint64_t time_ms; /* CLOCK_REALTIME */
	uint64_t conn; /* number of the connection */
	uint64_t up, down; /* AUDIT_CLOSE: bytes */
	/* ms until the decision; AUDIT_CLOSE: of the connection */
	uint32_t duration_ms;
	uint8_t event, path, reason, use; /* enums above */
	bool observed;
	uint16_t port, source_port;
	uint16_t generation;
	struct addr source, original; /* family 0: unknown */
	/* The upstream's address; without a name, the one asked for. */
	struct addr dialled;
	uint32_t pid; /* 0: unknown */
	uint8_t name_len;
	char agent[AUDIT_AGENT_MAX], rule[AUDIT_RULE_MAX];
	char rule_source[AUDIT_RULE_MAX], rule_host[AUDIT_RULE_MAX];
	char method[12];
	/* Of an inspected request, else "". */
	char target[AUDIT_TARGET_MAX]; /* canonical path, no query */
	/* id of the inserted credential */
	char credential[AUDIT_CREDENTIAL_MAX];
	/* AUDIT_USAGE */
	uint16_t status; /* of the response */
	bool stream; /* sent as events */
	uint32_t first_ms; /* until its first byte */
	uint64_t tokens_in, tokens_out, tokens_cached;
	char api[12], model[AUDIT_MODEL_MAX];
	char exe[AUDIT_EXE_MAX]; /* the program's claim; "": unknown */
	/* canonical, or ""; last: only its used part is copied */
	char name[254];
};

/* Sets the rule that decided. Does nothing if @r is NULL. */
static inline void audit_rule(struct audit_record *rec, const struct rule *r)
{
	const char *host;

	if (!r)
		return;
	host = r->host;
	str_copy(rec->rule, sizeof(rec->rule), r->id);
	str_copy(rec->rule_source, sizeof(rec->rule_source), r->source);
	/* A truncated host would be another one. */
	if (host && strlen(host) >= sizeof(rec->rule_host))
		host = NULL;
	str_copy(rec->rule_host, sizeof(rec->rule_host), host);
}

struct audit;
struct audit_ring;

struct audit_opts {
	const char *path; /* NULL: no file (bench, off) */
	uint64_t max_bytes; /* of a file, before it is rotated; 0: no limit */
	uint32_t files; /* rotated ones to keep */
	uint64_t reserve; /* bytes to allocate ahead, 0: none */
	/* True: what cannot be recorded is denied. False: it is dropped. */
	bool on_full_deny;
	uint32_t events; /* mask of 1u << enum audit_event */
};
/* Opens the file and continues its chain. If the file does not end with a valid
 * line, it is rotated away and a new chain begins; audit_verify() then reports
 * the place. @loop is borrowed until audit_free(), @opts for the call. Returns
 * NULL with @err on failure. */
struct audit *audit_new(struct loop *loop, const struct audit_opts *opts,
			struct err *err);
/* Writes what is left and frees everything, rings included. NULL is fine. */
void audit_free(struct audit *a);
/* Changes all options but path and reserve. */
void audit_configure(struct audit *a, const struct audit_opts *opts);
/* Returns a ring for one worker, owned by @a, or NULL when out of memory. Call
 * it before the worker starts. */
struct audit_ring *audit_ring_new(struct audit *a);

/*
 * Worker's side: puts a record into the ring. Returns false if the connection
 * must not continue: the ring is full (counted as dropped) or the file cannot
 * be written, and the policy says `on_full: deny`. In the latter case an
 * AUDIT_ALLOW is dropped, since the connection is refused.
 */
bool audit_put(struct audit_ring *r, const struct audit_record *rec);
/* Returns true if the event is to be recorded; false if there is neither a file
 * nor a follower. Cheap. */
bool audit_wants(const struct audit_ring *r, enum audit_event e);

/* Control thread, also while it waits for workers: writes what is in the rings
 * now. Does nothing while the file cannot be written: a timer tries again. */
void audit_pump(struct audit *a);
/* Control thread: adds a line of its own (policy loads), if @e is to be
 * recorded. @detail is JSON members without braces, already escaped, or "";
 * 2048 bytes or more are left out. While the file cannot be written the line is
 * dropped and counted. */
void audit_note(struct audit *a, enum audit_event e, const char *agent,
		const char *detail);
/* Gets a line without its newline, valid during the call. */
typedef void (*audit_line_fn)(void *arg, const char *line, size_t len);
struct audit_follow;
/* Control thread: calls @fn with each line from now on, after it was written.
 * Returns a handle for audit_unfollow(), or NULL when out of memory. @fn may
 * call audit_unfollow(). */
struct audit_follow *audit_follow(struct audit *a, audit_line_fn fn, void *arg);
/* Ends what audit_follow() began and frees @f, which must not be NULL; its @fn
 * is not called any more. audit_free() does this for those that are left. */
void audit_unfollow(struct audit_follow *f);
struct audit_stats {
	/* Lines and bytes written, lines lost, and writes that failed. */
	uint64_t lines, bytes, dropped, errors;
	bool full; /* the file cannot be written now */
};
/* Returns the counts so far, of all rings. */
struct audit_stats audit_stats(const struct audit *a);
/* Verifies the chain over the file and its rotated ones. Returns 0. Fails with
 * -EBADMSG and the line in @err, or with another negative errno and @err if a
 * file cannot be read. */
int audit_verify(const char *path, struct err *err);

#endif
