/* SPDX-License-Identifier: Apache-2.0 */
/*
 * update_test.c - what changed between two lock files, and which new one
 * is refused
 */
#include "control/cli/cmd/update/update.h"

#include <string.h>

#include "control/shared/json.h"
#include "tests/unit/tap.h"

#define LOCK(packages) "{\"packages\":{\"\":{\"name\":\"ac-a\"}" packages "}}"
#define PACKAGE(name, version)                                     \
	",\"node_modules/" name "\":{\"version\":\"" version "\"," \
	"\"integrity\":\"sha512-x==\"}"

static const struct {
	const char *was, *now, *changes; /* NULL: refused, with @why */
	const char *why;
} rows[] = {
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

static json_t *parse(const char *text)
{
	struct err err = { 0 };
	json_t *v = NULL;

	if (jsonx_parse(text, strlen(text), &v, &err) < 0)
		ok(false, "%s: %s", text, err.msg);
	return v;
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SCOPED_JSON was = parse(rows[i].was);
		SCOPED_JSON now = parse(rows[i].now);
		struct err err = { 0 };
		SCOPED_JSON got = build_update_compare(was, now, &err);
		SCOPED_STR text = got ? json_dumps(got, JSON_COMPACT) : NULL;

		if (rows[i].changes)
			is_str(text ? text : err.msg, rows[i].changes,
			       "%zu: what changed", i);
		else
			ok(!got && strstr(err.msg, rows[i].why),
			   "%zu: refused: %s", i, err.msg);
	}
	return done_testing();
}
