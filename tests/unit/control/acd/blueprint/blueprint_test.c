/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blueprint_test.c - good blueprints, bad ones with their positions, and
 * where they are looked for
 */
#include "control/acd/blueprint/blueprint.h"

#include <sys/stat.h>

#include "lib/file.h"
#include "tests/unit/tap.h"

#define OK "version: 1\nimage: base\n"

static char dir[] = "/tmp/blueprint_test.XXXXXX";

static int parse(const char *text, struct blueprint *ret, struct err *err)
{
	return blueprint_parse(text, strlen(text), "f", "name", ret, err);
}

static void test_good(void)
{
	struct blueprint bp = { 0 };
	struct err err = { 0 };
	const char *text = "version: 1\n"
			   "description: a thing\n"
			   "image: base\n"
			   "command: [sh, -c, 'echo \"$0\"', 5, \"yes\"]\n"
			   "workdir: /x\n"
			   "env: { A: 1, B: \"on\", C: 'a=b' }\n"
			   "limits:\n  cpus: 1.5\n  memory: 2g\n  pids: 512\n"
			   "  timeout: 8h\n"
			   "isolation: crun\n";

	if (!ok(parse(text, &bp, &err) == 0, "all keys: %s", err.msg))
		return;
	is_str(bp.name, "name", "name");
	is_int(bp.command.n, 5, "command");
	is_str(bp.command.v[3], "5", "a number stays what was written");
	is_str(bp.command.v[4], "yes", "a quoted word is a string");
	is_str(bp.shell.v[0], "bash", "default shell");
	is_int(bp.env.n, 3, "env");
	is_str(bp.env.v[1], "B=on", "entry");
	is_int(bp.cpu_milli, 1500, "cpus");
	is_int(bp.memory, 2ll << 30, "memory");
	is_int(bp.pids, 512, "pids");
	is_int(bp.timeout_ms, 8 * 3600 * 1000, "timeout");
	is_str(bp.isolation, "crun", "isolation");
	blueprint_done(&bp);
	blueprint_done(&bp);

	is_int(parse(OK "shell: [zsh]\n", &bp, &err), 0, "few keys");
	is_str(bp.command.v[0], "zsh", "the command is the shell");
	is_str(bp.workdir, "/workspace", "default workdir");
	is_str(bp.isolation, "runsc", "default isolation");
	is_str(bp.description, "", "default description");
	blueprint_done(&bp);
}

#define GIB (1ll << 30)

/* A blueprint gets all of the machine only when it says so. */
static const struct {
	const char *name, *text;
	long long cpu_milli, memory, pids, disk;
} given[] = {
	{ "silent", OK, 2000, 4 * GIB, 1024, 0 },
	{ "an empty map", OK "limits: {}\n", 2000, 4 * GIB, 1024, 0 },
	{ "some", OK "limits: { memory: 1g, disk: 1g }\n", 2000, GIB, 1024,
	  GIB },
	{ "one taken away", OK "limits: { pids: none }\n", 2000, 4 * GIB, 0,
	  0 },
	{ "none of them", OK "limits: none\n", 0, 0, 0, 0 },
	{ "none, each by its name",
	  OK "limits: { cpus: none, memory: none, pids: none, disk: none,"
	     " timeout: none, output: none }\n",
	  0, 0, 0, 0 },
};

static void test_default_limits(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(given); i++) {
		struct blueprint bp = { 0 };
		struct err err = { 0 };
		const char *name = given[i].name;

		is_int(parse(given[i].text, &bp, &err), 0, "limits, %s: %s",
		       name, err.msg);
		is_int(bp.cpu_milli, given[i].cpu_milli, "%s: cpus", name);
		is_int(bp.memory, given[i].memory, "%s: memory", name);
		is_int(bp.pids, given[i].pids, "%s: pids", name);
		is_int(bp.disk, given[i].disk, "%s: disk", name);
		blueprint_done(&bp);
	}
}

static const struct {
	const char *text, *message; /* begins so */
} bad[] = {
	{ "", "f:1:1: the file is empty" },
	{ "[]", "f:1:1: a map" },
	{ "x", "f:1:1: a map" },
	{ "image: base\n", "f:1:1: 'version: 1' is missing" },
	{ "version: 1\n", "f:1:1: 'image' is missing" },
	{ "version: 3\nimage: base\n", "f:1:10: this ac knows" },
	{ "version: \"1\"\nimage: base\n", "f:1:10: this ac knows" },
	{ OK "memroy: 2g\n", "f:3:9: unknown key 'memroy'" },
	{ OK "limits: { memroy: 2g }\n",
	  "f:3:19: unknown key 'memroy': did you mean 'memory'?" },
	{ OK "enviroment: {}\n", "f:3:13: unknown key 'enviroment'" },
	{ OK "comand: [a]\n",
	  "f:3:9: unknown key 'comand': did you mean 'command'?" },
	{ OK "egress: { alow: [a.test] }\n",
	  "f:3:17: egress has mode, presets, allow, deny and limits: did you "
	  "mean 'allow'?" },
	{ OK "filesystem: { rot: writable }\n",
	  "f:3:20: unknown key 'rot': did you mean 'root'?" },
	{ OK "limits: 2g\n", "f:3:9: a map" },
	{ OK "image: other\n", "f:3:1: 'image' is here twice" },
	{ OK "env: { A: 1, A: 2 }\n", "f:3:14: 'A' is here twice" },
	{ OK "description: yes\n", "f:3:14: a string is wanted here: write" },
	{ OK "command: [git, on]\n", "f:3:16: a string is wanted here" },
	{ OK "env: { A: ~ }\n", "f:3:11: a string" },
	{ OK "env: { A: }\n", "f:3:11: a string" },
	{ OK "env: { A: NULL }\n", "f:3:11: a string" },
	{ OK "env: { 'A B': 1 }\n", "f:3:15: environment name" },
	{ OK "env: [A=1]\n", "f:3:6: env must be a map" },
	{ OK "env: { A: [1] }\n", "f:3:11: a string is wanted here, not" },
	{ OK "command: bash -l\n", "f:3:10: 'command' must be a list" },
	{ OK "command: []\n", "f:3:10: 'command' must be a list" },
	{ OK "command: ['', a]\n", "f:3:11: the program's name is empty" },
	{ OK "command: [[a]]\n", "f:3:11: a string is wanted here, not" },
	{ OK "workdir: x\n", "f:3:10: workdir must be an absolute" },
	{ OK "isolation: runc\n", "f:3:12: isolation must be" },
	{ "version: 1\nimage: ../x\n", "f:2:8: image: blueprint name" },
	{ OK "limits: { memory: 2 }\n", "f:3:19: memory must be a size" },
	{ OK "limits: { memory: lots }\n", "f:3:19: memory must be" },
	{ OK "limits: { cpus: 0 }\n", "f:3:17: cpus must be" },
	{ OK "limits: { cpus: -1 }\n", "f:3:17: cpus must be" },
	{ OK "limits: { pids: 0x10 }\n", "f:3:17: pids must be" },
	{ OK "limits: { timeout: 0 }\n", "f:3:20: timeout must be" },
	{ OK "limits: { timeout: [1] }\n", "f:3:20: timeout must be" },
	{ OK "description: &a x\n", "f:3:14: anchors" },
	{ OK "description: *a\n", "f:3:14: anchors" },
	{ OK "description: !!str x\n", "f:3:14: anchors" },
	{ OK "env: !m { A: 1 }\n", "f:3:6: anchors" },
	{ OK "<<: { a: b }\n", "f:3:5: unknown key '<<'" },
	{ OK "? [a, b]\n: c\n", "f:3:3: a key must be a plain word" },
	{ OK "--- \nversion: 1\n", "f:3:1: a second document" },
	{ "%YAML 1.1\n---\n" OK, "f:1:1: directives" },
	{ OK "description: \"a\\nb\"\n",
	  "f:3:14: the description must be one" },
	{ OK "description: \"a\\0b\"\n", "f:3:14: a NUL byte" },
	{ OK "description: [\n",
	  "f:3:14: the list that begins at line 3 is not closed" },
	{ OK "credentials: github\n", "f:3:14: credentials must be a list" },
	{ OK "credentials: [a, a]\n", "f:3:18: this credential is here" },
	{ OK "credentials: ['A']\n", "f:3:15: 'A' is no credential" },
	{ OK "credentials: [{ mode: surrogate }]\n", "f:3:15: '' is no cred" },
	{ OK "credentials: [{ name: a, value: x }]\n",
	  "f:3:33: a credential is a name, or has" },
	{ OK "credentials: [{ name: a, mode: real }]\n",
	  "f:3:32: mode must be" },
	{ OK "credentials: [{ name: a, git: { pull: ask } }]\n",
	  "f:3:39: git has push" },
	{ OK "credentials: [{ name: a, git: { push: never } }]\n",
	  "f:3:39: push must be" },
	{ OK "credentials: [{ name: a, paths: [] }]\n",
	  "f:3:33: a list is wanted" },
	{ OK "credentials: [{ name: a, env: A-B }]\n", "f:3:15: environment" },
	{ OK "\tx: y\n", "f:3:1: " },
	{ OK "description: \xff\n", "f:" },
	{ OK "command: [[[[[[[[[[a]]]]]]]]]]\n", "f:3:17: nested too deeply" },
};

static void test_bad(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct blueprint bp = { 0 };
		struct err err = { 0 };
		int rc = parse(bad[i].text, &bp, &err);

		ok(rc == -EINVAL && strncmp(err.msg, bad[i].message,
					    strlen(bad[i].message)) == 0,
		   "%zu: %s", i, err.msg);
		if (rc == 0)
			blueprint_done(&bp);
	}
}

static void test_credentials(void)
{
	static const char text[] = OK
		"credentials:\n"
		"  - github\n"
		"  - { name: ci, mode: handover, env: CI_TOKEN,\n"
		"      git: { push: allow }, methods: [GET],\n"
		"      paths: ['/v1/**'] }\n";
	struct blueprint bp = { 0 };
	const struct credential *c;
	struct err err = { 0 };

	if (!ok(parse(text, &bp, &err) == 0, "credentials: %s", err.msg))
		return;
	is_int(bp.credentials.n, 2, "two");
	c = credentials_find(&bp.credentials, "ci");
	ok(c && c->mode == CREDENTIAL_HANDOVER && c->push == PUSH_ALLOW &&
		   strcmp(c->env, "CI_TOKEN") == 0 && c->methods.n == 1 &&
		   c->paths.n == 1 && !c->own,
	   "all that can be said of one");
	blueprint_done(&bp);
}

static void test_limits(void)
{
	struct blueprint bp = { 0 };
	struct err err = { 0 };
	char *text = malloc(BLUEPRINT_FILE_MAX + 2);
	size_t len;

	memset(text, ' ', BLUEPRINT_FILE_MAX + 1);
	is_int(blueprint_parse(text, BLUEPRINT_FILE_MAX + 1, "f", "n", &bp,
			       &err),
	       -EINVAL, "a large file: %s", err.msg);
	len = (size_t)sprintf(text, OK "command: [");
	for (int i = 0; i < 300; i++)
		len += (size_t)sprintf(text + len, "a,");
	sprintf(text + len, "]\n");
	is_int(parse(text, &bp, &err), -EINVAL, "many words: %s", err.msg);
	len = (size_t)sprintf(text, OK "command: [");
	for (int i = 0; i < 10000; i++)
		len += (size_t)sprintf(text + len, "a,");
	sprintf(text + len, "]\n");
	is_int(parse(text, &bp, &err), -EINVAL, "too many: %s", err.msg);
	free(text);
}

static void write_blueprint(const char *place, const char *name,
			    const char *text)
{
	char folder[128], path[160];

	snprintf(folder, sizeof(folder), "%s/%s/%s", dir, place, name);
	snprintf(path, sizeof(path), "%s/blueprint.yaml", folder);
	file_mkdir_p(folder, 0700);
	file_write_atomic(path, text, strlen(text), 0600);
}

static void test_places(void)
{
	static char user[64], shipped[64];
	struct blueprint bp = { 0 };
	struct strv names = { 0 };
	struct err err = { 0 };
	char path[128];

	snprintf(user, sizeof(user), "%s/user", dir);
	snprintf(shipped, sizeof(shipped), "%s/shipped", dir);
	blueprint_set_dirs(user, shipped);
	is_int(blueprint_names(&names, &err), 0, "no folders at all");
	is_int(names.n, 0, "no names");
	is_int(blueprint_load("base", &bp, &err), -ENOENT, "%s", err.msg);

	write_blueprint("shipped", "base", OK);
	write_blueprint("shipped", "zed", OK);
	write_blueprint("user", "zed", OK "description: mine\n");
	write_blueprint("user", "Bad", OK);
	write_blueprint("user", "broken", "version: 1\n");
	snprintf(path, sizeof(path), "%s/user/empty", dir);
	mkdir(path, 0700);
	is_int(blueprint_names(&names, &err), 0, "names");
	if (is_int(names.n, 3, "each once"))
		ok(strcmp(names.v[0], "base") == 0 &&
			   strcmp(names.v[1], "broken") == 0 &&
			   strcmp(names.v[2], "zed") == 0,
		   "sorted");
	strv_done(&names);

	is_int(blueprint_load("base", &bp, &err), 0, "shipped");
	ok(bp.builtin, "is builtin");
	blueprint_done(&bp);
	is_int(blueprint_load("zed", &bp, &err), 0, "the user's own");
	is_str(bp.description, "mine", "comes first");
	ok(!bp.builtin, "is not builtin");
	blueprint_done(&bp);
	is_int(blueprint_load("broken", &bp, &err), -EINVAL, "%s", err.msg);
	is_int(blueprint_load("nix", &bp, &err), -ENOENT, "unknown");
	ok(strstr(err.msg, "base, broken, zed") != NULL, "%s", err.msg);
	is_int(blueprint_load("../x", &bp, &err), -EINVAL, "%s", err.msg);
}

static void test_shipped(void)
{
	struct blueprint bp = { 0 };
	struct strv names = { 0 };
	struct err err = { 0 };

	blueprint_set_dirs("/nonexistent", "blueprints");
	if (access("blueprints/base", F_OK) < 0) {
		skip("not in the source tree");
		return;
	}
	is_int(blueprint_load("base", &bp, &err), 0, "ours: %s", err.msg);
	ok(bp.cpu_milli == 2000 && bp.memory == 4 * GIB && bp.pids == 1024,
	   "a silent blueprint has the limits that base names");
	blueprint_done(&bp);
	is_int(blueprint_names(&names, &err), 0, "all that are shipped");
	for (size_t i = 0; i < names.n; i++) {
		is_int(blueprint_load(names.v[i], &bp, &err), 0, "%s loads",
		       names.v[i]);
		ok(bp.description && *bp.description, "it is described");
		blueprint_done(&bp);
	}
	strv_done(&names);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	test_good();
	test_default_limits();
	test_bad();
	test_credentials();
	test_limits();
	test_places();
	test_shipped();
	file_remove_tree(dir);
	return done_testing();
}
