/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns.h - a scripted DNS server on the loopback, UDP and TCP
 *
 * Answers as a recursive server would, from a table of records, and
 * misbehaves where a record says so. It runs in a thread of its own, so a
 * test may block on it. Names that are not in the table do not exist.
 */
#ifndef TESTS_FAKE_DNS_H
#define TESTS_FAKE_DNS_H

#include <stdint.h>

enum fake_dns_kind {
	FAKE_DNS_A, /* data: addresses, separated by blanks */
	FAKE_DNS_AAAA,
	FAKE_DNS_CNAME, /* data: another name of the table */
	FAKE_DNS_FLIP, /* A: one address a question, in turn */
	FAKE_DNS_WRONG_ID, /* A, but with another id */
	FAKE_DNS_WRONG_QUESTION, /* A, for another name */
	FAKE_DNS_STRANGER, /* A, with a CNAME of another name before it */
	FAKE_DNS_FORGED, /* A, behind forged answers of other ids */
	FAKE_DNS_LOOP, /* a compression pointer to itself */
	FAKE_DNS_BIG, /* A: cut over UDP, hundreds of records over TCP */
	FAKE_DNS_SILENT, /* no answer to any question */
	FAKE_DNS_NO_AAAA, /* A; no answer to AAAA questions */
	FAKE_DNS_FAIL, /* SERVFAIL */
};

struct fake_dns_record {
	const char *name;
	const char *data;
	enum fake_dns_kind kind;
	uint32_t ttl;
};

struct fake_dns;

/* @records end with a name of NULL and outlive the server. 0, or negative
 * errno. *ret_server is "127.0.0.1:PORT", valid until fake_dns_stop(). */
int fake_dns_start(const struct fake_dns_record *records, struct fake_dns **ret,
		   const char **ret_server);
void fake_dns_stop(struct fake_dns *d); /* NULL is fine */
/* Questions so far for @name in any case and type, NULL: all. */
unsigned fake_dns_asked(struct fake_dns *d, const char *name);

#endif
