/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dnsmsg.h - DNS messages as the gateway needs them: one question in, one
 * synthetic answer out
 *
 * Nothing of the client's packet is ever sent on (D7): an upstream question
 * is made anew from the canonical name. RFC 1035 §4, RFC 6891 (EDNS), RFC 2308
 * (negative answers). Pure, no allocation.
 */
#ifndef OTTERGATE_DNSMSG_H
#define OTTERGATE_DNSMSG_H

#include "ottergate/addr.h"
#include "ottergate/name.h"

#define DNS_MSG_MAX 512u /* what we answer never needs more */
#define DNS_QUESTION_MAX 4096u /* bytes of a question we look at */

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

struct dns_question {
	uint16_t id, type, class;
	uint8_t opcode; /* set together with id */
	uint8_t edns_version; /* other than 0: answer BADVERS */
	bool rd, cd, edns;
	bool name_ok; /* false: the labels make no canonical name */
	struct name name; /* canonical; len 0: the root, or !name_ok */
	uint16_t udp_size; /* of EDNS, else 512 */
	struct slice wire; /* question section as sent (0x20 case kept) */
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
/* For -EBADMSG and -EOPNOTSUPP: a header alone. */
size_t dns_error_write(uint16_t id, unsigned opcode, unsigned rcode,
		       uint8_t out[DNS_MSG_MAX]);

#endif
