/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit.h - one JSON line a decision, hash-chained
 *
 * Workers put fixed records into a ring each (one producer, one consumer, no
 * lock); the control thread takes them out, writes them as JSON lines, chains
 * and rotates. Each line ends with "prev" and "hash": hash = SHA-256(prev
 * hash, the line without its hash), so that a line taken out or changed shows
 * (docs: `ottergate audit verify FILE`). The chain goes on over rotation and
 * restart. Everything from a sandbox is escaped as JSON; lengths are bounded.
 *
 * A line is one flat object; what is empty or zero is left out, but for
 * up and down of a close:
 *	{"time":"2026-01-31T12:00:00.123Z","event":"deny","agent":"coder",
 *	 "conn":42,"path":"tls","name":"evil.example","port":443,
 *	 "reason":"not-allowed","rule":"web","rule_source":"agent",
 *	 "rule_host":"evil.example","use":"tunnel","observed":true,
 *	 "method":"GET","source":"172.20.0.2:40000","original":"192.0.2.1",
 *	 "dialled":"192.0.2.2","pid":12,"exe":"/usr/bin/git","ms":3,
 *	 "up":100,"down":2000,"generation":7,
 *	 "prev":"<64 hex>","hash":"<64 hex>"}
 * An inspected request has "target" (its path) and "credential" (the id of the
 * one that was put in); a usage line has
 *	"api":"anthropic","model":"m","status":200,"stream":true,
 *	"first_ms":5,"tokens_in":1,"tokens_out":2,"tokens_cached":3
 * "pid" and "exe" are what a program said of itself when it asked before it
 * connected (net-preload/PROTOCOL): its own claim, and "pid" the sandbox's. A
 * denial that was the answer to such a question has no "conn".
 * A request for an address in place of a host has "address" where others have
 * "name", and "dialled" only once it was allowed.
 * "rule_source" says who brought the rule: a preset, "agent", "blueprint",
 * "services", "builtin" or "deny" (of the shared policy). A denial of one host
 * has that in "rule_host", as in the policy, unless it is too long.
 * "use" is there where "rule" is, and "reason" in all but a close that nothing
 * forced and a policy line; that has members of its own instead.
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
#define AUDIT_RING 4096u /* records of one worker */

struct audit_record { /* < 1024 bytes, copied into the ring */
	uint64_t time_ms; /* CLOCK_REALTIME */
	uint64_t conn; /* number of the connection */
	uint64_t up, down; /* AUDIT_CLOSE: bytes */
	uint32_t duration_ms; /* AUDIT_CLOSE; else time to the decision */
	uint8_t event, path, reason, use; /* enums above */
	bool observed;
	uint16_t port, source_port;
	uint16_t generation;
	struct addr source, original; /* family 0: not known */
	/* Where the upstream is; without a name: what was asked for. */
	struct addr dialled;
	uint32_t pid; /* 0: not known */
	uint8_t name_len;
	char agent[AUDIT_AGENT_MAX], rule[AUDIT_RULE_MAX];
	char rule_source[AUDIT_RULE_MAX], rule_host[AUDIT_RULE_MAX];
	char method[12];
	/* Of an inspected request, or "". */
	char target[AUDIT_TARGET_MAX]; /* canonical path, no query */
	char credential[AUDIT_CREDENTIAL_MAX]; /* the id of what was put in */
	/* AUDIT_USAGE */
	uint16_t status; /* of the response */
	bool stream; /* it came in events */
	uint32_t first_ms; /* until the first byte of it */
	uint64_t tokens_in, tokens_out, tokens_cached;
	char api[12], model[AUDIT_MODEL_MAX];
	char exe[AUDIT_EXE_MAX]; /* as the program says; "": not known */
	char name[254]; /* canonical, or ""; the last: no more is copied */
};

/* Says which rule decided; NULL: the record stays as it is. */
static inline void audit_rule(struct audit_record *rec, const struct rule *r)
{
	const char *host;

	if (!r)
		return;
	host = r->host;
	str_copy(rec->rule, sizeof(rec->rule), r->id);
	str_copy(rec->rule_source, sizeof(rec->rule_source), r->source);
	/* A host without its end would be another one. */
	if (host && strlen(host) >= sizeof(rec->rule_host))
		host = NULL;
	str_copy(rec->rule_host, sizeof(rec->rule_host), host);
}

struct audit;
struct audit_ring;

struct audit_opts {
	const char *path; /* of the file; NULL: nowhere (bench, off) */
	uint64_t max_bytes;
	uint32_t files;
	uint64_t reserve; /* bytes kept for the file beforehand, 0: none */
	bool on_full_deny;
	uint32_t events;
};
/* Opens, continues the chain that is in the file. A file that ends in
 * something else is put aside as if rotated, and a new chain begun: verify
 * then names the place. */
struct audit *audit_new(struct loop *loop, const struct audit_opts *opts,
			struct err *err);
void audit_free(struct audit *a); /* drains; NULL is fine */
/* All but the path, which stays. */
void audit_configure(struct audit *a, const struct audit_opts *opts);
/* One for each worker, before it starts; belongs to @a. */
struct audit_ring *audit_ring_new(struct audit *a);

/* Worker's side. False: it is full (counted) and on_full says deny: then the
 * connection must not go on. While the file cannot be written an AUDIT_ALLOW
 * is not even kept, since it will not come true. */
bool audit_put(struct audit_ring *r, const struct audit_record *rec);
/* Cheap: does anybody want this event? */
bool audit_wants(const struct audit_ring *r, enum audit_event e);

/* The control thread's, when it waits for the workers: what is in the rings is
 * written now. */
void audit_pump(struct audit *a);
/* Control thread's own lines (policy loads): @detail is JSON members without
 * braces, already escaped, or "". */
void audit_note(struct audit *a, enum audit_event e, const char *agent,
		const char *detail);
/* Each line, as it is written, without the newline. Returns a token. */
typedef void (*audit_line_fn)(void *arg, const char *line, size_t len);
struct audit_follow;
struct audit_follow *audit_follow(struct audit *a, audit_line_fn fn, void *arg);
void audit_unfollow(struct audit_follow *f);
struct audit_stats {
	uint64_t lines, bytes, dropped, errors;
	bool full; /* the file cannot be written now */
};
struct audit_stats audit_stats(const struct audit *a);
/* 0: the chain holds over all files; -EBADMSG: @err names the line. */
int audit_verify(const char *path, struct err *err);

#endif
