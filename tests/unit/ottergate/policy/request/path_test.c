/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_test.c - request paths (catalogue H8): one reading, or none
 */
#include "ottergate/policy/request/path.h"

#include "tests/unit/ottergate/policy/request/path_sets.h"
#include "tests/unit/tap.h"

static const struct {
	const char *in, *out; /* NULL: refused */
} canon[] = {
	{ "/", "/" },
	{ "/repos/otter/x", "/repos/otter/x" },
	{ "/repos/otter/", "/repos/otter/" },
	{ "/%7Eme/%61%2d%5f", "/~me/a-_" },
	{ "/a%2fb", "/a%2Fb" },
	{ "/a%3fb%23c", "/a%3Fb%23c" },
	{ "/a%20b", "/a%20b" },
	{ "/a%2520b", "/a%2520b" },
	{ "/%c3%a9", "/%C3%A9" },
	{ "/a;v=1/b", "/a;v=1/b" },
	{ "/...", "/..." },
	{ "/..a/.b", "/..a/.b" },
	{ "/@scope%2fname", "/@scope%2Fname" },
	{ "/a:b@c!$&'()*+,=", "/a:b@c!$&'()*+,=" },
	{ "/a?b=/../c&d=%2e%2E", "/a?b=/../c&d=%2e%2E" },
	{ "/a?", "/a?" },
	{ "/a?b?c", "/a?b?c" },
	{ "*", "*" },
	{ "", NULL },
	{ "a", NULL },
	{ "**", NULL },
	{ "http://a/b", NULL },
	{ "//a", NULL },
	{ "/a//b", NULL },
	{ "/a//", NULL },
	{ "/..", NULL },
	{ "/.", NULL },
	{ "/a/../b", NULL },
	{ "/a/./b", NULL },
	{ "/a/..", NULL },
	{ "/a/%2e%2e/b", NULL },
	{ "/a/%c0%ae%c0%ae/b", NULL }, /* overlong UTF-8 */
	{ "/a/%c1%9c/b", NULL },
	{ "/a/%e0%80%ae/b", NULL },
	{ "/a/%f0%80%80%ae/b", NULL },
	{ "/a/%e2%82%ac", "/a/%E2%82%AC" },
	{ "/a/%c0t%e9", "/a/%C0t%E9" }, /* Latin-1 */
	{ "/a/%2E./b", NULL },
	{ "/a/.%2e/b", NULL },
	{ "/a/..;/b", NULL },
	{ "/a/..;x=1/b", NULL },
	{ "/a/.;/b", NULL },
	{ "/a/..%3b/b", NULL },
	{ "/a/..%2fb", NULL },
	{ "/a/%2e%2e%2fb", NULL },
	{ "/a%2f..%2fb", NULL },
	{ "/a%2f%2e%2e", NULL },
	{ "/%2fa", NULL },
	{ "/a%2f%2fb", NULL },
	{ "/a%2f/b", NULL },
	{ "/a/%2f", NULL },
	{ "/%2f", NULL },
	{ "/a\\b", NULL },
	{ "/a%5cb", NULL },
	{ "/a%5C..%5cb", NULL },
	{ "/a%00b", NULL },
	{ "/a%0ab", NULL },
	{ "/a%0d%0ab", NULL },
	{ "/a%7fb", NULL },
	{ "/a%252e%252e/b", NULL },
	{ "/a%252fb", NULL },
	{ "/a%255cb", NULL },
	{ "/a%2500b", NULL },
	{ "/a%25252fb", NULL },
	{ "/a%253bb", NULL },
	{ "/a%25%32e", NULL },
	{ "/a%25%32%65%25%32%65/b", NULL },
	{ "/a%252%66b", NULL },
	{ "/user/%256Beys", NULL },
	{ "/user/keys%253Fa", NULL },
	{ "/a%", NULL },
	{ "/a%4", NULL },
	{ "/a%zz", NULL },
	{ "/a%u002f", NULL },
	{ "/a b", NULL },
	{ "/a#b", NULL },
	{ "/a?b#c", NULL },
	{ "/a?b c", NULL },
	{ "/a\"b", NULL },
	{ "/a<b>", NULL },
	{ "/a|b", NULL },
	{ "/a^b`{}", NULL },
	{ "/\xc3\xa9", NULL },
	{ "/a?\xc3\xa9", NULL },
	{ "/a?b\r\nc", NULL },
	{ "/\x01", NULL },
};

static const struct {
	const char *pattern, *path;
	bool want, deny; /* deny: with slashes that separate */
} matches[] = {
	{ "/repos/otter/**", "/repos/otter", true, true },
	{ "/repos/otter/**", "/repos/otter/", true, true },
	{ "/repos/otter/**", "/repos/otter/a/b", true, true },
	{ "/repos/otter/**", "/repos/otter2", false, false },
	{ "/repos/otter/**", "/repos/Otter/a", false, true },
	{ "/repos/otter/**", "/repos/evil/otter", false, false },
	{ "/repos/otter/**", "/repos%2Fotter/a", false, true },
	{ "/repos/otter/**", "/repos/otter%2Fa", false, true },
	{ "/repos/otter/**", "/repos/otter/a%2Fb", true, true },
	{ "/**", "/", true, true },
	{ "/**", "/a%2Fb/c", true, true },
	{ "/a/*/c", "/a/b/c", true, true },
	{ "/a/*/c", "/a//c", true, true },
	{ "/a/*/c", "/a/b/b/c", false, false },
	{ "/a/*/c", "/a/b%2Fb/c", false, false },
	{ "/a/*", "/a/b%2Fc", false, false },
	{ "/a/*/*", "/a/b%2Fc", false, true },
	{ "/a/*%2F*/c", "/a/b%2Fb/c", true, true },
	{ "/a/*%2f*/c", "/a/b%2Fb/c", true, true },
	{ "/a/*%2f*/c", "/a/b/c", false, false },
	{ "/otter/*.git/info/refs", "/otter/x.git/info/refs", true, true },
	{ "/otter/*.git/info/refs", "/otter/.git/info/refs", true, true },
	{ "/otter/*.git/info/refs", "/otter/x.gitt/info/refs", false, false },
	{ "/**/info/refs", "/info/refs", true, true },
	{ "/**/info/refs", "/a/b/info/refs", true, true },
	{ "/**/info/refs", "/a/b/info/refs/c", false, false },
	{ "/a/**/b/**/c", "/a/b/c", true, true },
	{ "/a/**/b/**/c", "/a/x/b/b/y/c", true, true },
	{ "/a/**/b/**/c", "/a/x/y/c", false, false },
	{ "/a*b*c", "/axxbxbyc", true, true },
	{ "/a*b*c", "/axxbxbyd", false, false },
	{ "/gists", "/gists", true, true },
	{ "/gists", "/gists/", false, true },
	{ "/gists/", "/gists", false, false },
	{ "/a/**", "*", false, false },
	{ "/%C3%A9/x", "/%C3%A9/x", true, true },
	{ "/%c3%a9/x", "/%C3%A9/x", true, true },
	{ "/a**b", "/axxb", true, true },
};

static void test_canon(void)
{
	static struct ipath p;
	static char big[IPATH_MAX + 2];
	static const char plain[] = { '/', 'a', 'b', 'c' };
	static const char encoded[] = { '%', '2', 'F', 'a' };

	for (size_t i = 0; i < ARRAY_SIZE(canon); i++) {
		int rc = ipath_canon(slice_str(canon[i].in), &p);

		if (canon[i].out)
			is_str(rc == 0 ? p.s : NULL, canon[i].out, "H8 %s",
			       canon[i].in);
		else
			is_int(rc, -EBADMSG, "H8 refused: row %zu", i);
	}
	is_int(ipath_canon(slice_of("/a\0b", 4), &p), -EBADMSG, "H8 NUL");
	memset(big, 'a', sizeof(big) - 1);
	big[0] = '/';
	is_int(ipath_canon(slice_of(big, IPATH_PATH_MAX), &p), 0, "long");
	is_int(ipath_canon(slice_of(big, IPATH_PATH_MAX + 1), &p), -E2BIG,
	       "too long a path");
	big[1] = '?';
	is_int(ipath_canon(slice_of(big, IPATH_MAX), &p), 0, "a long query");
	is_int(ipath_canon(slice_of(big, IPATH_MAX + 1), &p), -E2BIG,
	       "too long a query");
	for (size_t i = 0; i < sizeof(big) - 1; i++)
		big[i] = i % 2 ? 'a' : '/';
	is_int(ipath_canon(slice_of(big, IPATH_SEGMENTS_MAX * 2), &p), 0,
	       "64 segments");
	is_int(ipath_canon(slice_of(big, IPATH_SEGMENTS_MAX * 2 + 2), &p),
	       -E2BIG, "65 segments");
	for (size_t i = 0; i + 4 <= 4 * (IPATH_SEGMENTS_MAX + 1); i += 4)
		memcpy(big + i, i ? encoded : plain, sizeof(plain));
	is_int(ipath_canon(slice_of(big, IPATH_SEGMENTS_MAX * 4), &p), 0,
	       "63 encoded slashes");
	is_int(ipath_canon(slice_of(big, IPATH_SEGMENTS_MAX * 4 + 4), &p),
	       -E2BIG, "64 encoded slashes");
	ok(ipath_canon(slice_str("/a/b?c=d"), &p) == 0 && p.path_len == 4 &&
		   p.len == 8,
	   "where the path ends");
}

static void test_match(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(matches); i++) {
		struct slice path = slice_str(matches[i].path);

		is_int(one_matches(matches[i].pattern, path), matches[i].want,
		       "%s for %s", matches[i].path, matches[i].pattern);
		is_int(one_is_like(matches[i].pattern, path), matches[i].deny,
		       "denied: %s for %s", matches[i].path,
		       matches[i].pattern);
	}
}

/* A denial holds for whatever a server may take for the same thing. */
static void test_denied_alike(void)
{
	static const struct {
		const char *path;
		bool denied;
	} list[] = {
		{ "/api/v4/user/keys", true },
		{ "/api/v4/user/keys/", true },
		{ "/api/v4/User/KEYS", true },
		{ "/api/v4/user/keys.json", true },
		{ "/api/v4/user/Keys;a=b", true },
		{ "/api/v4/user;a/keys.json;b", true },
		{ "/api/v4/user%2Fkeys%3Ba", true },
		{ "/api/v4/user/keys%3Fa", true },
		{ "/api/v4/user/keys%23/a", true },
		{ "/api/v4/user/keys%2F", true },
		{ "/api/v4/user/keys.json%2F", true },
		{ "/api/v4/user/keys.JSON", true },
		{ "/api/v4/user/keys.msgpack", true },
		{ "/api/v4/user/keys.json.gz", true },
		{ "/api/v4/user/keys.a1/", true },
		{ "/api/v4/user/keys.a-b_c~;d", true },
		{ "/api/v4/user/keys;a=b.json", true },
		{ "/api/v4/user/keys.", true },
		{ "/api/v4/user/keys%2E", true },
		{ "/api/v4/user/keys...", true },
		{ "/api/v4/user/keys.2", true },
		{ "/api/v4/user/keys.%C3%A9", true },
		{ "/api/v4/user/keys.a%2Fb", true },
		{ "/api/v4/user.json/keys", false },
		{ "/api/v4/user/keys.d/a", false },
		{ "/api/v4/user/akeys.json", false },
		{ "/api/v4/user/keysmith", false },
		{ "/api/v4/user/.json", false },
		{ "/api/v4/user/k%65ys", true }, /* not canonical */
		{ "/", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		struct slice path = slice_str(list[i].path);

		is_int(one_is_like("/**/user/keys", path), list[i].denied,
		       "denied alike: %s", list[i].path);
		is_int(one_matches("/**/user/keys", path), i == 0,
		       "allowed is one alone: %s", list[i].path);
	}
	ok(one_is_like("/v1/*:tune", slice_str("/v1/a%3Atune")) &&
		   !one_matches("/v1/*:tune", slice_str("/v1/a%3Atune")),
	   "denied alike: an encoded colon");
}

static void test_param(void)
{
	static const char *const list[][2] = {
		{ "key", "key" },
		{ "Access-Token", "access_token" },
		{ "access+token", "access_token" },
		{ "%20a%2Bb", "a+b" },
		{ "[key]", "key" },
		{ "$key%00x", "key" },
		{ "filter[token]", "filter" },
		{ "%5Bkey%5D%5B%5D", "key" },
		{ "", "" },
		{ "%", "%" },
		{ "averylongnamethatends", "averylongnameth" },
	};
	char out[16];

	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		ipath_param(slice_str(list[i][0]), out, sizeof(out));
		is_str(out, list[i][1], "param %s", list[i][0]);
	}
}

int main(void)
{
	test_canon();
	test_match();
	test_denied_alike();
	test_param();
	return done_testing();
}
