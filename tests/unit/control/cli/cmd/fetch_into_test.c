/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch_into_test.c - which repository gets the commits, and which never does
 */
#include "control/cli/cmd/fetch_into.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/ac-fetch-into.XXXXXX";

static char *place(const char *name)
{
	return str_printf("%s/%s", dir, name);
}

/* Returns a record of the instance job. */
static json_t *record(const char *workspace, const char *mode)
{
	return json_pack("{s:s, s:s?, s:s}", "name", "job", "workspace",
			 workspace, "workspace_mode", mode);
}

/* Judges the directory for @rec, while @other is an instance too (stolen). */
static int judge(json_t *rec, json_t *other, const char *into, struct err *err)
{
	SCOPED_STR home = place("home");
	struct cli cli = { .home = home, .quiet = true };
	SCOPED_WORKSPACE ws = WORKSPACE_NONE;
	SCOPED_JSON owned = rec;
	SCOPED_JSON all = json_array();

	json_array_append(all, rec);
	if (other)
		json_array_append_new(all, other);
	*err = (struct err){ 0 };
	return fetch_into_open(&cli, owned, into, all, &ws, err);
}

static void test_record(void)
{
	SCOPED_STR mine = place("mine");
	struct err err;

	is_int(judge(record(mine, "copy"), NULL, NULL, &err), 0,
	       "the directory that it has a copy of %s", err.msg);
	is_int(judge(record(NULL, ""), NULL, NULL, &err), -EINVAL, "none: %s",
	       err.msg);
	ok(strstr(err.msg, "--into"), "says what to do");
	is_int(judge(record(mine, "live"), NULL, NULL, &err), -EINVAL,
	       "live: %s", err.msg);
	is_int(judge(record(mine, "ro"), NULL, NULL, &err), -EINVAL,
	       "read-only: %s", err.msg);
}

static void test_into(void)
{
	SCOPED_STR mine = place("mine");
	SCOPED_STR live = place("live");
	SCOPED_STR below = place("live/below");
	SCOPED_STR home = place("home/x");
	SCOPED_STR link = place("live/link");
	struct err err;
	struct stat st;
	json_t *other;

	is_int(judge(record(NULL, ""), NULL, mine, &err), 0,
	       "a directory of the user's %s", err.msg);
	is_int(judge(record(live, "live"), NULL, mine, &err), 0,
	       "also of one that works elsewhere %s", err.msg);
	is_int(judge(record(live, "live"), NULL, live, &err), -EPERM,
	       "what it writes in: %s", err.msg);
	is_int(judge(record(live, "live"), NULL, below, &err), -EPERM,
	       "and below it: %s", err.msg);
	is_int(judge(record(live, "live"), NULL, link, &err), -EPERM,
	       "and by a link there: %s", err.msg);
	is_int(judge(record(NULL, ""), record(live, "live"), live, &err),
	       -EPERM, "what another writes in: %s", err.msg);
	is_int(judge(record(live, "ro"), NULL, live, &err), 0,
	       "what it only reads %s", err.msg);
	is_int(judge(record(NULL, ""), NULL, home, &err), -EPERM,
	       "ac's own state: %s", err.msg);
	if (stat(live, &st) < 0)
		return;
	other = json_pack("{s:s, s:[{s:s, s:I, s:I}]}", "name", "other",
			  "mounts", "mode", "live", "dev",
			  (json_int_t)st.st_dev, "ino", (json_int_t)st.st_ino);
	is_int(judge(record(NULL, ""), other, below, &err), -EPERM,
	       "a mount of another: %s", err.msg);
}

int main(void)
{
	static const char *const names[] = { "mine", "live", "live/below",
					     "home", "home/x" };

	if (!mkdtemp(dir))
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		SCOPED_STR path = place(names[i]);

		if (!path || mkdir(path, 0700) < 0)
			return 1;
	}
	{
		SCOPED_STR link = place("live/link");

		if (!link || symlink("../mine", link) < 0)
			return 1;
	}
	test_record();
	test_into();
	file_remove_tree(dir);
	return done_testing();
}
