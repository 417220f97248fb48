/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pins_test.c - what changed between two lock files, and which new one is
 * refused
 */
#include "control/cli/cmd/update/pins.h"

#include <string.h>

#include "control/shared/json.h"
#include "lib/buf.h"
#include "lib/slice.h"
#include "tests/unit/tap.h"

#define B43 "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ"
#define SHA512 "sha512-" B43 B43 "=="
#define LOCK(packages)                                \
	"{\"lockfileVersion\":3,\"packages\":{\"\":{" \
	"\"name\":\"ac-a\"}" packages "}}"
#define KEY(name, rest) ",\"" name "\":{" rest "}"
#define PACKAGE(name, version)                                   \
	KEY("node_modules/" name, "\"version\":\"" version "\"," \
				  "\"integrity\":\"" SHA512 "\"")
#define CHANGE(name, from, to, digest)                           \
	"{\"package\":\"" name "\",\"from\":" from ",\"to\":" to \
	",\"digest\":" digest "}"

struct row {
	const char *was, *now, *changes; /* NULL: refused, with @why */
	const char *why;
};

static const struct row npm[] = {
	{ LOCK(PACKAGE("a", "1.0.0")), LOCK(PACKAGE("a", "1.0.0")), "[]",
	  NULL },
	{ LOCK(PACKAGE("a", "1.0.0")), LOCK(PACKAGE("a", "1.0.1")),
	  "[" CHANGE("a", "\"1.0.0\"", "\"1.0.1\"", "false") "]", NULL },
	{ LOCK(PACKAGE("a", "1.0.0")),
	  LOCK(PACKAGE("z", "1.0.0") PACKAGE("@b/c", "2.0.0-linux-x64")),
	  "[" CHANGE("@b/c", "null", "\"2.0.0-linux-x64\"", "false") "," //
	  CHANGE("a", "\"1.0.0\"", "null", "false") "," //
	  CHANGE("z", "null", "\"1.0.0\"", "false") "]",
	  NULL },
	{ LOCK(KEY("node_modules/a", "\"version\":\"1.0.0\","
				     "\"integrity\":\"sha512-old\"")),
	  LOCK(PACKAGE("a", "1.0.0")),
	  "[" CHANGE("a", "\"1.0.0\"", "\"1.0.0\"", "true") "]", NULL },
	{ "{}", LOCK(PACKAGE("a", "1.0.0")),
	  "[" CHANGE("a", "null", "\"1.0.0\"", "false") "]", NULL },
	{ LOCK(""), LOCK(""), NULL, "no packages" },
	{ LOCK(""), "[]", NULL, "not of version 3" },
	{ LOCK(""), "{\"lockfileVersion\":2}", NULL, "not of version 3" },
	{ LOCK(""), "{\"lockfileVersion\":3,\"dependencies\":{}}", NULL,
	  "not of version 3" },
	{ LOCK(""), LOCK(KEY("node_modules/a", "\"version\":\"1.0.0\"")), NULL,
	  "proves by no SHA-512 'node_modules/a'" },
#define WITH(rest) LOCK(KEY("node_modules/a", "\"version\":\"1.0.0\"," rest))
	{ LOCK(""), WITH("\"integrity\":\"sha1-x=\""), NULL, "no SHA-512" },
	{ LOCK(""), WITH("\"integrity\":\"sha512-\""), NULL, "no SHA-512" },
	{ LOCK(""), WITH("\"integrity\":\"sha512-x==\""), NULL, "no SHA-512" },
	{ LOCK(""), WITH("\"integrity\":\"" SHA512 " sha1-x=\""), NULL,
	  "no SHA-512" },
	{ LOCK(""), WITH("\"link\":true,\"integrity\":\"" SHA512 "\""), NULL,
	  "has an address for" },
	{ LOCK(""),
	  WITH("\"integrity\":\"" SHA512 "\","
	       "\"resolved\":\"https://evil.test/a.tgz\""),
	  NULL, "has an address for 'node_modules/a'" },
	{ LOCK(""),
	  WITH("\"integrity\":\"" SHA512 "\","
	       "\"name\":\"a@https://evil.test/\""),
	  NULL, "no package of the name" },
	{ LOCK(""), LOCK(PACKAGE("a", "https://evil.test/x.tgz")), NULL,
	  "has no version for" },
	{ LOCK(""), LOCK(PACKAGE("a", "")), NULL, "has no version for" },
	{ LOCK(""),
	  LOCK(KEY("../a", "\"version\":\"1.0.0\","
			   "\"integrity\":\"" SHA512 "\"")),
	  NULL, "no package of the name" },
};

#define X64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define Y64 "f123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SHA " --hash=sha256:" X64
#define SHB " --hash=sha256:" Y64

static const struct row pip[] = {
	{ "a==1.0" SHA "\n", "a==1.0" SHA "\n", "[]", NULL },
	{ "a==1.0\n", "a==1.0" SHA SHB, "[]", NULL },
	{ "a==1.0" SHB SHA, "a==1.0" SHA SHB, "[]", NULL },
	{ "a==1.0" SHA SHB, "a==1.0" SHA,
	  "[" CHANGE("a", "\"1.0\"", "\"1.0\"", "true") "]", NULL },
	{ "a==1.0" SHA, "a==1.0" SHB,
	  "[" CHANGE("a", "\"1.0\"", "\"1.0\"", "true") "]", NULL },
	{ "# by hand\nA_b.c == 1\nA_b.c==1.0 \\\n  --hash=sha512:00\n\nz>=2\n",
	  "a-b-c==1.1" SHA "\nnew==2+cpu" SHA,
	  "[" CHANGE("a-b-c", "\"1.0\"", "\"1.1\"", "false") "," //
	  CHANGE("new", "null", "\"2+cpu\"", "false") "]",
	  NULL },
	{ "a==1" SHA "\nb[x]==1\n-r other.txt\ng==1; os_name == 'nt'",
	  "a==1" SHA, "[" CHANGE("g", "\"1\"", "null", "false") "]", NULL },
	{ "", "", NULL, "no packages" },
	{ "", "a==1\n", NULL, "line 1" },
	{ "", "a==1" SHA "\nb==1 --hash=sha256:00\n", NULL, "line 2" },
	{ "", "a==1 --hash=sha256:" X64 "0", NULL, "line 1" },
	{ "", "a==1 --hash=sha512:" X64, NULL, "line 1" },
	{ "", "a==1" SHA "\na==2" SHA, NULL, "line 2" },
	{ "", "a==1" SHA "\n\nb==1" SHA, NULL, "line 2" },
	{ "", "a==1" SHA " --index-url=https://evil.test/", NULL, "line 1" },
	{ "", "a==1; x" SHA, NULL, "line 1" },
	{ "", "--index-url https://evil.test/\na==1" SHA, NULL, "line 1" },
	{ "", "a @ https://evil.test/a.whl" SHA, NULL, "line 1" },
	{ "", "a==1,==2" SHA, NULL, "line 1" },
	{ "", "a==" SHA, NULL, "line 1" },
	{ "", "==1" SHA, NULL, "line 1" },
	{ "", "a>=1" SHA, NULL, "line 1" },
	/* What pip reads otherwise than we would. */
	{ "", "# x \\\n--index-url https://evil.test/\na==1" SHA, NULL,
	  "line 1" },
	{ "", "# x\r--pre\na==1" SHA, NULL, "line 1" },
	{ "", "a==1" SHA "\f--pre\n", NULL, "line 1" },
	{ "", "a==1\r" SHA, NULL, "line 1" },
	{ "", "a==1" SHA "\xc2\x85--pre", NULL, "line 1" },
	{ "", "# coding: utf-7\na==1" SHA, NULL, "line 1" },
	{ "", "a==1" SHA " # x\n", NULL, "line 1" },
	{ "", "--index-url==1" SHA, NULL, "line 1" },
	{ "", "-e==1" SHA, NULL, "line 1" },
	{ "", "a-==1" SHA, NULL, "line 1" },
};

static const struct {
	const char *was, *now;
	bool fine;
} asks[] = {
#define ASKS(spec) "{\"dependencies\":{\"a\":\"" spec "\"}}"
	{ ASKS("1.0.0"), ASKS("1.0.0"), true },
	{ ASKS("1.0.0"), ASKS("1.1.0-x.2+y"), true },
	{ ASKS("npm:@b/c@1.0.0-linux-x64"), ASKS("npm:@b/c@1.2.0-linux-x64"),
	  true },
	{ "{}", "{}", true },
	{ ASKS("1.0.0"), ASKS("https://evil.test/a.tgz"), false },
	{ ASKS("1.0.0"), ASKS("npm:b@https://evil.test/1"), false },
	{ ASKS("1.0.0"), ASKS("file:../../x"), false },
	{ ASKS("1.0.0"), ASKS("*"), false },
	{ ASKS("1.0.0"), "{\"dependencies\":{\"b\":\"1.0.0\"}}", false },
	{ ASKS("1.0.0"), "{\"dependencies\":{}}", false },
	{ ASKS("1.0.0"),
	  "{\"dependencies\":{\"a\":\"1.0.0\"},\"scripts\":{\"x\":\"y\"}}",
	  false },
	{ ASKS("1.0.0"), "[]", false },
	{ ASKS("1.0.0"), "not JSON", false },
};

typedef json_t *(*reader)(const char *, size_t, bool, struct err *);

static void try_row(reader read, const struct row *r, const char *what)
{
	struct err err = { 0 };
	SCOPED_JSON was = read(r->was, strlen(r->was), false, &err);
	SCOPED_JSON now = read(r->now, strlen(r->now), true, &err);
	SCOPED_JSON got = was && now ? pins_compare(was, now, &err) : NULL;
	SCOPED_STR text = got ? json_dumps(got, JSON_COMPACT) : NULL;

	if (r->changes)
		is_str(text ? text : err.msg, r->changes, "%s: what changed",
		       what);
	else
		ok(!got && strstr(err.msg, r->why), "%s: refused: %s", what,
		   err.msg);
}

static void try_asks(size_t i)
{
	struct err err = { 0 };
	int rc = pins_npm_moved(asks[i].was, strlen(asks[i].was), asks[i].now,
				strlen(asks[i].now), &err);

	ok((rc == 0) == asks[i].fine, "package.json %zu: %s", i,
	   rc == 0 ? "fine" : err.msg);
}

static void test_limits(void)
{
	struct err err = { 0 };
	char line[PINS_NAME_MAX + sizeof("==1" SHA) + 1] = { 0 };
	struct buf many;

	memset(line, 'a', PINS_NAME_MAX);
	snprintf(line + PINS_NAME_MAX, sizeof(line) - PINS_NAME_MAX, "%s",
		 "==1" SHA);
	json_decref(pins_pip(line, strlen(line), true, &err));
	is_int(err.code, 0, "a name may have %u characters", PINS_NAME_MAX);
	memmove(line + 1, line, sizeof(line) - 2);
	ok(!pins_pip(line, strlen(line), true, &err), "but no more: %s",
	   err.msg);
	ok(!pins_pip("a==1" SHA "\n\0b", sizeof("a==1" SHA "\n\0b") - 1, true,
		     &err),
	   "no NUL: %s", err.msg);
	buf_init(&many, 1024 * 1024);
	for (unsigned i = 0; i <= PINS_MAX; i++)
		if (buf_printf(&many, "p%u==1" SHA "\n", i) < 0)
			abort();
	ok(!pins_pip((const char *)buf_slice(&many).ptr, buf_len(&many), true,
		     &err),
	   "no more packages than %u: %s", PINS_MAX, err.msg);
	buf_done(&many);
}

int main(void)
{
	char what[32];

	for (size_t i = 0; i < ARRAY_SIZE(npm); i++) {
		snprintf(what, sizeof(what), "npm %zu", i);
		try_row(pins_npm, &npm[i], what);
	}
	for (size_t i = 0; i < ARRAY_SIZE(pip); i++) {
		snprintf(what, sizeof(what), "pip %zu", i);
		try_row(pins_pip, &pip[i], what);
	}
	for (size_t i = 0; i < ARRAY_SIZE(asks); i++)
		try_asks(i);
	test_limits();
	return done_testing();
}
