/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pins_test.c - what changed between two lock files, and which new one is
 * refused
 */
#include "control/cli/cmd/update/pins.h"

#include <string.h>

#include "control/shared/json.h"
#include "lib/buf.h"
#include "tests/unit/tap.h"

#define LOCK(packages) "{\"packages\":{\"\":{\"name\":\"ac-a\"}" packages "}}"
#define PACKAGE(name, version)                                     \
	",\"node_modules/" name "\":{\"version\":\"" version "\"," \
	"\"integrity\":\"sha512-x==\"}"

struct row {
	const char *was, *now, *changes; /* NULL: refused, with @why */
	const char *why;
};

static const struct row npm[] = {
	{ LOCK(PACKAGE("a", "1.0.0")), LOCK(PACKAGE("a", "1.0.0")), "[]",
	  NULL },
	{ LOCK(PACKAGE("a", "1.0.0")), LOCK(PACKAGE("a", "1.0.1")),
	  "[{\"package\":\"a\",\"from\":\"1.0.0\",\"to\":\"1.0.1\"}]", NULL },
	{ LOCK(PACKAGE("a", "1.0.0")),
	  LOCK(PACKAGE("a", "1.0.0") PACKAGE("@b/c", "2.0.0")),
	  "[{\"package\":\"@b/c\",\"from\":null,\"to\":\"2.0.0\"}]", NULL },
	{ LOCK(PACKAGE("a", "1.0.0") PACKAGE("b", "1.0.0")),
	  LOCK(PACKAGE("a", "1.0.0")),
	  "[{\"package\":\"b\",\"from\":\"1.0.0\",\"to\":null}]", NULL },
	{ "{}", LOCK(PACKAGE("a", "1.0.0")),
	  "[{\"package\":\"a\",\"from\":null,\"to\":\"1.0.0\"}]", NULL },
	{ LOCK(""), LOCK(""), NULL, "no packages" },
	{ LOCK(""), "[]", NULL, "no packages" },
	{ LOCK(""), LOCK(",\"node_modules/a\":{\"version\":\"1.0.0\"}"), NULL,
	  "proves 'node_modules/a' by no SHA-512" },
	{ LOCK(""), LOCK(",\"node_modules/a\":{\"integrity\":\"sha1-x=\"}"),
	  NULL, "by no SHA-512" },
	{ LOCK(""), LOCK(",\"x\":{\"link\":true,\"integrity\":\"sha512-x\"}"),
	  NULL, "by no SHA-512" },
	{ LOCK(""),
	  LOCK(",\"node_modules/a\":{\"integrity\":\"sha512-x\","
	       "\"resolved\":\"https://evil.test/a.tgz\"}"),
	  NULL, "has an address for 'node_modules/a'" },
};

#define X64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SHA " --hash=sha256:" X64

static const struct row pip[] = {
	{ "a==1.0" SHA "\n", "a==1.0" SHA SHA "\n", "[]", NULL },
	{ "# by hand\nA_b.c == 1\nA_b.c==1.0 \\\n  --hash=sha512:00\n\nz>=2\n",
	  "a-b-c==1.1" SHA "\nnew==2+cpu" SHA,
	  "[{\"package\":\"a-b-c\",\"from\":\"1.0\",\"to\":\"1.1\"},"
	  "{\"package\":\"new\",\"from\":null,\"to\":\"2+cpu\"}]",
	  NULL },
	{ "a==1" SHA "\nb[x]==1\n-r other.txt\ng==1; os_name == 'nt'",
	  "a==1" SHA, "[{\"package\":\"g\",\"from\":\"1\",\"to\":null}]",
	  NULL },
	{ "", "\n# a comment\r\n \\\n", NULL, "no packages" },
	{ "", "a==1\n", NULL, "line 1" },
	{ "", "a==1" SHA "\nb==1 --hash=sha256:00\n", NULL, "line 2" },
	{ "", "a==1 --hash=sha256:" X64 "0", NULL, "line 1" },
	{ "", "a==1 --hash=sha512:" X64, NULL, "line 1" },
	{ "", "a==1" SHA " --index-url=https://evil.test/", NULL, "line 1" },
	{ "", "a==1; x" SHA, NULL, "line 1" },
	{ "", "--index-url https://evil.test/\na==1" SHA, NULL, "line 1" },
	{ "", "a @ https://evil.test/a.whl" SHA, NULL, "line 1" },
	{ "", "a==1,==2" SHA, NULL, "line 1" },
	{ "", "a==" SHA, NULL, "line 1" },
	{ "", "==1" SHA, NULL, "line 1" },
	{ "", "a>=1" SHA, NULL, "line 1" },
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
	buf_init(&many, 1024 * 1024);
	for (unsigned i = 0; i <= PINS_MAX; i++)
		if (buf_printf(&many, "p%u==1" SHA "\n", i) < 0)
			abort();
	ok(!pins_pip((const char *)buf_slice(&many).ptr, buf_slice(&many).len,
		     true, &err),
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
	test_limits();
	return done_testing();
}
