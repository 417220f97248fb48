/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_test.c - the guest link's codec against tables of good and bad bytes
 */
#include "init-guard/link.h"

#include "tests/unit/tap.h"

/* Bytes as a string literal, its own NUL left out. */
#define BYTES(s) .ptr = (s), .len = sizeof(s) - 1

struct parse_case {
	const char *what;
	const char *ptr;
	size_t len;
	int want;
};

/* Judged by the header: payloads that are missing do not matter for these. */
static const struct parse_case parse_cases[] = {
	{ "nothing", BYTES(""), -EAGAIN },
	{ "half a length", BYTES("\0\0"), -EAGAIN },
	{ "eight of nine header bytes", BYTES("\0\0\0\5\2\0\0\0"), -EAGAIN },
	{ "READY", BYTES("\0\0\0\7\2\0\0\0\0\0\0"), 0 },
	{ "READY and more", BYTES("\0\0\0\7\2\0\0\0\0\0\0\0"), 0 },
	{ "READY on a channel", BYTES("\0\0\0\5\2\0\0\0\1"), -EBADMSG },
	{ "READY without its report", BYTES("\0\0\0\6\2\0\0\0\0\0"), -EBADMSG },
	{ "length 0", BYTES("\0\0\0\0\2\0\0\0\0"), -EBADMSG },
	{ "length 4, less than its own header", BYTES("\0\0\0\4\2\0\0\0\0"),
	  -EBADMSG },
	{ "length 2^32 - 1", BYTES("\xff\xff\xff\xff\x31\0\0\0\1"), -EBADMSG },
	{ "one byte over the maximum", /* 5 + 131072 + 1 */
	  BYTES("\0\2\0\6\x31\0\0\0\1"), -EBADMSG },
	{ "the maximum, payload to come", BYTES("\0\2\0\5\x31\0\0\0\1"),
	  -EAGAIN },
	{ "type 0", BYTES("\0\0\0\5\0\0\0\0\0"), -EBADMSG },
	{ "type 9, between the known", BYTES("\0\0\0\5\11\0\0\0\0"), -EBADMSG },
	{ "AUDIT", BYTES("\0\0\0\7\10\0\0\0\0{}"), 0 },
	{ "AUDIT of nothing", BYTES("\0\0\0\5\10\0\0\0\0"), -EBADMSG },
	{ "AUDIT on a channel", BYTES("\0\0\0\7\10\0\0\0\1{}"), -EBADMSG },
	{ "type 255", BYTES("\0\0\0\5\xff\0\0\0\0"), -EBADMSG },
	{ "an unknown type is refused before its payload",
	  BYTES("\0\0\0\x50\x63\0\0\0\0"), -EBADMSG },
	{ "HELLO", BYTES("\0\0\0\xb\1\0\0\0\0\0\1\0\0\0\0"), 0 },
	{ "HELLO too short", BYTES("\0\0\0\xa\1\0\0\0\0\0\1\0\0\0"), -EBADMSG },
	{ "STDOUT", BYTES("\0\0\0\6\x31\0\0\0\1x"), 0 },
	{ "STDOUT, payload missing", BYTES("\0\0\0\6\x31\0\0\0\1"), -EAGAIN },
	{ "STDOUT on channel 0", BYTES("\0\0\0\6\x31\0\0\0\0x"), -EBADMSG },
	{ "STDOUT without bytes", BYTES("\0\0\0\5\x31\0\0\0\1"), 0 },
	{ "CREDIT of three bytes", BYTES("\0\0\0\x8\x40\0\0\0\1\0\0\1"),
	  -EBADMSG },
	{ "PING of 65 bytes", BYTES("\0\0\0\x46\x11\0\0\0\0"), -EBADMSG },
	{ "FAIL without a code", BYTES("\0\0\0\5\3\0\0\0\0"), -EBADMSG },
	{ "LOG of 4097 bytes", BYTES("\0\0\x10\x07\4\0\0\0\0"), -EBADMSG },
	{ "EXEC too short for its numbers", BYTES("\0\0\0\x14\x20\0\0\0\1"),
	  -EBADMSG },
	{ "NOTICE on any channel", BYTES("\0\0\0\6\x42\0\0\0\0\1"), 0 },
	{ "NOTICE on another", BYTES("\0\0\0\6\x42\0\0\0\7\1"), 0 },
};

static void test_parse(void)
{
	struct link_frame f;
	struct slice in;
	size_t i, need;
	int rc;

	for (i = 0; i < ARRAY_SIZE(parse_cases); i++) {
		const struct parse_case *c = &parse_cases[i];

		in = slice_of(c->ptr, c->len);
		rc = link_parse(&in, &f, NULL);
		is_int(rc, c->want, "parse: %s", c->what);
		if (rc < 0)
			is_int(in.len, c->len, "... and takes nothing");
	}
	in = slice_of("\0\0\0\7\x31\0\0\0\1x", 10);
	ok(link_parse(&in, &f, &need) == -EAGAIN && need == 11,
	   "parse tells how much is needed");
	in = slice_of("\0\0", 2);
	ok(link_parse(&in, &f, &need) == -EAGAIN && need == LINK_HEADER,
	   "... and asks for the header first");
}

struct payload_case {
	const char *what;
	const char *ptr;
	size_t len;
	enum link_type type;
	int want;
};

#define ASSIGN_HEAD "\0\0\0\1n\0\0\0\0\0\0\0\0\0\0"
#define EXEC_HEAD "\0\0\0\0\0\0\0\0" /* flags, rows, columns */
#define LOGIN_HEAD "\0\0\0\4\0\0\0\0"
#define FILES_HEAD "\0\0\0\xa\0\0\0\0" /* with STDIN */

/* The insides, as an honest header would bring them. */
static const struct payload_case payload_cases[] = {
	{ "EXEC: ls",
	  BYTES(EXEC_HEAD "\0\0\0\0"
			  "\0\1\0\0\0\2ls"
			  "\0\0"),
	  LINK_EXEC, 0 },
	{ "EXEC: cwd and environment",
	  BYTES(EXEC_HEAD "\0\0\0\1/"
			  "\0\1\0\0\0\1a"
			  "\0\1\0\0\0\3A=b"),
	  LINK_EXEC, 0 },
	{ "EXEC: an empty argument",
	  BYTES(EXEC_HEAD "\0\0\0\0"
			  "\0\2\0\0\0\1a\0\0\0\0"
			  "\0\0"),
	  LINK_EXEC, 0 },
	{ "EXEC: login shell",
	  BYTES(LOGIN_HEAD "\0\0\0\0"
			   "\0\0"
			   "\0\0"),
	  LINK_EXEC, 0 },
	{ "EXEC: no command and no login",
	  BYTES(EXEC_HEAD "\0\0\0\0"
			  "\0\0"
			  "\0\0"),
	  LINK_EXEC, -EBADMSG },
	{ "EXEC: login with a command",
	  BYTES(LOGIN_HEAD "\0\0\0\0"
			   "\0\1\0\0\0\2ls"
			   "\0\0"),
	  LINK_EXEC, -EBADMSG },
	{ "EXEC: the file server",
	  BYTES(FILES_HEAD "\0\0\0\0"
			   "\0\0"
			   "\0\0"),
	  LINK_EXEC, 0 },
	{ "EXEC: the file server with a command",
	  BYTES(FILES_HEAD "\0\0\0\0"
			   "\0\1\0\0\0\2ls"
			   "\0\0"),
	  LINK_EXEC, -EBADMSG },
	{ "EXEC: the file server on a terminal",
	  BYTES("\0\0\0\xb\0\0\0\0"
		"\0\0\0\0"
		"\0\0"
		"\0\0"),
	  LINK_EXEC, -EBADMSG },
	{ "EXEC: an unknown flag",
	  BYTES("\0\0\0\x10\0\0\0\0"
		"\0\0\0\0"
		"\0\1\0\0\0\2ls"
		"\0\0"),
	  LINK_EXEC, -EBADMSG },
	{ "EXEC: a byte after the end",
	  BYTES(EXEC_HEAD "\0\0\0\0"
			  "\0\1\0\0\0\2ls"
			  "\0\0"
			  "x"),
	  LINK_EXEC, -EBADMSG },
	{ "EXEC: fewer arguments than said",
	  BYTES(EXEC_HEAD "\0\0\0\0"
			  "\0\2\0\0\0\2ls"
			  "\0\0"),
	  LINK_EXEC, -EBADMSG },
	{ "EXEC: an argument longer than the frame",
	  BYTES(EXEC_HEAD "\0\0\0\0"
			  "\0\1\0\0\0\x7fls"
			  "\0\0"),
	  LINK_EXEC, -EBADMSG },
	{ "EXEC: an argument of 4 GiB",
	  BYTES(EXEC_HEAD "\0\0\0\0"
			  "\0\1\xff\xff\xff\xffls\0\0"),
	  LINK_EXEC, -EBADMSG },
	{ "EXEC: 4097 arguments",
	  BYTES(EXEC_HEAD "\0\0\0\0"
			  "\x10\1\0\0\0\2ls"
			  "\0\0"),
	  LINK_EXEC, -EBADMSG },
	{ "EXEC: NUL in an argument",
	  BYTES(EXEC_HEAD "\0\0\0\0"
			  "\0\1\0\0\0\2l\0"
			  "\0\0"),
	  LINK_EXEC, -EBADMSG },
	{ "EXEC: NUL in the directory",
	  BYTES(EXEC_HEAD "\0\0\0\1\0"
			  "\0\1\0\0\0\2ls"
			  "\0\0"),
	  LINK_EXEC, -EBADMSG },
	{ "EXEC: environment without =",
	  BYTES(EXEC_HEAD "\0\0\0\0"
			  "\0\1\0\0\0\1a"
			  "\0\1\0\0\0\3ABC"),
	  LINK_EXEC, -EBADMSG },
	{ "EXEC: environment without a name",
	  BYTES(EXEC_HEAD "\0\0\0\0"
			  "\0\1\0\0\0\1a"
			  "\0\1\0\0\0\2=b"),
	  LINK_EXEC, -EBADMSG },
	{ "ASSIGN", BYTES(ASSIGN_HEAD "\0\0\0\2\0g\0\0\0\1c"), LINK_ASSIGN, 0 },
	{ "ASSIGN: no grant, no CA", BYTES(ASSIGN_HEAD "\0\0\0\0\0\0\0\0"),
	  LINK_ASSIGN, 0 },
	{ "ASSIGN: cut", BYTES(ASSIGN_HEAD "\0\0\0\0\0\0\0"), LINK_ASSIGN,
	  -EBADMSG },
	{ "ASSIGN: without a grant's length", BYTES(ASSIGN_HEAD), LINK_ASSIGN,
	  -EBADMSG },
	{ "ASSIGN: without a CA's length", BYTES(ASSIGN_HEAD "\0\0\0\4gggg"),
	  LINK_ASSIGN, -EBADMSG },
	{ "ASSIGN: a NUL in the CA", BYTES(ASSIGN_HEAD "\0\0\0\0\0\0\0\1\0"),
	  LINK_ASSIGN, -EBADMSG },
	{ "ASSIGN: a CA of 24577 bytes",
	  BYTES(ASSIGN_HEAD "\0\0\0\0\0\0\x60\1c"), LINK_ASSIGN, -EBADMSG },
	{ "ASSIGN: longer", BYTES(ASSIGN_HEAD "\0\0\0\0\0\0\0\0\0"),
	  LINK_ASSIGN, -EBADMSG },
	{ "ASSIGN: a grant of 32769 bytes",
	  BYTES(ASSIGN_HEAD "\0\0\x80\1g\0\0\0\0"), LINK_ASSIGN, -EBADMSG },
	{ "PREPARE", BYTES("\0\0\0\1c\0\0\0\3"), LINK_PREPARE, 0 },
	{ "PREPARE: no CA, no flag", BYTES("\0\0\0\0\0\0\0\0"), LINK_PREPARE,
	  0 },
	{ "PREPARE: cut", BYTES("\0\0\0\1c\0\0\0"), LINK_PREPARE, -EBADMSG },
	{ "PREPARE: longer", BYTES("\0\0\0\1c\0\0\0\1\0"), LINK_PREPARE,
	  -EBADMSG },
	{ "PREPARE: a flag that is none", BYTES("\0\0\0\1c\0\0\0\x8"),
	  LINK_PREPARE, -EBADMSG },
	{ "PREPARE: a NUL in the CA", BYTES("\0\0\0\1\0\0\0\0\0"), LINK_PREPARE,
	  -EBADMSG },
	{ "PREPARE: a CA of 65537 bytes", BYTES("\0\1\0\1c\0\0\0\0"),
	  LINK_PREPARE, -EBADMSG },
	{ "READY: no check", BYTES("\0\0"), LINK_READY, 0 },
	{ "READY: two checks",
	  BYTES("\0\2\0\0\0\4a=ok"
		"\0\0\0\x0e"
		"b-1=skipped: x"),
	  LINK_READY, 0 },
	{ "READY: more", BYTES("\0\0\0"), LINK_READY, -EBADMSG },
	{ "READY: no value", BYTES("\0\1\0\0\0\1a"), LINK_READY, -EBADMSG },
	{ "READY: no name", BYTES("\0\1\0\0\0\3=ok"), LINK_READY, -EBADMSG },
	{ "READY: another value", BYTES("\0\1\0\0\0\5a=ok!"), LINK_READY,
	  -EBADMSG },
	{ "READY: skipped for no reason",
	  BYTES("\0\1\0\0\0\x0c"
		"a=skipped: "),
	  LINK_READY, -EBADMSG },
	{ "READY: a name in capitals", BYTES("\0\1\0\0\0\4A=ok"), LINK_READY,
	  -EBADMSG },
	{ "READY: an escape",
	  BYTES("\0\1\0\0\0\x0d"
		"a=skipped: \033"),
	  LINK_READY, -EBADMSG },
	{ "EXIT: 0",
	  BYTES("\0\0\0\0\0"
		"\0\0\0\0\0\0\0\1"
		"\0\0\0\0\0\0\0\2"
		"\0\0\0\0\0\0\0\3"),
	  LINK_EXIT, 0 },
	{ "EXIT: code 256",
	  BYTES("\0\0\0\1\0"
		"\0\0\0\0\0\0\0\1"
		"\0\0\0\0\0\0\0\2"
		"\0\0\0\0\0\0\0\3"),
	  LINK_EXIT, -EBADMSG },
	{ "EXIT: signal 0",
	  BYTES("\1\0\0\0\0"
		"\0\0\0\0\0\0\0\1"
		"\0\0\0\0\0\0\0\2"
		"\0\0\0\0\0\0\0\3"),
	  LINK_EXIT, -EBADMSG },
	{ "EXIT: signal 65",
	  BYTES("\1\0\0\0\x41"
		"\0\0\0\0\0\0\0\1"
		"\0\0\0\0\0\0\0\2"
		"\0\0\0\0\0\0\0\3"),
	  LINK_EXIT, -EBADMSG },
	{ "EXIT: errno 0",
	  BYTES("\2\0\0\0\0"
		"\0\0\0\0\0\0\0\1"
		"\0\0\0\0\0\0\0\2"
		"\0\0\0\0\0\0\0\3"),
	  LINK_EXIT, -EBADMSG },
	{ "EXIT: kind 6",
	  BYTES("\6\0\0\0\0"
		"\0\0\0\0\0\0\0\1"
		"\0\0\0\0\0\0\0\2"
		"\0\0\0\0\0\0\0\3"),
	  LINK_EXIT, -EBADMSG },
	{ "SIGNAL 15", BYTES("\0\0\0\xf"), LINK_SIGNAL, 0 },
	{ "SIGNAL 0", BYTES("\0\0\0\0"), LINK_SIGNAL, -EBADMSG },
	{ "SIGNAL 65", BYTES("\0\0\0\x41"), LINK_SIGNAL, -EBADMSG },
};

static int payload_get(const struct link_frame *f)
{
	struct link_prepare_args prepare;
	struct link_assign_args assign;
	struct link_exec_args exec;
	struct link_exit x;
	char **checks;
	uint32_t v;
	int rc;

	switch (f->type) {
	case LINK_EXEC:
		rc = link_get_exec(f, &exec);
		if (rc == 0)
			link_exec_args_done(&exec);
		return rc;
	case LINK_PREPARE:
		rc = link_get_prepare(f, &prepare);
		if (rc == 0)
			link_prepare_args_done(&prepare);
		return rc;
	case LINK_ASSIGN:
		rc = link_get_assign(f, &assign);
		if (rc == 0)
			link_assign_args_done(&assign);
		return rc;
	case LINK_READY:
		rc = link_get_ready(f, &checks);
		if (rc == 0)
			link_vec_free(checks);
		return rc;
	case LINK_EXIT:
		return link_get_exit(f, &x);
	default:
		return link_get_u32(f, &v);
	}
}

static void test_payloads(void)
{
	struct link_frame f;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(payload_cases); i++) {
		const struct payload_case *c = &payload_cases[i];

		f = (struct link_frame){ .type = c->type,
					 .channel = 1,
					 .payload = slice_of(c->ptr, c->len) };
		is_int(payload_get(&f), c->want, "%s", c->what);
	}
	f = (struct link_frame){ .type = LINK_STDIN,
				 .channel = 1,
				 .payload = slice_of("\0\0\0\1", 4) };
	is_int(payload_get(&f), -EBADMSG, "no number in a STDIN");
}

/* Parses the one frame that @b holds. */
static bool parse_only(const struct buf *b, struct link_frame *f)
{
	struct slice s = buf_slice(b);

	return link_parse(&s, f, NULL) == 0 && s.len == 0;
}

static void test_exec_round(void)
{
	static const char *const argv[] = { "sh", "-c", "", "\xff\n", NULL };
	static const char *const env[] = { "A=", "B=c=d", NULL };
	const struct link_exec x = {
		.flags = LINK_EXEC_PTY | LINK_EXEC_STDIN,
		.rows = 24,
		.cols = 65535,
		.cwd = "/a b",
		.argv = argv,
		.env = env,
	};
	struct link_exec_args got = { 0 };
	struct link_frame f;
	struct buf b;

	buf_init(&b, 65536);
	is_int(link_put_exec(&b, 7, &x), 0, "EXEC is put");
	ok(parse_only(&b, &f) && f.channel == 7, "... and parses");
	is_int(link_get_exec(&f, &got), 0, "... and is read back");
	ok(got.flags == x.flags && got.rows == 24 && got.cols == 65535,
	   "numbers survive");
	is_str(got.cwd, "/a b", "cwd survives");
	is_str(got.argv[2], "", "an empty argument survives");
	is_str(got.argv[3], "\xff\n", "odd bytes survive");
	ok(!got.argv[4], "argv ends where it did");
	is_str(got.env[1], "B=c=d", "environment survives");
	link_exec_args_done(&got);
	link_exec_args_done(&got);
	ok(!got.argv, "done twice is fine");
	buf_done(&b);
}

static void test_ready_round(void)
{
	static char big[LINK_CA_MAX + 2], *many[LINK_CHECKS_MAX + 2];
	struct link_prepare p = { .ca = big };
	struct link_assign a = { .name = "otter-1" };
	char ok_text[] = "a=ok", **checks = NULL;
	struct link_frame f;
	struct buf b;
	size_t i;

	buf_init(&b, 65536);
	memset(big, 'c', LINK_CA_MAX + 1);
	is_int(link_put_prepare(&b, &p), -EMSGSIZE, "a CA has a limit");
	a.vault = big;
	a.vault_len = LINK_VAULT_MAX + 1;
	is_int(link_put_assign(&b, &a), -EMSGSIZE, "so has a grant");
	a.vault_len = 0;
	a.ca = big;
	big[LINK_OWN_CA_MAX + 1] = '\0';
	is_int(link_put_assign(&b, &a), -EMSGSIZE, "and a sandbox's own CA");
	for (i = 0; i <= LINK_CHECKS_MAX; i++)
		many[i] = ok_text;
	is_int(link_put_ready(&b, (const char *const *)many), -EMSGSIZE,
	       "so has the report");
	many[LINK_CHECKS_MAX] = NULL;
	ok(link_put_ready(&b, (const char *const *)many) == 0 &&
		   parse_only(&b, &f) && link_get_ready(&f, &checks) == 0,
	   "READY goes round");
	is_str(checks[LINK_CHECKS_MAX - 1], "a=ok", "... with its checks");
	link_vec_free(checks);
	buf_done(&b);
}

static void test_start_rounds(void)
{
	const struct link_assign a = {
		.name = "otter-1",
		.nproc = 256,
		.vault = "a\0b",
		.vault_len = 3,
		.ca = "own",
	};
	const struct link_prepare p = { .ca = "pem",
					.flags = LINK_PREPARE_OWN_CA };
	struct link_prepare_args gotp = { 0 };
	struct link_assign_args got = { 0 };
	struct link_frame f;
	struct buf b;

	buf_init(&b, 65536);
	ok(link_put_assign(&b, &a) == 0 && parse_only(&b, &f) &&
		   link_get_assign(&f, &got) == 0,
	   "ASSIGN goes round");
	is_str(got.name, "otter-1", "... with its name");
	is_int(got.nproc, 256, "... and limit");
	ok(got.env && !got.env[0], "... and an empty environment");
	ok(got.vault_len == 3 && memcmp(got.vault, "a\0b", 3) == 0,
	   "... and the bytes of a grant");
	is_str(got.ca, "own", "... and a CA");
	link_assign_args_done(&got);
	buf_consume(&b, buf_len(&b));

	ok(link_put_prepare(&b, &p) == 0 && parse_only(&b, &f) &&
		   link_get_prepare(&f, &gotp) == 0,
	   "PREPARE goes round");
	is_str(gotp.ca, "pem", "... with its CA");
	is_int(gotp.flags, LINK_PREPARE_OWN_CA, "... and flags");
	link_prepare_args_done(&gotp);
	buf_done(&b);
}

static void test_other_rounds(void)
{
	const struct link_exit x = { LINK_SIGNALED, 9, 1, 2, UINT64_MAX };
	struct link_exit gotx;
	struct link_frame f;
	uint16_t rows, cols, version;
	struct slice text;
	uint32_t v;
	uint8_t level;
	struct buf b;

	buf_init(&b, 65536);
	ok(link_put_exit(&b, 3, &x) == 0 && parse_only(&b, &f) &&
		   link_get_exit(&f, &gotx) == 0 && gotx.kind == x.kind &&
		   gotx.value == 9 && gotx.system_us == UINT64_MAX,
	   "EXIT goes round");
	buf_consume(&b, buf_len(&b));
	ok(link_put_resize(&b, 3, 10, 20) == 0 && parse_only(&b, &f) &&
		   link_get_resize(&f, &rows, &cols) == 0 && rows == 10 &&
		   cols == 20,
	   "RESIZE goes round");
	buf_consume(&b, buf_len(&b));
	ok(link_put_text(&b, LINK_FAIL, 0, 78, "no") == 0 &&
		   parse_only(&b, &f) &&
		   link_get_text(&f, &level, &text) == 0 && level == 78 &&
		   slice_eq(text, slice_str("no")),
	   "FAIL goes round");
	buf_consume(&b, buf_len(&b));
	ok(link_put_audit(&b, slice_str("{\"a\":1}")) == 0 &&
		   parse_only(&b, &f) && link_get_audit(&f, &text) == 0 &&
		   slice_eq(text, slice_str("{\"a\":1}")),
	   "AUDIT goes round");
	is_int(link_get_text(&f, &level, &text), -EBADMSG, "and is no text");
	buf_consume(&b, buf_len(&b));
	ok(link_put(&b, LINK_AUDIT, 0, "{\x1b}", 3) == 0 &&
		   parse_only(&b, &f) && link_get_audit(&f, &text) == -EBADMSG,
	   "not with control bytes");
	buf_consume(&b, buf_len(&b));
	is_int(link_put_audit(&b, slice_str("{\x1b}")), -EINVAL,
	       "nor is it put then");
	is_int(link_put_audit(&b, slice_str("")), -EINVAL, "nor empty");
	ok(link_put_hello(&b, 5) == 0 && parse_only(&b, &f) &&
		   link_get_hello(&f, &version, &v) == 0 &&
		   version == LINK_VERSION && v == 5,
	   "HELLO goes round");
	buf_consume(&b, buf_len(&b));
	ok(link_put_u32(&b, LINK_CREDIT, 9, 0xfffefdfcu) == 0 &&
		   parse_only(&b, &f) && link_get_u32(&f, &v) == 0 &&
		   v == 0xfffefdfcu,
	   "CREDIT goes round");
	buf_done(&b);
}

static void test_limits(void)
{
	static char big[LINK_PAYLOAD_MAX + 2];
	static const char *argv[LINK_ARGS_MAX + 2];
	const char *one[] = { big, NULL };
	struct link_exec x = { .cwd = "", .argv = one };
	struct link_frame f;
	struct slice text;
	uint8_t level;
	struct buf b;
	size_t i;

	buf_init(&b, 2 * sizeof(big));
	is_int(link_put(&b, LINK_STDIN, 1, big, LINK_PAYLOAD_MAX), 0,
	       "the largest payload is put");
	is_int(link_put(&b, LINK_STDIN, 1, big, LINK_PAYLOAD_MAX + 1),
	       -EMSGSIZE, "one byte more is not");
	memset(big, 'x', sizeof(big) - 1);
	is_int(link_put_exec(&b, 2, &x), -EMSGSIZE, "nor a large EXEC");
	for (i = 0; i <= LINK_ARGS_MAX; i++)
		argv[i] = "a";
	x.argv = argv;
	is_int(link_put_exec(&b, 2, &x), -EMSGSIZE, "nor 4097 arguments");
	is_int(buf_len(&b), LINK_HEADER + LINK_PAYLOAD_MAX,
	       "what was refused left nothing behind");
	buf_done(&b);

	buf_init(&b, LINK_HEADER + 3);
	is_int(link_put_u32(&b, LINK_CREDIT, 1, 1), -ENOBUFS,
	       "a full buffer refuses");
	is_int(buf_len(&b), 0, "... and gets nothing");
	buf_done(&b);

	buf_init(&b, 65536);
	ok(link_put_text(&b, LINK_LOG, 0, 1, big) == 0 && parse_only(&b, &f) &&
		   link_get_text(&f, &level, &text) == 0 &&
		   text.len == LINK_TEXT_MAX,
	   "a long text is cut");
	buf_done(&b);
}

static void test_codes(void)
{
	static const struct {
		struct link_exit x;
		int code;
	} cases[] = {
		{ { .kind = LINK_EXITED, .value = 0 }, 0 },
		{ { .kind = LINK_EXITED, .value = 255 }, 255 },
		{ { .kind = LINK_SIGNALED, .value = 11 }, 139 },
		{ { .kind = LINK_NOEXEC, .value = ENOENT }, 127 },
		{ { .kind = LINK_NOEXEC, .value = EACCES }, 126 },
		{ { .kind = LINK_NOEXEC, .value = ENOEXEC }, 126 },
		{ { .kind = LINK_NOCWD, .value = ENOENT }, 126 },
		{ { .kind = LINK_TIMEOUT }, 124 },
		{ { .kind = LINK_OOM }, 137 },
		{ { .kind = LINK_LOST }, 125 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		is_int(link_exit_code(&cases[i].x), cases[i].code,
		       "exit code of kind %d value %u", cases[i].x.kind,
		       cases[i].x.value);
}

int main(void)
{
	test_parse();
	test_payloads();
	test_exec_round();
	test_start_rounds();
	test_other_rounds();
	test_ready_round();
	test_limits();
	test_codes();
	return done_testing();
}
