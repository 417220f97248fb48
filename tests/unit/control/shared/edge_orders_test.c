/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge_orders_test.c - what acd and ac-edge say to each other
 */
#include "control/shared/edge_orders.h"

#include "tests/unit/tap.h"

#define NAME_48 "abcdefghijklmnopqrstuvwxyz0123456789abcdefghij-_"
#define ORDER(name_len, name, family, port) "\0\0\0" name_len name family port
#define PORT(id) "\0\0\0" id "\4\x7f\0\0\1\x1f\x90"
#define IN6 "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"
#define LLM ORDER("\3", "llm", "\4", "\x2c\xaa")

static const struct {
	const char *what;
	const char *bytes;
	size_t len;
	int rc;
} cases[] = {
#define BYTES(s) s, sizeof(s) - 1
	{ "none", BYTES("\0\0\0\4\2\0\0\0"), 0 },
	{ "one", BYTES("\0\0\0\16\2\1" LLM "\0\0"), 0 },
	{ "of IPv6",
	  BYTES("\0\0\0\16\2\1" ORDER("\3", "llm", "\6", "\0\1") "\0\0"), 0 },
	{ "with more behind it", BYTES("\0\0\0\4\2\0\0\0\0\0"), 0 },
	{ "a port", BYTES("\0\0\0\17\2\0\0\1" PORT("\1")), 0 },
	{ "a port of IPv6",
	  BYTES("\0\0\0\x1b\2\0\0\1\0\0\0\1\6" IN6 "\x1f\x90"), 0 },
	{ "two ports", BYTES("\0\0\0\x1a\2\0\0\2" PORT("\1") PORT("\2")), 0 },
	{ "no length", BYTES("\0\0\0"), -EAGAIN },
	{ "a part", BYTES("\0\0\0\16\2\1\0\0\0"), -EAGAIN },
	{ "an empty frame", BYTES("\0\0\0\0"), -EBADMSG },
	{ "a long one, before it comes", BYTES("\0\0\x30\1"), -EBADMSG },
	{ "another version", BYTES("\0\0\0\4\1\0\0\0"), -EBADMSG },
	{ "no number", BYTES("\0\0\0\1\2"), -EBADMSG },
	{ "no number of ports", BYTES("\0\0\0\2\2\0"), -EBADMSG },
	{ "fewer than it says", BYTES("\0\0\0\2\2\1"), -EBADMSG },
	{ "more than it says", BYTES("\0\0\0\16\2\0\0\0" LLM), -EBADMSG },
	{ "65", BYTES("\0\0\0\2\2\x41"), -EBADMSG },
	{ "257 ports", BYTES("\0\0\0\4\2\0\1\1"), -EBADMSG },
	{ "a name twice", BYTES("\0\0\0\30\2\2" LLM LLM "\0\0"), -EBADMSG },
	{ "an id twice", BYTES("\0\0\0\x1a\2\0\0\2" PORT("\1") PORT("\1")),
	  -EBADMSG },
	{ "ids that fall", BYTES("\0\0\0\x1a\2\0\0\2" PORT("\2") PORT("\1")),
	  -EBADMSG },
	{ "id 0", BYTES("\0\0\0\17\2\0\0\1" PORT("\0")), -EBADMSG },
	{ "no such family of a port",
	  BYTES("\0\0\0\17\2\0\0\1\0\0\0\1\5\x7f\0\0\1\0\0"), -EBADMSG },
	{ "a part of an address", BYTES("\0\0\0\13\2\0\0\1\0\0\0\1\4\x7f\0"),
	  -EBADMSG },
	{ "port 0",
	  BYTES("\0\0\0\16\2\1" ORDER("\3", "llm", "\4", "\0\0") "\0\0"),
	  -EBADMSG },
	{ "no such family",
	  BYTES("\0\0\0\16\2\1" ORDER("\3", "llm", "\5", "\0\1") "\0\0"),
	  -EBADMSG },
	{ "a path",
	  BYTES("\0\0\0\16\2\1" ORDER("\3", "../", "\4", "\0\1") "\0\0"),
	  -EBADMSG },
	{ "the name of acd's socket",
	  BYTES("\0\0\0\23\2\1" ORDER("\10", "acd.sock", "\4", "\0\1") "\0\0"),
	  -EBADMSG },
	{ "the name of a port's socket",
	  BYTES("\0\0\0\21\2\1" ORDER("\6", "port.1", "\4", "\0\1") "\0\0"),
	  -EBADMSG },
	{ "a NUL in a name",
	  BYTES("\0\0\0\16\2\1" ORDER("\3", "l\0m", "\4", "\0\1") "\0\0"),
	  -EBADMSG },
	{ "no name",
	  BYTES("\0\0\0\13\2\1" ORDER("\0", "", "\4", "\0\1") "\0\0"),
	  -EBADMSG },
	{ "a name of 49 bytes",
	  BYTES("\0\0\0\x3c\2\1" ORDER("\x31", NAME_48 "x", "\4",
				       "\0\1") "\0\0"),
	  -EBADMSG },
};

static void test_cases(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct edge_orders o = { .n = 7 };
		size_t used = 0;
		int rc = edge_orders_get(slice_of(cases[i].bytes, cases[i].len),
					 &o, &used);

		is_int(rc, cases[i].rc, "%s", cases[i].what);
		if (rc < 0)
			ok(o.n == 7 && used == 0, "%s: nothing is changed",
			   cases[i].what);
	}
}

/* As many orders as there may be, with the longest names. */
static void test_round(void)
{
	struct edge_orders o = { .n = EDGE_ORDERS_MAX,
				 .n_ports = EDGE_PORTS_MAX },
			   got;
	struct buf out;
	size_t used = 0;
	bool good = true;

	buf_init(&out, 2 * EDGE_FRAME_MAX);
	for (size_t i = 0; i < o.n; i++) {
		snprintf(o.v[i].name, sizeof(o.v[i].name), NAME_48);
		o.v[i].name[0] = (char)('a' + i % 26);
		o.v[i].name[1] = (char)('a' + i / 26);
		o.v[i].port = (uint16_t)(65535 - i);
		o.v[i].v6 = i % 2;
	}
	for (size_t i = 0; i < o.n_ports; i++)
		o.ports[i] = (struct edge_port){ .id = (uint32_t)(UINT32_MAX -
								  999 + i),
						 .v6 = true,
						 .address = { [15] = 1 },
						 .port = (uint16_t)i };
	is_int(edge_orders_put(&out, &o), 0, "64 and 256 orders are written");
	is_int(edge_orders_get(buf_slice(&out), &got, &used), 0, "and read");
	is_int(used, buf_len(&out), "to the last byte");
	for (size_t i = 0; i < o.n; i++)
		good = good && strcmp(o.v[i].name, got.v[i].name) == 0 &&
		       o.v[i].port == got.v[i].port && o.v[i].v6 == got.v[i].v6;
	ok(good && got.n == o.n, "as they were");
	for (size_t i = 0; i < o.n_ports; i++)
		good = good && got.ports[i].id == o.ports[i].id &&
		       got.ports[i].v6 == o.ports[i].v6 &&
		       memcmp(got.ports[i].address, o.ports[i].address, 16) ==
			       0 &&
		       got.ports[i].port == o.ports[i].port;
	ok(good && got.n_ports == o.n_ports, "and the ports");
	buf_consume(&out, used);
	o.v[1] = o.v[0];
	is_int(edge_orders_put(&out, &o), -EINVAL, "a name twice");
	is_int(buf_len(&out), 0, "is not written");
	buf_done(&out);
}

static const struct {
	const char *what;
	const char *bytes;
	size_t len;
} bad_reports[] = {
	{ "more services than there may be",
	  BYTES("\0\0\0\10\2\x41\0\0\0\0\0\0") },
	{ "bytes that are left over", BYTES("\0\0\0\11\2\1\0\0\0\0\0\0x") },
	{ "no number of ports", BYTES("\0\0\0\6\2\1\0\0\0\0") },
	{ "more ports than there may be", BYTES("\0\0\0\10\2\1\0\0\0\0\1\1") },
	{ "a port of no id",
	  BYTES("\0\0\0\20\2\1\0\0\0\0\0\1\0\0\0\0\0\1\0\0") },
	{ "a port that is neither open nor failed",
	  BYTES("\0\0\0\20\2\1\0\0\0\0\0\1\0\0\0\1\0\0\0\0") },
};

static void test_report(void)
{
	struct edge_report r = { .listening = 3,
				 .ports = { { 1, 8080, 0 },
					    { 5, 0, EADDRINUSE } },
				 .n_ports = 2 },
			   got = { .listening = 9 };
	struct buf out;
	size_t used = 0;

	buf_init(&out, EDGE_FRAME_MAX);
	memset(r.text, 'x', EDGE_TEXT_MAX);
	is_int(edge_report_put(&out, &r), 0, "a report is written");
	is_int(edge_report_get(slice_of(buf_slice(&out).ptr, 9), &got, &used),
	       -EAGAIN, "a part of it is none");
	is_int(got.listening, 9, "and changes nothing");
	is_int(edge_report_get(buf_slice(&out), &got, &used), 0, "and read");
	ok(got.listening == 3 && strcmp(got.text, r.text) == 0 &&
		   got.n_ports == 2 && got.ports[0].port == 8080 &&
		   got.ports[1].error == EADDRINUSE,
	   "as it was");
	buf_done(&out);
	r.ports[1].port = 1;
	is_int(edge_report_put(&out, &r), -EINVAL,
	       "open and failed is neither");
	buf_done(&out);
	for (size_t i = 0; i < ARRAY_SIZE(bad_reports); i++)
		is_int(edge_report_get(slice_of(bad_reports[i].bytes,
						bad_reports[i].len),
				       &got, &used),
		       -EBADMSG, "%s", bad_reports[i].what);
}

int main(void)
{
	ok(edge_name_ok(NAME_48) && !edge_name_ok(NAME_48 "x") &&
		   !edge_name_ok("") && !edge_name_ok("-a") &&
		   !edge_name_ok("A") && !edge_name_ok("a/b"),
	   "names");
	test_cases();
	test_round();
	test_report();
	return done_testing();
}
