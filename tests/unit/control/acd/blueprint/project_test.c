/* SPDX-License-Identifier: Apache-2.0 */
/*
 * project_test.c - a project's own blueprint narrows the one that it extends,
 * and does nothing else
 *
 * Each key that is decided about has a row: what a project's file may say with
 * it, what it may not, and what the refusal says. Every other key of the schema
 * is refused.
 */
#include "control/acd/blueprint/project.h"

#include <stdlib.h>

#include "control/acd/blueprint/keys.h"
#include "lib/file.h"
#include "tests/unit/schema_keys.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/project_test.XXXXXX";

static void put(const char *name, const char *text)
{
	char folder[128], path[160];

	snprintf(folder, sizeof(folder), "%s/%s", dir, name);
	snprintf(path, sizeof(path), "%s/blueprint.yaml", folder);
	file_mkdir_p(folder, 0700);
	file_write_atomic(path, text, strlen(text), 0600);
}

static const char parent[] =
	"version: 2\n"
	"description: parent\n"
	"image: base\n"
	"run: { command: [agent], env: { A: 1, LOG_LEVEL: x } }\n"
	"resources: { cpus: 2, memory: 1g, pids: 100, timeout: 1h, disk: 1g,\n"
	"          output: 1m }\n"
	"ttl: 7d\n"
	"idle: 1h\n"
	"filesystem: { root: writable }\n"
	"blocked_paths: [.env]\n"
	"egress: { use: [github], deny: [x.test] }\n"
	"credentials: [github]\n"
	"prompt: { text: be kind, paths: [A.md] }\n";

#define P "version: 2\nextends: parent\n"

static int parse(const char *text, struct project *ret, struct err *err)
{
	*ret = (struct project){ 0 };
	*err = (struct err){ 0 };
	return project_parse(text, strlen(text), "f", ret, err);
}

/* ---- each key ---- */

struct row {
	const char *key;
	const char *good; /* NULL: nothing is */
	const char *bad; /* NULL: nothing is */
	const char *why; /* part of the refusal of @bad */
};

#define REFUSED(key, text)                                 \
	{                                                  \
		key, NULL, P text, "may not set '" key "'" \
	}

static const struct row rows[] = {
	{ "version", P, "version: 1\nextends: parent\n", "'version: 2'" },
	{ "extends", P, "version: 2\n", "'extends' is missing" },
	{ "description", P "description: x\n", P "description: \"a\\nb\"\n",
	  "one line" },
	REFUSED("image", "image: base\n"),
	{ "run", P "run: {}\n", P "run: [a]\n", "'run' must be a map" },
	REFUSED("run.command", "run: { command: [a] }\n"),
	REFUSED("run.args", "run: { args: append }\n"),
	REFUSED("run.headless", "run: { headless: [a, \"{prompt}\"] }\n"),
	REFUSED("run.resume", "run: { resume: [a] }\n"),
	REFUSED("run.result", "run: { result: text }\n"),
	REFUSED("run.shell", "run: { shell: [a] }\n"),
	{ "run.workdir", P "run: { workdir: /workspace/a }\n",
	  P "run: { workdir: /workspace/../etc }\n", "or below it" },
	{ "run.env", P "run: { env: { CI: 1, APP_X: z } }\n",
	  P "run: { env: { LD_PRELOAD: x } }\n", "may not set LD_PRELOAD" },
	{ "resources", P "resources: {}\n", P "resources: none\n",
	  "must be a map" },
	{ "resources.cpus", P "resources: { cpus: 1 }\n",
	  P "resources: { cpus: 3 }\n", "cpus may only be smaller" },
	{ "resources.memory", P "resources: { memory: 1g }\n",
	  P "resources: { memory: 2g }\n", "memory may only be smaller" },
	{ "resources.pids", P "resources: { pids: 9 }\n",
	  P "resources: { pids: 101 }\n", "pids may only be smaller" },
	{ "resources.timeout", P "resources: { timeout: 1m }\n",
	  P "resources: { timeout: none }\n", "timeout may only be smaller" },
	{ "resources.disk", P "resources: { disk: 16m }\n",
	  P "resources: { disk: none }\n", "disk may only be smaller" },
	{ "resources.output", P "resources: { output: 64k }\n",
	  P "resources: { output: 2m }\n", "output may only be smaller" },
	{ "ttl", P "ttl: 1d\n", P "ttl: 8d\n", "ttl may only be smaller" },
	{ "idle", P "idle: 1m\n", P "idle: 2h\n", "idle may only be smaller" },
	REFUSED("hibernate_after", "hibernate_after: 1m\n"),
	REFUSED("pool", "pool: 1\n"),
	REFUSED("isolation", "isolation: crun\n"),
	{ "filesystem", P "filesystem: {}\n", P "filesystem: x\n",
	  "must be a map" },
	{ "filesystem.root", P "filesystem: { root: read-only }\n",
	  "version: 2\nextends: tight\nfilesystem: { root: writable }\n",
	  "only become read-only" },
	{ "filesystem.tmp", P "filesystem: { tmp: noexec }\n",
	  "version: 2\nextends: tight\nfilesystem: { tmp: exec }\n",
	  "only become noexec" },
	{ "blocked_paths", P "blocked_paths: [secrets]\n",
	  P "blocked_paths: [../x]\n", "has no '..'" },
	{ "egress", P "egress: {}\n", P "egress: open\n", "must be a map" },
	{ "egress.mode", P "egress: { mode: locked }\n",
	  P "egress: { mode: open }\n", "only become narrower" },
	{ "egress.deny", P "egress: { deny: [y.test] }\n",
	  P "egress: { deny: [\"?\"] }\n", "f:3:18" },
	REFUSED("egress.use", "egress: { use: [gitlab] }\n"),
	REFUSED("egress.allow", "egress: { allow: [a.test] }\n"),
	REFUSED("egress.limits", "egress: { limits: { conns: 1 } }\n"),
	REFUSED("credentials", "credentials: [npm]\n"),
	REFUSED("files", "files: []\n"),
	{ "prompt", P "prompt: {}\n", P "prompt: x\n", "must be a map" },
	{ "prompt.text", P "prompt: { text: run the tests }\n",
	  P "prompt: { text: \"{credential:github}\" }\n",
	  "may not have {credential" },
	REFUSED("mounts", "mounts: [ { from: /srv, to: /mnt/a } ]\n"),
	REFUSED("prompt.paths", "prompt: { paths: [B.md] }\n"),
};

static bool is_key[ARRAY_SIZE(rows)];

/* Keys of the other version are refused by the tables themselves. */
static const char *const other_version[] = { "command",        "shell",
					     "workdir",        "env",
					     "egress.presets", "limits" };

static const struct project_row *row_of(const char *key, size_t len)
{
	for (const struct project_row *r = project_rows; r->key; r++) {
		if (strlen(r->key) == len && strncmp(r->key, key, len) == 0)
			return r;
	}
	return NULL;
}

/* Writes "run: { new: {} }" for "run.new". */
static void nest(const char *path, char *out, size_t size)
{
	size_t used = (size_t)snprintf(out, size, P);
	unsigned depth = 0;

	for (; *path; path += strcspn(path, ".") + (strchr(path, '.') != NULL))
		used += (size_t)snprintf(out + used, size - used,
					 "%s%.*s: ", depth++ ? "{ " : "",
					 (int)strcspn(path, "."), path);
	used += (size_t)snprintf(out + used, size - used, "{}");
	while (--depth > 0)
		used += (size_t)snprintf(out + used, size - used, " }");
	snprintf(out + used, size - used, "\n");
}

/* A key that has no row, itself or above it, is refused by default. */
static void has_row(const char *path)
{
	char text[256];
	struct project p = { 0 };
	struct err err;
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(other_version); i++) {
		if (strcmp(other_version[i], path) == 0)
			return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strcmp(rows[i].key, path) == 0)
			is_key[i] = found = true;
	}
	for (size_t n = 1; path[n - 1] && !found; n++) {
		const struct project_row *r =
			strchr(".[", path[n]) ? row_of(path, n) : NULL;

		found = r && r->may == PROJECT_REFUSED;
	}
	if (found)
		return;
	nest(path, text, sizeof(text));
	is_int(parse(text, &p, &err), -EINVAL,
	       "%s: it is not decided yet, so it is refused: %s", path,
	       err.msg);
	project_done(&p);
}

static void test_row(const struct row *r)
{
	struct project p = { 0 };
	struct err err;

	if (r->good)
		is_int(parse(r->good, &p, &err), 0, "%s: may %s", r->key,
		       err.msg);
	project_done(&p);
	if (!r->bad)
		return;
	is_int(parse(r->bad, &p, &err), -EINVAL, "%s: may not", r->key);
	ok(strstr(err.msg, r->why) && strncmp(err.msg, "f:", 2) == 0, "%s: %s",
	   r->key, err.msg);
	project_done(&p);
}

/* A row of the code is a key of the schema, and the test has it. */
static void test_rows(void)
{
	struct schema_walk w = { .fn = has_row };

	walk_schema(&w, "", &blueprint_version2_is);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ok(is_key[i], "%s is a key", rows[i].key);
		test_row(&rows[i]);
	}
	for (const struct project_row *r = project_rows; r->key; r++) {
		size_t i = 0;

		while (i < ARRAY_SIZE(rows) && strcmp(rows[i].key, r->key) != 0)
			i++;
		ok(i < ARRAY_SIZE(rows) &&
			   !rows[i].good == (r->may == PROJECT_REFUSED),
		   "%s: %s", r->key, project_may_name(r->may));
	}
}

/* The table of the man page is that of the code. */
static void test_man(void)
{
	SCOPED_STR page = NULL;
	size_t n = 0;

	if (!ok(file_read("docs/man/ac-blueprint.5", 1 << 20, &page, NULL) == 0,
		"the man page"))
		return;
	for (const struct project_row *r = project_rows; r->key; r++, n++) {
		SCOPED_STR line = str_printf("\n.It Ic %s Ta %s Ta %s\n",
					     r->key, project_may_name(r->may),
					     r->about);

		ok(line && strstr(page, line), "%s is in the man page as here",
		   r->key);
	}
	for (const char *p = page; (p = strstr(p, " Ta ")); p += 4)
		n -= strncmp(strchr(p + 4, ' '), " Ta ", 4) == 0;
	is_int((int)n, 0, "which has no other key");
}

/* ---- what comes of it ---- */

static void has(const struct strv *sv, const char *words)
{
	SCOPED_STR text = strdup("");

	for (size_t i = 0; i < sv->n; i++) {
		char *more = str_printf("%s%s%s", text, i ? " " : "", sv->v[i]);

		free(text);
		text = more;
	}
	is_str(text, words, "%s", words);
}

static void test_resolved(void)
{
	static const char text[] = P
		"run: { workdir: /workspace/a, env: { CI: 1 } }\n"
		"resources: { memory: 512m, disk: 1g }\n"
		"blocked_paths: [.env, keys]\n"
		"egress: { mode: locked, deny: [y.test] }\n"
		"prompt: { text: run the tests }\n";
	struct project p;
	struct err err;

	if (!is_int(parse(text, &p, &err), 0, "%s", err.msg))
		return;
	is_str(p.bp.name, "parent", "it has the name of what it extends");
	is_str(p.bp.image, "base", "and its image");
	has(&p.bp.command, "agent");
	has(&p.bp.env, "A=1 LOG_LEVEL=x CI=1");
	is_str(p.bp.workdir, "/workspace/a", "its own workdir");
	is_int(p.bp.memory, 512 << 20, "less memory");
	is_int(p.bp.pids, 100, "and the parent's other limits");
	has(&p.bp.blocked_paths, ".env keys");
	is_int(p.bp.egress.mode, EGRESS_LOCKED, "the narrower mode");
	has(&p.bp.egress.deny, "x.test y.test");
	has(&p.bp.egress.presets, "github");
	is_str(p.bp.prompt,
	       "be kind\n\n# Rules of this project (.ac/blueprint.yaml)\n\n"
	       "run the tests",
	       "its rules come after the parent's, with where they are from");
	has(&p.keys, "run.workdir run.env resources.memory resources.disk "
		     "blocked_paths egress.mode egress.deny prompt.text");
	is_int(p.parent.memory, 1 << 30, "the parent is there as it was");
	is_str(p.parent.prompt, "be kind", "all of it");
	project_done(&p);
}

/* ---- variables ---- */

static const char *const no[] = {
	"LD_PRELOAD",
	"LD_LIBRARY_PATH",
	"PATH",
	"HOME",
	"SHELL",
	"BASH_ENV",
	"ENV",
	"PROMPT_COMMAND",
	"PS4",
	"IFS",
	"NODE_OPTIONS",
	"NODE_EXTRA_CA_CERTS",
	"PYTHONPATH",
	"PYTHONSTARTUP",
	"PERL5OPT",
	"RUBYOPT",
	"JAVA_TOOL_OPTIONS",
	"GIT_SSH_COMMAND",
	"GIT_CONFIG_COUNT",
	"http_proxy",
	"HTTPS_PROXY",
	"NO_PROXY",
	"SSL_CERT_FILE",
	"ANTHROPIC_BASE_URL",
	"ANTHROPIC_API_KEY",
	"OPENAI_BASE_URL",
	"GEMINI_API_KEY",
	"CLAUDE_CODE_FOO",
	"GITHUB_TOKEN",
	"GH_HOST",
	"NPM_CONFIG_REGISTRY",
	"npm_config_registry",
	"PIP_INDEX_URL",
	"GOPROXY",
	"GOFLAGS",
	"RUSTC_WRAPPER",
	"CARGO_HOME",
	"MAKEFLAGS",
	"CC",
	"EDITOR",
	"PAGER",
	"LESSOPEN",
	"TERM",
	"AC_NET_PRELOAD",
	"APP_",
	"PROJECT_",
	"app_x",
	"NOT_APP_X",
	"",
};
static const char *const yes[] = { "CI",          "NODE_ENV",     "TZ",
				   "APP_X",       "PROJECT_MODE", "TEST_DB",
				   "DATABASE_URL" };

static void test_env(void)
{
	struct project p;
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		ok(!project_env_may(no[i]), "'%s' may not be set", no[i]);
	for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
		ok(project_env_may(yes[i]), "'%s' may be set", yes[i]);
	is_int(parse(P "run: { env: { LOG_LEVEL: z } }\n", &p, &err), -EINVAL,
	       "one that the parent sets may not be changed");
	ok(strstr(err.msg, "sets LOG_LEVEL") != NULL, "%s", err.msg);
}

/* ---- hash ---- */

static void hash_of(const char *text, char ret[static PROJECT_HASH_MAX])
{
	struct project p;
	struct err err;

	if (is_int(parse(text, &p, &err), 0, "it is read %s", err.msg))
		snprintf(ret, PROJECT_HASH_MAX, "%s", p.hash);
	project_done(&p);
}

static void test_hash(void)
{
	char plain[PROJECT_HASH_MAX] = "", other[PROJECT_HASH_MAX] = "";

	hash_of(P, plain);
	is_int(strlen(plain), 64, "SHA-256 in hexadecimal digits");
	hash_of("# note\nextends: parent\nversion: 2\n", other);
	is_str(other, plain, "a comment and the order change nothing");
	hash_of("version: 2\nextends: twin\n", other);
	ok(strcmp(other, plain) != 0,
	   "a parent of another name is another blueprint");
	/* Each key that may be set. */
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct project p;
		struct err err;

		if (!rows[i].good || strcmp(rows[i].key, "version") == 0 ||
		    strcmp(rows[i].key, "extends") == 0 ||
		    strstr(rows[i].good, "{}") ||
		    strcmp(rows[i].key, "resources.memory") == 0)
			continue;
		parse(rows[i].good, &p, &err);
		ok(strcmp(p.hash, plain) != 0, "%s is in the hash",
		   rows[i].key);
		project_done(&p);
	}
	put("parent", "version: 2\nimage: base\nrun: { command: [agent] }\n");
	hash_of(P, other);
	ok(strcmp(other, plain) != 0, "a change of the parent is one");
	put("parent", parent);
	hash_of(P, other);
	is_str(other, plain, "and is gone with it");
}

/* ---- files that are none ---- */

static void refused(const char *text, const char *why)
{
	struct project p;
	struct err err;

	is_int(parse(text, &p, &err), -EINVAL, "refused: %s", why);
	ok(strstr(err.msg, why) != NULL, "%s", err.msg);
	project_done(&p);
}

static void test_bad(void)
{
	SCOPED_STR big = malloc(BLUEPRINT_FILE_MAX + 2);

	refused("", "empty");
	refused("[a]", "map");
	refused("version: 2\nextends: [a]\n", "must be a name");
	refused("version: 2\nextends: ../x\n", "extends: ");
	refused("version: 2\nextends: nobody\n", "no blueprint 'nobody'");
	refused("version: \"2\"\nextends: parent\n", "'version: 2'");
	refused(P "promt: x\n", "has no 'promt'");
	refused(P "resources: { memry: 1g }\n",
		"did you mean 'resources.memory'");
	refused(P "a.b: x\n", "has no 'a.b'");
	refused(P "limits: { memory: 1m }\n", "resources");
	/* All that is wrong is said. */
	refused(P "image: x\nfiles: []\npool: 1\n", "and 2 more");
	refused("image: x\n", "and 2 more");
	refused(P "ttl: 99d\nidle: 99d\n", "and 1 more");
	refused(P "ttl: 99d\npromt: x\n", "has no 'promt'");
	refused(P "resources.memory: 1m\n", "f:3:1");
	refused(P P, "here twice");
	/* A bomb, a cycle, a file that is too large. */
	refused("a: &a [x, x]\nb: &b [*a, *a]\nversion: 2\n", "f:1:4");
	put("loop", "version: 2\nextends: pool\n");
	put("pool", "version: 2\nextends: loop\n");
	refused("version: 2\nextends: loop\n", "extends itself");
	memset(big, '#', BLUEPRINT_FILE_MAX + 1);
	big[BLUEPRINT_FILE_MAX + 1] = '\0';
	refused(big, "larger than 64 KiB");
	refused("version: 2\nextends: mute\nprompt: { text: x }\n",
		"would be nowhere");
	refused("version: 2\nextends: tight\nresources: { cpus: none }\n",
		"smaller");
}

/* A dotted key at the top is no way around the table. */
static void test_parent_broken(void)
{
	struct project p;
	struct err err;

	put("broken", "version: 2\nimage: [\n");
	is_int(parse("version: 2\nextends: broken\n", &p, &err), -EINVAL,
	       "a parent that cannot be read");
	ok(strstr(err.msg, "broken/blueprint.yaml:") != NULL,
	   "its own file is named: %s", err.msg);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	blueprint_set_dirs(dir, "/nonexistent");
	put("parent", parent);
	put("twin", parent);
	put("mute", "version: 2\nimage: base\n");
	put("tight", "version: 2\nimage: base\nfilesystem: { tmp: noexec }\n"
		     "resources: { cpus: 1 }\n");
	test_rows();
	test_man();
	test_resolved();
	test_env();
	test_hash();
	test_bad();
	test_parent_broken();
	file_remove_tree(dir);
	return done_testing();
}
