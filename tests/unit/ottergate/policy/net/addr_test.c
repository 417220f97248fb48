/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addr_test.c - rows K6, N10 and N11 of the bypass catalogue: what an
 * address is, in whatever form it hides
 */
#include "ottergate/policy/net/addr.h"

#include "tests/unit/tap.h"

struct class_case {
	const char *id, *text;
	enum addr_class want;
};

static const struct class_case class_cases[] = {
	{ "K6", "169.254.169.254", ADDR_METADATA },
	{ "K6", "169.254.169.253", ADDR_METADATA },
	{ "K6", "169.254.169.123", ADDR_METADATA },
	{ "K6", "169.254.170.2", ADDR_METADATA },
	{ "K6", "169.254.170.23", ADDR_METADATA },
	{ "K6", "169.254.42.42", ADDR_METADATA },
	{ "K6", "169.254.0.23", ADDR_METADATA },
	{ "K6", "100.100.100.200", ADDR_METADATA },
	{ "K6", "192.0.0.192", ADDR_METADATA },
	{ "K6", "168.63.129.16", ADDR_METADATA },
	{ "K6", "fd00:ec2::254", ADDR_METADATA },
	{ "K6", "fd00:ec2::23", ADDR_METADATA },
	{ "K6", "fd20:ce::254", ADDR_METADATA },
	{ "K6", "fd00:42::42", ADDR_METADATA },
	{ "K6", "fd00:a9fe:a9fe::1", ADDR_METADATA },
	{ "K6", "fe80::a9fe:a9fe", ADDR_METADATA },
	{ "K6", "::ffff:169.254.169.254", ADDR_METADATA },
	{ "K6", "::ffff:0:169.254.169.254", ADDR_METADATA },
	{ "K6", "::169.254.169.254", ADDR_METADATA },
	{ "K6", "64:ff9b::169.254.169.254", ADDR_METADATA },
	{ "K6", "64:ff9b:1::169.254.169.254", ADDR_METADATA },
	{ "K6", "64:ff9b:1:a9fe:a9:fe00::", ADDR_METADATA }, /* /48 */
	{ "K6", "64:ff9b:1:a9:fe:a9fe::", ADDR_METADATA }, /* /56 */
	{ "K6", "64:ff9b:1:0:a9:fea9:fe00:0", ADDR_METADATA }, /* /64 */
	{ "K6", "2002:a9fe:a9fe::1", ADDR_METADATA },
	{ "K6", "2001:0:a9fe:a9fe::1", ADDR_METADATA }, /* server */
	{ "K6", "2001:0:808:808::5601:5601", ADDR_METADATA }, /* client */
	{ "K6", "2600::5efe:169.254.169.254", ADDR_METADATA },
	{ "K6", "2600::200:5efe:169.254.169.254", ADDR_METADATA },
	{ "K6", "::ffff:100.100.100.200", ADDR_METADATA },

	{ "N11", "0.0.0.0", ADDR_UNSPECIFIED },
	{ "N11", "0.255.255.255", ADDR_UNSPECIFIED },
	{ "N11", "1.0.0.0", ADDR_PUBLIC },
	{ "N11", "9.255.255.255", ADDR_PUBLIC },
	{ "N11", "10.0.0.0", ADDR_PRIVATE },
	{ "N11", "10.255.255.255", ADDR_PRIVATE },
	{ "N11", "11.0.0.0", ADDR_PUBLIC },
	{ "N11", "100.63.255.255", ADDR_PUBLIC },
	{ "N11", "100.64.0.0", ADDR_CGNAT },
	{ "N11", "100.127.255.255", ADDR_CGNAT },
	{ "N11", "100.128.0.0", ADDR_PUBLIC },
	{ "N11", "126.255.255.255", ADDR_PUBLIC },
	{ "N11", "127.0.0.1", ADDR_LOOPBACK },
	{ "N11", "127.255.255.255", ADDR_LOOPBACK },
	{ "N11", "128.0.0.0", ADDR_PUBLIC },
	{ "N11", "169.254.0.1", ADDR_LINK_LOCAL },
	{ "N11", "169.253.255.255", ADDR_PUBLIC },
	{ "N11", "172.15.255.255", ADDR_PUBLIC },
	{ "N11", "172.16.0.1", ADDR_PRIVATE },
	{ "N11", "172.17.0.1", ADDR_PRIVATE },
	{ "N11", "172.19.255.255", ADDR_PRIVATE },
	{ "N11", "172.20.0.53", ADDR_SELF },
	{ "N11", "172.20.255.255", ADDR_SELF },
	{ "N11", "172.21.0.0", ADDR_PRIVATE },
	{ "N11", "172.31.255.255", ADDR_PRIVATE },
	{ "N11", "172.32.0.0", ADDR_PUBLIC },
	{ "N11", "192.0.0.1", ADDR_UNSPECIFIED },
	{ "N11", "192.0.2.1", ADDR_PUBLIC },
	{ "N11", "192.88.99.1", ADDR_UNSPECIFIED },
	{ "N11", "192.168.0.1", ADDR_PRIVATE },
	{ "N11", "192.169.0.0", ADDR_PUBLIC },
	{ "N11", "198.17.255.255", ADDR_PUBLIC },
	{ "N11", "198.18.0.0", ADDR_SELF },
	{ "N11", "198.19.255.255", ADDR_SELF },
	{ "N11", "198.20.0.0", ADDR_PUBLIC },
	{ "N11", "198.51.100.7", ADDR_PUBLIC },
	{ "N11", "203.0.113.7", ADDR_PUBLIC },
	{ "N11", "223.255.255.255", ADDR_PUBLIC },
	{ "N11", "224.0.0.1", ADDR_MULTICAST },
	{ "N11", "239.255.255.255", ADDR_MULTICAST },
	{ "N11", "240.0.0.1", ADDR_UNSPECIFIED },
	{ "N11", "255.255.255.255", ADDR_UNSPECIFIED },
	{ "N11", "::", ADDR_UNSPECIFIED },
	{ "N11", "::1", ADDR_LOOPBACK },
	{ "N11", "::2", ADDR_EMBEDDED },
	{ "N11", "100::1", ADDR_UNSPECIFIED },
	{ "N11", "1fff::1", ADDR_UNSPECIFIED },
	{ "N11", "2001:1ff::1", ADDR_UNSPECIFIED },
	{ "N11", "2001:200::1", ADDR_PUBLIC },
	{ "N11", "2001:4860:4860::8888", ADDR_PUBLIC },
	{ "N11", "2001:db8::1", ADDR_UNSPECIFIED },
	{ "N11", "2001:db9::1", ADDR_PUBLIC },
	{ "N11", "2606:4700::1111", ADDR_PUBLIC },
	{ "N11", "3fff:fff::1", ADDR_UNSPECIFIED },
	{ "N11", "3fff:1000::1", ADDR_PUBLIC },
	{ "N11", "4000::1", ADDR_UNSPECIFIED },
	{ "N11", "5f00::1", ADDR_UNSPECIFIED },
	{ "N11", "fc00::1", ADDR_PRIVATE },
	{ "N11", "fdff::1", ADDR_PRIVATE },
	{ "N11", "fe00::1", ADDR_UNSPECIFIED },
	{ "N11", "fe80::1", ADDR_LINK_LOCAL },
	{ "N11", "febf::1", ADDR_LINK_LOCAL },
	{ "N11", "fec0::1", ADDR_PRIVATE },
	{ "N11", "ff02::1", ADDR_MULTICAST },

	{ "N10", "::ffff:127.0.0.1", ADDR_LOOPBACK },
	{ "N10", "::ffff:172.20.0.53", ADDR_SELF },
	{ "N10", "::ffff:10.0.0.1", ADDR_EMBEDDED },
	{ "N10", "::ffff:8.8.8.8", ADDR_EMBEDDED },
	{ "N10", "::ffff:0:10.0.0.1", ADDR_EMBEDDED },
	{ "N10", "::10.0.0.1", ADDR_EMBEDDED },
	{ "N10", "64:ff9b::7f00:1", ADDR_LOOPBACK },
	{ "N10", "64:ff9b::8.8.8.8", ADDR_EMBEDDED },
	{ "N10", "64:ff9b:1:ffff::1", ADDR_EMBEDDED },
	{ "N10", "64:ff9b:2::1", ADDR_UNSPECIFIED },
	{ "N10", "2002:7f00:1::", ADDR_LOOPBACK },
	{ "N10", "2002:808:808::1", ADDR_EMBEDDED },
	{ "N10", "2001::80ff:fffe", ADDR_LOOPBACK },
	{ "N10", "2001:0:808:808:1:1:1:1", ADDR_EMBEDDED },
	{ "N10", "2600::5efe:127.0.0.1", ADDR_LOOPBACK },
	{ "N10", "2600::5efe:8.8.8.8", ADDR_EMBEDDED },
	{ "N10", "2600::100:5efe:8.8.8.8", ADDR_PUBLIC },
	{ "N10", "fe80::5efe:10.0.0.1", ADDR_LINK_LOCAL },
};

static void test_classify(void)
{
	const struct addr none = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(class_cases); i++) {
		const struct class_case *c = &class_cases[i];
		struct addr a;

		if (ok(addr_parse(slice_str(c->text), &a) == 0, "%s: %s", c->id,
		       c->text))
			is_str(addr_class_name(addr_classify(&a)),
			       addr_class_name(c->want), "%s: %s", c->id,
			       c->text);
	}
	is_int(addr_classify(&none), ADDR_UNSPECIFIED, "no address");
	is_str(addr_class_name(ADDR_CLASSES), "unknown", "no class");
}

static void test_parse(void)
{
	static const char *const good[] = { "1.2.3.4", "255.255.255.255",
					    "::", "2001:db8::1",
					    "::ffff:1.2.3.4" };
	static const struct {
		const char *text;
		size_t len;
	} bad[] = {
#define BAD(s) { s, sizeof(s) - 1 }
		BAD(""),
		BAD("1.2.3"),
		BAD("127.1"),
		BAD("01.2.3.4"),
		BAD("1.2.3.4 "),
		BAD(" 1.2.3.4"),
		BAD("1.2.3.4\0"),
		BAD("1.2.3.4\0x"),
		BAD("1.2.3.256"),
		BAD("0x1.2.3.4"),
		BAD("1.2.3.4."),
		BAD("2130706433"),
		BAD("[::1]"),
		BAD("fe80::1%eth0"),
		BAD("fe80::1%1"),
		BAD("::1::"),
		BAD("1:2:3:4:5:6:7"),
		BAD("::ffff:1.2.3"),
		BAD("::ffff:01.2.3.4"),
		BAD("::1\0"),
		BAD("12345::"),
		BAD("0000:0000:0000:0000:0000:0000:000.000.000.0001"),
#undef BAD
	};
	char text[ADDR_TEXT_MAX];
	struct addr a;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		ok(addr_parse(slice_str(good[i]), &a) == 0 &&
			   strcmp(addr_text(&a, text), good[i]) == 0,
		   "%s and back", good[i]);
	a = (struct addr){ .family = 9 };
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ok(addr_parse(slice_of(bad[i].text, bad[i].len), &a) ==
				   -EBADMSG &&
			   a.family == 9,
		   "N10: \"%s\" is no address", bad[i].text);
	is_str(addr_text(&(struct addr){ 0 }, text), "", "text of no address");
}

static void test_sockaddr(void)
{
	static const char *const texts[] = { "1.2.3.4", "2606:4700::1111" };
	const struct addr v4 = addr_v4(0x01020304);
	struct sockaddr_storage ss;
	struct addr a, b;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		socklen_t want = i ? sizeof(struct sockaddr_in6) :
				     sizeof(struct sockaddr_in);

		if (!ok(addr_parse(slice_str(texts[i]), &a) == 0, "parse"))
			continue;
		memset(&ss, 0xff, sizeof(ss));
		is_int(addr_sockaddr(&a, 443, &ss), want, "its length");
		b = addr_of((struct sockaddr *)&ss);
		ok(addr_eq(&a, &b), "%s: sockaddr and back", texts[i]);
		ok(addr_eq(&a, &v4) == (i == 0), "equal or not");
	}
	ss.ss_family = AF_UNIX;
	is_int(addr_of((struct sockaddr *)&ss).family, 0, "another family");
	is_int(addr_sockaddr(&(struct addr){ 0 }, 1, &ss), 0, "no address");
	a = b = v4;
	a.b[4] = 1;
	ok(addr_eq(&a, &b), "four bytes count in IPv4");
}

static void test_cidr_parse(void)
{
	static const struct {
		const char *text;
		int bits; /* -1: refused */
	} cases[] = {
		{ "10.0.0.0/8", 8 },
		{ "10.1.2.3", 32 },
		{ "0.0.0.0/0", 0 },
		{ "10.1.2.3/32", 32 },
		{ "172.20.0.0/15", 15 },
		{ "2001:db8::/32", 32 },
		{ "::/0", 0 },
		{ "::1", 128 },
		{ "fe80::/10", 10 },
		{ "10.0.0.1/8", -1 },
		{ "172.21.0.0/15", -1 },
		{ "10.0.0.0/33", -1 },
		{ "10.0.0.0/08", -1 },
		{ "10.0.0.0/", -1 },
		{ "10.0.0.0/-1", -1 },
		{ "10.0.0.0/8 ", -1 },
		{ "10.0.0.0/8/8", -1 },
		{ "10.0.0.0/0x8", -1 },
		{ "10/8", -1 },
		{ "/8", -1 },
		{ "", -1 },
		{ "::/129", -1 },
		{ "::1/127", -1 },
		{ "fe80::%1/10", -1 },
		{ "10.0.0.0/1000", -1 },
		{ "github.com", -1 },
		{ "10.0.0.0/255.0.0.0", -1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cidr c = { .bits = 77 };
		int rc = cidr_parse(slice_str(cases[i].text), &c);

		if (cases[i].bits < 0)
			ok(rc == -EBADMSG && c.bits == 77, "refused: \"%s\"",
			   cases[i].text);
		else
			ok(rc == 0 && c.bits == cases[i].bits, "%s",
			   cases[i].text);
	}
}

static void test_cidr_has(void)
{
	static const struct {
		const char *cidr, *addr;
		bool want;
	} cases[] = {
		{ "10.20.0.0/16", "10.20.255.255", true },
		{ "10.20.0.0/16", "10.21.0.0", false },
		{ "10.20.0.0/15", "10.21.0.0", true },
		{ "0.0.0.0/0", "1.2.3.4", true },
		{ "1.2.3.4", "1.2.3.5", false },
		{ "10.20.0.0/16", "::ffff:10.20.1.1", true },
		{ "10.20.0.0/16", "::10.20.1.1", true },
		{ "10.20.0.0/16", "::ffff:0:10.20.1.1", true },
		{ "10.20.0.0/16", "64:ff9b::10.20.1.1", true },
		{ "10.20.0.0/16", "64:ff9b:1:a14:1:100::", true },
		{ "10.20.0.0/16", "2002:a14:101::1", true },
		{ "10.20.0.0/16", "2001:0:a14:101::", true },
		{ "10.20.0.0/16", "2001::f5eb:fefe", true },
		{ "10.20.0.0/16", "2600::5efe:10.20.1.1", true },
		{ "10.20.0.0/16", "::ffff:10.21.1.1", false },
		{ "10.20.0.0/16", "2600::10.20.1.1", false },
		{ "0.0.0.0/0", "2600::1", false },
		{ "::ffff:0:0/96", "1.2.3.4", false },
		{ "::/0", "1.2.3.4", false },
		{ "2600::/12", "260f::1", true },
		{ "2600::/12", "2610::1", false },
	};
	struct cidr c = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct addr a;

		ok(cidr_parse(slice_str(cases[i].cidr), &c) == 0 &&
			   addr_parse(slice_str(cases[i].addr), &a) == 0 &&
			   cidr_has(&c, &a) == cases[i].want,
		   "N10: %s %s %s", cases[i].cidr,
		   cases[i].want ? "has" : "has not", cases[i].addr);
	}
	ok(!cidr_has(&c, &(struct addr){ 0 }), "no address is in no range");
}

struct each {
	int rows, bad;
};

static void each_range(void *arg, const struct cidr *c, enum addr_class cls,
		       const char *what)
{
	struct each *e = arg;
	char text[64], base[ADDR_TEXT_MAX];
	struct cidr again;
	int n = snprintf(text, sizeof(text), "%s/%u", addr_text(&c->base, base),
			 c->bits);

	e->rows++;
	/* The base of a wide range may be in a narrower one before it. */
	if (cidr_parse(slice_of(text, (size_t)n), &again) < 0 ||
	    addr_classify(&c->base) == ADDR_PUBLIC || cls == ADDR_PUBLIC ||
	    !what[0]) {
		printf("# %s\n", text);
		e->bad++;
	}
}

static void test_builtin(void)
{
	struct each e = { 0 };

	addr_builtin_each(each_range, &e);
	ok(e.rows > 30 && e.bad == 0, "each of %d ranges is well formed",
	   e.rows);
}

int main(void)
{
	test_classify();
	test_parse();
	test_sockaddr();
	test_cidr_parse();
	test_cidr_has();
	test_builtin();
	return done_testing();
}
