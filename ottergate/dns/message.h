/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.h - DNS messages: one question in, one synthetic answer out
 *
 * No byte of the client's packet is sent on (D7): an upstream question is built
 * from the canonical name. RFC 1035 §4, RFC 6891 (EDNS), RFC 2308 (negative
 * answers). No side effects, no allocation.
 *
 * One EDNS option is read and answered: net_proxy.so asks for the policy's
 * verdict on an address and a port (net-preload/PROTOCOL).
 */
#ifndef OTTERGATE_DNS_MESSAGE_H
#define OTTERGATE_DNS_MESSAGE_H

#include "ottergate/policy/net/addr.h"
#include "ottergate/policy/net/name.h"

#define DNS_MSG_MAX 512u /* the longest answer without an ask */
#define DNS_QUESTION_MAX 4096u /* longer questions are refused */
/* The longest answer to a program that asks (net-preload/PROTOCOL), which is
 * cut to its EDNS size. */
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
	DNS_BADVERS = 16 /* only with EDNS */
};
enum { DNS_CLASS_IN = 1 };

/* Option 65313 of a question: net-preload/PROTOCOL, section 1. */
struct dns_ask {
	uint8_t protocol; /* IPPROTO_TCP, IPPROTO_UDP; 0: no ask */
	uint16_t port; /* not 0 */
	uint32_t pid; /* the program's claim */
	uint8_t when; /* enum dns_ask_when */
	/* a view of the message; without NUL, at most DNS_ASK_EXE_MAX bytes */
	struct slice exe;
};

enum dns_ask_when {
	DNS_ASK_FIRST,
	/* before another connection; asks for the last one's outcome too */
	DNS_ASK_AGAIN,
	DNS_ASK_AFTER, /* asks for the outcome only */
};

/* The option in an answer: section 2. */
struct dns_verdict {
	uint8_t verdict; /* enum presumption */
	uint16_t keep; /* seconds */
	const struct name *name; /* borrowed; NULL: none */
	struct slice
		text; /* of DNS_ASK_TEXT_MAX bytes at most, else left out */
};

struct dns_question {
	uint16_t id, type, class;
	uint8_t opcode; /* set whenever id is set */
	uint8_t edns_version; /* other than 0: answer BADVERS */
	bool rd, cd, edns;
	bool name_ok; /* false: the labels are no canonical name */
	/* Canonical; len 0 for the root, and for a name that is not ok. */
	struct name name;
	uint16_t udp_size; /* from EDNS, else 512 */
	/* The question section as it was sent, with its upper and lower case; a
	 * view of the message. */
	struct slice wire;
	struct dns_ask ask; /* protocol 0: none, or a malformed one */
};

/*
 * Parses a question into *@ret, which has views of @msg. Returns 0, whatever
 * the type and class. Fails with -EBADMSG if it is malformed (answer FORMERR)
 * or -EOPNOTSUPP if the opcode is not QUERY (answer NOTIMP), with only id and
 * opcode to be used of *@ret; with -EPROTO if no answer may be sent (a
 * response, or too short), with *@ret unchanged.
 */
int dns_question_read(struct slice msg, struct dns_question *ret) ATTR_WUR;

/* Writes an answer with @rcode to @out. With DNS_NOERROR: for type A and an
 * IPv4 address @a, which may be NULL, one address record of @ttl seconds;
 * otherwise NODATA with a synthetic SOA, so that the client keeps it for @ttl
 * seconds. Returns its length. @q is from a successful dns_question_read(). */
size_t dns_answer_write(const struct dns_question *q, unsigned rcode,
			const struct addr *a, uint32_t ttl,
			uint8_t out[DNS_MSG_MAX]);
/* Writes the answer to a question with an ask: NODATA as above, and @v in its
 * OPT record. If it is longer than the client's EDNS size, the text is left out
 * first, then the name, then @v as a whole. Returns its length. */
size_t dns_ask_write(const struct dns_question *q, const struct dns_verdict *v,
		     uint32_t ttl, uint8_t out[DNS_ASK_MAX]);
/* Returns the IPv4 address of a name d.c.b.a.in-addr.arpa (RFC 1035 §3.5);
 * family 0 for any other name. */
struct addr dns_ptr_address(const struct name *name);
/* Writes an answer that is a header alone, without the question, for -EBADMSG
 * and -EOPNOTSUPP. Returns its length. */
size_t dns_error_write(uint16_t id, unsigned opcode, unsigned rcode,
		       uint8_t out[DNS_MSG_MAX]);

#endif
