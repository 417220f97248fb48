/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_keys_test.c - the key `image`: whose image it is, and what is refused
 */
#include "control/acd/blueprint/blueprint.h"

#include <string.h>

#include "lib/file.h"
#include "tests/unit/control/acd/blueprint/user_dir.h"
#include "tests/unit/tap.h"

static int parse(const char *text, struct blueprint *ret, struct err *err)
{
	return blueprint_parse(text, strlen(text), "f", "own", ret, err);
}

#define IMAGE(w) "version: 2\nimage: { " w " }\n"
#define FROM(w) IMAGE("from: base, " w)

static const struct {
	const char *text, *why;
} broken[] = {
	{ "version: 1\nimage: { from: base }\n", "f:2:8: " },
	{ IMAGE(""), "either a name" },
	{ IMAGE("from: base, name: own"), "either a name" },
	{ IMAGE("from: own"), "cannot be made from itself" },
	{ IMAGE("from: ../x"), "f:2:16: image: " },
	{ IMAGE("name: own, run: [make]"), "'run' needs 'from'" },
	{ IMAGE("name: own, packages: {}"), "'packages' needs 'from'" },
	{ IMAGE("form: base"), "did you mean 'from'?" },
	{ FROM("packages: { gem: [x] }"), "unknown key 'gem'" },
	{ FROM("packages: { apt: x }"), "a list is wanted here" },
	{ FROM("packages: { apt: [\"x y\"] }"), "a package of Debian" },
	{ FROM("packages: { apt: [\"x';id\"] }"), "a package of Debian" },
	{ FROM("packages: { apt: [--x] }"), "a package of Debian" },
	{ FROM("packages: { npm: [\"http://a.test/x\"] }"),
	  "a package of the npm registry" },
	{ FROM("packages: { npm: [-g] }"), "a package of the npm registry" },
	{ FROM("packages: { pip: [\"git+https://a.test/x\"] }"),
	  "a package of the Python index" },
	{ FROM("packages: { pip: [\"\"] }"), "a package of the Python index" },
	{ FROM("run: make"), "a list is wanted here" },
	{ FROM("run: [\"a\\u0000b\"]"), "f:2:" },
	{ FROM("run: [\"a\\x1bb\"]"), "a script of sh" },
	{ FROM("files: [ { from: a } ]"), "needs from and to" },
	{ FROM("files: [ { from: ../a, to: /b } ]"), "from is a path in" },
	{ FROM("files: [ { from: /a, to: /b } ]"), "from is a path in" },
	{ FROM("files: [ { from: \"$A\", to: /b } ]"), "from is a path in" },
	{ FROM("files: [ { from: \"*\", to: /b } ]"), "from is a path in" },
	{ FROM("files: [ { from: a, to: b } ]"), "to is an absolute path" },
	{ FROM("files: [ { from: a, to: /../b } ]"), "to is an absolute path" },
	{ FROM("files: [ { from: a, to: /b, mode: 7 } ]"),
	  "unknown key 'mode'" },
	{ FROM("egress: { mode: open }"), "has use, allow and deny" },
	{ FROM("egress: { allow: [localhost] }"), "can be allowed by no" },
	{ FROM("time: 0"), "from 1s to 24h" },
	{ FROM("time: 25h"), "from 1s to 24h" },
	{ FROM("disk: 1m"), "at least 16m" },
	{ FROM("memory: 1m"), "at least 128m" },
};

static void test_broken(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		struct blueprint bp = { 0 };
		struct err err = { 0 };
		int rc = parse(broken[i].text, &bp, &err);

		ok(rc == -EINVAL && strstr(err.msg, broken[i].why), "%s: %s",
		   broken[i].text + strlen("version: 2\n"), err.msg);
		blueprint_done(&bp);
	}
}

static void is_image(const char *name, const char *image, const char *from)
{
	struct blueprint bp = { 0 };
	struct err err = { 0 };

	is_int(blueprint_load(name, &bp, &err), 0, "%s %s", name, err.msg);
	is_str(bp.image ? bp.image : "", image, "its image");
	is_str(bp.build.from ? bp.build.from : "", from, "made from");
	blueprint_done(&bp);
}

static void test_names(void)
{
	user_put("parent",
		 "version: 2\nimage: { from: base, packages: { apt: [a] }, "
		 "time: 5s }\n");
	user_put("heir", "version: 2\nextends: parent\n");
	user_put("other",
		 "version: 2\nextends: parent\nimage: { from: parent }\n");
	user_put("plain", "version: 2\nextends: parent\nimage: base\n");
	is_image("parent", "parent", "base");
	is_image("heir", "parent", "base");
	is_image("other", "other", "parent");
	is_image("plain", "base", "");
}

static void test_replaced(void)
{
	struct blueprint bp = { 0 };
	struct err err = { 0 };

	if (!ok(blueprint_load("other", &bp, &err) == 0, "an heir"))
		return;
	ok(bp.build.apt.n == 0 && bp.build.time_ms == 0,
	   "has nothing of its parent's image");
	blueprint_done(&bp);
	ok(parse("version: 2\nimage: { from: base }\n", &bp, &err) == 0 &&
		   strcmp(bp.image, "own") == 0,
	   "a text without a folder has the name that it is read by");
	blueprint_done(&bp);
}

int main(void)
{
	if (!user_dir_begin())
		return 1;
	test_broken();
	test_names();
	test_replaced();
	user_dir_end();
	return done_testing();
}
