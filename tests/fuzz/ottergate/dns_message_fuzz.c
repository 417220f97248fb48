/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns_message_fuzz.c - every accepted question gets an answer that reads
 * back, and that carries nothing of the packet but its question
 *
 * The answer is walked by a reader of its own, as a client's would: header,
 * one question that equals the asked one, records that end where the message
 * does. What a program asks keeps its bounds, and its answer is within what the
 * client takes and has what was to be said.
 */
#include <string.h>

#include "ottergate/dns/message.h"

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

/* What walk_ask() said. */
static const struct dns_verdict *said;

/* The one option that an answer may have, to the end of its record. */
static bool option(struct slice in, const struct dns_question *q)
{
	uint16_t code, len, keep, n_text;
	uint8_t version, verdict, n_name;
	struct slice name, text;

	must(said && q->ask.protocol);
	must(slice_u16(&in, &code) == 0 && code == 65313);
	must(slice_u16(&in, &len) == 0 && len == in.len);
	must(slice_u8(&in, &version) == 0 && version == 1);
	must(slice_u8(&in, &verdict) == 0 && verdict == said->verdict);
	must(slice_u16(&in, &keep) == 0 && keep == said->keep);
	must(slice_u8(&in, &n_name) == 0 &&
	     slice_take(&in, n_name, &name) == 0);
	must(n_name == 0 ||
	     slice_eq(name, slice_of(said->name->s, said->name->len)));
	must(slice_u16(&in, &n_text) == 0 &&
	     slice_take(&in, n_text, &text) == 0 && in.len == 0);
	must(n_text == 0 || slice_eq(text, said->text));
	return true;
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
		must(q->edns && (len == 0 || option(data, q)));
}

static void walk(struct slice in, const struct dns_question *q, unsigned rcode,
		 bool want_address)
{
	uint16_t id, flags, count[4];
	unsigned records = 0;
	struct slice question;

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

/* The longest text and name, and none. */
static void walk_ask(const struct dns_question *q)
{
	static const char text[DNS_ASK_TEXT_MAX] = "no";
	const struct dns_verdict all[] = {
		{ .verdict = 2,
		  .keep = 2,
		  .name = &q->name,
		  .text = slice_of(text, sizeof(text)) },
		{ .verdict = 1, .keep = 60 },
	};
	uint8_t out[DNS_ASK_MAX];
	size_t n;

	must(q->ask.protocol == IPPROTO_TCP || q->ask.protocol == IPPROTO_UDP);
	must(q->edns && q->ask.port && q->ask.exe.len <= DNS_ASK_EXE_MAX);
	must(q->ask.exe.len == 0 || !memchr(q->ask.exe.ptr, 0, q->ask.exe.len));
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		said = &all[i];
		n = dns_ask_write(q, said, 60, out);
		must(n <= DNS_ASK_MAX && n <= q->udp_size);
		walk(slice_of(out, n), q, DNS_NOERROR, false);
	}
	said = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct addr self = { 4, { 172, 20, 0, 53 } };
	static const unsigned rcodes[] = { DNS_NOERROR, DNS_REFUSED,
					   DNS_BADVERS };
	uint8_t out[DNS_MSG_MAX];
	struct dns_question q, again;
	struct name canon;
	int rc = dns_question_read(slice_of(data, size), &q);

	must(rc == 0 || rc == -EBADMSG || rc == -EPROTO || rc == -EOPNOTSUPP);
	if (rc != -EPROTO)
		must(dns_error_write(q.id, q.opcode, DNS_FORMERR, out) == 12);
	if (rc < 0)
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

		must(n <= DNS_MSG_MAX);
		walk(slice_of(out, n), &q, rcodes[i], address);
		must(dns_question_read(slice_of(out, n), &again) == -EPROTO);
	}
	if (q.ask.protocol)
		walk_ask(&q);
	return 0;
}
