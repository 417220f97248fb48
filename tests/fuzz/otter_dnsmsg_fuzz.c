/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otter_dnsmsg_fuzz.c - every accepted question gets an answer that reads
 * back, and that carries nothing of the packet but its question
 *
 * The answer is walked by a reader of its own, as a client's would: header,
 * one question that equals the asked one, records that end where the message
 * does.
 */
#include <string.h>

#include "ottergate/dnsmsg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool cond)
{
	if (!cond)
		abort();
}

/* A name of an answer: labels to the root, or a pointer to the question. */
static void walk_name(struct slice *in)
{
	struct slice label;
	uint8_t len, low;

	for (;;) {
		must(slice_u8(in, &len) == 0);
		if (len == 0)
			return;
		if (len >= 0xc0) {
			must(slice_u8(in, &low) == 0 && len == 0xc0 &&
			     low == 12);
			return;
		}
		must(len <= 63 && slice_take(in, len, &label) == 0);
	}
}

static void walk_record(struct slice *in, const struct dns_question *q,
			bool address)
{
	uint16_t type, class, len;
	struct slice data;
	uint32_t ttl;

	walk_name(in);
	must(slice_u16(in, &type) == 0 && slice_u16(in, &class) == 0 &&
	     slice_u32(in, &ttl) == 0 && slice_u16(in, &len) == 0 &&
	     slice_take(in, len, &data) == 0);
	must(type == DNS_TYPE_A || type == DNS_TYPE_SOA || type == 41);
	if (type == DNS_TYPE_A)
		must(address && q->type == DNS_TYPE_A &&
		     q->class == DNS_CLASS_IN && len == 4 &&
		     memcmp(data.ptr, "\xac\x14\0\x35", 4) == 0);
	if (type == DNS_TYPE_SOA)
		must(!address && len == 22);
	if (type == 41)
		must(q->edns && len == 0);
}

static void walk(struct slice in, const struct dns_question *q, unsigned rcode,
		 bool want_address)
{
	uint16_t id, flags, count[4];
	unsigned records = 0;
	struct slice question;

	must(in.len <= DNS_MSG_MAX);
	must(slice_u16(&in, &id) == 0 && slice_u16(&in, &flags) == 0);
	for (unsigned i = 0; i < 4; i++)
		must(slice_u16(&in, &count[i]) == 0);
	must(id == q->id && (flags & 0x8000) && (flags & 15) == (rcode & 15));
	must(count[0] == 1 && count[1] + count[2] <= 1 &&
	     count[3] == (q->edns ? 1 : 0));
	must(slice_take(&in, q->wire.len, &question) == 0 &&
	     slice_eq(question, q->wire));
	for (unsigned i = 1; i < 4; i++)
		records += count[i];
	while (records-- > 0)
		walk_record(&in, q, count[1] == 1);
	must(in.len == 0);
	must(count[1] == (want_address ? 1 : 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct addr self = { 4, { 172, 20, 0, 53 } };
	static const unsigned rcodes[] = { DNS_NOERROR, DNS_REFUSED,
					   DNS_BADVERS };
	uint8_t out[DNS_MSG_MAX];
	struct dns_question q, again;
	struct name canon;
	int r = dns_question_read(slice_of(data, size), &q);

	must(r == 0 || r == -EBADMSG || r == -EPROTO || r == -EOPNOTSUPP);
	if (r != -EPROTO)
		must(dns_error_write(q.id, q.opcode, DNS_FORMERR, out) == 12);
	if (r < 0)
		return 0;
	must(q.wire.ptr == data + 12 && q.wire.len <= size - 12);
	must(q.udp_size >= 512 && strlen(q.name.s) == q.name.len);
	if (q.name.len)
		must(q.name_ok &&
		     name_canon(slice_str(q.name.s), &canon) == 0 &&
		     strcmp(canon.s, q.name.s) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(rcodes); i++) {
		bool address = i == 0 && q.type == DNS_TYPE_A &&
			       q.class == DNS_CLASS_IN;
		size_t n = dns_answer_write(&q, rcodes[i], &self, 60, out);

		walk(slice_of(out, n), &q, rcodes[i], address);
		must(dns_question_read(slice_of(out, n), &again) == -EPROTO);
	}
	return 0;
}
