/* SPDX-License-Identifier: Apache-2.0 */
/*
 * effect_test.c - every key of a blueprint has an effect
 *
 * A row holds a key, a blueprint without it (or with another value), the same
 * with it, and one line that only the second has of what comes out. Where a key
 * can say one thing alone the second text is one that says another, and the
 * line is why it is refused. A key of the schema without a row fails.
 */
#include "control/acd/blueprint/keys.h"
#include "control/acd/preset/preset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/file.h"
#include "tests/unit/schema_keys.h"
#include "tests/unit/tap.h"

#define V "version: 1\nimage: base\n"
#define LIMIT(w) V "limits: { " w " }\n"
#define EGRESS(w) V "egress: { " w " }\n"
#define CRED(w) V "credentials: [ { name: c " w " } ]\n"

struct row {
	const char *key, *before, *after, *line;
};

static const struct row rows1[] = {
	{ "version", V, "version: 3\nimage: base\n", "version 1 and 2 only" },
	{ "description", V, V "description: tests\n", "description tests" },
	{ "image", V, "version: 1\nimage: desktop\n", "image desktop" },
	{ "command", V, V "command: [make, test]\n", "command make test" },
	{ "shell", V, V "shell: [zsh]\n", "shell zsh" },
	{ "workdir", V, V "workdir: /srv\n", "workdir /srv" },
	{ "env", V, V "env: { A: b }\n", "env A=b" },
	{ "limits", V, V "limits: none\n", "pids 0" },
	{ "limits.cpus", V, LIMIT("cpus: 1.5"), "cpus 1500" },
	{ "limits.memory", V, LIMIT("memory: 32m"), "memory 33554432" },
	{ "limits.pids", V, LIMIT("pids: 9"), "pids 9" },
	{ "limits.timeout", V, LIMIT("timeout: 90s"), "timeout 90000" },
	{ "limits.disk", V, LIMIT("disk: 16m"), "disk 16777216" },
	{ "limits.output", V, LIMIT("output: 64k"), "output 65536" },
	{ "isolation", V, V "isolation: crun\n", "isolation crun" },
	{ "egress", V, EGRESS("mode: open"), "mode open" },
	{ "egress.mode", V, EGRESS("mode: open"), "mode open" },
	{ "egress.presets", V, EGRESS("presets: [github]"), "preset github" },
	{ "egress.allow", V, EGRESS("allow: [a.test]"), "allow a.test" },
	{ "egress.deny", V, EGRESS("deny: [.b.test]"), "deny .b.test" },
	{ "egress.limits", V, EGRESS("limits: { dns: { qps: 5 } }"),
	  "egress limits { dns: { qps: 5 } }" },
	{ "credentials", V, V "credentials: [c]\n", "credential c mode 0" },
	{ "credentials[].name", V, CRED(""), "credential c mode 0" },
	{ "credentials[].mode", CRED(""), CRED(", mode: handover, env: T"),
	  "credential c mode 1" },
	{ "credentials[].env", CRED(""), CRED(", env: TOKEN"), "in TOKEN" },
	{ "credentials[].git", CRED(""), CRED(", git: { push: deny }"),
	  "push deny" },
	{ "credentials[].git.push", CRED(""), CRED(", git: { push: allow }"),
	  "push allow" },
	{ "credentials[].methods", CRED(""), CRED(", methods: [GET]"),
	  "methods GET" },
	{ "credentials[].paths", CRED(""), CRED(", paths: [\"/v1/**\"]"),
	  "paths /v1/**" },
	{ "pool", V, V "pool: 3\n", "pool 3" },
	{ "ttl", V, V "ttl: 1h\n", "ttl 3600000" },
	{ "idle", V, V "idle: 1m\n", "idle 60000" },
	{ "hibernate_after", V, V "hibernate_after: 1m\n", "hibernate 60000" },
	{ "filesystem", V, V "filesystem: { root: writable }\n", "writable 1" },
	{ "filesystem.root", V "filesystem: { root: read-only }\n",
	  V "filesystem: { root: writable }\n", "writable 1" },
	{ "filesystem.tmp", V "filesystem: { tmp: exec }\n",
	  V "filesystem: { tmp: noexec }\n", "noexec 1" },
	{ "blocked_paths", V, V "blocked_paths: [.env]\n", "blocked .env" },
	{ "extends", V, V "extends: base\n", "'extends' needs 'version: 2'" },
	{ "resources", V, V "resources: none\n",
	  "'resources' is 'limits' in version 1" },
	{ "run", V, V "run: {}\n", "'run' needs 'version: 2'" },
	{ "files", V, V "files: []\n", "'files' needs 'version: 2'" },
	{ "prompt", V, V "prompt: {}\n", "'prompt' needs 'version: 2'" },
	{ "skills", V, V "skills: {}\n", "'skills' needs 'version: 2'" },
	{ "mounts", V, V "mounts: []\n", "'mounts' needs 'version: 2'" },
	{ "egress.use", V, EGRESS("use: [github]"), "it is 'presets'" },
};

#define V2 "version: 2\nimage: base\n"
#define RUN2(w) V2 "run: { " w " }\n"
#define MODEL2(w) RUN2("model_url: { " w " }")
#define RES2(w) V2 "resources: { " w " }\n"
#define EGRESS2(w) V2 "egress: { " w " }\n"
#define CRED2(w) V2 "credentials: [ { name: c " w " } ]\n"
#define FILE2(w) V2 "files: [ { path: a, " w " } ]\n"
#define VOLUME2(w) V2 "mounts: [ { volume: data, to: /mnt/a" w " } ]\n"
#define MOUNT2(w) V2 "mounts: [ { from: /srv, to: /mnt/a" w " } ]\n"
#define IMAGE2(w) "version: 2\nimage: { from: base" w " }\n"
#define TEXT2 FILE2("text: x")
#define JSON2 FILE2("json: { b: c }")

static const struct row rows2[] = {
	{ "version", V2, "version: 3\nimage: base\n", "version 1 and 2 only" },
	{ "description", V2, V2 "description: tests\n", "description tests" },
	{ "extends", V2, "version: 2\nextends: parent\n", "image of-parent" },
	{ "image", V2, "version: 2\nimage: desktop\n", "image desktop" },
	{ "image.name", V2, "version: 2\nimage: { name: own }\n", "image own" },
	{ "image.from", V2, IMAGE2(""), "image b" },
	{ "image.tools", IMAGE2(""), IMAGE2(", tools: [kit]"), "preset go" },
	{ "image.packages", IMAGE2(""), IMAGE2(", packages: { apt: [x] }"),
	  "apt x" },
	{ "image.packages.apt", IMAGE2(""), IMAGE2(", packages: { apt: [x] }"),
	  "apt x" },
	{ "image.packages.npm", IMAGE2(""),
	  IMAGE2(", packages: { npm: [\"@x/y@1\"] }"), "npm @x/y@1" },
	{ "image.packages.pip", IMAGE2(""),
	  IMAGE2(", packages: { pip: [\"x==1\"] }"), "pip x==1" },
	{ "image.files", IMAGE2(""), IMAGE2(", files: [ { from: a, to: /b } ]"),
	  "/b" },
	{ "image.files[].from", IMAGE2(""),
	  IMAGE2(", files: [ { from: a, to: /b } ]"), "image files a" },
	{ "image.files[].to", IMAGE2(""),
	  IMAGE2(", files: [ { from: a, to: /b } ]"), "/b" },
	{ "image.run", IMAGE2(""), IMAGE2(", run: [make]"), "image run make" },
	{ "image.egress", IMAGE2(""), IMAGE2(", egress: { use: [go] }"),
	  "image use go" },
	{ "image.egress.use", IMAGE2(""), IMAGE2(", egress: { use: [go] }"),
	  "image use go" },
	{ "image.egress.allow", IMAGE2(""),
	  IMAGE2(", egress: { allow: [a.test] }"), "image allow a.test" },
	{ "image.egress.deny", IMAGE2(""),
	  IMAGE2(", egress: { deny: [a.test] }"), "image deny a.test" },
	{ "image.time", IMAGE2(""), IMAGE2(", time: 5s"), "image time 5000" },
	{ "image.disk", IMAGE2(""), IMAGE2(", disk: 16m"),
	  "image disk 16777216" },
	{ "image.memory", IMAGE2(""), IMAGE2(", memory: 1g"),
	  "image memory 1073741824" },
	{ "run", V2, RUN2("shell: [zsh]"), "shell zsh" },
	{ "run.command", V2, RUN2("command: [make, test]"),
	  "command make test" },
	{ "run.args", V2, RUN2("args: append"), "append 1" },
	{ "run.headless", V2, RUN2("headless: [a, \"{prompt}\"]"),
	  "headless a {prompt}" },
	{ "run.resume", V2, RUN2("resume: [a, --again]"), "resume a --again" },
	{ "run.result", V2, RUN2("result: { json: .r }"), "result .r, -" },
	{ "run.result.json", V2, RUN2("result: { json: .r }"), "result .r, -" },
	{ "run.result.usage", RUN2("result: { json: .r }"),
	  RUN2("result: { json: .r, usage: .u }"), "result .r, .u" },
	{ "run.shell", V2, RUN2("shell: [zsh]"), "shell zsh" },
	{ "run.workdir", V2, RUN2("workdir: /srv"), "workdir /srv" },
	{ "run.env", V2, RUN2("env: { A: b }"), "env A=b" },
	{ "run.model_url", V2, MODEL2(""), "model 1" },
	{ "run.model_url.env", MODEL2(""), MODEL2("env: { A: b }"),
	  "model env A=b" },
	{ "run.model_url.args", MODEL2(""), MODEL2("args: [-c, d]"),
	  "model args -c d" },
	{ "run.model_url.json", MODEL2(""), MODEL2("json: { .x/y: { z: 1 } }"),
	  "file .x/y 0644 merge {\"z\":1}" },
	{ "run.model_url.without", MODEL2(""), MODEL2("without: [c]"),
	  "model without c" },
	{ "run.model_url.keys", MODEL2(""), MODEL2("keys: [K]"),
	  "model keys K" },
	{ "limits", V2, V2 "limits: none\n", "'limits' is 'resources'" },
	{ "command", V2, V2 "command: [a]\n", "'run: { command }'" },
	{ "shell", V2, V2 "shell: [a]\n", "'run: { shell }'" },
	{ "workdir", V2, V2 "workdir: /a\n", "'run: { workdir }'" },
	{ "env", V2, V2 "env: { A: b }\n", "'run: { env }'" },
	{ "resources", V2, V2 "resources: none\n", "pids 0" },
	{ "resources.cpus", V2, RES2("cpus: 1.5"), "cpus 1500" },
	{ "resources.memory", V2, RES2("memory: 32m"), "memory 33554432" },
	{ "resources.pids", V2, RES2("pids: 9"), "pids 9" },
	{ "resources.timeout", V2, RES2("timeout: 90s"), "timeout 90000" },
	{ "resources.disk", V2, RES2("disk: 16m"), "disk 16777216" },
	{ "resources.output", V2, RES2("output: 64k"), "output 65536" },
	{ "isolation", V2, V2 "isolation: crun\n", "isolation crun" },
	{ "egress", V2, EGRESS2("mode: open"), "mode open" },
	{ "egress.mode", V2, EGRESS2("mode: open"), "mode open" },
	{ "egress.use", V2, EGRESS2("use: [github]"), "preset github" },
	{ "egress.presets", V2, EGRESS2("presets: [github]"),
	  "'presets' is 'use' in version 2" },
	{ "egress.allow", V2, EGRESS2("allow: [a.test]"), "allow a.test" },
	{ "egress.deny", V2, EGRESS2("deny: [.b.test]"), "deny .b.test" },
	{ "egress.limits", V2, EGRESS2("limits: { dns: { qps: 5 } }"),
	  "egress limits { dns: { qps: 5 } }" },
	{ "credentials", V2, V2 "credentials: [c]\n", "credential c mode 0" },
	{ "credentials[].name", V2, CRED2(""), "credential c mode 0" },
	{ "credentials[].mode", CRED2(""), CRED2(", mode: handover, env: T"),
	  "credential c mode 1" },
	{ "credentials[].env", CRED2(""), CRED2(", env: TOKEN"), "in TOKEN" },
	{ "credentials[].git", CRED2(""), CRED2(", git: { push: deny }"),
	  "push deny" },
	{ "credentials[].git.push", CRED2(""), CRED2(", git: { push: allow }"),
	  "push allow" },
	{ "credentials[].methods", CRED2(""), CRED2(", methods: [GET]"),
	  "methods GET" },
	{ "credentials[].paths", CRED2(""), CRED2(", paths: [\"/v1/**\"]"),
	  "paths /v1/**" },
	{ "pool", V2, V2 "pool: 3\n", "pool 3" },
	{ "ttl", V2, V2 "ttl: 1h\n", "ttl 3600000" },
	{ "idle", V2, V2 "idle: 1m\n", "idle 60000" },
	{ "hibernate_after", V2, V2 "hibernate_after: 1m\n",
	  "hibernate 60000" },
	{ "filesystem", V2, V2 "filesystem: { root: writable }\n",
	  "writable 1" },
	{ "filesystem.root", V2 "filesystem: { root: read-only }\n",
	  V2 "filesystem: { root: writable }\n", "writable 1" },
	{ "filesystem.tmp", V2 "filesystem: { tmp: exec }\n",
	  V2 "filesystem: { tmp: noexec }\n", "noexec 1" },
	{ "blocked_paths", V2, V2 "blocked_paths: [.env]\n", "blocked .env" },
	{ "files", V2, TEXT2, "file a 0644 text x" },
	{ "files[].path", TEXT2, V2 "files: [ { path: b/c, text: x } ]\n",
	  "file b/c 0644 text x" },
	{ "files[].text", TEXT2, FILE2("text: z"), "file a 0644 text z" },
	{ "files[].json", TEXT2, JSON2, "file a 0644 json {\"b\":\"c\"}" },
	{ "files[].merge", JSON2, FILE2("json: { b: c }, merge: json"),
	  "file a 0644 merge {\"b\":\"c\"}" },
	{ "files[].always", TEXT2, FILE2("text: x, always: true"),
	  "file a 0644 always x" },
	{ "files[].mode", TEXT2, FILE2("text: x, mode: 0600"),
	  "file a 0600 text x" },
	{ "prompt", V2, V2 "prompt: { text: be, paths: [A.md] }\n",
	  "prompt be" },
	{ "prompt.text", V2 "prompt: { paths: [A.md] }\n",
	  V2 "prompt: { text: be, paths: [A.md] }\n", "prompt be" },
	{ "prompt.use", V2 "prompt: { text: be }\n",
	  V2 "prompt: { text: be, use: [mine] }\n", "rules be kind" },
	{ "prompt.paths", V2 "prompt: { text: be }\n",
	  V2 "prompt: { text: be, paths: [A.md, B.md] }\n", "to A.md B.md" },
	{ "skills", V2, V2 "skills: { folders: [s/one] }\n",
	  "skill one s/one of ." },
	{ "skills.folders", V2 "skills: { folders: [s/one] }\n",
	  V2 "skills: { folders: [s/one, two] }\n", "skill two two of ." },
	{ "skills.paths", V2, V2 "skills: { paths: [.a/s] }\n",
	  "skills at .a/s" },
	{ "mounts", V2, MOUNT2(""), "mount /srv at /mnt/a live 0" },
	{ "mounts[].from", MOUNT2(""),
	  V2 "mounts: [ { from: ~/b, to: /mnt/a } ]\n",
	  "mount ~/b at /mnt/a live 0" },
	{ "mounts[].to", MOUNT2(""),
	  V2 "mounts: [ { from: /srv, to: /mnt/b } ]\n",
	  "mount /srv at /mnt/b live 0" },
	{ "mounts[].mode", MOUNT2(", mode: ro"), MOUNT2(", mode: live"),
	  "mount /srv at /mnt/a live 1" },
	{ "mounts[].volume", VOLUME2(""),
	  V2 "mounts: [ { volume: other, to: /mnt/a } ]\n",
	  "mount other at /mnt/a live 1" },
	{ "mounts[].mode", VOLUME2(""), VOLUME2(", mode: ro"),
	  "mount data at /mnt/a live 0" },
};

/* A version, and which of its rows were found in its schema. */
struct table {
	const struct row *rows;
	size_t n;
	bool is_key[ARRAY_SIZE(rows2)];
};
static struct table tables[] = { { rows1, ARRAY_SIZE(rows1), { false } },
				 { rows2, ARRAY_SIZE(rows2), { false } } };
static struct table *now;

static void print_words(FILE *f, const char *what, const struct strv *sv)
{
	fprintf(f, "%s", what);
	for (size_t i = 0; i < sv->n; i++)
		fprintf(f, " %s", sv->v[i]);
	fputc('\n', f);
}

static void print_egress(FILE *f, const struct egress *e)
{
	fprintf(f, "mode %s\n", egress_mode_name(e->mode));
	print_words(f, "preset", &e->presets);
	print_words(f, "allow", &e->allow);
	print_words(f, "deny", &e->deny);
	fprintf(f, "egress limits %s\n", e->limits ? e->limits : "-");
}

static void print_blueprint(FILE *f, const struct blueprint *bp)
{
	fprintf(f, "description %s\nimage %s\nworkdir %s\nisolation %s\n",
		bp->description, bp->image, bp->workdir, bp->isolation);
	print_words(f, "command", &bp->command);
	print_words(f, "shell", &bp->shell);
	print_words(f, "env", &bp->env);
	print_words(f, "blocked", &bp->blocked_paths);
	fprintf(f, "cpus %llu\nmemory %llu\n",
		(unsigned long long)bp->cpu_milli,
		(unsigned long long)bp->memory);
	fprintf(f, "pids %llu\ntimeout %llu\n", (unsigned long long)bp->pids,
		(unsigned long long)bp->timeout_ms);
	fprintf(f, "disk %llu\noutput %llu\n", (unsigned long long)bp->disk,
		(unsigned long long)bp->output);
	fprintf(f, "ttl %llu\nidle %llu\nhibernate %llu\n",
		(unsigned long long)bp->ttl_ms, (unsigned long long)bp->idle_ms,
		(unsigned long long)bp->hibernate_ms);
	fprintf(f, "pool %u\nwritable %d\nnoexec %d\n", bp->pool, bp->root_rw,
		bp->tmp_noexec);
	print_egress(f, &bp->egress);
	for (size_t i = 0; i < bp->credentials.n; i++) {
		const struct credential *c = &bp->credentials.v[i];

		fprintf(f, "credential %s mode %d\nin %s\npush %s\n", c->name,
			c->mode, c->env ? c->env : "-", git_push_name(c->push));
		print_words(f, "methods", &c->methods);
		print_words(f, "paths", &c->paths);
	}
}

static void print_build(FILE *f, const struct blueprint_build *b)
{
	print_words(f, "apt", &b->apt);
	print_words(f, "npm", &b->npm);
	print_words(f, "pip", &b->pip);
	print_words(f, "image files", &b->files); /* two lines each */
	print_words(f, "image run", &b->run);
	print_words(f, "image use", &b->egress.presets);
	print_words(f, "image allow", &b->egress.allow);
	print_words(f, "image deny", &b->egress.deny);
	fprintf(f, "image time %llu\nimage disk %llu\nimage memory %llu\n",
		(unsigned long long)b->time_ms, (unsigned long long)b->disk,
		(unsigned long long)b->memory);
}

static void print_file(FILE *f, const struct blueprint_file *x)
{
	fprintf(f, "file %s %04o %s %s\n", x->path, x->mode,
		x->merge   ? "merge" :
		x->always  ? "always" :
		x->is_json ? "json" :
			     "text",
		x->text);
}

static void print_model(FILE *f, const struct blueprint_model *m)
{
	fprintf(f, "model %d\n", m->given);
	print_words(f, "model env", &m->env);
	print_words(f, "model args", &m->args);
	print_words(f, "model without", &m->without);
	print_words(f, "model keys", &m->keys);
	for (size_t i = 0; i < m->n_files; i++)
		print_file(f, &m->files[i]);
}

static void print_agent(FILE *f, const struct blueprint *bp)
{
	print_model(f, &bp->model);
	fprintf(f, "append %d\n", bp->args_append);
	print_words(f, "headless", &bp->headless);
	print_words(f, "resume", &bp->resume);
	fprintf(f, "result %s, %s\n", bp->result_json ? bp->result_json : "-",
		bp->result_usage ? bp->result_usage : "-");
	for (size_t i = 0; i < bp->n_files; i++)
		print_file(f, &bp->files[i]);
	fprintf(f, "prompt %s\n", bp->prompt ? bp->prompt : "-");
	fprintf(f, "rules %s\n", bp->prompt_rules ? bp->prompt_rules : "-");
	print_words(f, "to", &bp->prompt_paths);
	for (size_t i = 0; i < bp->n_skills; i++)
		fprintf(f, "skill %s %s of %s\n", bp->skills[i].name,
			bp->skills[i].folder, bp->skills[i].dir);
	print_words(f, "skills at", &bp->skill_paths);
	for (size_t i = 0; i < bp->n_mounts; i++)
		fprintf(f, "mount %s at %s live %d\n",
			bp->mounts[i].from ? bp->mounts[i].from :
					     bp->mounts[i].volume,
			bp->mounts[i].to, bp->mounts[i].live);
}

/* All that comes of the blueprint @text, or why it is refused; caller frees. */
static char *result_of(const char *text, bool *ret_taken)
{
	struct blueprint bp = { 0 };
	struct err err = { 0 };
	char *out = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&out, &len);

	if (!f)
		return NULL;
	*ret_taken = blueprint_parse(text, strlen(text), "f", "b", &bp, &err) ==
		     0;
	fputc('\n', f);
	if (*ret_taken) {
		print_blueprint(f, &bp);
		print_agent(f, &bp);
		print_build(f, &bp.build);
	} else {
		fprintf(f, "%s\n", err.msg);
	}
	fclose(f);
	blueprint_done(&bp);
	return out;
}

static bool has_line(const char *text, const char *line)
{
	size_t len = strlen(line);

	for (const char *p = text; (p = strstr(p, line)); p++) {
		if (p[-1] == '\n' && p[len] == '\n')
			return true;
	}
	return false;
}

static void test_row(const struct row *r)
{
	bool was_taken = false, is_taken = false;
	SCOPED_STR before = result_of(r->before, &was_taken);
	SCOPED_STR after = result_of(r->after, &is_taken);

	if (!before || !after)
		return;
	ok(was_taken, "%s: taken before", r->key);
	if (is_taken)
		ok(has_line(after, r->line) && !has_line(before, r->line),
		   "%s: '%s' comes of it", r->key, r->line);
	else if (!ok(strstr(after, r->line) != NULL, "%s: refused, '%s'",
		     r->key, r->line))
		printf("# %s", after + 1);
}

static void has_row(const char *path)
{
	bool found = false;

	for (size_t i = 0; i < now->n; i++) {
		if (strcmp(now->rows[i].key, path) == 0)
			now->is_key[i] = found = true;
	}
	ok(found, "%s has a row", path);
}

static void test_version(size_t v, const struct schema *is)
{
	struct schema_walk w = { .fn = has_row };

	now = &tables[v];
	walk_schema(&w, "", is);
	for (size_t i = 0; i < now->n; i++) {
		ok(now->is_key[i], "%s is a key", now->rows[i].key);
		test_row(&now->rows[i]);
	}
}

int main(void)
{
	static const char parent[] = "version: 2\nimage: of-parent\n";
	static const char mine[] = "version: 1\nabout: mine\ntext: be kind\n";
	static const char kit[] =
		"version: 1\nabout: kit\napt: [make]\negress: [go]\n";
	static char dir[] = "/tmp/effect_test.XXXXXX";
	char path[64];

	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/parent", dir);
	file_mkdir_p(path, 0700);
	snprintf(path, sizeof(path), "%s/parent/blueprint.yaml", dir);
	file_write_atomic(path, parent, strlen(parent), 0600);
	snprintf(path, sizeof(path), "%s/prompts", dir);
	file_mkdir_p(path, 0700);
	snprintf(path, sizeof(path), "%s/prompts/mine.yaml", dir);
	file_write_atomic(path, mine, strlen(mine), 0600);
	snprintf(path, sizeof(path), "%s/tools", dir);
	file_mkdir_p(path, 0700);
	snprintf(path, sizeof(path), "%s/tools/kit.yaml", dir);
	file_write_atomic(path, kit, strlen(kit), 0600);
	blueprint_set_dirs(dir, "/nonexistent");
	preset_set_dirs(dir, "/nonexistent");
	test_version(0, &blueprint_version1_is);
	test_version(1, &blueprint_version2_is);
	file_remove_tree(dir);
	return done_testing();
}
