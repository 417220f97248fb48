/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use_test.c - which images are used, and what the others would free
 */
#include "control/acd/image/use.h"

#include <errno.h>

#include "tests/unit/tap.h"

/* An image of the test: its layers are letters, of 10 bytes each. */
struct row {
	const char *tag, *layers, *blueprint;
	unsigned long long shared;
	bool running;
};

static void make(struct images *is, const struct row *rows, size_t n)
{
	json_t *list = json_array();

	*is = (struct images){ 0 };
	for (size_t k = 0; k < n; k++)
		json_array_append_new(
			list,
			json_pack("{s:o, s:i, s:I, s:I, s:[s?]}", "Id",
				  json_sprintf("sha256:%zu", k), "Created",
				  1700000000, "Size",
				  (json_int_t)strlen(rows[k].layers) * 10,
				  "SharedSize", (json_int_t)rows[k].shared,
				  "RepoTags", rows[k].tag));
	if (images_read(is, list) < 0)
		is->n = 0;
	json_decref(list);
	for (size_t k = 0; k < is->n; k++) {
		struct image *i = &is->v[k];

		i->running = rows[k].running;
		for (const char *p = rows[k].layers; *p; p++)
			if (strv_pushf(&i->layers, "sha256:%c", *p) < 0)
				return;
		if (rows[k].blueprint &&
		    strv_push(&i->blueprints, rows[k].blueprint) < 0)
			return;
	}
	images_settle(is);
}

static unsigned long long freed_all(struct images *is)
{
	for (size_t k = 0; k < is->n; k++)
		is->v[k].gone = !image_is_used(&is->v[k]);
	return (unsigned long long)images_freed(is);
}

static void used_is(const struct images *is, const char *want, const char *what)
{
	char got[16] = "";

	for (size_t k = 0; k < is->n && k < sizeof(got) - 1; k++)
		got[k] = image_is_used(&is->v[k]) ? 'u' : '-';
	is_str(got, want, "%s", what);
}

static void test_use(void)
{
	static const struct row rows[] = {
		{ "ac/rootfs:latest", "r", NULL, 10, false },
		{ "ac/rootfs:old", "R", NULL, 10, false },
		{ "ac/base:latest", "rb", "base", 20, false },
		{ "ac/base:old", "Rb", NULL, 20, false },
		{ "ac/claude:old", "Rbc", NULL, 20, false },
		{ "ac/claude:latest", "rbd", "claude", 20, false },
		{ "ac/pi:old", "rbx", NULL, 20, false },
		{ "ac/pi:older", "rbxy", NULL, 20, true },
	};
	struct images is;

	make(&is, rows, ARRAY_SIZE(rows));
	used_is(&is, "u-u--uuu",
		"blueprints, what runs, what these are built on");
	is_int((long long)freed_all(&is), 30,
	       "three that share layers among themselves alone");
	images_done(&is);
	make(&is, rows, 1);
	used_is(&is, "u", "the root of all, even if nothing is there yet");
	is_int((long long)freed_all(&is), 0, "which frees nothing");
	images_done(&is);
}

static void test_freed(void)
{
	static const struct row twins[] = {
		{ "ac/base:latest", "ab", "base", 20, false },
		{ NULL, "ab", NULL, 20, false },
		{ "ac/x:1", "abcd", NULL, 30, false },
		{ "ac/x:2", "abce", NULL, 30, false },
		{ "other:1", "z", NULL, 0, false },
	};
	static const struct row fork[] = {
		{ "ac/k:latest", "abk", "k", 20, false },
		{ "ac/x:1", "abcd", NULL, 30, false },
		{ "ac/x:2", "abce", NULL, 30, false },
	};
	struct images is;

	make(&is, twins, ARRAY_SIZE(twins));
	used_is(&is, "u----", "the same layers twice are not built on");
	is_int((long long)freed_all(&is), 10 + 20 + 10,
	       "each layer once, and none that stays");
	images_done(&is);
	make(&is, fork, ARRAY_SIZE(fork));
	is_int((long long)freed_all(&is), 30,
	       "the size of two layers is known from the one that stays");
	images_done(&is);
}

static void test_read(void)
{
	static const char *const bad[] = { "{}", "[1]", "[{\"Id\":\"x\"}]",
					   "[{\"Id\":5}]" };
	json_t *many = json_array();
	struct images is = { 0 };
	struct image i = { 0 };
	json_t *j;

	for (size_t k = 0; k < ARRAY_SIZE(bad); k++) {
		j = json_loads(bad[k], 0, NULL);
		is_int(images_read(&is, j), -EPROTO, "no list: %s", bad[k]);
		images_done(&is);
		json_decref(j);
	}
	for (unsigned k = 0; k <= IMAGES_MAX; k++)
		json_array_append_new(many,
				      json_pack("{s:s}", "Id", "sha256:1"));
	is_int(images_read(&is, many), -E2BIG, "too many");
	images_done(&is);
	json_decref(many);
	j = json_loads("[{\"Id\":\"sha256:1\",\"Size\":-5,\"SharedSize\":-1,"
		       "\"RepoTags\":[\"<none>:<none>\",\"b:2\",\"b:1\",7]}]",
		       0, NULL);
	is_int(images_read(&is, j), 0, "sizes that are not known");
	ok(is.n == 1 && is.v[0].bytes == 0 && is.v[0].shared == 0,
	   "are nothing");
	ok(is.v[0].tags.n == 2 && strcmp(is.v[0].tags.v[0], "b:1") == 0,
	   "tags are sorted, <none> is none");
	json_decref(j);
	images_done(&is);
	j = json_loads("{\"RootFS\":{\"Layers\":[\"sha256:a\",4]}}", 0, NULL);
	is_int(image_read(&i, j), -EPROTO, "a layer that is a number");
	strv_done(&i.layers);
	json_decref(j);
}

static void test_containers(void)
{
	static const struct row rows[] = {
		{ "ac/a:latest", "a", NULL, 0, false },
		{ "ac/b:latest", "b", NULL, 0, false },
		{ "ac/c:latest", "c", NULL, 0, false },
	};
	json_t *list = json_loads(
		"[{\"ImageID\":\"sha256:0\",\"Labels\":{\"inst\":\"one\"}},"
		"{\"ImageID\":\"sha256:0\",\"Labels\":{\"inst\":\"one\"}},"
		"{\"ImageID\":\"sha256:1\",\"Labels\":{\"hold\":\"x\"}},"
		"{\"ImageID\":\"sha256:2\"},{\"ImageID\":\"sha256:9\"},{},3]",
		0, NULL);
	struct images is;
	json_t *j;

	make(&is, rows, ARRAY_SIZE(rows));
	is_int(images_read_containers(&is, list, "inst", "hold"), 0, "read");
	used_is(&is, "u-u", "one that only holds an image does not use it");
	is_int((long long)is.v[0].instances.n, 1, "each instance once");
	j = image_json(&is.v[0]);
	ok(json_is_true(json_object_get(j, "running")) &&
		   strcmp(json_string_value(json_object_get(j, "id")), "0") ==
			   0,
	   "and told");
	json_decref(j);
	json_decref(list);
	images_done(&is);
}

int main(void)
{
	test_use();
	test_freed();
	test_read();
	test_containers();
	return done_testing();
}
