/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease.h - maps addresses to names, and remembers who asked and what failed
 *
 * Each name that a sandbox asks for gets an address of its own, allowed or not
 * (D9). Names of `proto: tcp` rules have fixed addresses from the policy
 * (agent_policy_synthetic()). All others get one of the same range from a table
 * of the sandbox, in which the name that was asked for the longest ago is
 * replaced. Leases decide nothing: they tell which host a connection without a
 * name was meant for, and what to say before its first bytes.
 *
 * The table also remembers which program asked about an address and port
 * (net-preload/PROTOCOL), for the audit of the connection that follows; what a
 * program says about itself is only its claim. And for a while it remembers
 * which allowed host could not be reached, and why: a program to which the
 * gateway can send only a TLS alert asks for that afterwards.
 *
 * Each sandbox has one table, made at its first question, under one mutex.
 * Workers take it to answer DNS, to refuse a connection before it names a host,
 * to answer programs that ask, and when a host cannot be reached or can be
 * again. Other connections never take it.
 */
#ifndef OTTERGATE_DNS_LEASE_H
#define OTTERGATE_DNS_LEASE_H

#include "ottergate/conn/table.h"

#define LEASE_NAMES_MAX 2048u /* of one sandbox; about 550 KiB when full */
#define LEASE_PLACES 64u /* tried if a name's first choice is taken */
#define LEASE_ASKERS_MAX 128u /* addresses and ports; 32 sets of 4 */
#define LEASE_EXE_MAX 95u /* bytes: net-preload/PROTOCOL, section 1 */
/* How long a connection is attributed to the program that asked: the time for
 * which it may keep the verdict, and for the connection to arrive. */
#define LEASE_ASKER_MS 7000u
#define LEASE_FAILURES_MAX 64u /* hosts and ports; 16 sets of 4 */
#define LEASE_FAILURE_MS 60000u /* how long a failure is remembered */

struct leases;

/* What a program claims to be. */
struct program {
	uint32_t pid; /* 0: unknown */
	char exe[LEASE_EXE_MAX + 1]; /* printable ASCII; "": unknown */
};

/* Frees a sandbox's table. NULL is fine. */
void leases_free(struct leases *l);

/* Returns the address of @name, which was just asked for, leasing one if it has
 * none. Returns family 0 if there is none (out of memory, or 64 places in a row
 * are taken); the gateway's own address is the right answer then. */
struct addr lease_take(struct agent *a, const struct agent_policy *p,
		       const struct name *name);
/* Sets *@ret to the name of @addr. Returns false, with @ret unchanged, if it
 * stands for none. */
bool lease_name(struct agent *a, const struct agent_policy *p,
		const struct addr *addr, struct name *ret);

/* Records that @program, which is copied, asked about @addr and @port. @now_ms:
 * monotonic. Does nothing if @addr is not IPv4, or without memory. */
void lease_ask(struct agent *a, const struct addr *addr, uint16_t port,
	       const struct program *program, uint64_t now_ms);
/*
 * Sets *@ret to the program that connects to @addr and @port: the last one that
 * asked, within LEASE_ASKER_MS. If several asked in that time, only what they
 * have in common is set: the path without the pid, or nothing. Returns false if
 * nothing is known; *@ret is of no use then.
 */
bool lease_asker(struct agent *a, const struct addr *addr, uint16_t port,
		 uint64_t now_ms, struct program *ret);

/* An allowed host, as a connection named it. */
struct lease_host {
	const char *name; /* borrowed; NULL: use addr */
	struct addr addr;
	uint16_t port;
};

/* Records the outcome of a connection to @host: why it could not be reached, or
 * REASON_ALLOWED if it could, which clears an earlier failure. Does nothing
 * without memory. */
void lease_reached(struct agent *a, const struct lease_host *host,
		   enum reason why, uint64_t now_ms);
/* Returns why @host could not be reached the last time, within
 * LEASE_FAILURE_MS; REASON_ALLOWED if no failure is known. */
enum reason lease_failure(struct agent *a, const struct lease_host *host,
			  uint64_t now_ms);

#endif
