/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message_test.c - questions good and bad, and every byte of an answer
 */
#include "ottergate/dns/message.h"

#include "tests/unit/tap.h"

#define BYTES(s) .ptr = (s), .len = sizeof(s) - 1
#define HEAD "\x12\x34\x01\0\0\1\0\0\0\0\0\0"
#define HEAD_AR(n) "\x12\x34\x01\0\0\1\0\0\0\0\0" n
#define NAME_A "\1a\4test\0"
#define QA NAME_A "\0\1\0\1"
#define OPT "\0\0\x29\x10\0\0\0\0\0\0\0"

struct read_case {
	const char *what;
	const char *ptr;
	size_t len;
	int want;
	const char *name; /* NULL: name_ok is false */
};

static const struct read_case read_cases[] = {
	{ "nothing", BYTES(""), -EPROTO, "" },
	{ "eleven bytes", BYTES("\x12\x34\x01\0\0\1\0\0\0\0\0"), -EPROTO, "" },
	{ "a response", BYTES("\x12\x34\x81\0\0\1\0\0\0\0\0\0" QA), -EPROTO,
	  "" },
	{ "a question", BYTES(HEAD QA), 0, "a.test" },
	{ "mixed case", BYTES(HEAD "\1A\4tEsT\0\0\1\0\1"), 0, "a.test" },
	{ "with EDNS", BYTES(HEAD_AR("\1") QA OPT), 0, "a.test" },
	{ "EDNS with a cookie",
	  BYTES(HEAD_AR("\1") QA "\0\0\x29\x10\0\0\0\0\0\0\14\0\12\0\10"
				 "12345678"),
	  0, "a.test" },
	{ "two OPT", BYTES(HEAD_AR("\2") QA OPT OPT), -EBADMSG, "" },
	{ "an OPT with a name",
	  BYTES(HEAD_AR("\1") QA "\1a\0\0\x29\x10\0\0\0\0\0\0\0"), -EBADMSG,
	  "" },
	{ "OPT cut", BYTES(HEAD_AR("\1") QA "\0\0\x29\x10\0\0\0\0\0\0\1"),
	  -EBADMSG, "" },
	{ "five additional records",
	  BYTES(HEAD_AR("\5") QA "\0\0\1\0\1\0\0\0\0\0\0"
				 "\0\0\1\0\1\0\0\0\0\0\0"
				 "\0\0\1\0\1\0\0\0\0\0\0"
				 "\0\0\1\0\1\0\0\0\0\0\0"
				 "\0\0\1\0\1\0\0\0\0\0\0"),
	  -EBADMSG, "" },
	{ "bytes behind the question", BYTES(HEAD QA "x"), -EBADMSG, "" },
	{ "no question", BYTES("\x12\x34\x01\0\0\0\0\0\0\0\0\0"), -EBADMSG,
	  "" },
	{ "two questions", BYTES("\x12\x34\x01\0\0\2\0\0\0\0\0\0" QA QA),
	  -EBADMSG, "" },
	{ "an answer in it", BYTES("\x12\x34\x01\0\0\1\0\1\0\0\0\0" QA),
	  -EBADMSG, "" },
	{ "an authority in it", BYTES("\x12\x34\x01\0\0\1\0\0\0\1\0\0" QA),
	  -EBADMSG, "" },
	{ "opcode NOTIFY", BYTES("\x12\x34\x21\0\0\1\0\0\0\0\0\0" QA),
	  -EOPNOTSUPP, "" },
	{ "opcode UPDATE", BYTES("\x12\x34\x28\0\0\1\0\0\0\0\0\0" QA),
	  -EOPNOTSUPP, "" },
	{ "a pointer to itself", BYTES(HEAD "\xc0\x0c\0\1\0\1"), -EBADMSG, "" },
	{ "a pointer behind a label", BYTES(HEAD "\1a\xc0\x0c\0\1\0\1"),
	  -EBADMSG, "" },
	{ "label type 01", BYTES(HEAD "\x41z\0\0\1\0\1"), -EBADMSG, "" },
	{ "label type 10", BYTES(HEAD "\x81z\0\0\1\0\1"), -EBADMSG, "" },
	{ "no type", BYTES(HEAD NAME_A), -EBADMSG, "" },
	{ "half a class", BYTES(HEAD NAME_A "\0\1\0"), -EBADMSG, "" },
	{ "a name without an end", BYTES(HEAD "\1a\4test"), -EBADMSG, "" },
	{ "a label without its bytes", BYTES(HEAD "\77a"), -EBADMSG, "" },
	{ "the root", BYTES(HEAD "\0\0\2\0\1"), 0, "" },
	{ "NUL in a label", BYTES(HEAD "\3a\0b\4test\0\0\1\0\1"), 0, NULL },
	{ "a dot in a label", BYTES(HEAD "\3a.b\4test\0\0\1\0\1"), 0, NULL },
	{ "a blank", BYTES(HEAD "\3a b\4test\0\0\1\0\1"), 0, NULL },
	{ "not ASCII", BYTES(HEAD "\2\xc3\xa9\4test\0\0\1\0\1"), 0, NULL },
	{ "an address as a name",
	  BYTES(HEAD "\3"
		     "127\1"
		     "0\1"
		     "0\1"
		     "1\0\0\1\0\1"),
	  0, NULL },
	{ "a hexadecimal last label",
	  BYTES(HEAD "\1a\4"
		     "0x7f\0\0\1\0\1"),
	  0, NULL },
	{ "an underscore", BYTES(HEAD "\2_a\4test\0\0\1\0\1"), 0, "_a.test" },
};

static void test_read(void)
{
	struct dns_question q;

	for (size_t i = 0; i < ARRAY_SIZE(read_cases); i++) {
		const struct read_case *c = &read_cases[i];
		int rc = dns_question_read(slice_of(c->ptr, c->len), &q);

		is_int(rc, c->want, "%s", c->what);
		if (rc == 0 && c->name)
			is_str(q.name.s, c->name, "%s: its name", c->what);
		if (rc == 0)
			is_int(q.name_ok, c->name != NULL, "%s: name_ok",
			       c->what);
		if (rc == -EBADMSG || rc == -EOPNOTSUPP)
			is_int(q.id, 0x1234, "%s: the id", c->what);
	}
}

/* Labels of 63 bytes: 3 × 64 + 62 + 1 is the longest name there may be. */
static void test_longest(void)
{
	static const uint8_t root_a[5] = { 0, 0, 1, 0, 1 };
	uint8_t m[512] = HEAD;
	size_t at = 12;
	struct dns_question q;
	uint8_t out[DNS_MSG_MAX];
	const struct addr self = { 4, { 172, 20, 0, 53 } };

	for (unsigned i = 0; i < 3; i++) {
		m[at] = 63;
		memset(m + at + 1, 'a', 63);
		at += 64;
	}
	m[at] = 61;
	memset(m + at + 1, 'b', 61);
	at += 62;
	memcpy(m + at, root_a, sizeof(root_a));
	is_int(dns_question_read(slice_of(m, at + 5), &q), 0, "255 bytes");
	is_int(q.name.len, 253, "253 without the dots of the wire");
	is_int(dns_answer_write(&q, 0, &self, 60, out), at + 5 + 16,
	       "and an answer to it");
	m[at - 62] = 62;
	m[at] = 'b';
	memcpy(m + at + 1, root_a, sizeof(root_a));
	is_int(dns_question_read(slice_of(m, at + 6), &q), -EBADMSG,
	       "256 bytes");
}

struct write_case {
	const char *what;
	const char *question;
	size_t question_len;
	unsigned rcode;
	bool address;
	const char *ptr;
	size_t len;
};

#define Q(s) .question = (s), .question_len = sizeof(s) - 1
#define R(flags, counts) "\x12\x34" flags "\0\1" counts
#define SOA                                                          \
	"\0\0\6\0\1\0\0\0\74\0\26\0\0\0\0\0\1\0\0\x0e\x10\0\0\2\x58" \
	"\0\1\x51\x80\0\0\0\74"

static const struct write_case write_cases[] = {
	{ "an address", Q(HEAD QA), 0, true,
	  BYTES(R("\x81\x80", "\0\1\0\0\0\0") QA
		"\xc0\14\0\1\0\1\0\0\0\74\0\4\xac\x14\0\x35") },
	{ "the question's case", Q(HEAD "\1A\4tEsT\0\0\1\0\1"), 0, true,
	  BYTES(R("\x81\x80", "\0\1\0\0\0\0") "\1A\4tEsT\0\0\1\0\1"
					      "\xc0\14\0\1\0\1\0\0\0\74\0\4\xac"
					      "\x14\0\x35") },
	{ "EDNS comes back", Q(HEAD_AR("\1") QA OPT), 0, true,
	  BYTES(R("\x81\x80", "\0\1\0\0\0\1") QA
		"\xc0\14\0\1\0\1\0\0\0\74\0\4\xac\x14\0\x35"
		"\0\0\x29\2\0\0\0\0\0\0\0") },
	{ "AAAA is NODATA", Q(HEAD NAME_A "\0\34\0\1"), 0, true,
	  BYTES(R("\x81\x80", "\0\0\0\1\0\0") NAME_A "\0\34\0\1" SOA) },
	{ "no address is NODATA", Q(HEAD QA), 0, false,
	  BYTES(R("\x81\x80", "\0\0\0\1\0\0") QA SOA) },
	{ "REFUSED is bare", Q(HEAD QA), DNS_REFUSED, true,
	  BYTES(R("\x81\x85", "\0\0\0\0\0\0") QA) },
	{ "BADVERS is in the OPT", Q(HEAD_AR("\1") QA OPT), DNS_BADVERS, true,
	  BYTES(R("\x81\x80", "\0\0\0\0\0\1") QA "\0\0\x29\2\0\1\0\0\0\0\0") },
	{ "RD and CD are echoed", Q("\x12\x34\0\x10\0\1\0\0\0\0\0\0" QA),
	  DNS_REFUSED, false, BYTES(R("\x80\x95", "\0\0\0\0\0\0") QA) },
};

static void test_write(void)
{
	const struct addr self = { 4, { 172, 20, 0, 53 } };
	uint8_t out[DNS_MSG_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(write_cases); i++) {
		const struct write_case *c = &write_cases[i];
		struct dns_question q;
		size_t n;

		if (!ok(dns_question_read(
				slice_of(c->question, c->question_len), &q) ==
				0,
			"%s: read", c->what))
			return;
		n = dns_answer_write(&q, c->rcode, c->address ? &self : NULL,
				     60, out);
		ok(slice_eq(slice_of(out, n), slice_of(c->ptr, c->len)), "%s",
		   c->what);
	}
	is_int(dns_error_write(0x1234, 4, DNS_NOTIMP, out), 12,
	       "an error is a header");
	ok(memcmp(out, "\x12\x34\xa0\4\0\0\0\0\0\0\0\0", 12) == 0,
	   "with opcode and code");
}

static void test_versions(void)
{
	static const char v1[] = HEAD_AR("\1") QA "\0\0\x29\x10\0\0\1\0\0\0\0";
	struct dns_question q;

	is_int(dns_question_read(slice_of(v1, sizeof(v1) - 1), &q), 0,
	       "EDNS version 1 is read");
	is_int(q.edns_version, 1, "and said");
	is_int(q.udp_size, 4096, "with the size it takes");
}

/* --- what a program asks (net-preload/PROTOCOL) --------------------------- */

#define PTR   \
	"\1"  \
	"1\1" \
	"2\1" \
	"0\003192\7in-addr\4arpa\0\0\14\0\1"
/* An OPT of a client that takes 1232 bytes, with options of @len bytes. */
#define OPTS(len) "\0\0\x29\4\xd0\0\0\0\0\0" len
/* Version, TCP, port 22, pid 258 and a path. */
#define ASK_DATA "\1\6\0\26\0\0\1\2\2/x"
#define ASK "\xff\x21\0\13" ASK_DATA
/* A question with an ask of these 11 bytes. */
#define OF_11(data) BYTES(HEAD_AR("\1") PTR OPTS("\17") "\xff\x21\0\13" data)

/* Of this protocol, and when it is asked. */
#define OF_WHEN(proto, when)                                \
	BYTES(HEAD_AR("\1") PTR OPTS("\20") "\xff\x21\0\14" \
					    "\1" proto      \
					    "\0\26\0\0\1\2\2/x" when)

struct ask_case {
	const char *what;
	const char *ptr;
	size_t len;
	uint8_t protocol; /* 0: as if there were none */
	uint8_t when;
};

static const struct ask_case asks[] = {
	{ "none", BYTES(HEAD_AR("\1") PTR OPTS("\0")), 0 },
	{ "one", BYTES(HEAD_AR("\1") PTR OPTS("\17") ASK), 6 },
	{ "behind another",
	  BYTES(HEAD_AR("\1") PTR OPTS("\25") "\0\12\0\2xy" ASK), 6 },
	{ "before another",
	  BYTES(HEAD_AR("\1") PTR OPTS("\25") ASK "\0\12\0\2xy"), 6 },
	{ "of UDP, without a path",
	  BYTES(HEAD_AR("\1") PTR OPTS("\15") "\xff\x21\0\11\1\21\0\26\0\0"
					      "\1\2\0"),
	  17 },
	{ "before the first connection, said", OF_WHEN("\6", "\0"), 6, 0 },
	{ "before another one", OF_WHEN("\6", "\1"), 6, 1 },
	{ "at the end", OF_WHEN("\6", "\2"), 6, 2 },
	{ "at no time", OF_WHEN("\6", "\3"), 0 },
	{ "at the end of UDP", OF_WHEN("\21", "\2"), 0 },
	{ "a byte more than that",
	  BYTES(HEAD_AR("\1") PTR OPTS("\21") "\xff\x21\0\15" ASK_DATA "\2\0"),
	  0 },
	{ "two", BYTES(HEAD_AR("\1") PTR OPTS("\36") ASK ASK), 0 },
	{ "cut behind it", BYTES(HEAD_AR("\1") PTR OPTS("\22") ASK "\0\12\0"),
	  0 },
	{ "longer than the record",
	  BYTES(HEAD_AR("\1") PTR OPTS("\17") "\xff\x21\0\14" ASK_DATA), 0 },
	{ "version 2", OF_11("\2\6\0\26\0\0\1\2\2/x"), 0 },
	{ "ICMP", OF_11("\1\1\0\26\0\0\1\2\2/x"), 0 },
	{ "port 0", OF_11("\1\6\0\0\0\0\1\2\2/x"), 0 },
	{ "a path that is not all there", OF_11("\1\6\0\26\0\0\1\2\3/x"), 0 },
	{ "bytes behind the path", OF_11("\1\6\0\26\0\0\1\2\1/x"), 0 },
	{ "NUL in the path", OF_11("\1\6\0\26\0\0\1\2\2/\0"), 0 },
	{ "EDNS of another version",
	  BYTES(HEAD_AR("\1") PTR "\0\0\x29\4\xd0\0\1\0\0\0\17" ASK), 0 },
};

static void test_ask_read(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(asks); i++) {
		const struct ask_case *c = &asks[i];
		struct dns_question q;

		is_int(dns_question_read(slice_of(c->ptr, c->len), &q), 0,
		       "ask: %s: a question all the same", c->what);
		is_int(q.ask.protocol, c->protocol, "ask: %s", c->what);
		if (!c->protocol)
			continue;
		is_int(q.ask.port, 22, "its port");
		is_int(q.ask.pid, 258, "its pid");
		is_int(q.ask.when, c->when, "its time");
		ok(slice_eq(q.ask.exe, slice_str(c->protocol == 6 ? "/x" : "")),
		   "its path");
	}
}

static void test_ask_path(void)
{
	static const char head[] = HEAD_AR("\1") PTR "\0\0\x29\4\xd0\0\0\0\0";
	uint8_t msg[256];

	for (unsigned len = 94; len <= 97; len++) {
		uint8_t *p = msg + sizeof(head) - 1;
		struct dns_question q;

		memcpy(msg, head, sizeof(head) - 1);
		*p++ = 0;
		*p++ = (uint8_t)(13 + len);
		memcpy(p, "\xff\x21\0", 3);
		p[3] = (uint8_t)(9 + len);
		memcpy(p + 4, "\1\6\0\26\0\0\1\2", 8);
		p[12] = (uint8_t)len;
		memset(p + 13, 'x', len);
		is_int(dns_question_read(
			       slice_of(msg, (size_t)(p + 13 + len - msg)), &q),
		       0, "a path of %u bytes: read", len);
		is_int(q.ask.protocol, len <= DNS_ASK_EXE_MAX ? 6 : 0,
		       "a path of %u bytes", len);
	}
}

/* What is behind the record's own eleven bytes, less its length. */
static struct slice answer_option(const uint8_t *out, size_t n)
{
	size_t at = sizeof(HEAD PTR) - 1 + 33 + 9;
	struct slice all, ret;
	uint16_t len;

	if (n < at + 2)
		return slice_of(NULL, 0);
	all = slice_of(out + at, n - at);
	if (slice_u16(&all, &len) < 0 || slice_take(&all, len, &ret) < 0 ||
	    all.len != 0)
		return slice_of(NULL, 0);
	return ret;
}

static void test_ask_write(void)
{
	static const char ask[] = HEAD_AR("\1") PTR OPTS("\17") ASK;
	static char text[DNS_ASK_TEXT_MAX + 1];
	struct name longest = { .len = NAME_LEN_MAX }, name = { 1, "a" };
	struct dns_verdict v = { .verdict = 2, .keep = 300, .name = &name };
	uint8_t out[DNS_ASK_MAX];
	struct dns_question q;
	struct slice opt;

	if (!ok(dns_question_read(slice_of(ask, sizeof(ask) - 1), &q) == 0,
		"an ask is read"))
		return;
	v.text = slice_str("no\n");
	opt = answer_option(out, dns_ask_write(&q, &v, 60, out));
	ok(slice_eq(opt, slice_of("\xff\x21\0\13\1\2\1\54\1a\0\3no\n", 15)),
	   "each byte of the answer's option");
	v = (struct dns_verdict){ .verdict = 1, .keep = 5 };
	opt = answer_option(out, dns_ask_write(&q, &v, 60, out));
	ok(slice_eq(opt, slice_of("\xff\x21\0\7\1\1\0\5\0\0\0", 11)),
	   "without name and text");
	memset(longest.s, 'n', NAME_LEN_MAX);
	memset(text, 't', sizeof(text));
	v.name = &longest;
	v.text = slice_of(text, DNS_ASK_TEXT_MAX);
	opt = answer_option(out, dns_ask_write(&q, &v, 60, out));
	is_int(opt.len, 4 + 7 + NAME_LEN_MAX + DNS_ASK_TEXT_MAX,
	       "the longest fits");
	v.text.len++;
	opt = answer_option(out, dns_ask_write(&q, &v, 60, out));
	is_int(opt.len, 4 + 7 + NAME_LEN_MAX, "a longer text is none");
	v.text.len = 300;
	q.udp_size = 512;
	opt = answer_option(out, dns_ask_write(&q, &v, 60, out));
	is_int(opt.len, 4 + 7 + NAME_LEN_MAX,
	       "nor what the client cannot take");
	ok(dns_ask_write(&q, &v, 60, out) <= 512,
	   "and 512 bytes are not passed");
	q.edns = false;
	is_int(dns_ask_write(&q, &v, 60, out), sizeof(HEAD PTR) - 1 + 33,
	       "without EDNS: NODATA alone");
}

static void test_ptr(void)
{
	static const struct {
		const char *name;
		uint32_t want; /* 0: none */
	} rows[] = {
		{ "1.2.0.192.in-addr.arpa", 0xc0000201 },
		{ "255.255.255.255.in-addr.arpa", 0xffffffff },
		{ "1.2.0.in-addr.arpa", 0 },
		{ "1.2.0.192.1.in-addr.arpa", 0 },
		{ "01.2.0.192.in-addr.arpa", 0 },
		{ "256.2.0.192.in-addr.arpa", 0 },
		{ "1.2.0.192.ip6.arpa", 0 },
		{ "in-addr.arpa", 0 },
		{ "x.1.2.0.192.in-addr.arpa", 0 },
		{ "1.2.0.192.in-addr.arpa.test", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct addr want = addr_v4(rows[i].want), got;
		struct name n;

		if (name_canon(slice_str(rows[i].name), &n) < 0)
			abort();
		got = dns_ptr_address(&n);
		if (rows[i].want)
			ok(addr_eq(&got, &want), "%s", rows[i].name);
		else
			is_int(got.family, 0, "%s", rows[i].name);
	}
}

int main(void)
{
	test_read();
	test_ask_read();
	test_ask_path();
	test_ask_write();
	test_ptr();
	test_longest();
	test_write();
	test_versions();
	return done_testing();
}
