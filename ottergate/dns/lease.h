/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease.h - which address stands for which name, who asked for it, and what
 * came of it
 *
 * Each name that a sandbox asks for gets an address of its own, allowed or
 * not (D9). Names of `proto: tcp` rules have theirs from the policy and for
 * good (agent_policy_synthetic()); all others get one of the same range, out
 * of a table of this sandbox alone, in which the name that was asked for the
 * longest ago makes room. Nothing is decided by it: what a lease tells is
 * what a connection without a name was about, and what may be said before
 * bytes are seen.
 *
 * The same table remembers which program asked about an address and a port
 * (net-preload/PROTOCOL), for the audit of the connection that follows. What a
 * program says of itself is its own claim. And it remembers for a while which
 * host that was allowed could not be reached, and why: a program to which the
 * gateway can say nothing but a TLS alert asks for that afterwards.
 *
 * One table a sandbox, made at its first question, under one mutex: workers
 * meet there when they answer DNS, when a connection is refused before it
 * named a host, while programs ask, and when a host cannot be reached, or is
 * again. No other connection takes it.
 */
#ifndef OTTERGATE_DNS_LEASE_H
#define OTTERGATE_DNS_LEASE_H

#include "ottergate/conn/table.h"

#define LEASE_NAMES_MAX 2048u /* of one sandbox; about 550 KiB when full */
#define LEASE_PLACES 64u /* tried for a name whose own one is taken */
#define LEASE_ASKERS_MAX 128u /* addresses and ports, 4 for each of 32 sets */
#define LEASE_EXE_MAX 95u /* bytes: net-preload/PROTOCOL, section 1 */
/* How long an asker is believed to be who connects: what it may keep the
 * verdict, and what the connection may take to arrive. */
#define LEASE_ASKER_MS 7000u
#define LEASE_FAILURES_MAX 64u /* hosts and ports, 4 for each of 16 sets */
#define LEASE_FAILURE_MS 60000u /* how long one is remembered */

struct leases;

/* What a program says that it is. */
struct program {
	uint32_t pid; /* 0: not known */
	char exe[LEASE_EXE_MAX + 1]; /* printable ASCII; "": not known */
};

void leases_free(struct leases *l); /* NULL is fine */

/*
 * The address that stands for @name, which was just asked for. Family 0: there
 * is none to have (memory, or 64 names in a row that all want one place); then
 * the gateway's own is right.
 */
struct addr lease_take(struct agent *a, const struct agent_policy *p,
		       const struct name *name);
/* The name that @addr stands for. False: none; @ret is untouched. */
bool lease_name(struct agent *a, const struct agent_policy *p,
		const struct addr *addr, struct name *ret);

/* @program asks about @addr (IPv4) and @port at @now_ms (monotonic). */
void lease_ask(struct agent *a, const struct addr *addr, uint16_t port,
	       const struct program *program, uint64_t now_ms);
/*
 * Who connects to @addr and @port at @now_ms: who asked last, if that was not
 * too long ago. Of several that asked within that time what they have in
 * common: the program without its pid, or nothing. False: not known.
 */
bool lease_asker(struct agent *a, const struct addr *addr, uint16_t port,
		 uint64_t now_ms, struct program *ret);

/* A host that was allowed, as a connection named it. */
struct lease_host {
	const char *name; /* NULL: @addr */
	struct addr addr;
	uint16_t port;
};

/* @host could not be reached at @now_ms; REASON_ALLOWED: it was. */
void lease_reached(struct agent *a, const struct lease_host *host,
		   enum reason why, uint64_t now_ms);
/* Why @host could not be reached the last time, if that is not too long ago.
 * REASON_ALLOWED: nothing is known against it. */
enum reason lease_failure(struct agent *a, const struct lease_host *host,
			  uint64_t now_ms);

#endif
