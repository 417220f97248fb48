/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recipe_test.c - the Dockerfile of an image that a blueprint describes
 */
#include "control/acd/install/recipe.h"

#include <string.h>

#include "lib/file.h"
#include "tests/unit/control/acd/blueprint/user_dir.h"
#include "tests/unit/tap.h"

static const char *recipe(const char *image)
{
	static char text[4096];
	SCOPED_STR got = NULL;
	char path[128];

	snprintf(path, sizeof(path), "recipes/%s/Dockerfile", image);
	if (file_read(path, sizeof(text) - 1, &got, NULL) < 0)
		return "(none)";
	snprintf(text, sizeof(text), "%s", got);
	return text;
}

#define HEAD                                     \
	"# Written by acd from the blueprint.\n" \
	"FROM ac/base\nUSER 0:0\nWORKDIR /\n"

static void test_all(void)
{
	struct err err = { 0 };

	user_put("mine", "version: 2\n"
			 "image:\n"
			 "  from: base\n"
			 "  packages:\n"
			 "    apt: [make, \"libfoo-dev=1.2\"]\n"
			 "    npm: [\"@a/b@1.2.3\"]\n"
			 "    pip: [\"six==1.16.0\", \"x[y]>=2\"]\n"
			 "  files: [ { from: a b, to: /etc/x/ } ]\n"
			 "  run:\n"
			 "    - |\n"
			 "      set -x\n"
			 "      echo \"$HOME\" \\\n"
			 "        'é'\n");
	is_int(recipe_write("recipes", "mine", &err), 0, "a recipe: %s",
	       err.msg);
	is_str(recipe("mine"),
	       HEAD
	       "RUN : \"install packages of Debian\" && apt-get update -q && "
	       "DEBIAN_FRONTEND=noninteractive apt-get install -qy "
	       "--no-install-recommends 'make' 'libfoo-dev=1.2' && rm -rf "
	       "/var/lib/apt/lists/* /var/cache/apt/*.bin\n"
	       "RUN : \"install packages of npm\" && npm install -g --no-audit "
	       "--no-fund --cache /tmp/npm '@a/b@1.2.3' && rm -rf /tmp/npm\n"
	       "RUN : \"install packages of Python\" && pip install "
	       "--no-cache-dir --root-user-action=ignore 'six==1.16.0' "
	       "'x[y]>=2' && :\n"
	       "COPY [\"a b\", \"/etc/x/\"]\n"
	       "RUN [\"/bin/sh\", \"-ec\", \"set -x\\necho \\\"$HOME\\\" "
	       "\\\\\\n"
	       "  '\\u00E9'\\n\"]\n",
	       "has all in order");
}

static void test_others(void)
{
	struct err err = { 0 };

	user_put("named", "version: 2\nimage: base\n");
	user_put("heir", "version: 2\nextends: mine\n");
	is_int(recipe_write("recipes", "named", &err), 0, "a name alone");
	is_str(recipe("named"), "(none)", "has no recipe");
	is_int(recipe_write("recipes", "heir", &err), 0, "one of a parent");
	is_str(recipe("heir"), "(none)", "is the parent's");
	is_int(recipe_write("recipes", "base", &err), 0, "ours");

	user_put("up", "version: 2\nimage: { from: mine }\n");
	file_remove_tree("recipes");
	is_int(recipe_write("recipes", "up", &err), 0, "one from another");
	ok(strncmp(recipe("up"), "# Wr", 4) == 0 &&
		   strncmp(recipe("mine"), "# Wr", 4) == 0,
	   "needs both");

	user_put("up", "version: 2\nimage: base\n");
	is_int(recipe_write("recipes", "up", &err), 0, "one that has none now");
	is_str(recipe("up"), "(none)", "loses it");
}

static void test_loop(void)
{
	struct err err = { 0 };

	user_put("aa", "version: 2\nimage: { from: bb }\n");
	user_put("bb", "version: 2\nimage: { from: aa }\n");
	is_int(recipe_write("recipes", "aa", &err), -ELOOP, "a loop: %s",
	       err.msg);
	user_put("cc", "version: 2\nimage: { from: cc }\n");
	is_int(recipe_write("recipes", "cc", &err), -EINVAL, "of one: %s",
	       err.msg);
}

int main(void)
{
	if (!user_dir_begin())
		return 1;
	test_all();
	test_others();
	test_loop();
	user_dir_end();
	return done_testing();
}
