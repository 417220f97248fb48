/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_test.c - rows N1 to N5, N9 and N10 of the bypass catalogue, and
 * the shapes of an authority
 */
#include "ottergate/policy/net/name.h"

#include "lib/str.h"
#include "tests/unit/tap.h"

#define BYTES(s) s, sizeof(s) - 1
#define A9 "aaaaaaaaa"
#define L63 A9 A9 A9 A9 A9 A9 A9
#define L61 A9 A9 A9 A9 A9 A9 "aaaaaaa"
#define NAME253 L63 "." L63 "." L63 "." L61
#define CYRILLIC_I "\xd1\x96"
#define FULLWIDTH_DOT "\xe3\x80\x82"
#define FULLWIDTH_127 "\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97"

struct canon_case {
	const char *id, *in;
	size_t len;
	int want;
	const char *name; /* when want is 0 */
};

static const struct canon_case canon_cases[] = {
	{ "N1", BYTES("github.com"), 0, "github.com" },
	{ "N1", BYTES("GitHub.COM"), 0, "github.com" },
	{ "N1", BYTES("GITHUB.COM."), 0, "github.com" },
	{ "N1", BYTES("_Service._TCP.x"), 0, "_service._tcp.x" },
	{ "N1", BYTES("localhost"), 0, "localhost" },
	{ "N2", BYTES("evil.com."), 0, "evil.com" },
	{ "N2", BYTES("evil.com.."), -EBADMSG, NULL },
	{ "N2", BYTES("evil..com"), -EBADMSG, NULL },
	{ "N2", BYTES(".evil.com"), -EBADMSG, NULL },
	{ "N2", BYTES("."), -EBADMSG, NULL },
	{ "N2", BYTES(".."), -EBADMSG, NULL },
	{ "N2", BYTES(""), -EBADMSG, NULL },
	{ "N3", BYTES("evil.com\0.github.com"), -EBADMSG, NULL },
	{ "N3", BYTES("github.com\0"), -EBADMSG, NULL },
	{ "N3", BYTES("\0github.com"), -EBADMSG, NULL },
	{ "N3", BYTES("github.com%00"), -EBADMSG, NULL },
	{ "N3", BYTES("evil.com%00.github.com"), -EBADMSG, NULL },
	{ "N3", BYTES("git hub.com"), -EBADMSG, NULL },
	{ "N3", BYTES(" github.com"), -EBADMSG, NULL },
	{ "N3", BYTES("github.com "), -EBADMSG, NULL },
	{ "N3", BYTES("github.com\t"), -EBADMSG, NULL },
	{ "N3", BYTES("github.com\r\n"), -EBADMSG, NULL },
	{ "N3", BYTES("github.com\x7f"), -EBADMSG, NULL },
	{ "N3", BYTES("github.com\\evil"), -EBADMSG, NULL },
	{ "N3", BYTES("user@github.com"), -EBADMSG, NULL },
	{ "N3", BYTES("evil.com/github.com"), -EBADMSG, NULL },
	{ "N3", BYTES("evil.com#.github.com"), -EBADMSG, NULL },
	{ "N3", BYTES("evil.com?.github.com"), -EBADMSG, NULL },
	{ "N3", BYTES("*.github.com"), -EBADMSG, NULL },
	{ "N3", BYTES("evil.com,github.com"), -EBADMSG, NULL },
	{ "N3", BYTES("[github.com]"), -EAFNOSUPPORT, NULL },
	{ "N3", BYTES("github.com]"), -EAFNOSUPPORT, NULL },
	{ "N3", BYTES("github.com:443"), -EAFNOSUPPORT, NULL },
	{ "N3", BYTES(L63 ".com"), 0, L63 ".com" },
	{ "N3", BYTES("a" L63 ".com"), -EBADMSG, NULL },
	{ "N3", BYTES(NAME253), 0, NAME253 },
	{ "N3", BYTES(NAME253 "."), 0, NAME253 },
	{ "N3", BYTES(NAME253 "a"), -EBADMSG, NULL },
	{ "N3", BYTES(NAME253 "a."), -EBADMSG, NULL },
	{ "N4", BYTES("g" CYRILLIC_I "thub.com"), -EBADMSG, NULL },
	{ "N4", BYTES("github" FULLWIDTH_DOT "com"), -EBADMSG, NULL },
	{ "N4", BYTES("\xef\xbd\x87ithub.com"), -EBADMSG, NULL },
	{ "N4",
	  BYTES("gith\xc3\xbc"
		"b.com"),
	  -EBADMSG, NULL },
	{ "N4",
	  BYTES("githu\xcc\x88"
		"b.com"),
	  -EBADMSG, NULL },
	{ "N4",
	  BYTES("gith\xfc"
		"b.com"),
	  -EBADMSG, NULL },
	{ "N4", BYTES("XN--GTHUB-CUA.com"), 0, "xn--gthub-cua.com" },
	{ "N9", BYTES("1.2.3.4"), -EAFNOSUPPORT, NULL },
	{ "N9", BYTES("1.2.3.4."), -EAFNOSUPPORT, NULL },
	{ "N9", BYTES("[::1]"), -EAFNOSUPPORT, NULL },
	{ "N9", BYTES("::1"), -EAFNOSUPPORT, NULL },
	/* Not addresses: only the last label counts. */
	{ "N10", BYTES("1.2.3.4.com"), 0, "1.2.3.4.com" },
	{ "N10", BYTES("0x7f.com"), 0, "0x7f.com" },
	{ "N10", BYTES("a.0x7g"), 0, "a.0x7g" },
	{ "N10", BYTES("a.1e1"), 0, "a.1e1" },
	{ "N10", BYTES("a.-1"), 0, "a.-1" },
	{ "N10", BYTES("a.deadbeef"), 0, "a.deadbeef" },
};

/* N10: what some resolver or URL parser reads as an address. */
static const char *const spellings[] = {
	"127.0.0.1",
	"2130706433",
	"017700000001",
	"0x7f000001",
	"0X7F000001",
	"0x7f.1",
	"0x7f.0x0.0x0.0x1",
	"0177.0.0.1",
	"0177.0.0.01",
	"00000177.0.0.1",
	"127.1",
	"127.0.1",
	"127.0.0.1.",
	"127.1.",
	"0",
	"0.",
	"0x",
	"0x0",
	"256.256.256.256",
	"999999999999",
	"1.2.3.4.5",
	"1.2.3.09",
	"a.b.c.1",
	"foo.0x7f",
	"foo.0x",
	"169.254.169.254",
	"2852039166",
	"0xa9fea9fe",
	"0xA9.0xFE.0xA9.0xFE",
	"0251.0376.0251.0376",
	"169.254.43518",
	"::ffff:169.254.169.254",
	"::ffff:a9fe:a9fe",
	"0:0:0:0:0:ffff:a9fe:a9fe",
	"::ffff:0:169.254.169.254",
	"::169.254.169.254",
	"64:ff9b::a9fe:a9fe",
	"64:ff9b:1::a9fe:a9fe",
	"2002:a9fe:a9fe::",
	"2001:0:a9fe:a9fe::",
	"fe80::5efe:169.254.169.254",
	"fe80::1%eth0",
	"0000:0000:0000:0000:0000:0000:0000:0001",
	"[fd00:ec2::254]",
	"[::]",
};

static void test_canon(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(canon_cases); i++) {
		const struct canon_case *c = &canon_cases[i];
		struct name n = { .len = 3, .s = "was" };
		int rc = name_canon(slice_of(c->in, c->len), &n);
		const char *want = c->want ? "was" : c->name;
		char text[64];

		ok(rc == c->want && strcmp(n.s, want) == 0 &&
			   n.len == strlen(want),
		   "%s: %s: %d", c->id,
		   str_escape(text, sizeof(text), c->in, c->len), rc);
	}
	for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
		struct name n;

		is_int(name_canon(slice_str(spellings[i]), &n), -EAFNOSUPPORT,
		       "N10: %s", spellings[i]);
	}
}

/* N1, N3: one byte in the middle, all 256 of them. */
static void test_alphabet(void)
{
	int bad = 0;

	for (unsigned c = 0; c < 256; c++) {
		char in[] = { 'a', (char)c, 'b', '.', 'c' };
		bool upper = c >= 'A' && c <= 'Z';
		bool good = upper || (c >= 'a' && c <= 'z') ||
			    (c >= '0' && c <= '9') || c == '-' || c == '_' ||
			    c == '.';
		struct name n;
		int rc = name_canon(slice_of(in, sizeof(in)), &n);

		bad += (rc == 0) != good;
		if (good)
			bad += (unsigned char)n.s[1] != (upper ? c + 32 : c);
	}
	is_int(bad, 0, "N3: each byte is in the alphabet or refuses the name");
}

static int wire(const char *const *labels, size_t n, struct name *ret)
{
	int rc = 0;

	ret->len = 0;
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = name_wire_label(ret, slice_str(labels[i]));
	return rc < 0 ? rc : name_wire_end(ret);
}

static void test_wire(void)
{
	const char *const good[] = { "WWW", "GitHub", "com" };
	const char *const dotted[] = { "www.github", "com" };
	const char *const number[] = { "127", "0", "0", "0x1" };
	const char *const empty[] = { "www", "", "com" };
	const char *const colon[] = { "::1" };
	const char *const fits[] = { L63, L63, L63, L61 };
	const char *const longer[] = { L63, L63, L63, L61 "a" };
	struct name n, before;

	ok(wire(good, 3, &n) == 0 && strcmp(n.s, "www.github.com") == 0 &&
		   n.len == 14,
	   "N1: labels of DNS are lowered");
	is_int(wire(dotted, 2, &n), -EBADMSG, "N3: a label that holds a dot");
	is_int(wire(number, 4, &n), -EAFNOSUPPORT, "N10: labels of an address");
	is_int(wire(colon, 1, &n), -EAFNOSUPPORT, "N10: a label of IPv6");
	is_int(wire(empty, 3, &n), -EBADMSG, "N2: a label of nothing");
	is_int(wire(NULL, 0, &n), -EBADMSG, "N2: the root is no name");
	ok(wire(fits, 4, &n) == 0 && n.len == NAME_LEN_MAX, "253 bytes");
	is_int(wire(longer, 4, &n), -EBADMSG, "254 bytes");
	is_int(wire(good, 3, &n), 0, "again");
	before = n;
	is_int(name_wire_label(&n, slice_of("b\0d", 3)), -EBADMSG,
	       "N3: NUL in a label");
	ok(n.len == before.len && strcmp(n.s, before.s) == 0,
	   "what was refused leaves no trace");
}

struct authority_case {
	const char *id, *in;
	size_t len;
	const char *name; /* NULL and text NULL: refused */
	const char *addr;
	uint16_t port;
};

static const struct authority_case authority_cases[] = {
	{ "H2", BYTES("GitHub.com"), "github.com", NULL, 443 },
	{ "H2", BYTES("github.com.:8443"), "github.com", NULL, 8443 },
	{ "H2", BYTES("github.com:1"), "github.com", NULL, 1 },
	{ "H2", BYTES("github.com:65535"), "github.com", NULL, 65535 },
	{ "N9", BYTES("1.2.3.4"), NULL, "1.2.3.4", 443 },
	{ "N9", BYTES("1.2.3.4:80"), NULL, "1.2.3.4", 80 },
	{ "N9", BYTES("[::1]"), NULL, "::1", 443 },
	{ "N9", BYTES("[2606:4700::1]:8443"), NULL, "2606:4700::1", 8443 },
	{ "N9", BYTES("[::ffff:1.2.3.4]:1"), NULL, "::ffff:1.2.3.4", 1 },
	{ "N10", BYTES("127.1"), NULL, NULL, 0 },
	{ "N10", BYTES("127.1:443"), NULL, NULL, 0 },
	{ "N10", BYTES("0x7f000001:443"), NULL, NULL, 0 },
	{ "N10", BYTES("0177.0.0.1:443"), NULL, NULL, 0 },
	{ "N10", BYTES("127.0.0.1.:443"), NULL, NULL, 0 },
	{ "N10", BYTES("127.0.0.01:443"), NULL, NULL, 0 },
	{ "N10", BYTES("[127.0.0.1]:443"), NULL, NULL, 0 },
	{ "N10", BYTES("::1"), NULL, NULL, 0 },
	{ "N10", BYTES("[0:0:0:0:0:0:0:1]"), NULL, NULL, 0 },
	{ "N10", BYTES("[::0001]"), NULL, NULL, 0 },
	{ "N10", BYTES("[::FFFF:1.2.3.4]"), NULL, NULL, 0 },
	{ "N10", BYTES("[::ffff:102:304]"), NULL, NULL, 0 },
	{ "N10", BYTES("[fe80::1%eth0]"), NULL, NULL, 0 },
	{ "N10", BYTES("[fe80::1%25eth0]"), NULL, NULL, 0 },
	{ "N3", BYTES("[github.com]:443"), NULL, NULL, 0 },
	{ "N3", BYTES("[::1"), NULL, NULL, 0 },
	{ "N3", BYTES("[::1]x"), NULL, NULL, 0 },
	{ "N3", BYTES("[::1]]"), NULL, NULL, 0 },
	{ "N3", BYTES("[[::1]]"), NULL, NULL, 0 },
	{ "N3", BYTES("[]"), NULL, NULL, 0 },
	{ "N3", BYTES("["), NULL, NULL, 0 },
	{ "N3", BYTES("[::1\0]"), NULL, NULL, 0 },
	{ "N3", BYTES("a@github.com"), NULL, NULL, 0 },
	{ "N3", BYTES("a:b@github.com:443"), NULL, NULL, 0 },
	{ "N3", BYTES("github.com\0:443"), NULL, NULL, 0 },
	{ "N3", BYTES("github.com/:443"), NULL, NULL, 0 },
	{ "H5", BYTES("github.com:"), NULL, NULL, 0 },
	{ "H5", BYTES("github.com:0"), NULL, NULL, 0 },
	{ "H5", BYTES("github.com:0443"), NULL, NULL, 0 },
	{ "H5", BYTES("github.com:65536"), NULL, NULL, 0 },
	{ "H5", BYTES("github.com:65979"), NULL, NULL, 0 },
	{ "H5", BYTES("github.com:4294967739"), NULL, NULL, 0 },
	{ "H5", BYTES("github.com:+443"), NULL, NULL, 0 },
	{ "H5", BYTES("github.com:-1"), NULL, NULL, 0 },
	{ "H5", BYTES("github.com: 443"), NULL, NULL, 0 },
	{ "H5", BYTES("github.com:443 "), NULL, NULL, 0 },
	{ "H5", BYTES("github.com:0x1bb"), NULL, NULL, 0 },
	{ "H5", BYTES("github.com:443:443"), NULL, NULL, 0 },
	{ "H5", BYTES("github.com:https"), NULL, NULL, 0 },
	{ "H5", BYTES(":443"), NULL, NULL, 0 },
	{ "H5", BYTES(""), NULL, NULL, 0 },
};

static void test_authority(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(authority_cases); i++) {
		const struct authority_case *c = &authority_cases[i];
		struct name n = { .len = 3, .s = "was" };
		struct addr a = { .family = 9 };
		uint16_t port = 7;
		char text[ADDR_TEXT_MAX], shown[64];
		int rc = name_authority(slice_of(c->in, c->len), 443, &n, &a,
					&port);
		bool good;

		if (c->name)
			good = rc == 0 && strcmp(n.s, c->name) == 0 &&
			       a.family == 0 && port == c->port;
		else if (c->addr)
			good = rc == 0 && n.len == 0 && port == c->port &&
			       strcmp(addr_text(&a, text), c->addr) == 0;
		else
			good = rc == -EBADMSG && strcmp(n.s, "was") == 0 &&
			       a.family == 9 && port == 7;
		ok(good, "%s: authority %s: %d", c->id,
		   str_escape(shown, sizeof(shown), c->in, c->len), rc);
	}
}

int main(void)
{
	test_canon();
	test_alphabet();
	test_wire();
	test_authority();
	return done_testing();
}
