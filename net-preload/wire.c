/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.c - the question to the gateway and its answer (net-preload/PROTOCOL)
 *
 * Any program that owns port 53 of an address may answer, including one in the
 * sandbox, so every byte is hostile. Bytes are read only through `struct in`,
 * whose readers never pass its end.
 */
#include "net-preload/wire.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define OPTION 65313u
#define VERSION 1u
#define UDP_SIZE 1232u

#define HEADER_LEN 12u
#define FLAG_RD 0x0100u
#define FLAGS_QUERY 0xf800u /* QR and the opcode */
#define FLAG_QR 0x8000u
#define RCODE 0x000fu
#define TYPE_PTR 12u
#define TYPE_OPT 41u
#define CLASS_IN 1u
#define LABEL_MAX 63u
#define QUESTION_MAX 34u /* 255.255.255.255.in-addr.arpa., type, class */

struct in {
	const uint8_t *p;
	size_t len;
};

static uint8_t *put_u8(uint8_t *p, unsigned v)
{
	*p = (uint8_t)v;
	return p + 1;
}

static uint8_t *put_u16(uint8_t *p, unsigned v)
{
	return put_u8(put_u8(p, v >> 8), v & 0xff);
}

static uint8_t *put_bytes(uint8_t *p, const void *from, size_t len)
{
	memcpy(p, from, len);
	return p + len;
}

/* Writes a label of decimal digits. */
static uint8_t *put_octet(uint8_t *p, unsigned v)
{
	unsigned digits = 1u + (v > 9) + (v > 99);

	*p++ = (uint8_t)digits;
	for (unsigned i = digits; i-- > 0; v /= 10)
		p[i] = (uint8_t)('0' + v % 10);
	return p + digits;
}

static uint8_t *put_question(uint8_t *p, uint32_t address)
{
	for (unsigned i = 0; i < 4; i++)
		p = put_octet(p, address >> 8 * i & 0xff);
	p = put_bytes(p, "\7in-addr\4arpa", 14); /* counts the root's NUL */
	return put_u16(put_u16(p, TYPE_PTR), CLASS_IN);
}

size_t wire_ask(const struct wire_ask *ask, uint8_t out[WIRE_ASK_MAX])
{
	size_t exe = ask->exe_len < WIRE_EXE_MAX ? ask->exe_len : WIRE_EXE_MAX;
	uint8_t *p = put_u16(put_u16(out, ask->id), FLAG_RD);
	size_t when = ask->when != WIRE_FIRST; /* its bytes */

	p = put_u16(put_u16(p, 1), 0);
	p = put_u16(put_u16(p, 0), 1);
	p = put_question(p, ask->address);
	p = put_u16(put_u16(put_u8(p, 0), TYPE_OPT), UDP_SIZE);
	p = put_u16(put_u16(p, 0), 0);
	p = put_u16(p, (unsigned)(4 + 9 + exe + when));
	p = put_u16(put_u16(p, OPTION), (unsigned)(9 + exe + when));
	p = put_u8(put_u8(p, VERSION), ask->protocol);
	p = put_u16(p, ask->port);
	p = put_u16(put_u16(p, ask->pid >> 16), ask->pid & 0xffff);
	p = put_u8(p, (unsigned)exe);
	if (exe > 0)
		p = put_bytes(p, ask->exe + ask->exe_len - exe, exe);
	if (when > 0)
		p = put_u8(p, ask->when);
	return (size_t)(p - out);
}

static bool take(struct in *in, size_t len, const uint8_t **ret)
{
	if (in->len < len)
		return false;
	*ret = in->p;
	in->p += len;
	in->len -= len;
	return true;
}

static bool take_u8(struct in *in, unsigned *ret)
{
	const uint8_t *p;

	if (!take(in, 1, &p))
		return false;
	*ret = p[0];
	return true;
}

static bool take_u16(struct in *in, unsigned *ret)
{
	const uint8_t *p;

	if (!take(in, 2, &p))
		return false;
	*ret = (unsigned)p[0] << 8 | p[1];
	return true;
}

/* Skips a name; a pointer ends it and is not followed. */
static bool skip_name(struct in *in)
{
	const uint8_t *p;
	unsigned len;

	while (take_u8(in, &len)) {
		if (len == 0)
			return true;
		if (len >= 0xc0)
			return take(in, 1, &p);
		if (len > LABEL_MAX || !take(in, len, &p))
			return false;
	}
	return false;
}

/* Compares two questions: names may differ in case (RFC 4343), the rest may
 * not. */
static bool same_question(const uint8_t *a, const uint8_t *b, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		uint8_t lower = b[i] >= 'a' && b[i] <= 'z' ? 0x20 : 0;

		if ((a[i] | lower) != b[i])
			return false;
	}
	return true;
}

/* Returns true for lines of printable ASCII, each with a newline. */
static bool text_is_fit(const uint8_t *text, size_t len)
{
	unsigned lines = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n')
			lines++;
		else if (text[i] < ' ' || text[i] > '~')
			return false;
	}
	return lines <= WIRE_LINES_MAX && (len == 0 || text[len - 1] == '\n');
}

/*
 * Reads our option; the length of the text may be absent if nothing is denied.
 */
static int read_option(struct in o, struct wire_answer *ret)
{
	unsigned version, verdict, keep, name_len, text_len = 0;
	struct wire_answer a = { .verdict = WIRE_PASS };

	if (!take_u8(&o, &version) || version != VERSION ||
	    !take_u8(&o, &verdict) || verdict > WIRE_DENY ||
	    !take_u16(&o, &keep) || keep > WIRE_KEEP_MAX ||
	    !take_u8(&o, &name_len) || name_len > WIRE_NAME_MAX ||
	    !take(&o, name_len, &a.name))
		return -EBADMSG;
	if ((verdict == WIRE_DENY || o.len > 0) && !take_u16(&o, &text_len))
		return -EBADMSG;
	if (text_len > WIRE_TEXT_MAX || !take(&o, text_len, &a.text) ||
	    o.len > 0 || !text_is_fit(a.text, text_len))
		return -EBADMSG;
	a.verdict = (enum wire_verdict)verdict;
	a.keep = keep;
	a.name_len = name_len;
	a.text_len = text_len;
	*ret = a;
	return 0;
}

/* Finds our option among those of an OPT record; two are refused. */
static int read_options(struct in o, struct wire_answer *ret)
{
	struct in found = { NULL, 0 };
	unsigned code, len;

	while (o.len > 0) {
		const uint8_t *p;

		if (!take_u16(&o, &code) || !take_u16(&o, &len) ||
		    !take(&o, len, &p))
			return -EBADMSG;
		if (code != OPTION)
			continue;
		if (found.p)
			/* two readers could disagree: refuse */
			return -EBADMSG;
		found = (struct in){ p, len };
	}
	return found.p ? read_option(found, ret) : -EBADMSG;
}

/* Reads @count records of any section; sets *opt to the OPT among them. */
static bool read_records(struct in *in, unsigned count, struct in *opt)
{
	while (count-- > 0) {
		unsigned type, class, len;
		const uint8_t *ttl, *data;

		if (!skip_name(in) || !take_u16(in, &type) ||
		    !take_u16(in, &class) || !take(in, 4, &ttl) ||
		    !take_u16(in, &len) || !take(in, len, &data))
			return false;
		if (type != TYPE_OPT)
			continue;
		if (opt->p)
			return false; /* RFC 6891, 6.1.1: at most one */
		*opt = (struct in){ data, len };
	}
	return true;
}

int wire_answer(const struct wire_ask *ask, const uint8_t *data, size_t len,
		struct wire_answer *ret)
{
	struct in in = { data, len }, opt = { NULL, 0 };
	unsigned id, flags, count[4];
	uint8_t want[QUESTION_MAX];
	size_t want_len = (size_t)(put_question(want, ask->address) - want);
	const uint8_t *question;

	if (!take_u16(&in, &id) || !take_u16(&in, &flags) || id != ask->id ||
	    (flags & FLAGS_QUERY) != FLAG_QR)
		return -EAGAIN;
	for (unsigned i = 0; i < 4; i++) {
		if (!take_u16(&in, &count[i]))
			return -EAGAIN;
	}
	if (count[0] != 1 || !take(&in, want_len, &question) ||
	    !same_question(question, want, want_len))
		return -EAGAIN;
	if ((flags & RCODE) != 0 ||
	    !read_records(&in, count[1] + count[2] + count[3], &opt) ||
	    !opt.p || in.len > 0)
		return -EBADMSG;
	return read_options(opt, ret);
}
