/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_test.c - blueprints that extend others
 */
#include "control/acd/blueprint/mistakes.h"

#include "control/acd/preset/preset.h"
#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/load_test.XXXXXX";
static char user[64], shipped[64];

static void put(const char *place, const char *name, const char *text)
{
	char folder[128], path[160];

	snprintf(folder, sizeof(folder), "%s/%s", place, name);
	snprintf(path, sizeof(path), "%s/blueprint.yaml", folder);
	file_mkdir_p(folder, 0700);
	file_write_atomic(path, text, strlen(text), 0600);
}

static void put_preset(const char *kind, const char *name, const char *text)
{
	char folder[64], path[128];

	snprintf(folder, sizeof(folder), "%s/%s", dir, kind);
	snprintf(path, sizeof(path), "%s/%s.yaml", folder, name);
	file_mkdir_p(folder, 0700);
	file_write_atomic(path, text, strlen(text), 0600);
}

static bool has(const struct strv *sv, const char *words)
{
	SCOPED_STR text = strdup("");

	for (size_t i = 0; i < sv->n; i++) {
		char *more = str_printf("%s%s%s", text, i ? " " : "", sv->v[i]);

		free(text);
		text = more;
	}
	return is_str(text, words, "%s", words);
}

static const char parent[] = "version: 2\n"
			     "description: parent\n"
			     "image: base\n"
			     "run:\n"
			     "  command: [a, b]\n"
			     "  args: append\n"
			     "  headless: [a, \"{prompt}\"]\n"
			     "  result: { json: .r, usage: .u }\n"
			     "  env: { A: 1, B: 2 }\n"
			     "resources: { memory: 1g, disk: 1g }\n"
			     "filesystem: { root: writable }\n"
			     "blocked_paths: [.env]\n"
			     "egress:\n"
			     "  mode: locked\n"
			     "  use: [github]\n"
			     "  allow: [a.test]\n"
			     "  limits: { conns: 5, dns: { qps: 1, a: 2 } }\n"
			     "credentials: [one, { name: two, env: TWO }]\n"
			     "files: [ { path: p, text: x } ]\n"
			     "prompt: { text: be, paths: [A.md], use: [one] }\n"
			     "idle: 1h\n";
static const char heir[] =
	"version: 2\n"
	"extends: parent\n"
	"description: heir\n"
	"run:\n"
	"  command: [c]\n"
	"  result: { usage: .v }\n"
	"  env: { B: 3, C: 4 }\n"
	"resources: { memory: none, pids: 9 }\n"
	"filesystem: { tmp: noexec }\n"
	"blocked_paths: [secrets]\n"
	"egress:\n"
	"  use: [gitlab]\n"
	"  allow: [b.test, a.test]\n"
	"  deny: [c.test]\n"
	"  limits: { dns: { qps: 7 }, up: 1 }\n"
	"credentials: [{ name: two, env: ZWEI }, three]\n"
	"files: [ { path: q, text: \"{credential:one}\" } ]\n"
	"prompt: { text: do, use: [two, one] }\n";

static void test_heir(void)
{
	struct blueprint bp = { 0 };
	struct err err = { 0 };

	put_preset("prompts", "one", "version: 1\nabout: a\ntext: rule 1\n");
	put_preset("prompts", "two",
		   "version: 1\nabout: b\ntext: |\n  rule 2\n");
	put(shipped, "parent", parent);
	put(user, "heir", heir);
	if (!is_int(blueprint_load("heir", &bp, &err), 0, "%s", err.msg))
		return;
	is_str(bp.name, "heir", "its own name");
	is_str(bp.description, "heir", "a scalar replaces");
	is_str(bp.image, "base", "what it does not have is the parent's");
	ok(!bp.builtin, "it is the user's");
	has(&bp.command, "c");
	has(&bp.headless, "a {prompt}");
	ok(bp.args_append, "so is how it is run");
	is_str(bp.result_json, ".r", "a map is merged");
	is_str(bp.result_usage, ".v", "key by key");
	has(&bp.env, "A=1 B=3 C=4");
	ok(bp.memory == 0 && bp.pids == 9 && bp.disk == 1u << 30,
	   "so are limits");
	ok(bp.root_rw && bp.tmp_noexec, "and the file system");
	has(&bp.blocked_paths, "secrets");
	is_int(bp.egress.mode, EGRESS_LOCKED, "the mode is the parent's");
	has(&bp.egress.presets, "github gitlab");
	has(&bp.egress.allow, "a.test b.test");
	has(&bp.egress.deny, "c.test");
	is_str(bp.egress.limits, "{ conns: 5, dns: { a: 2, qps: 7 }, up: 1 }",
	       "limits of the egress");
	if (is_int(bp.credentials.n, 3, "credentials are added"))
		is_str(bp.credentials.v[1].env, "ZWEI", "or replaced");
	if (is_int(bp.n_files, 2, "files are added"))
		is_str(bp.files[1].path, "q", "behind the parent's");
	is_str(bp.prompt, "do", "the prompt's text");
	has(&bp.prompt_paths, "A.md");
	has(&bp.prompt_use, "one two");
	is_str(bp.prompt_rules, "rule 1\n\nrule 2\n", "presets are added");
	is_int((long long)bp.idle_ms, 3600000, "idle");
	blueprint_done(&bp);
}

/* "user:3": the folder and the line that a value is from. */
static void is_from(const struct blueprint *bp, const char *key,
		    const char *want)
{
	const struct blueprint_source *s = sources_find(&bp->sources, key);
	char got[32] = "none";

	if (s)
		snprintf(got, sizeof(got), "%s:%u",
			 strstr(s->file, "/user/") ? "user" : "shipped",
			 s->line);
	is_str(got, want, "%s", key);
}

static void test_sources(void)
{
	static const struct {
		const char *key, *want;
	} rows[] = {
		{ "description", "user:3" },
		{ "image", "shipped:3" },
		{ "run.command", "user:5" },
		{ "run.args", "shipped:6" },
		{ "run.result.json", "shipped:8" },
		{ "run.result.usage", "user:6" },
		{ "run.env.A", "shipped:9" },
		{ "run.env.B", "user:7" },
		{ "run.workdir", "none" },
		{ "resources.disk", "shipped:10" },
		{ "resources.memory", "user:8" },
		{ "filesystem.root", "shipped:11" },
		{ "filesystem.tmp", "user:9" },
		{ "blocked_paths", "user:10" },
		{ "egress.mode", "shipped:14" },
		{ "egress.use.github", "shipped:15" },
		{ "egress.use.gitlab", "user:12" },
		{ "egress.allow.b.test", "user:13" },
		{ "egress.limits", "user:15" },
		{ "credentials.one", "shipped:18" },
		{ "credentials.two", "user:16" },
		{ "files.q", "user:17" },
		{ "prompt.text", "user:18" },
		{ "prompt.paths", "shipped:20" },
		{ "idle", "shipped:21" },
		{ "version", "none" },
	};
	struct blueprint bp = { 0 };
	struct err err = { 0 };

	put(shipped, "old",
	    "version: 1\nimage: base\ncommand: [a]\nenv: { A: b }\n"
	    "limits: { pids: 9 }\negress: { presets: [github] }\n");
	put(user, "new",
	    "version: 2\nextends: old\nrun: { env: { B: c } }\n"
	    "resources: none\n");
	if (!is_int(blueprint_load("heir", &bp, &err), 0, "%s", err.msg))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		is_from(&bp, rows[i].key, rows[i].want);
	is_str(bp.extends, "parent", "the parent's name");
	blueprint_done(&bp);
	if (!is_int(blueprint_load("new", &bp, &err), 0, "%s", err.msg))
		return;
	has(&bp.env, "A=b B=c");
	is_from(&bp, "run.command", "shipped:3");
	is_from(&bp, "run.env.A", "shipped:4");
	is_from(&bp, "run.env.B", "user:3");
	is_from(&bp, "egress.use.github", "shipped:6");
	is_from(&bp, "resources.pids", "user:4");
	is_from(&bp, "resources.memory", "user:4");
	blueprint_done(&bp);
}

/* Sets @ret to what the blueprint @name has: "path=text", and credentials. */
static void has_parts(const char *name, const char *want)
{
	struct blueprint bp = { 0 };
	struct err err = { 0 };
	char got[256] = "";
	size_t used = 0;

	if (!is_int(blueprint_load(name, &bp, &err), 0, "%s %s", name, err.msg))
		return;
	for (size_t i = 0; i < bp.n_files; i++)
		used += (size_t)snprintf(got + used, sizeof(got) - used,
					 "%s=%s ", bp.files[i].path,
					 bp.files[i].text);
	for (size_t i = 0; i < bp.credentials.n; i++)
		used += (size_t)snprintf(got + used, sizeof(got) - used, "%s ",
					 bp.credentials.v[i].name);
	is_str(got, want, "%s", name);
	blueprint_done(&bp);
}

#define OF_PARENT "version: 2\nextends: parts\n"

/* Lists whose items have a name. */
static void test_parts(void)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "", "a=1 b/c=2 one two " },
		{ "files: [ { path: a, text: x } ]\n", "a=x b/c=2 one two " },
		{ "files: [ { path: d, text: x } ]\n",
		  "a=1 b/c=2 d=x one two " },
		{ "files: [-a]\n", "b/c=2 one two " },
		{ "files: [-b/c, { path: b, text: x } ]\n",
		  "a=1 b=x one two " },
		{ "files: [ { path: b, text: x }, -b/c ]\n",
		  "a=1 b=x one two " },
		{ "files: [none]\n", "one two " },
		{ "files: [none, { path: b, text: x } ]\n", "b=x one two " },
		{ "credentials: [-one]\n", "a=1 b/c=2 two " },
		{ "credentials: [three, -two]\n", "a=1 b/c=2 one three " },
		{ "credentials: [none]\n", "a=1 b/c=2 " },
		{ "credentials: [none, two]\n", "a=1 b/c=2 two " },
		/* A.md is the prompt's, until this one says otherwise. */
		{ "files: [ { path: A.md, text: x } ]\n"
		  "prompt: { paths: [B.md] }\n",
		  "a=1 b/c=2 A.md=x one two " },
		{ "prompt: { paths: [a/x] }\nfiles: [-a]\n", "b/c=2 one two " },
	};

	put(shipped, "parts",
	    "version: 2\nimage: base\ncredentials: [one, two]\n"
	    "files: [ { path: a, text: 1 }, { path: b/c, text: 2 } ]\n"
	    "prompt: { text: be, paths: [A.md] }\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[256];

		snprintf(text, sizeof(text), OF_PARENT "%s", rows[i].text);
		put(user, "part", text);
		has_parts("part", rows[i].want);
	}
}

/* One of @bp has its file. */
static void test_no_skill(const struct blueprint *bp)
{
	struct blueprint_mistakes m = { 0 };
	struct err err = { 0 };
	char path[160];

	snprintf(path, sizeof(path), "%s/able/s/c", shipped);
	file_mkdir_p(path, 0700);
	strcat(path, "/SKILL.md");
	file_write_atomic(path, "", 0, 0600);
	is_int(blueprint_find_skills(bp, &m, &err), -EINVAL, "%s", err.msg);
	if (is_int(m.n, 2, "the others are missed")) {
		ok(str_ends(m.v[0].file, "/abler/blueprint.yaml") &&
			   m.v[0].line == 3,
		   "%s", m.v[0].message);
		ok(strstr(m.v[1].message, "there is no d/SKILL.md beside"),
		   "%s", m.v[1].message);
	}
	mistakes_done(&m);
}

/* Each skill is beside the blueprint that names it. */
static void test_skills(void)
{
	struct blueprint bp = { 0 };
	struct err err = { 0 };

	put(shipped, "able",
	    "version: 2\nimage: base\nskills:\n  folders: [s/a, s/b, s/c]\n"
	    "  paths: [.x/skills]\n");
	put(user, "abler",
	    "version: 2\nextends: able\n"
	    "skills: { folders: [-a, t/b, d] }\n");
	if (!is_int(blueprint_load("abler", &bp, &err), 0, "%s", err.msg))
		return;
	if (is_int(bp.n_skills, 3, "one is dropped, one is new")) {
		is_str(bp.skills[0].folder, "t/b", "one is replaced");
		ok(str_ends(bp.skills[0].dir, "/user/abler"), "by its own");
		ok(str_ends(bp.skills[1].dir, "/shipped/able"), "the parent's");
		is_str(bp.skills[2].name, "d", "the new one");
	}
	has(&bp.skill_paths, ".x/skills");
	is_from(&bp, "skills.folders.a", "none");
	is_from(&bp, "skills.folders.b", "user:3");
	is_from(&bp, "skills.folders.c", "shipped:4");
	test_no_skill(&bp);
	blueprint_done(&bp);
}

/* An heir adds mounts by their target, changes one and drops one. */
static void test_mounts(void)
{
	struct blueprint bp = { 0 };
	struct err err = { 0 };

	put(shipped, "docs",
	    "version: 2\nimage: base\nmounts:\n"
	    "  - { from: /srv/a, to: /mnt/a }\n"
	    "  - { from: /srv/b, to: /mnt/b, mode: live }\n"
	    "  - { from: /srv/c, to: /mnt/c }\n");
	put(user, "more",
	    "version: 2\nextends: docs\nmounts:\n"
	    "  - -/mnt/a\n"
	    "  - { from: ~/b, to: /mnt/b }\n"
	    "  - { from: /srv/d, to: /mnt/d, mode: live }\n");
	put(user, "lone",
	    "version: 2\nextends: docs\n"
	    "mounts: [ none, { from: /srv/e, to: /mnt/e } ]\n");
	put(user, "kept",
	    "version: 2\nextends: docs\nmounts:\n"
	    "  - { volume: data, to: /mnt/b }\n");
	if (!is_int(blueprint_load("more", &bp, &err), 0, "%s", err.msg))
		return;
	if (is_int(bp.n_mounts, 3, "one is dropped, one is new")) {
		is_str(bp.mounts[0].from, "~/b", "one is replaced");
		ok(!bp.mounts[0].live, "and read-only again");
		is_str(bp.mounts[1].to, "/mnt/c", "one is the parent's");
		ok(bp.mounts[2].live && blueprint_mounts_live(&bp),
		   "the new one is live");
	}
	is_from(&bp, "mounts./mnt/a", "none");
	is_from(&bp, "mounts./mnt/b", "user:5");
	is_from(&bp, "mounts./mnt/c", "shipped:6");
	blueprint_done(&bp);
	if (!is_int(blueprint_load("lone", &bp, &err), 0, "%s", err.msg))
		return;
	ok(bp.n_mounts == 1 && !blueprint_mounts_live(&bp),
	   "none drops all of the parent's");
	blueprint_done(&bp);
	if (!is_int(blueprint_load("kept", &bp, &err), 0, "%s", err.msg))
		return;
	if (is_int(bp.n_mounts, 3, "a volume in a directory's place")) {
		ok(!bp.mounts[1].from && bp.mounts[1].live, "is writable");
		is_str(bp.mounts[1].volume, "data", "by its name");
		ok(!blueprint_mounts_live(&bp), "and no directory is");
	}
	blueprint_done(&bp);
}

static void refused(const char *name, const char *want)
{
	struct blueprint bp = { 0 };
	struct err err = { 0 };
	int rc = blueprint_load(name, &bp, &err);

	ok(rc == -EINVAL && strstr(err.msg, want), "%s: %s", name, err.msg);
	if (rc == 0)
		blueprint_done(&bp);
}

static void test_own_name(void)
{
	struct blueprint bp = { 0 };
	struct err err = { 0 };

	put(user, "parent", "version: 2\nextends: parent\nttl: 1h\n");
	is_int(blueprint_load("parent", &bp, &err), 0,
	       "its own name is the "
	       "shipped one: %s",
	       err.msg);
	is_str(bp.description, "parent", "which it extends");
	is_int((long long)bp.ttl_ms, 3600000, "and changes");
	blueprint_done(&bp);
	is_int(blueprint_load("heir", &bp, &err), 0, "%s", err.msg);
	is_int((long long)bp.ttl_ms, 3600000, "others extend the user's");
	blueprint_done(&bp);
}

static void test_refused(void)
{
	put(user, "self", "version: 2\nextends: self\n");
	refused("self", "self/blueprint.yaml:2:10: there is no blueprint "
			"'self' to extend");
	put(shipped, "self", "version: 2\nextends: self\n");
	refused("self", "shipped/self/blueprint.yaml:2:10: 'self' extends");
	put(user, "xx", "version: 2\nextends: yy\n");
	put(user, "yy", "version: 2\nextends: zz\n");
	put(user, "zz", "version: 2\nextends: xx\n");
	refused("xx", "zz/blueprint.yaml:2:10: 'xx' extends itself");
	put(user, "orphan", "version: 2\nextends: nix\n");
	refused("orphan", "orphan/blueprint.yaml:2:10: there is no blueprint "
			  "'nix' to extend; known are: ");
	put(user, "zz", "version: 2\nimage: base\nttl: long\n");
	refused("xx", "zz/blueprint.yaml:3:6: ttl must be");
	put(user, "zz", "version: 2\ndescription: no image\n");
	refused("xx", "zz/blueprint.yaml:1:1: 'image' is missing");
	put(user, "zz", "version: 1\nextends: base\nimage: base\n");
	refused("xx", "zz/blueprint.yaml:2:10: 'extends' needs 'version: 2'");
	put(user, "part", OF_PARENT "files: [ { path: b, text: x } ]\n");
	refused("part", "part/blueprint.yaml:3:18: 'b/c' and 'b' cannot both");
	put(user, "part", OF_PARENT "prompt: { paths: [C.md, b/c/d] }\n");
	refused("part", "part/blueprint.yaml:3:25: 'b/c' and 'b/c/d' cannot");
	put(user, "part", OF_PARENT "files: [-x]\n");
	refused("part", "part/blueprint.yaml:3:9: no parent has the file 'x'");
	put(user, "part", OF_PARENT "credentials: [-on]\n");
	refused("part",
		"part/blueprint.yaml:3:15: no parent has the credential "
		"'on': did you mean '-one'?");
	put(user, "part", OF_PARENT "credentials: [x, none]\n");
	refused("part", "part/blueprint.yaml:3:18: none must be the first");
	put(user, "part",
	    OF_PARENT "credentials: [-one]\n"
		      "prompt: { text: \"{credential:one}\" }\n");
	refused("part", "part/blueprint.yaml:4:9: {credential:one}: this");
	put(user, "away",
	    "version: 2\nextends: parent\nfiles: [ { path: A.md, text: a } ]");
	refused("away", "away/blueprint.yaml:3:18: 'A.md' is here twice");
}

static void test_levels(void)
{
	struct blueprint bp = { 0 };
	struct err err = { 0 };

	put(user, "l0", "version: 1\nimage: base\n");
	put(user, "l1", "version: 2\nextends: l0\n");
	put(user, "l2", "version: 2\nextends: l1\n");
	put(user, "l3", "version: 2\nextends: l2\n");
	put(user, "l4", "version: 2\nextends: l3\n");
	put(user, "l5", "version: 2\nextends: l4\n");
	is_int(blueprint_load("l4", &bp, &err), 0, "four levels: %s", err.msg);
	blueprint_done(&bp);
	refused("l5", "l1/blueprint.yaml:2:10: more than 4 levels of");
}

static void test_tools(void)
{
	static const char text[] =
		"version: 2\nimage: { from: base, tools: [kit, more], "
		"packages: { apt: [jq] } }\n";
	static const char over[] = "version: 2\nextends: tooled\n"
				   "image: { from: base, tools: [more] }\n";
	struct blueprint bp = { 0 };
	struct err err = { 0 };

	put_preset("tools", "kit",
		   "version: 1\nabout: a\napt: [make, gdb]\n"
		   "npm: [\"x@1\"]\negress: [go, npm]\n");
	put_preset("tools", "more",
		   "version: 1\nabout: a\napt: [gdb, vim]\npip: [six]\n");
	put_preset("tools", "evil", "version: 1\nabout: a\napt: [\"a;b\"]\n");
	put(user, "tooled", text);
	put(user, "over", over);
	if (is_int(blueprint_load("tooled", &bp, &err), 0, "%s", err.msg)) {
		has(&bp.build.apt, "make gdb vim jq");
		has(&bp.build.npm, "x@1");
		has(&bp.build.pip, "six");
		has(&bp.egress.presets, "go npm");
	}
	blueprint_done(&bp);
	if (is_int(blueprint_load("over", &bp, &err), 0, "%s", err.msg)) {
		has(&bp.build.apt, "gdb vim");
		has(&bp.egress.presets, ""); /* those of the map replaced */
	}
	blueprint_done(&bp);
	put(user, "evil", "version: 2\nimage: { from: base, tools: [evil] }\n");
	is_int(blueprint_load("evil", &bp, &err), -EINVAL, "%s", err.msg);
	ok(strstr(err.msg, "'a;b' of this preset is no package") != NULL,
	   "a word of a shell is no package");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	snprintf(user, sizeof(user), "%s/user", dir);
	snprintf(shipped, sizeof(shipped), "%s/shipped", dir);
	blueprint_set_dirs(user, shipped);
	preset_set_dirs(dir, "/nonexistent");
	test_heir();
	test_tools();
	test_sources();
	test_parts();
	test_skills();
	test_mounts();
	test_own_name();
	test_refused();
	test_levels();
	file_remove_tree(dir);
	return done_testing();
}
