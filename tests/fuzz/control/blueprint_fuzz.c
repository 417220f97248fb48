/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blueprint_fuzz.c - any text is refused with its position, or gives a
 * blueprint that keeps all promises
 *
 * A NUL byte ends a parent, which the text behind it extends.
 */
#include <string.h>

#include "control/acd/blueprint/keys.h"
#include "control/acd/blueprint/limit_keys.h"
#include "control/acd/blueprint/print.h"
#include "control/acd/blueprint/slot.h"
#include "control/acd/preset/preset.h"
#include "control/shared/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool cond)
{
	if (!cond)
		abort();
}

static const char *no_surrogate(void *arg, const char *name)
{
	(void)arg;
	must(*name && strlen(name) <= SLOT_KEY_MAX);
	return "surrogate";
}

static void check_text(const char *text)
{
	struct buf out;

	buf_init(&out, 1024 * 1024);
	must(slot_fill(text, no_surrogate, NULL, &out) == 0);
	buf_done(&out);
}

static void check_path(const char *path)
{
	must(*path && *path != '/' && path[strlen(path) - 1] != '/');
	must(!strstr(path, "//") && strcmp(path, "..") != 0);
	must(strncmp(path, "../", 3) != 0 && !strstr(path, "/../"));
	must(strlen(path) < 3 || strcmp(path + strlen(path) - 3, "/..") != 0);
}

static void check_agent(const struct blueprint *bp)
{
	unsigned prompts = 0;

	for (size_t i = 0; i < bp->headless.n; i++)
		prompts += strstr(bp->headless.v[i], "{prompt}") != NULL;
	must(bp->headless.n == 0 || prompts == 1);
	must(!bp->result_usage || bp->result_json);
	must(bp->n_files <= BLUEPRINT_FILES_MAX);
	for (size_t i = 0; i < bp->n_files; i++) {
		const struct blueprint_file *f = &bp->files[i];

		check_path(f->path);
		check_text(f->text);
		must((f->mode & ~0777u) == 0 && (f->mode & 0400));
		must(!f->merge || (f->is_json && f->text[0] == '{'));
	}
	for (size_t i = 0; i < bp->prompt_paths.n; i++)
		check_path(bp->prompt_paths.v[i]);
	must(bp->n_skills <= BLUEPRINT_SKILLS_MAX);
	for (size_t i = 0; i < bp->n_skills; i++) {
		check_path(bp->skills[i].folder);
		must(bp->skills[i].name[0] != '.' &&
		     !strchr(bp->skills[i].name, '/'));
	}
	for (size_t i = 0; i < bp->skill_paths.n; i++)
		check_path(bp->skill_paths.v[i]);
	must(bp->n_mounts <= BLUEPRINT_MOUNTS_MAX);
	for (size_t i = 0; i < bp->n_mounts; i++) {
		const struct blueprint_mount *m = &bp->mounts[i];

		must(!m->from != !m->volume);
		must(!m->volume || name_check_volume(m->volume, NULL) == 0);
		must(!m->from || m->from[0] == '/' ||
		     strncmp(m->from, "~/", 2) == 0);
		if (m->from)
			check_path(strchr(m->from, '/') + 1);
		must(strncmp(m->to, "/mnt/", 5) == 0 && m->to[5] &&
		     m->to[5] != '.' && !strchr(m->to + 5, '/'));
	}
	if (bp->prompt)
		check_text(bp->prompt);
}

static void check(const struct blueprint *bp)
{
	must(name_check_blueprint(bp->image, NULL) == 0);
	must(bp->command.n > 0 && bp->command.v[0][0] && bp->shell.n > 0);
	must(bp->workdir[0] == '/' && !strchr(bp->description, '\n'));
	must(strcmp(bp->isolation, "runsc") == 0 ||
	     strcmp(bp->isolation, "crun") == 0);
	must(bp->memory <= INT64_MAX && bp->cpu_milli <= UINT32_MAX);
	for (size_t i = 0; i < bp->env.n; i++)
		must(name_check_env(bp->env.v[i], NULL) == 0);
	check_agent(bp);
}

static size_t lines_of(const struct buf *text)
{
	struct slice s = buf_slice(text);
	size_t n = 0;

	for (size_t i = 0; i < s.len; i++)
		n += s.ptr[i] == '\n';
	return n;
}

/* What is printed is read again, and is the same. Keys of more than 1 KiB are
 * none to libyaml unless they are explicit. */
static void check_again(const struct blueprint *bp)
{
	struct print_lines lines = { 0 };
	struct blueprint again = { 0 };
	struct err err = { 0 };
	struct buf one, two;

	for (size_t i = 0; i < bp->n_files; i++) {
		if (strlen(bp->files[i].text) > 900)
			return;
	}
	buf_init(&one, BLUEPRINT_PRINT_MAX);
	buf_init(&two, BLUEPRINT_PRINT_MAX);
	must(blueprint_print(bp, &one, &lines) == 0);
	must(lines.n == lines_of(&one));
	print_lines_done(&lines);
	if (buf_len(&one) <= BLUEPRINT_FILE_MAX) {
		must(blueprint_parse((const char *)buf_slice(&one).ptr,
				     buf_len(&one), "f", "name", &again,
				     &err) == 0);
		sources_done(&again.sources);
		must(blueprint_print(&again, &two, NULL) == 0);
	}
	if (bp->sources.n == 0 && buf_len(&two) > 0)
		must(buf_len(&one) == buf_len(&two) &&
		     memcmp(buf_slice(&one).ptr, buf_slice(&two).ptr,
			    buf_len(&one)) == 0);
	blueprint_done(&again);
	buf_done(&one);
	buf_done(&two);
}

static int read_one(const uint8_t *data, size_t size, struct blueprint *bp,
		    struct err *err)
{
	struct yaml_tree tree = { 0 };
	const struct blueprint_place p = { &tree, bp, err, NULL };
	int rc = blueprint_tree((const char *)data, size, "f", &tree, err);

	if (rc == 0)
		rc = blueprint_read(&p);
	yaml_tree_done(&tree);
	must(rc == 0 || (err->code == rc && strncmp(err->msg, "f:", 2) == 0));
	return rc;
}

/* As load.c reads a parent and its heir. */
static void read_both(const uint8_t *data, size_t parent, size_t size)
{
	struct blueprint bp = { 0 };
	struct err err = { 0 };

	blueprint_default_limits(&bp);
	bp.name = strdup("name");
	must(bp.name);
	if (read_one(data, parent, &bp, &err) == 0 &&
	    read_one(data + parent + 1, size - parent - 1, &bp, &err) == 0 &&
	    blueprint_fill(&bp, "name") == 0)
		check(&bp);
	blueprint_done(&bp);
}

static void check_mistakes(const struct blueprint_mistakes *m)
{
	must(m->n > 0 && m->n <= BLUEPRINT_MISTAKES_MAX);
	must(!m->more || m->n == BLUEPRINT_MISTAKES_MAX);
	for (size_t i = 0; i < m->n; i++) {
		must(strcmp(m->v[i].file, "f") == 0 && m->v[i].code[0]);
		must(strncmp(m->v[i].message, "f:", 2) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct blueprint_mistakes m = { 0 };
	const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
	struct blueprint bp = { 0 };
	struct err err = { 0 };
	int rc;

	if (nul) {
		read_both(data, (size_t)(nul - data), size);
		return 0;
	}
	blueprint_set_dirs("/nonexistent", "/nonexistent");
	preset_set_dirs("/nonexistent", "/nonexistent");
	rc = blueprint_judge((const char *)data, size, "f", "name", &bp, &m,
			     &err);
	if (rc < 0) {
		check_mistakes(&m);
		mistakes_done(&m);
		must(err.code == rc && strncmp(err.msg, "f:", 2) == 0);
		must(!bp.name && !bp.command.v && !bp.env.v && !bp.files);
		return 0;
	}
	check(&bp);
	sources_done(&bp.sources);
	check_again(&bp);
	blueprint_done(&bp);
	return 0;
}
