/* SPDX-License-Identifier: Apache-2.0 */
/*
 * home_files.c - the files and skills that a blueprint gives to its agent
 *
 * Skills are copied to where the sandbox mounts them, read-only, and the home
 * has a link to each. Files are written at each start of a run, by a child (storage/home_write.c):
 * when the policy is bound, so that the surrogates of this run are known, and
 * before the sandbox is started. A sandbox of the pool runs already then, but
 * nothing of the agent does.
 */
#include "control/acd/instance/instance_impl.h"

#include <string.h>

#include "control/acd/blueprint/slot.h"
#include "control/acd/storage/home_write.h"
#include "control/acd/storage/skill_copy.h"
#include "control/shared/paths.h"
#include "lib/file.h"
#include "lib/log.h"

#define TEXT_MAX (1024u * 1024) /* with surrogates filled in */
#define LINKS_MAX (BLUEPRINT_SKILLS_MAX * BLUEPRINT_PATHS_MAX)
#define FILES_MAX (BLUEPRINT_FILES_MAX + BLUEPRINT_PATHS_MAX + LINKS_MAX)

/* What one start writes. */
struct batch {
	struct instance *in;
	const char *const *surrogates;
	struct home_file files[FILES_MAX];
	struct buf texts[FILES_MAX]; /* wiped */
	char *links[FILES_MAX]; /* paths of links, else NULL */
	size_t n;
	const char *path; /* of the file whose slots are filled */
};

static void batch_done(struct batch *b)
{
	for (size_t i = 0; i < b->n; i++) {
		buf_done(&b->texts[i]);
		free(b->links[i]);
	}
}

#define WARNINGS_MAX 4096u /* bytes; a blueprint can have thousands of slots */

/* Appends a line for the user; without memory or room it is lost. */
static void warn(struct instance *in, const char *line)
{
	char *had = in->home.warnings;
	char *all = had && strlen(had) > WARNINGS_MAX ?
			    NULL :
			    str_printf("%s%s%s", had ? had : "",
				       had ? "\n" : "", line);

	if (!all)
		return;
	free(had);
	in->home.warnings = all;
}

static const char *surrogate_of(void *arg, const char *name)
{
	const struct batch *b = arg;
	size_t len = strlen(name);
	SCOPED_STR line = NULL;

	for (size_t i = 0; b->surrogates && b->surrogates[i]; i++) {
		const char *s = b->surrogates[i];

		if (strncmp(s, name, len) == 0 && s[len] == '=')
			return s + len + 1;
	}
	if (b->in->bp.model.used && strv_has(&b->in->bp.model.without, name))
		return NULL;
	line = str_printf("~/%s: this run has no surrogate of credential '%s'; "
			  "its place is empty",
			  b->path, name);
	if (line)
		warn(b->in, line);
	return NULL;
}

/* @more follows the text, as it is: without slots. NULL: nothing does. */
static int batch_add(struct batch *b, const struct home_file *f,
		     const char *more)
{
	struct buf *text = &b->texts[b->n];
	int rc;

	buf_init(text, TEXT_MAX);
	buf_secret(text);
	b->files[b->n] = *f;
	b->path = f->path;
	rc = slot_fill(f->text, surrogate_of, b, text);
	if (rc == 0 && more)
		rc = buf_printf(text, "%s%s", *f->text ? "\n" : "", more);
	if (rc == 0)
		rc = buf_append(text, "", 1);
	b->files[b->n].text = (const char *)buf_slice(text).ptr;
	b->n++;
	return rc;
}

/* A link to the skill @name in the folder @path of the home. */
static int batch_link(struct batch *b, const char *path, const char *name)
{
	struct home_file *f = &b->files[b->n];
	SCOPED_STR to = str_printf(AC_SKILLS "/%s", name);
	char *at = str_printf("%s/%s", path, name);
	struct buf *text = &b->texts[b->n];
	int rc;

	buf_init(text, TEXT_MAX);
	*f = (struct home_file){ .path = at, .link = true };
	b->links[b->n++] = at;
	rc = at && to ? buf_append(text, to, strlen(to) + 1) : -ENOMEM;
	f->text = (const char *)buf_slice(text).ptr;
	return rc;
}

static int batch_links(struct batch *b, const struct blueprint *bp)
{
	int rc = 0;

	for (size_t i = 0; i < bp->skill_paths.n; i++) {
		for (size_t k = 0; k < bp->n_skills && rc == 0; k++)
			rc = batch_link(b, bp->skill_paths.v[i],
					bp->skills[k].name);
	}
	return rc;
}

static bool has_prompt(const struct blueprint *bp)
{
	return bp->prompt || bp->prompt_rules;
}

static int batch_fill(struct batch *b, const struct blueprint *bp)
{
	int rc = 0;

	for (size_t i = 0; i < bp->n_files && rc == 0; i++) {
		const struct blueprint_file *f = &bp->files[i];
		const struct home_file one = { .path = f->path,
					       .text = f->text,
					       .is_json = f->is_json,
					       .merge = f->merge,
					       .always = f->always,
					       .mode = f->mode };

		rc = batch_add(b, &one, NULL);
	}
	for (size_t i = 0; has_prompt(bp) && i < bp->prompt_paths.n && rc == 0;
	     i++) {
		const struct home_file one = { .path = bp->prompt_paths.v[i],
					       .text = bp->prompt ? bp->prompt :
								    "",
					       .always = true,
					       .mode = 0644 };

		rc = batch_add(b, &one, bp->prompt_rules);
	}
	return rc == 0 ? batch_links(b, bp) : rc;
}

static void written(void *arg, const struct err *err)
{
	struct instance *in = arg;
	char *lines = in->home.report->lines, *end;

	in->home.job = NULL;
	lines[sizeof(in->home.report->lines) - 1] = '\0';
	end = strrchr(lines, '\n');
	if (end) {
		*end = '\0';
		warn(in, lines);
	}
	home_report_free(ptr_take(&in->home.report));
	step_done(in, err);
}

static int write_begin(struct instance *in, const struct batch *b,
		       struct err *err)
{
	char home[PATH_MAX];
	struct home_spec spec = { .home = home, .files = b->files, .n = b->n };
	int rc;

	mounts_home_path(in->rec.name, home);
	in->home.report = spec.report = home_report_new();
	if (!spec.report)
		return err_nomem(err);
	rc = treejob_run(in->is->loop, home_write, &spec, written, in,
			 &in->home.job, err);
	if (rc < 0)
		home_report_free(ptr_take(&in->home.report));
	return rc;
}

static int files_begin(struct instance *in, struct err *err)
{
	const struct blueprint *bp = &in->bp;
	struct batch *b;
	int rc;

	/* Its files are those of its memory. */
	if (in->asked.options.memory)
		return STEP_NOTHING;
	if (bp->n_files == 0 && (!has_prompt(bp) || !bp->prompt_paths.n) &&
	    (bp->n_skills == 0 || bp->skill_paths.n == 0))
		return STEP_NOTHING;
	b = calloc(1, sizeof(*b));
	if (!b)
		return err_nomem(err);
	b->in = in;
	b->path = "";
	b->surrogates = instance_grant(in).surrogates;
	rc = batch_fill(b, bp);
	if (rc < 0)
		err_set(err, rc, "~/%s: %s", b->path, err_text(rc));
	else
		rc = write_begin(in, b, err);
	batch_done(b);
	free(b);
	return rc < 0 ? rc : STEP_WAITS;
}

/* ---- skills ---- */

static void skills_copied(void *arg, const struct err *err)
{
	struct instance *in = arg;
	struct err failed = { 0 };
	int rc;

	in->home.job = NULL;
	if (err) {
		step_done(in, err);
		return;
	}
	rc = files_begin(in, &failed);
	if (rc != STEP_WAITS)
		step_done(in, rc < 0 ? &failed : NULL);
}

static int skills_begin(struct instance *in, struct err *err)
{
	const struct blueprint *bp = &in->bp;
	struct skill_source v[BLUEPRINT_SKILLS_MAX];
	struct skill_spec spec = { .v = v, .n = bp->n_skills };
	char to[PATH_MAX];
	int rc;

	for (size_t i = 0; i < bp->n_skills; i++)
		v[i] = (struct skill_source){ bp->skills[i].name,
					      bp->skills[i].dir,
					      bp->skills[i].folder };
	mounts_skills_path(in->rec.name, to);
	spec.to = to;
	rc = treejob_run(in->is->loop, skill_copy, &spec, skills_copied, in,
			 &in->home.job, err);
	return rc < 0 ? rc : STEP_WAITS;
}

const char *instance_skills(const struct instance *in, char ret[PATH_MAX])
{
	mounts_skills_path(in->rec.name, ret);
	return in->bp.n_skills > 0 ? ret : NULL;
}

/* ---- the step ---- */

int instance_home_begin(struct instance *in, struct err *err)
{
	free(ptr_take(&in->home.warnings));
	return in->bp.n_skills > 0 ? skills_begin(in, err) :
				     files_begin(in, err);
}

int instance_home_undo(struct instance *in, struct err *err)
{
	char path[PATH_MAX];
	int rc;

	if (in->bp.n_skills == 0)
		return 0;
	mounts_skills_path(in->rec.name, path);
	rc = file_remove_tree(path);
	return rc < 0 ? err_set(err, rc, "remove %s: %s", path, err_text(rc)) :
			0;
}

void instance_home_notice(struct instance *in)
{
	char *rest = in->home.warnings, *line;

	while ((line = strsep(&rest, "\n")))
		run_notice(in->main, LOG_LVL_WARN, line);
	free(ptr_take(&in->home.warnings));
}

void instance_home_free(struct instance *in)
{
	treejob_forget(in->home.job);
	home_report_free(in->home.report);
	free(in->home.warnings);
}
