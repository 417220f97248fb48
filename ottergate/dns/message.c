/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.c - one DNS question in, one synthetic answer out
 *
 * The reader is stricter than RFC 1035, since only resolver libraries talk to
 * it: exactly one question (RFC 9619), no compression in it, no answer or
 * authority records, nothing after the last record. Everything else in a
 * question (EDNS options, padding, cookies) is skipped and never kept, so it
 * cannot be sent anywhere (D7), except for the one option that is meant for the
 * gateway. If that one is malformed or repeated, it is ignored.
 */
#include "ottergate/dns/message.h"

#include <string.h>

#define HEADER_LEN 12u
#define NAME_WIRE_MAX 255u /* RFC 1035 §2.3.4 */
#define ADDITIONAL_MAX 4u /* OPT, and a few more */
#define TYPE_OPT 41u
#define OPTION_ASK 65313u /* net-preload/PROTOCOL */
#define ASK_VERSION 1u
/* bytes of the option in an answer besides name and text */
#define ASK_FIXED 7u
/* Space beyond header and question: SOA 33, OPT 11. */
#define ANSWER_EXTRA 64u

enum {
	FLAG_QR = 0x8000,
	FLAG_RD = 0x0100,
	FLAG_RA = 0x0080,
	FLAG_CD = 0x0010,
};

static unsigned opcode_of(uint16_t flags)
{
	return flags >> 11 & 0xf;
}

/* Takes one label. Returns 1 with *ret, 0 at the end of the name, or an error;
 * a pointer (RFC 1035 §4.1.4) is one, as a question has nothing to point at. */
static int next_label(struct slice *in, size_t *wire, struct slice *ret)
{
	uint8_t len;

	if (slice_u8(in, &len) < 0)
		return -EBADMSG;
	*wire += 1u + len;
	if (len > NAME_LABEL_MAX || *wire > NAME_WIRE_MAX)
		return -EBADMSG;
	if (len == 0)
		return 0;
	return slice_take(in, len, ret) < 0 ? -EBADMSG : 1;
}

/* Labels that are no host name are not an error: the caller answers such a name
 * like any other without an address. */
static int question_name(struct slice *in, struct dns_question *ret)
{
	struct slice label;
	size_t wire = 0;
	int rc;

	ret->name_ok = true;
	while ((rc = next_label(in, &wire, &label)) > 0)
		if (ret->name_ok && name_wire_label(&ret->name, label) < 0)
			ret->name_ok = false;
	if (rc < 0)
		return rc;
	if (wire > 1 && ret->name_ok && name_wire_end(&ret->name) < 0)
		ret->name_ok = false;
	if (!ret->name_ok)
		ret->name = (struct name){ .len = 0 };
	return 0;
}

static bool ask_read(struct slice in, struct dns_ask *ret)
{
	struct dns_ask ask = { 0 };
	uint8_t version, exe_len;

	/* @when may be missing; it means the first connection then. */
	if (slice_u8(&in, &version) < 0 || version != ASK_VERSION ||
	    slice_u8(&in, &ask.protocol) < 0 || slice_u16(&in, &ask.port) < 0 ||
	    slice_u32(&in, &ask.pid) < 0 || slice_u8(&in, &exe_len) < 0 ||
	    exe_len > DNS_ASK_EXE_MAX ||
	    slice_take(&in, exe_len, &ask.exe) < 0 ||
	    (in.len > 0 && slice_u8(&in, &ask.when) < 0) || in.len != 0)
		return false;
	if (ask.when > (ask.protocol == IPPROTO_TCP ? DNS_ASK_AFTER : 0))
		return false;
	if ((ask.protocol != IPPROTO_TCP && ask.protocol != IPPROTO_UDP) ||
	    ask.port == 0 || (exe_len && memchr(ask.exe.ptr, 0, exe_len)))
		return false;
	*ret = ask;
	return true;
}

/* RFC 6891 §6.1.2. Truncated options do not invalidate the question, as none of
 * them is needed. */
static void options_read(struct slice in, struct dns_ask *ret)
{
	struct dns_ask ask = { 0 };
	struct slice data;
	uint16_t code, len;
	unsigned n = 0;

	while (in.len > 0) {
		if (slice_u16(&in, &code) < 0 || slice_u16(&in, &len) < 0 ||
		    slice_take(&in, len, &data) < 0)
			return;
		if (code == OPTION_ASK && (n++ > 0 || !ask_read(data, &ask)))
			return;
	}
	*ret = ask;
}

/* RFC 6891 §6.1: at most one OPT, owned by the root. */
static int additional_read(struct slice *in, struct dns_question *ret)
{
	uint16_t type, class, rdlen;
	struct slice label, rdata;
	size_t wire = 0;
	uint32_t ttl;
	int rc;

	while ((rc = next_label(in, &wire, &label)) > 0)
		;
	if (rc < 0 || slice_u16(in, &type) < 0 || slice_u16(in, &class) < 0 ||
	    slice_u32(in, &ttl) < 0 || slice_u16(in, &rdlen) < 0 ||
	    slice_take(in, rdlen, &rdata) < 0)
		return -EBADMSG;
	if (type != TYPE_OPT)
		return 0;
	if (ret->edns || wire != 1)
		return -EBADMSG;
	ret->edns = true;
	ret->edns_version = ttl >> 16 & 0xff;
	if (ret->edns_version == 0)
		options_read(rdata, &ret->ask);
	if (class > ret->udp_size)
		ret->udp_size = class;
	return 0;
}

int dns_question_read(struct slice msg, struct dns_question *ret)
{
	uint16_t id, flags, qd, an, ns, ar;
	struct slice in = msg;

	if (slice_u16(&in, &id) < 0 || slice_u16(&in, &flags) < 0 ||
	    slice_u16(&in, &qd) < 0 || slice_u16(&in, &an) < 0 ||
	    slice_u16(&in, &ns) < 0 || slice_u16(&in, &ar) < 0)
		return -EPROTO;
	if (flags & FLAG_QR)
		/* or two servers could answer each other for ever */
		return -EPROTO;
	*ret = (struct dns_question){
		.id = id,
		.opcode = (uint8_t)opcode_of(flags),
		.rd = flags & FLAG_RD,
		.cd = flags & FLAG_CD,
		.udp_size = DNS_MSG_MAX,
	};
	if (ret->opcode != 0)
		return -EOPNOTSUPP;
	if (msg.len > DNS_QUESTION_MAX || qd != 1 || an != 0 || ns != 0 ||
	    ar > ADDITIONAL_MAX)
		return -EBADMSG;

	ret->wire = in;
	if (question_name(&in, ret) < 0 || slice_u16(&in, &ret->type) < 0 ||
	    slice_u16(&in, &ret->class) < 0)
		return -EBADMSG;
	ret->wire.len -= in.len;
	for (; ar > 0; ar--)
		if (additional_read(&in, ret) < 0)
			return -EBADMSG;
	return in.len ? -EBADMSG : 0;
}

/* --- the answer ---------------------------------------------------------- */

static uint8_t *put_u16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
	return p + 2;
}

static uint8_t *put_u32(uint8_t *p, uint32_t v)
{
	return put_u16(put_u16(p, v >> 16), v & 0xffff);
}

static uint8_t *put_header(uint8_t *p, uint16_t id, unsigned flags, unsigned an,
			   unsigned ns, unsigned ar)
{
	p = put_u16(p, id);
	p = put_u16(p, flags);
	/* number of questions, set by the function that adds one */
	p = put_u16(p, 0);
	p = put_u16(p, an);
	p = put_u16(p, ns);
	return put_u16(p, ar);
}

static uint8_t *put_address(uint8_t *p, const struct addr *a, uint32_t ttl)
{
	p = put_u16(p, 0xc000 | HEADER_LEN); /* the question's name */
	p = put_u16(p, DNS_TYPE_A);
	p = put_u16(p, DNS_CLASS_IN);
	p = put_u32(p, ttl);
	p = put_u16(p, 4);
	memcpy(p, a->b, 4);
	return p + 4;
}

/* RFC 2308 §5: a negative answer is cached for the smaller of the SOA's TTL and
 * its minimum field. The zone is the root, above every name. */
static uint8_t *put_soa(uint8_t *p, uint32_t ttl)
{
	*p++ = 0;
	p = put_u16(p, DNS_TYPE_SOA);
	p = put_u16(p, DNS_CLASS_IN);
	p = put_u32(p, ttl);
	p = put_u16(p, 22);
	*p++ = 0; /* MNAME */
	*p++ = 0; /* RNAME */
	p = put_u32(p, 1); /* serial, refresh, retry, expire: never used */
	p = put_u32(p, 3600);
	p = put_u32(p, 600);
	p = put_u32(p, 86400);
	return put_u32(p, ttl);
}

static uint8_t *put_opt(uint8_t *p, unsigned rcode)
{
	*p++ = 0;
	p = put_u16(p, TYPE_OPT);
	p = put_u16(p, DNS_MSG_MAX);
	p = put_u32(p, (uint32_t)(rcode >> 4) << 24);
	return put_u16(p, 0);
}

size_t dns_answer_write(const struct dns_question *q, unsigned rcode,
			const struct addr *a, uint32_t ttl,
			uint8_t out[DNS_MSG_MAX])
{
	bool address = rcode == DNS_NOERROR && a && a->family == 4 &&
		       q->type == DNS_TYPE_A && q->class == DNS_CLASS_IN;
	bool soa = rcode == DNS_NOERROR && !address;
	unsigned flags = FLAG_QR | FLAG_RA | (q->rd ? FLAG_RD : 0u) |
			 (q->cd ? FLAG_CD : 0u) | (rcode & 0xf);
	uint8_t *p;

	if (q->wire.len > DNS_MSG_MAX - HEADER_LEN - ANSWER_EXTRA)
		return dns_error_write(q->id, 0, DNS_FORMERR, out);
	p = put_header(out, q->id, flags, address, soa, q->edns);
	put_u16(out + 4, 1);
	memcpy(p, q->wire.ptr, q->wire.len);
	p += q->wire.len;
	if (address)
		p = put_address(p, a, ttl);
	if (soa)
		p = put_soa(p, ttl);
	if (q->edns)
		p = put_opt(p, rcode);
	return (size_t)(p - out);
}

static uint8_t *put_bytes(uint8_t *p, const void *from, size_t len)
{
	if (len)
		memcpy(p, from, len);
	return p + len;
}

size_t dns_ask_write(const struct dns_question *q, const struct dns_verdict *v,
		     uint32_t ttl, uint8_t out[DNS_ASK_MAX])
{
	size_t max = q->udp_size < DNS_ASK_MAX ? q->udp_size : DNS_ASK_MAX;
	size_t n = dns_answer_write(q, DNS_NOERROR, NULL, ttl, out);
	size_t name = v->name ? v->name->len : 0, text = v->text.len;
	uint8_t *p = out + n;

	/* Without EDNS there is no OPT at the end, and no option was read; a
	 * question that could be parsed always fits into the answer. */
	if (!q->edns || n + 4 + ASK_FIXED > max)
		return n;
	if (text > DNS_ASK_TEXT_MAX || n + 4 + ASK_FIXED + name + text > max)
		text = 0;
	if (n + 4 + ASK_FIXED + name > max)
		name = 0;
	put_u16(p - 2, (unsigned)(4 + ASK_FIXED + name + text));
	p = put_u16(p, OPTION_ASK);
	p = put_u16(p, (unsigned)(ASK_FIXED + name + text));
	*p++ = ASK_VERSION;
	*p++ = v->verdict;
	p = put_u16(p, v->keep);
	*p++ = (uint8_t)name;
	p = put_bytes(p, v->name ? v->name->s : NULL, name);
	p = put_u16(p, (unsigned)text);
	p = put_bytes(p, v->text.ptr, text);
	return (size_t)(p - out);
}

struct addr dns_ptr_address(const struct name *name)
{
	static const char suffix[] = ".in-addr.arpa";
	const size_t n = sizeof(suffix) - 1;
	struct addr turned, a = { .family = 0 };

	if (name->len <= n || memcmp(name->s + name->len - n, suffix, n) != 0 ||
	    addr_parse(slice_of(name->s, name->len - n), &turned) < 0 ||
	    turned.family != 4)
		return a;
	a.family = 4;
	for (size_t i = 0; i < 4; i++)
		a.b[i] = turned.b[3 - i];
	return a;
}

size_t dns_error_write(uint16_t id, unsigned opcode, unsigned rcode,
		       uint8_t out[DNS_MSG_MAX])
{
	unsigned flags = FLAG_QR | (opcode & 0xf) << 11 | (rcode & 0xf);

	return (size_t)(put_header(out, id, flags, 0, 0, 0) - out);
}
