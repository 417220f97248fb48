/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print.c - a blueprint as the text of one, of version 2
 *
 * A word that some reader of YAML could take for more than a word is quoted.
 */
#include "control/acd/blueprint/print.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/acd/blueprint/print_impl.h"
#include "control/shared/json.h"
#include "ottergate/yaml.h"

void print_lines_done(struct print_lines *l)
{
	free(l->v);
	*l = (struct print_lines){ 0 };
}

static const struct unit sizes[] = {
	{ 1ull << 30, "g" }, { 1ull << 20, "m" }, { 1ull << 10, "k" }, { 1, "" }
};

static void put_size(struct printer *p, const char *key, uint64_t v)
{
	print_from_item(p, "resources", key);
	print_put(p, "  %s: ", key);
	print_amount(p, v, sizes);
	print_put(p, "\n");
}

static void put_time(struct printer *p, const char *key, uint64_t v)
{
	static const struct unit units[] = {
		{ 24ull * 3600 * 1000, "d" },
		{ 3600ull * 1000, "h" },
		{ 60ull * 1000, "m" },
		{ 1000, "s" },
		{ 1, "ms" },
	};

	print_put(p, "%s: ", key);
	print_amount(p, v, units);
	print_put(p, "\n");
}

/* ---- keys ---- */

static void put_top(struct printer *p, const char *key, const char *word)
{
	print_from(p, key);
	print_put(p, "%s: ", key);
	print_word(p, word);
	print_put(p, "\n");
}

/* A list of words on one line, which is of one file. */
static void put_list(struct printer *p, const char *map, const char *key,
		     const struct strv *sv)
{
	if (sv->n == 0)
		return;
	print_from_item(p, map, key);
	print_put(p, "  %s: ", key);
	print_words(p, sv);
	print_put(p, "\n");
}

/* Puts the words of @sv one below the other. */
static void put_lines(struct printer *p, const char *key, const struct strv *sv)
{
	if (sv->n > 0)
		print_put(p, "  %s:\n", key);
	for (size_t i = 0; i < sv->n; i++) {
		print_put(p, "    - ");
		print_text(p, sv->v[i], 6);
		print_put(p, "\n");
	}
}

static void put_packages(struct printer *p, const struct blueprint_build *b)
{
	const struct {
		const char *key;
		const struct strv *words;
	} kinds[] = { { "apt", &b->apt },
		      { "npm", &b->npm },
		      { "pip", &b->pip } };

	if (b->apt.n + b->npm.n + b->pip.n > 0)
		print_put(p, "  packages:\n");
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (kinds[i].words->n == 0)
			continue;
		print_put(p, "    %s: ", kinds[i].key);
		print_words(p, kinds[i].words);
		print_put(p, "\n");
	}
}

/* A size of the image's steps; 0: it has none of its own. */
static void put_bytes(struct printer *p, const char *key, uint64_t bytes)
{
	if (bytes == 0)
		return;
	print_put(p, "  %s: ", key);
	print_amount(p, bytes, sizes);
	print_put(p, "\n");
}

static void put_build_egress(struct printer *p, const struct egress *e)
{
	if (e->presets.n + e->allow.n + e->deny.n == 0)
		return;
	print_put(p, "  egress: { use: ");
	print_words(p, &e->presets);
	print_put(p, ", allow: ");
	print_words(p, &e->allow);
	print_put(p, ", deny: ");
	print_words(p, &e->deny);
	print_put(p, " }\n");
}

static bool has_map(const struct blueprint *bp)
{
	const struct blueprint_build *b = &bp->build;

	/* For another image, which a parent makes, the name is enough. */
	return strcmp(bp->image, bp->name) == 0 &&
	       (b->from ||
		b->egress.presets.n + b->egress.allow.n + b->egress.deny.n >
			0 ||
		b->time_ms || b->disk || b->memory);
}

static void put_image(struct printer *p)
{
	const struct blueprint_build *b = &p->bp->build;
	const struct strv *files = &b->files;

	if (!has_map(p->bp)) {
		put_top(p, "image", p->bp->image);
		return;
	}
	print_from(p, "image");
	print_put(p, "image:\n  %s: ", b->from ? "from" : "name");
	print_word(p, b->from ? b->from : p->bp->image);
	print_put(p, "\n");
	put_packages(p, b);
	if (files->n > 0)
		print_put(p, "  files:\n");
	for (size_t i = 0; i < files->n; i++) {
		const char *to = strchr(files->v[i], '\n');
		SCOPED_STR from =
			strndup(files->v[i], (size_t)(to - files->v[i]));

		print_put(p, "    - { from: ");
		print_word(p, from ? from : "");
		print_put(p, ", to: ");
		print_word(p, to + 1);
		print_put(p, " }\n");
	}
	put_lines(p, "run", &b->run);
	put_build_egress(p, &b->egress);
	if (b->time_ms)
		put_time(p, "  time", b->time_ms);
	put_bytes(p, "disk", b->disk);
	put_bytes(p, "memory", b->memory);
}

static void put_result(struct printer *p)
{
	const struct blueprint *bp = p->bp;

	print_from(p, "run.result");
	if (!bp->result_json) {
		print_put(p, "  result: text\n");
		return;
	}
	print_from_none(p);
	print_put(p, "  result:\n");
	print_from(p, "run.result.json");
	print_put(p, "    json: %s\n", bp->result_json);
	if (!bp->result_usage)
		return;
	print_from(p, "run.result.usage");
	print_put(p, "    usage: %s\n", bp->result_usage);
}

static void put_env(struct printer *p, const struct strv *env)
{
	print_from_none(p);
	if (env->n > 0)
		print_put(p, "  env:\n");
	for (size_t i = 0; i < env->n; i++) {
		const char *value = strchr(env->v[i], '=');
		SCOPED_STR name =
			strndup(env->v[i], (size_t)(value - env->v[i]));

		if (!name)
			return;
		print_from_item(p, "run.env", name);
		print_put(p, "    \"%s\": ", name);
		print_word(p, value + 1);
		print_put(p, "\n");
	}
}

static void put_run(struct printer *p)
{
	const struct blueprint *bp = p->bp;

	print_from_none(p);
	print_put(p, "run:\n");
	put_list(p, "run", "command", &bp->command);
	print_from(p, "run.args");
	print_put(p, "  args: %s\n", bp->args_append ? "append" : "replace");
	put_list(p, "run", "headless", &bp->headless);
	put_list(p, "run", "resume", &bp->resume);
	put_result(p);
	put_list(p, "run", "shell", &bp->shell);
	print_from(p, "run.workdir");
	print_put(p, "  workdir: ");
	print_word(p, bp->workdir);
	print_put(p, "\n");
	put_env(p, &bp->env);
}

static void put_resources(struct printer *p)
{
	const struct blueprint *bp = p->bp;

	print_from_none(p);
	print_put(p, "resources:\n");
	print_from(p, "resources.cpus");
	if (bp->cpu_milli)
		print_put(p, "  cpus: %llu.%03llu\n",
			  (unsigned long long)(bp->cpu_milli / 1000),
			  (unsigned long long)(bp->cpu_milli % 1000));
	else
		print_put(p, "  cpus: none\n");
	put_size(p, "memory", bp->memory);
	print_from(p, "resources.pids");
	if (bp->pids)
		print_put(p, "  pids: %llu\n", (unsigned long long)bp->pids);
	else
		print_put(p, "  pids: none\n");
	print_from(p, "resources.timeout");
	put_time(p, "  timeout", bp->timeout_ms);
	put_size(p, "disk", bp->disk);
	put_size(p, "output", bp->output);
}

static void put_life(struct printer *p)
{
	const struct blueprint *bp = p->bp;

	print_from(p, "ttl");
	if (bp->ttl_ms)
		put_time(p, "ttl", bp->ttl_ms);
	print_from(p, "idle");
	if (bp->idle_ms)
		put_time(p, "idle", bp->idle_ms);
	print_from(p, "hibernate_after");
	if (bp->hibernate_ms)
		put_time(p, "hibernate_after", bp->hibernate_ms);
	print_from(p, "pool");
	print_put(p, "pool: %u\n", bp->pool);
	print_from_none(p);
	print_put(p, "filesystem:\n");
	print_from(p, "filesystem.root");
	print_put(p, "  root: %s\n", bp->root_rw ? "writable" : "read-only");
	print_from(p, "filesystem.tmp");
	print_put(p, "  tmp: %s\n", bp->tmp_noexec ? "noexec" : "exec");
	if (bp->blocked_paths.n == 0)
		return;
	print_from(p, "blocked_paths");
	print_put(p, "blocked_paths: ");
	print_words(p, &bp->blocked_paths);
	print_put(p, "\n");
}

/* A list to which heirs add. */
static void put_items(struct printer *p, const char *map, const char *key,
		      const struct strv *sv)
{
	SCOPED_STR list = str_printf("%s.%s", map, key);

	if (!list && p->rc == 0)
		p->rc = -ENOMEM;
	if (!list || sv->n == 0)
		return;
	print_from_none(p);
	print_put(p, "  %s:\n", key);
	for (size_t i = 0; i < sv->n; i++) {
		print_from_item(p, list, sv->v[i]);
		print_put(p, "    - ");
		print_word(p, sv->v[i]);
		print_put(p, "\n");
	}
}

static void put_egress(struct printer *p)
{
	const struct egress *e = &p->bp->egress;

	if (e->mode == EGRESS_UNSET && !e->limits && e->presets.n == 0 &&
	    e->allow.n == 0 && e->deny.n == 0)
		return;
	print_from_none(p);
	print_put(p, "egress:\n");
	print_from(p, "egress.mode");
	if (e->mode != EGRESS_UNSET)
		print_put(p, "  mode: %s\n", egress_mode_name(e->mode));
	put_items(p, "egress", "use", &e->presets);
	put_items(p, "egress", "allow", &e->allow);
	put_items(p, "egress", "deny", &e->deny);
	print_from(p, "egress.limits");
	if (e->limits)
		print_put(p, "  limits: %s\n", e->limits);
}

static void put_credential(struct printer *p, const struct credential *c)
{
	print_from_item(p, "credentials", c->name);
	print_put(p, "  - { name: ");
	print_word(p, c->name);
	if (c->mode == CREDENTIAL_HANDOVER)
		print_put(p, ", mode: handover");
	if (c->env) {
		print_put(p, ", env: ");
		print_word(p, c->env);
	}
	if (c->push != PUSH_UNSET)
		print_put(p, ", git: { push: %s }", git_push_name(c->push));
	if (c->methods.n > 0) {
		print_put(p, ", methods: ");
		print_words(p, &c->methods);
	}
	if (c->paths.n > 0) {
		print_put(p, ", paths: ");
		print_words(p, &c->paths);
	}
	print_put(p, " }\n");
}

static void put_credentials(struct printer *p)
{
	const struct credentials *l = &p->bp->credentials;

	if (l->n == 0)
		return;
	print_from_none(p);
	print_put(p, "credentials:\n");
	for (size_t i = 0; i < l->n; i++)
		put_credential(p, &l->v[i]);
}

static void put_json(struct printer *p, const char *text)
{
	SCOPED_JSON v = json_loads(text, 0, NULL);
	SCOPED_STR lines = v ? json_dumps(v, JSON_INDENT(2)) : NULL;

	if (lines)
		print_escaped(p, lines, true);
	else if (p->rc == 0)
		p->rc = -ENOMEM;
}

/* Begins a line behind a text or JSON, whose last line ends here. */
static void put_more(struct printer *p, const char *text)
{
	print_put(p, "\n");
	p->now.inside = false;
	print_put(p, "%s", text);
}

static void put_file(struct printer *p, const struct blueprint_file *f)
{
	print_from_item(p, "files", f->path);
	print_put(p, "  - path: ");
	print_word(p, f->path);
	print_put(p, f->is_json ? "\n    json: " : "\n    text: ");
	if (f->is_json)
		put_json(p, f->text);
	else
		print_text(p, f->text, 6);
	if (f->merge)
		put_more(p, "    merge: json");
	if (f->always)
		put_more(p, "    always: true");
	put_more(p, "    mode: ");
	print_put(p, "%04o\n", f->mode);
}

/* What `use` adds, as comments: the blueprint itself has only the names. */
static void put_rules(struct printer *p)
{
	const char *rest = p->bp->prompt_rules;

	print_from_none(p);
	if (rest)
		print_put(p, "# What prompt.use adds:\n");
	while (rest && *rest && p->rc == 0) {
		size_t len = strcspn(rest, "\n");
		SCOPED_STR line = strndup(rest, len);

		if (!line)
			p->rc = -ENOMEM;
		print_put(p, len ? "# " : "#");
		print_escaped(p, line ? line : "", true);
		print_put(p, "\n");
		rest += len + (rest[len] == '\n');
	}
}

static void put_model_list(struct printer *p, const char *key,
			   const struct strv *sv)
{
	if (sv->n == 0)
		return;
	print_put(p, "    %s: ", key);
	print_words(p, sv);
	print_put(p, "\n");
}

static void put_model(struct printer *p)
{
	const struct blueprint_model *m = &p->bp->model;

	if (!m->given)
		return;
	print_from(p, "run.model_url");
	print_put(p,
		  m->env.n + m->args.n + m->without.n + m->keys.n + m->n_files ?
			  "  model_url:\n" :
			  "  model_url: {}\n");
	if (m->env.n > 0)
		print_put(p, "    env:\n");
	for (size_t i = 0; i < m->env.n; i++) {
		const char *entry = m->env.v[i];

		print_put(p, "      \"%.*s\": ", (int)strcspn(entry, "="),
			  entry);
		print_word(p, strchr(entry, '=') + 1);
		print_put(p, "\n");
	}
	put_model_list(p, "args", &m->args);
	put_model_list(p, "without", &m->without);
	put_model_list(p, "keys", &m->keys);
	if (m->n_files > 0)
		print_put(p, "    json:\n");
	for (size_t i = 0; i < m->n_files; i++) {
		print_put(p, "      ");
		print_word(p, m->files[i].path);
		print_put(p, ": ");
		print_escaped(p, m->files[i].text, true);
		print_put(p, "\n");
	}
}

static void put_prompt(struct printer *p)
{
	const struct blueprint *bp = p->bp;

	if (!bp->prompt && bp->prompt_use.n == 0 && bp->prompt_paths.n == 0)
		return;
	print_from_none(p);
	print_put(p, "prompt:\n");
	if (bp->prompt) {
		print_from(p, "prompt.text");
		print_put(p, "  text: ");
		print_text(p, bp->prompt, 4);
		print_put(p, "\n");
	}
	put_items(p, "prompt", "use", &bp->prompt_use);
	put_list(p, "prompt", "paths", &bp->prompt_paths);
	put_rules(p);
}

static void put_files(struct printer *p)
{
	const struct blueprint *bp = p->bp;

	print_from_none(p);
	if (bp->n_files > 0)
		print_put(p, "files:\n");
	for (size_t i = 0; i < bp->n_files; i++)
		put_file(p, &bp->files[i]);
}

static void put_skills(struct printer *p)
{
	const struct blueprint *bp = p->bp;

	if (bp->n_skills == 0 && bp->skill_paths.n == 0)
		return;
	print_from_none(p);
	print_put(p, "skills:\n");
	if (bp->n_skills > 0)
		print_put(p, "  folders:\n");
	for (size_t i = 0; i < bp->n_skills; i++) {
		print_from_item(p, "skills.folders", bp->skills[i].name);
		print_put(p, "    - ");
		print_word(p, bp->skills[i].folder);
		print_put(p, "\n");
	}
	put_list(p, "skills", "paths", &bp->skill_paths);
}

static void put_mounts(struct printer *p)
{
	const struct blueprint *bp = p->bp;

	print_from_none(p);
	if (bp->n_mounts > 0)
		print_put(p, "mounts:\n");
	for (size_t i = 0; i < bp->n_mounts; i++) {
		const struct blueprint_mount *m = &bp->mounts[i];

		print_from_item(p, "mounts", m->to);
		print_put(p, m->volume ? "  - { volume: " : "  - { from: ");
		print_word(p, m->volume ? m->volume : m->from);
		print_put(p, ", to: ");
		print_word(p, m->to);
		print_put(p, ", mode: %s }\n",
			  !m->live  ? "ro" :
			  m->volume ? "rw" :
				      "live");
	}
}

int blueprint_print(const struct blueprint *bp, struct buf *out,
		    struct print_lines *lines)
{
	struct printer p = { .bp = bp, .out = out, .lines = lines };

	print_put(&p, "version: 2\n");
	put_top(&p, "description", bp->description);
	put_image(&p);
	put_run(&p);
	put_model(&p);
	put_resources(&p);
	put_life(&p);
	put_top(&p, "isolation", bp->isolation);
	put_egress(&p);
	put_credentials(&p);
	put_files(&p);
	put_prompt(&p);
	put_skills(&p);
	put_mounts(&p);
	return p.rc;
}
