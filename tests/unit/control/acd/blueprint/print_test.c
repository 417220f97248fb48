/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print_test.c - a blueprint that is printed and read again is the same
 */
#include "control/acd/blueprint/print.h"

#include <dirent.h>

#include "control/acd/preset/preset.h"
#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

#define V "version: 2\nimage: base\n"

/* The text of what is read from @text; NULL: it is refused. Caller frees. */
static char *printed(const char *text, size_t len)
{
	struct blueprint bp = { 0 };
	struct err err = { 0 };
	char *out = NULL;
	struct buf b;

	if (blueprint_parse(text, len, "f", "name", &bp, &err) < 0) {
		printf("# %s\n", err.msg);
		return NULL;
	}
	buf_init(&b, BLUEPRINT_PRINT_MAX);
	if (blueprint_print(&bp, &b, NULL) < 0 ||
	    slice_dup_str(buf_slice(&b), &out) < 0)
		out = NULL;
	buf_done(&b);
	blueprint_done(&bp);
	return out;
}

static void test_again(const char *name, const char *text, size_t len)
{
	SCOPED_STR once = printed(text, len);
	SCOPED_STR twice = once ? printed(once, strlen(once)) : NULL;

	if (!ok(once && twice, "%s: printed, and read again", name))
		return;
	is_str(twice, once, "%s: the same", name);
}

static const struct {
	const char *text, *want;
} rows[] = {
	{ V, "run:\n  command: [bash, -l]\n  args: replace\n" },
	{ V "description: \"a: b # c\"\n", "description: \"a: b # c\"\n" },
	{ V "description: \"yes\"\n", "description: \"yes\"\n" },
	{ V "description: \"12\"\n", "description: \"12\"\n" },
	{ V "description: 12\n", "description: \"12\"\n" },
	{ V "description: \"\\u00e9 \\u0085 \\u2028 \\ufeff \\\" \\\\\"\n",
	  "description: \"\303\251 \\u0085 \\u2028 \\ufeff \\\" \\\\\"\n" },
	{ V "resources: { cpus: 1.5, memory: 1536m, timeout: 90m, disk: 3g }\n",
	  "resources:\n  cpus: 1.500\n  memory: 1536m\n  pids: 1024\n"
	  "  timeout: 90m\n  disk: 3g\n  output: none\n" },
	{ V "ttl: 1500ms\nidle: 2d\n", "ttl: 1500ms\n" },
	{ V "run: { env: { A: \"x y\", \"N\": \"\" } }\n",
	  "  env:\n    \"A\": \"x y\"\n    \"N\": \"\"\n" },
	{ V "run: { result: { json: .a, usage: .b } }\n",
	  "  result:\n    json: .a\n    usage: .b\n" },
	{ V "egress: { use: [aa], allow: [b.test], limits: { c: 1 } }\n",
	  "egress:\n  use:\n    - aa\n  allow:\n    - b.test\n"
	  "  limits: { c: 1 }\n" },
	{ V "credentials: [a, { name: b, mode: handover, env: B, git: { push: "
	    "allow }, methods: [GET], paths: [/x] }]\n",
	  "credentials:\n  - { name: a }\n  - { name: b, mode: handover, env: B"
	  ", git: { push: allow }, methods: [GET], paths: [/x] }\n" },
	{ V "files: [ { path: a, json: { b: [1, \"\\u0085\"] }, merge: json } "
	    "]\n",
	  "  - path: a\n    json: {\n        \"b\": [\n          1,\n" },
	{ V "files: [ { path: a, text: \"b\\n\\n c\\n\", always: true } ]\n",
	  "    text: |\n      b\n\n       c\n    always: true\n" },
	{ V "files: [ { path: a, text: \" b\\nc\" } ]\n",
	  "    text: \" b\\u000ac\"\n" },
	{ V "files: [ { path: a, text: \"b\\n\\n\" } ]\n",
	  "    text: \"b\\u000a\\u000a\"\n" },
	{ V "files: [ { path: a, text: \"b\\nc\" } ]\n",
	  "    text: |-\n      b\n      c\n" },
	{ V "files: [ { path: a, text: \"\" } ]\n", "    text: \"\"\n" },
	{ V "prompt: { text: \"be\\nkind\\n\", paths: [A.md, \"b c\"] }\n",
	  "prompt:\n  text: |\n    be\n    kind\n  paths: [A.md, \"b c\"]\n" },
	{ V "skills: { folders: [s/one, two], paths: [.a/s, \"b c\"] }\n",
	  "skills:\n  folders:\n    - s/one\n    - two\n"
	  "  paths: [\".a/s\", \"b c\"]\n" },
	{ V "mounts: [ { to: /mnt/a, from: /srv/a b }, { from: ~/c, to: "
	    "/mnt/c, mode: live } ]\n",
	  "mounts:\n  - { from: \"/srv/a b\", to: /mnt/a, mode: ro }\n"
	  "  - { from: \"~/c\", to: /mnt/c, mode: live }\n" },
	{ V "mounts: [ { to: /mnt/a, volume: aa }, { volume: b.b, to: "
	    "/mnt/b, mode: ro } ]\n",
	  "mounts:\n  - { volume: aa, to: /mnt/a, mode: rw }\n"
	  "  - { volume: b.b, to: /mnt/b, mode: ro }\n" },
	{ "version: 2\nimage: { from: base, packages: { apt: [make], pip: "
	  "[\"a==1\"] }, files: [ { from: a b, to: /c } ], run: "
	  "[\"x\\ny\\n\"], "
	  "egress: { deny: [a.test] }, time: 90s, disk: 1g, "
	  "memory: 2g }\n",
	  "image:\n  from: base\n  packages:\n    apt: [make]\n    pip: "
	  "[\"a==1\"]\n  files:\n    - { from: \"a b\", to: /c }\n  run:\n    "
	  "- "
	  "|\n      x\n      y\n  egress: { use: [], allow: [], deny: [a.test] "
	  "}\n  time: 90s\n  disk: 1g\n  memory: 2g\n" },
	{ V "prompt: { use: [git-workflow], paths: [A.md] }\n",
	  "prompt:\n  use:\n    - git-workflow\n  paths: [A.md]\n"
	  "# What prompt.use adds:\n# ## Git\n#\n# - GIT-1 " },
	{ "version: 1\nimage: base\ncommand: [a]\nblocked_paths: [b]\n",
	  "\nblocked_paths: [b]\n" },
};

static void test_rows(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SCOPED_STR text = printed(rows[i].text, strlen(rows[i].text));

		if (!ok(text && strstr(text, rows[i].want), "%zu: as it should",
			i))
			printf("# %s\n", text ? text : "nothing");
		test_again("and", rows[i].text, strlen(rows[i].text));
	}
}

/* "f:3" or "default" for each line that has a value, "-" for others; in brackets
 * if a comment would be a part of it. */
static char *places(const char *text)
{
	struct print_lines lines = { 0 };
	struct blueprint bp = { 0 };
	struct err err = { 0 };
	char *out = NULL;
	size_t size = 0;
	struct buf b;
	FILE *f = open_memstream(&out, &size);

	buf_init(&b, BLUEPRINT_PRINT_MAX);
	if (blueprint_parse(text, strlen(text), "f", "name", &bp, &err) == 0 &&
	    blueprint_print(&bp, &b, &lines) == 0) {
		for (size_t i = 0; i < lines.n; i++) {
			const struct print_line *l = &lines.v[i];

			fprintf(f, "%s", l->inside ? "[" : "");
			if (l->from)
				fprintf(f, "%s:%u", l->from->file,
					l->from->line);
			else
				fprintf(f, "%s", l->set ? "default" : "-");
			fprintf(f, "%s ", l->inside ? "]" : "");
		}
	}
	fclose(f);
	print_lines_done(&lines);
	blueprint_done(&bp);
	buf_done(&b);
	return out;
}

static void test_lines(void)
{
	SCOPED_STR got = places(V "run: { env: { A: b } }\n"
				  "files:\n  - path: a\n    text: |\n"
				  "      b\n      c\n  - path: d\n    json:\n"
				  "      e: f\nprompt:\n  text: |\n    be\n");

	/* version, description, image; run; resources; life; isolation; files;
	 * prompt */
	is_str(got,
	       "- default f:2 "
	       "- default default default default default - f:3 "
	       "- default default default default default default "
	       "default - default default default "
	       "- f:5 f:5 [f:5] [f:5] f:5 "
	       "f:9 f:9 [f:9] [f:9] f:9 "
	       "- f:13 [f:13] ",
	       "what each line is from");
}

/* All of the corpus that is taken. */
static void test_corpus(void)
{
	static const char folder[] = "tests/fuzz/corpus/control/blueprint";
	SCOPED_DIR d = opendir(folder);
	unsigned n = 0;

	for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
		SCOPED_STR path = str_printf("%s/%s", folder, e->d_name);
		SCOPED_STR text = NULL;
		SCOPED_STR out = NULL;
		size_t len = 0;

		if (e->d_name[0] == '.' ||
		    file_read(path, 1024 * 1024, &text, &len) < 0)
			continue;
		out = printed(text, len);
		if (!out)
			continue;
		n++;
		test_again(e->d_name, text, len);
	}
	ok(n >= 4, "%u of the corpus", n);
}

int main(void)
{
	blueprint_set_dirs("/nonexistent", "/nonexistent");
	preset_set_dirs("/nonexistent", "blueprints/presets");
	test_rows();
	test_lines();
	test_corpus();
	return done_testing();
}
