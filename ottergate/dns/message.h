/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.h - DNS messages as the gateway needs them: one question in, one
 * synthetic answer out
 *
 * Nothing of the client's packet is ever sent on (D7): an upstream question
 * is made anew from the canonical name. RFC 1035 §4, RFC 6891 (EDNS), RFC 2308
 * (negative answers). Pure, no allocation.
 *
 * One option of EDNS is read and answered: net_proxy.so asks what the policy
 * says of an address and a port (net-preload/PROTOCOL).
 */
#ifndef OTTERGATE_DNS_MESSAGE_H
#define OTTERGATE_DNS_MESSAGE_H

#include "ottergate/policy/addr.h"
#include "ottergate/policy/name.h"

#define DNS_MSG_MAX 512u /* what we answer never needs more */
#define DNS_QUESTION_MAX 4096u /* bytes of a question we look at */
/* The answer to a program that asks what may be reached (net-preload/PROTOCOL),
 * within what its EDNS takes. */
#define DNS_ASK_MAX 1232u
#define DNS_ASK_EXE_MAX 95u
#define DNS_ASK_TEXT_MAX 512u

enum {
	DNS_TYPE_A = 1,
	DNS_TYPE_NS = 2,
	DNS_TYPE_CNAME = 5,
	DNS_TYPE_SOA = 6,
	DNS_TYPE_PTR = 12,
	DNS_TYPE_AAAA = 28,
	DNS_TYPE_SVCB = 64,
	DNS_TYPE_HTTPS = 65,
	DNS_TYPE_ANY = 255
};
enum {
	DNS_NOERROR = 0,
	DNS_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4,
	DNS_REFUSED = 5,
	DNS_BADVERS = 16 /* only to a question with EDNS */
};
enum { DNS_CLASS_IN = 1 };

/* Option 65313 of a question: net-preload/PROTOCOL, section 1. */
struct dns_ask {
	uint8_t protocol; /* IPPROTO_TCP, IPPROTO_UDP; 0: there is none */
	uint16_t port; /* not 0 */
	uint32_t pid; /* as the program says */
	uint8_t when; /* enum dns_ask_when */
	struct slice exe; /* of the message; no NUL, DNS_ASK_EXE_MAX bytes */
};

enum dns_ask_when {
	DNS_ASK_FIRST,
	DNS_ASK_AGAIN, /* it has connected there: what came of that? */
	DNS_ASK_AFTER, /* and this is all that it wants to know */
};

/* And of an answer: section 2. */
struct dns_verdict {
	uint8_t verdict; /* enum presumption */
	uint16_t keep; /* seconds */
	const struct name *name; /* NULL: none */
	struct slice text; /* at most DNS_ASK_TEXT_MAX */
};

struct dns_question {
	uint16_t id, type, class;
	uint8_t opcode; /* set together with id */
	uint8_t edns_version; /* other than 0: answer BADVERS */
	bool rd, cd, edns;
	bool name_ok; /* false: the labels make no canonical name */
	struct name name; /* canonical; len 0: the root, or !name_ok */
	uint16_t udp_size; /* of EDNS, else 512 */
	struct slice wire; /* question section as sent (0x20 case kept) */
	struct dns_ask ask; /* well formed, or none */
};

/* 0: *ret is filled. -EBADMSG with ret->id and ret->opcode set when at least
 * a header is there and it is a question (answer FORMERR), -EPROTO: drop it
 * silently (a response, too short). Opcode other than QUERY: -EOPNOTSUPP
 * (NOTIMP). */
int dns_question_read(struct slice msg, struct dns_question *ret) ATTR_WUR;

/*
 * An answer into @out (DNS_MSG_MAX bytes): @rcode, and with @a of family 4
 * and type A one address record of @ttl seconds; without an address NODATA
 * with a synthetic SOA so that the client may keep it for @ttl. Returns the
 * length.
 */
size_t dns_answer_write(const struct dns_question *q, unsigned rcode,
			const struct addr *a, uint32_t ttl,
			uint8_t out[DNS_MSG_MAX]);
/*
 * The answer to a question with q->ask: NODATA as above, and @v in its OPT
 * record; what does not fit into what the client takes is left out, the text
 * first.
 */
size_t dns_ask_write(const struct dns_question *q, const struct dns_verdict *v,
		     uint32_t ttl, uint8_t out[DNS_ASK_MAX]);
/* The IPv4 address that a name d.c.b.a.in-addr.arpa stands for (RFC 1035
 * §3.5); family 0: it is no such name. */
struct addr dns_ptr_address(const struct name *name);
/* For -EBADMSG and -EOPNOTSUPP: a header alone. */
size_t dns_error_write(uint16_t id, unsigned opcode, unsigned rcode,
		       uint8_t out[DNS_MSG_MAX]);

#endif
