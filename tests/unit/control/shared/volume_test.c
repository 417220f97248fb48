/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume_test.c - volumes of an instance as people write them
 */
#include "control/shared/volume.h"

#include <stdlib.h>

#include "tests/unit/tap.h"

#define LONG_NAME \
	"a23456789012345678901234567890123456789012345678901234567890123"

static const struct {
	const char *text, *read; /* NULL: refused */
} cases[] = {
	{ "cache:/mnt/cache", "cache:/mnt/cache:rw" },
	{ "cache:/mnt/cache:rw", "cache:/mnt/cache:rw" },
	{ "cache:/mnt/cache:ro", "cache:/mnt/cache:ro" },
	{ "A.b-c_9:/mnt/9", "A.b-c_9:/mnt/9:rw" },
	{ LONG_NAME ":/mnt/x", LONG_NAME ":/mnt/x:rw" },
	{ LONG_NAME "4:/mnt/x", NULL },
	{ "", NULL },
	{ ":", NULL },
	{ "cache", NULL },
	{ "cache:", NULL },
	{ "c:/mnt/cache", NULL },
	{ ":/mnt/cache", NULL },
	{ ".new:/mnt/cache", NULL },
	{ "-x:/mnt/cache", NULL },
	{ "../x:/mnt/cache", NULL },
	{ "a/b:/mnt/cache", NULL },
	{ "cache:mnt/cache", NULL },
	{ "cache:/mnt", NULL },
	{ "cache:/mnt/", NULL },
	{ "cache:/mnt/..", NULL },
	{ "cache:/mnt/a/b", NULL },
	{ "cache:/home/node", NULL },
	{ "cache:/workspace", NULL },
	{ "cache:/mnt/cache:", NULL },
	{ "cache:/mnt/cache:live", NULL },
	{ "cache:/mnt/cache:ro:", NULL },
	{ "cache:/mnt/cache:ro:rw", NULL },
	{ "cache:/mnt/cache\n", NULL },
};

static void test_cases(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct volume_use u = { 0 };
		struct err err = { 0 };
		char text[VOLUME_TEXT_MAX] = "";
		int rc = volume_parse(cases[i].text, &u, &err);

		if (!cases[i].read) {
			is_int(rc, -EINVAL, "'%s': %s", cases[i].text, err.msg);
			is_int(u.name[0], 0, "nothing is set");
			continue;
		}
		is_int(rc, 0, "'%s' %s", cases[i].text, err.msg);
		volume_text(&u, text);
		is_str(text, cases[i].read, "reads as");
	}
}

static void test_list(void)
{
	static const char stored[] = "[\"aa:/mnt/a:rw\",\"bb:/mnt/b:ro\"]";
	struct volume_use v[VOLUME_USES_MAX];
	struct err err = { 0 };
	size_t n = 7;
	char *text;

	is_int(volume_load(NULL, v, &n, &err), 0, "nothing is stored");
	is_int(n, 0, "no volume");
	is_int(volume_load(stored, v, &n, &err), 0, "a list: %s", err.msg);
	is_int(n, 2, "two");
	text = volume_store(v, n);
	is_str(text, stored, "and back");
	free(text);
	n = 7;
	is_int(volume_load("[\"aa:/mnt/a\",\"bb:/mnt/a\"]", v, &n, &err),
	       -EINVAL, "one place twice: %s", err.msg);
	is_int(volume_load("{}", v, &n, &err), -EINVAL, "no list: %s", err.msg);
	is_int(volume_load("[7]", v, &n, &err), -EINVAL, "no text: %s",
	       err.msg);
	is_int(volume_load("[", v, &n, &err), -EINVAL, "no JSON: %s", err.msg);
	is_int(n, 7, "the number is unchanged");
	is_int(volume_load("[\"aa:/mnt/a\",\"aa:/mnt/b:ro\"]", v, &n, &err), 0,
	       "one volume at two places %s", err.msg);
}

static void test_too_many(void)
{
	struct volume_use v[VOLUME_USES_MAX];
	struct err err = { 0 };
	char json[64 * 20] = "[";
	size_t n = 0, used = 1;

	for (unsigned i = 0; i <= VOLUME_USES_MAX; i++)
		used += (size_t)snprintf(json + used, sizeof(json) - used,
					 "%s\"aa:/mnt/%u\"", i ? "," : "", i);
	snprintf(json + used, sizeof(json) - used, "]");
	is_int(volume_load(json, v, &n, &err), -EINVAL, "%s", err.msg);
}

int main(void)
{
	test_cases();
	test_list();
	test_too_many();
	return done_testing();
}
