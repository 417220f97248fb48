/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mistakes_test.c - all mistakes of a blueprint and its parents at once
 */
#include "control/acd/blueprint/mistakes.h"

#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

#define V "version: 2\nimage: base\n"

/* "code line:column hint", of each; the caller frees it. */
static char *judged(const char *text, size_t len, struct blueprint_mistakes *m,
		    struct err *err)
{
	struct blueprint bp = { 0 };
	char *out = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&out, &size);

	if (blueprint_judge(text, len, "f", "name", &bp, m, err) == 0)
		blueprint_done(&bp);
	for (size_t i = 0; i < m->n; i++)
		fprintf(f, "%s %u:%u %s\n", m->v[i].code, m->v[i].line,
			m->v[i].column, m->v[i].hint);
	fclose(f);
	return out;
}

static const struct {
	const char *text, *want;
} rows[] = {
	{ V, "" },
	{ "version: 2\negres: {}\n", "unknown_key 2:8 egress\n"
				     "missing 1:1 \n" },
	{ "", "missing 1:1 \n" },
	{ "image: base\n", "missing 1:1 \n" },
	{ "version: 3\nimage: base\nx: y\n", "other_version 1:10 \n" },
	{ "- a\n- b\n", "wrong_value 1:1 \n" },
	{ "version: 2\nimage: [\n", "not_yaml 2:8 \n" },
	{ V "ttl: 1h\nttl: 2h\n", "not_yaml 4:1 \n" },
	{ "version: 2\nimage: Base\nttl: long\n", "wrong_value 2:8 \n"
						  "wrong_value 3:6 \n" },
	{ V "command: [a]\nshell: [b]\n", "other_version 3:10 \n"
					  "other_version 4:8 \n" },
	{ V "run:\n  comand: [a]\n  args: apend\n  headless: [[a], b, yes]\n"
	    "  result: { json: r }\n  env: { A: [b], \"1\": c }\n",
	  "unknown_key 4:11 command\n"
	  "wrong_value 5:9 append\n"
	  "wrong_value 6:14 \n"
	  "wrong_value 6:22 \n"
	  "wrong_value 7:19 \n"
	  "wrong_value 8:13 \n"
	  "wrong_value 8:23 \n" },
	{ V "isolation: runcs\nfilesystem: { root: writeable, tmpp: exec }\n"
	    "blocked_paths: [/a, .., b]\n",
	  "wrong_value 3:12 runsc\n"
	  "wrong_value 4:21 writable\n"
	  "unknown_key 4:38 tmp\n"
	  "wrong_value 5:17 \n"
	  "wrong_value 5:21 \n" },
	{ V "egress: { mode: opne, alow: [], use: [A!, github], allow: x }\n"
	    "credentials: [a, a, { name: b, mode: hand, git: { push: asks } "
	    "}]\n",
	  "wrong_value 3:17 open\n"
	  "unknown_key 3:29 allow\n"
	  "wrong_value 3:39 \n"
	  "wrong_value 3:59 \n"
	  "twice 4:18 \n"
	  "wrong_value 4:38 \n"
	  "wrong_value 4:57 ask\n" },
	{ V "files:\n  - path: /x\n  - path: a\n    text: b\n    mode: x\n"
	    "  - { path: b, text: \"{credential:}\" }\n  - c\n"
	    "  - { path: d, text: \"{credential:none}\" }\n"
	    "prompt: { paths: [../x, a] }\n",
	  "wrong_value 4:11 \n"
	  "wrong_value 7:11 \n"
	  "wrong_value 8:22 \n"
	  "wrong_value 9:5 \n"
	  "wrong_value 11:19 \n" },
	{ V "files: [ { path: d, text: \"{credential:none}\" } ]\n",
	  "missing 3:8 \n" },
	{ "version: 2\nextends: haus\nttl: x\n", "extends 2:10 house\n"
						 "wrong_value 3:6 \n" },
	{ "version: 2\nextends: bad\nttl: x\nworkdir: a\n",
	  "wrong_value 3:6 \n"
	  "wrong_value 3:6 \n"
	  "other_version 4:10 \n" },
};

static void test_rows(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct blueprint_mistakes m = { 0 };
		struct err err = { 0 };
		SCOPED_STR got =
			judged(rows[i].text, strlen(rows[i].text), &m, &err);

		is_str(got, rows[i].want, "%zu: %s", i, err.msg);
		ok(m.n == 0 ? err.code == 0 : err.code == -EINVAL && !m.more,
		   "%zu: and so it fails", i);
		mistakes_done(&m);
	}
}

static void test_files(void)
{
	static const char text[] = "version: 2\nextends: bad\nttl: x\n";
	struct blueprint_mistakes m = { 0 };
	struct err err = { 0 };
	SCOPED_STR got = judged(text, strlen(text), &m, &err);

	ok(got != NULL, "mistakes of both");
	if (!is_int(m.n, 2, "one of the parent, one of its own"))
		return;
	ok(str_ends(m.v[0].file, "/bad/blueprint.yaml"), "the parent's first");
	is_str(m.v[1].file, "f", "then the heir's");
	ok(strstr(m.v[0].message, "/bad/blueprint.yaml:3:6: ttl must be"), "%s",
	   m.v[0].message);
	ok(strstr(err.msg, "(and 1 more: see 'ac blueprint check')"), "%s",
	   err.msg);
	mistakes_done(&m);
}

/* @n unknown keys, and no image unless @image. */
static void test_many(unsigned n, bool image, unsigned want, bool more)
{
	struct blueprint_mistakes m = { 0 };
	struct err err = { 0 };
	SCOPED_STR got = NULL;
	SCOPED_STR text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	fprintf(f, "version: 2\n%s", image ? "image: base\n" : "");
	for (unsigned i = 0; i < n; i++)
		fprintf(f, "key%u: x\n", i);
	fclose(f);
	got = judged(text, len, &m, &err);
	ok(got != NULL, "%u keys", n);
	is_int(m.n, want, "as many mistakes as are kept");
	ok(m.more == more, "and whether there are more");
	is_int(err.code, -EINVAL, "%s", err.msg);
	ok(!more || strstr(err.msg, "(and at least 19 more"), "which is said");
	mistakes_done(&m);
	ok(m.n == 0 && !m.more, "released");
}

static void test_limit(void)
{
	test_many(BLUEPRINT_MISTAKES_MAX, true, BLUEPRINT_MISTAKES_MAX, false);
	test_many(BLUEPRINT_MISTAKES_MAX, false, BLUEPRINT_MISTAKES_MAX, true);
	test_many(500, true, BLUEPRINT_MISTAKES_MAX, true);
	test_many(BLUEPRINT_MISTAKES_MAX - 1, false, BLUEPRINT_MISTAKES_MAX,
		  false);
}

static void test_large(void)
{
	SCOPED_STR text = malloc(BLUEPRINT_FILE_MAX + 1);
	struct blueprint_mistakes m = { 0 };
	struct err err = { 0 };
	SCOPED_STR got = NULL;

	memset(text, '#', BLUEPRINT_FILE_MAX + 1);
	got = judged(text, BLUEPRINT_FILE_MAX + 1, &m, &err);
	is_str(got, "too_much 0:0 \n", "a file that is too large");
	mistakes_done(&m);
}

int main(void)
{
	static char dir[] = "/tmp/mistakes_test.XXXXXX";
	static const char *const texts[] = { V, V "ttl: long\n" };
	static const char *const names[] = { "house", "bad" };

	if (!mkdtemp(dir))
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char path[96];

		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		file_mkdir_p(path, 0700);
		strcat(path, "/blueprint.yaml");
		file_write_atomic(path, texts[i], strlen(texts[i]), 0600);
	}
	blueprint_set_dirs(dir, "/nonexistent");
	test_rows();
	test_files();
	test_limit();
	test_large();
	file_remove_tree(dir);
	return done_testing();
}
