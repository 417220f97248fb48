/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema_test.c - the schema of blueprints: what the parser's tables say, what
 * every shipped one fits, and no broken one as far as a schema can say it
 */
#include <dirent.h>

#include "control/acd/blueprint/blueprint.h"
#include "ottergate/yaml.h"
#include "tests/unit/tap.h"

#include "tests/unit/schema_check.h"

#define V "version: 1\nimage: base\n"
#define V2 "version: 2\nimage: base\n"
#define RUN(w) V2 "run: { " w " }\n"
#define FILE_OF(w) V2 "files: [ { " w " } ]\n"

static json_t *schema;

/* 1 and 0: the schema takes it or does not; negative: it is no YAML of ours. */
static int schema_takes(const char *text, size_t len)
{
	struct yaml_tree t = { 0 };
	int rc = yaml_tree_parse(text, len, "f", &yaml_small, &t, NULL);

	if (rc == 0 && t.root) {
		json_t *v = json_of_node(t.root);

		rc = check_value(schema, v);
		json_decref(v);
	}
	yaml_tree_done(&t);
	return rc;
}

static int parser_takes(const char *text, size_t len, struct err *err)
{
	struct blueprint bp = { 0 };
	int rc = blueprint_parse(text, len, "f", "b", &bp, err);

	if (rc < 0)
		return 0;
	blueprint_done(&bp);
	return 1;
}

static void test_file(const char *path)
{
	SCOPED_STR text = NULL;
	struct err err = { 0 };
	size_t len = 0;
	int fits, taken;

	if (!is_int(file_read(path, 1024 * 1024, &text, &len), 0, "%s", path))
		return;
	fits = schema_takes(text, len);
	taken = parser_takes(text, len, &err);
	ok(fits == 1 || !taken, "what the parser takes fits (%d, %d)", fits,
	   taken);
}

/* The file @below each folder of @dir; "": each file. */
static void test_folder(const char *dir, const char *below)
{
	SCOPED_DIR d = opendir(dir);
	char path[512];
	unsigned n = 0;

	ok(d != NULL, "%s", dir);
	if (!d)
		return;
	for (struct dirent *e = readdir(d); e; e = readdir(d)) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s%s", dir, e->d_name, below);
		if (access(path, F_OK) < 0)
			continue;
		test_file(path);
		n++;
	}
	ok(n > 0, "there are some in %s", dir);
}

static const char *const broken[] = {
	"image: base\n",
	"version: 1\n",
	"version: \"1\"\nimage: base\n",
	"version: 3\nimage: base\n",
	V "limit: {}\n",
	V "description: [a, b]\n",
	"version: 1\nimage: ../base\n",
	"version: 1\nimage: Base\n",
	"version: 1\nimage: b\n",
	V "command: bash\n",
	V "command: []\n",
	V "command: [yes, true]\n",
	V "shell: {}\n",
	V "workdir: workspace\n",
	V "env: [A=b]\n",
	V "env: { 1A: b }\n",
	V "env: { A: [b] }\n",
	V "limits: all\n",
	V "limits: { cpu: 2 }\n",
	V "limits: { cpus: two }\n",
	V "limits: { memory: 1m1 }\n",
	V "limits: { memory: 4096 }\n",
	V "limits: { pids: 0 }\n",
	V "limits: { pids: 4194305 }\n",
	V "limits: { timeout: 1w }\n",
	V "limits: { disk: big }\n",
	V "limits: { output: 1 }\n",
	V "isolation: runc\n",
	V "pool: 17\n",
	V "pool: -1\n",
	V "ttl: none\n",
	V "idle: 0\n",
	V "filesystem: read-only\n",
	V "filesystem: { root: rw }\n",
	V "filesystem: { tmp: none }\n",
	V "filesystem: { home: exec }\n",
	V "blocked_paths: .env\n",
	V "blocked_paths: [/etc]\n",
	V "egress: open\n",
	V "egress: { mode: wide }\n",
	V "egress: { presets: github }\n",
	V "egress: { reject: [a.test] }\n",
	V "egress: { limits: { conns: [1] } }\n",
	V "egress: { limits: { dns: { a: { b: 1 } } } }\n",
	V "credentials: github\n",
	V "credentials: [ { mode: surrogate } ]\n",
	V "credentials: [ { name: a, mode: real } ]\n",
	V "credentials: [ { name: a, git: { push: never } } ]\n",
	V "credentials: [ { name: a, git: { pull: ask } } ]\n",
	V "credentials: [ { name: a, methods: [] } ]\n",
	V "credentials: [ { name: a, paths: /v1 } ]\n",
	V "run: {}\n",
	V "extends: base\n",
	V "egress: { use: [github] }\n",
	V2 "command: [bash]\n",
	V2 "egress: { presets: [github] }\n",
	V2 "limits: { pids: 9 }\n",
	V2 "resources: { pid: 9 }\n",
	V "resources: { pids: 9 }\n",
	RUN("resume: claude"),
	V2 "extends: [base]\n",
	V2 "extends: Base\n",
	RUN("args: add"),
	RUN("headless: claude"),
	RUN("result: json"),
	RUN("result: { json: result }"),
	RUN("result: { text: .a }"),
	RUN("workdir: home"),
	V2 "files: {}\n",
	FILE_OF("text: a"),
	FILE_OF("path: /a, text: b"),
	FILE_OF("path: a, text: [b]"),
	FILE_OF("path: a, json: b"),
	FILE_OF("path: a, json: {}, merge: yaml"),
	FILE_OF("path: a, text: b, always: 1"),
	FILE_OF("path: a, text: b, mode: \"0100\""),
	FILE_OF("path: a, text: b, owner: root"),
	V2 "prompt: text\n",
	V2 "skills: [a]\n",
	V2 "skills: { folders: a }\n",
	V2 "skills: { folders: [/a] }\n",
	V2 "skills: { paths: [] }\n",
	V "skills: {}\n",
	V2 "mounts: { from: /a, to: /mnt/a }\n",
	V2 "mounts: [/a]\n",
	V2 "mounts: [{ from: a, to: /mnt/a }]\n",
	V2 "mounts: [{ from: /a, to: /a }]\n",
	V2 "mounts: [{ from: /a, to: /mnt/a, mode: rw }]\n",
	V2 "mounts: [{ from: /a }]\n",
	V2 "mounts: [{ volume: aa }]\n",
	V2 "mounts: [{ volume: a, to: /mnt/a }]\n",
	V2 "mounts: [{ volume: aa, to: /mnt/a, mode: live }]\n",
	V2 "mounts: [{ volume: aa, from: /a, to: /mnt/a }]\n",
	V "mounts: []\n",
	V2 "prompt: { paths: [] }\n",
	V2 "prompt: { text: a, paths: b }\n",
	V2 "prompt: { use: git-workflow }\n",
	V2 "prompt: { use: [\"a b\"] }\n",
};

static void test_broken(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		struct err err = { 0 };
		size_t len = strlen(broken[i]);

		is_int(schema_takes(broken[i], len), 0,
		       "broken %zu does not fit", i);
		ok(!parser_takes(broken[i], len, &err), "nor does %s", err.msg);
	}
}

int main(void)
{
	schema = schema_shipped("blueprints/blueprint.schema.json",
				&blueprint_schema, BLUEPRINT_SCHEMA_TITLE);
	if (ok(schema != NULL, "the shipped schema is JSON")) {
		test_folder("blueprints", "/blueprint.yaml");
		test_folder("tests/fuzz/corpus/control/blueprint", "");
		test_broken();
	}
	json_decref(schema);
	return done_testing();
}
