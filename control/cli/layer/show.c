/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show.c - prints changes: as patches, figures, names, JSON
 */
#include "control/cli/layer/show.h"

#include <sodium.h>
#include <string.h>

#include "control/cli/core/term.h"
#include "control/cli/layer/quote.h"
#include "control/shared/json.h"
#include "lib/str.h"

#define BAR_WIDTH 40u /* columns of + and - */
#define SHOWN 20u /* files that are named; the rest is counted */

/* Both sides of a file. */
struct sides {
	struct text old, now;
};

static void sides_done(struct sides *s)
{
	text_done(&s->old);
	text_done(&s->now);
}

#define SCOPED_SIDES ATTR_CLEANUP(sides_done) struct sides

static int sides_read(int root, const struct view_file *f, struct sides *ret,
		      struct err *err)
{
	int rc = view_text(root, f->path, &f->old, &ret->old);

	if (rc == 0)
		rc = view_text(root, f->path, &f->now, &ret->now);
	return rc < 0 ? err_set(err, rc, "%s: %s", f->path,
				rc == -EAGAIN ? "it was changed just now" :
						err_text(rc)) :
			0;
}

/* Returns the quoted path, with a slash behind that of a directory. The caller frees
 * it; NULL: out of memory. */
static char *name_of(const struct view_file *f)
{
	SCOPED_STR path =
		str_printf("%s%s", f->path, f->is == VIEW_FILE ? "" : "/");

	return path ? quote_path("", path) : NULL;
}

/* Patches have no directories: programs skip such a line. */
static int put_dir(FILE *out, const struct view_file *f, struct err *err)
{
	SCOPED_STR name = name_of(f);

	if (!name)
		return err_nomem(err);
	fprintf(out, "%s empty directory %s\n",
		f->is == VIEW_MADE_DIR ? "new" : "deleted", name);
	return 0;
}

int show_patch(FILE *out, bool colour, int root, const struct view *view,
	       struct err *err)
{
	for (size_t i = 0; i < view->n && !ferror(out); i++) {
		SCOPED_SIDES s = { .old = { 0 } };
		int rc = view->v[i].is == VIEW_FILE ?
				 sides_read(root, &view->v[i], &s, err) :
				 put_dir(out, &view->v[i], err);

		if (rc < 0)
			return rc;
		if (unified_same(&s.old, &s.now))
			continue;
		rc = unified_print(out, colour, view->v[i].path, &s.old,
				   &s.now);
		if (rc < 0)
			return err_nomem(err);
	}
	return 0;
}

int show_names(FILE *out, const struct view *view, struct err *err)
{
	for (size_t i = 0; i < view->n; i++) {
		SCOPED_STR name = name_of(&view->v[i]);

		if (!name)
			return err_nomem(err);
		fprintf(out, "%s\n", name);
	}
	return 0;
}

/* ---- figures ---- */

static int count_file(int root, const struct view_file *f,
		      struct diff_count *ret, struct err *err)
{
	SCOPED_SIDES s = { .old = { 0 } };
	int rc = sides_read(root, f, &s, err);

	if (rc == 0 && unified_count(&s.old, &s.now, ret) < 0)
		rc = err_nomem(err);
	return rc;
}

/* Returns how many of @n marks are shown where @most is the largest number. */
static size_t scale(size_t n, size_t most)
{
	size_t marks = most <= BAR_WIDTH ? n : n * BAR_WIDTH / most;

	return n > 0 && marks == 0 ? 1 : marks;
}

static void put_bar(FILE *out, const char *colour, char mark, size_t n)
{
	fputs(colour, out);
	for (size_t i = 0; i < n; i++)
		fputc(mark, out);
	if (*colour)
		fputs("\033[m", out);
}

static void put_figures(FILE *out, bool colour, const struct view_file *f,
			const struct diff_count *c, size_t most)
{
	char old[32], now[32];

	if (f->is != VIEW_FILE) {
		fprintf(out, "%s directory\n",
			f->is == VIEW_MADE_DIR ? "new" : "deleted");
		return;
	}
	if (c->binary) {
		fprintf(out, "Bin %s -> %s\n",
			str_format_size(old, sizeof(old), view_size(&f->old)),
			str_format_size(now, sizeof(now), view_size(&f->now)));
		return;
	}
	fprintf(out, "%5zu ", c->added + c->removed);
	put_bar(out, colour ? "\033[32m" : "", '+', scale(c->added, most));
	put_bar(out, colour ? "\033[31m" : "", '-', scale(c->removed, most));
	fputc('\n', out);
}

static void put_totals(FILE *out, size_t files, size_t added, size_t removed)
{
	fprintf(out, " %zu file%s changed", files, files == 1 ? "" : "s");
	if (added > 0)
		fprintf(out, ", %zu insertion%s(+)", added,
			added == 1 ? "" : "s");
	if (removed > 0)
		fprintf(out, ", %zu deletion%s(-)", removed,
			removed == 1 ? "" : "s");
	fputc('\n', out);
}

static int put_table(FILE *out, bool colour, const struct view *view,
		     const struct diff_count *counts, struct err *err)
{
	size_t width = 0, most = 1, added = 0, removed = 0;

	for (size_t i = 0; i < view->n; i++) {
		SCOPED_STR name = name_of(&view->v[i]);
		size_t n = counts[i].added + counts[i].removed;

		if (!name)
			return err_nomem(err);
		if (strlen(name) > width && strlen(name) <= 100)
			width = strlen(name);
		most = n > most ? n : most;
		added += counts[i].added;
		removed += counts[i].removed;
	}
	for (size_t i = 0; i < view->n; i++) {
		SCOPED_STR name = name_of(&view->v[i]);

		if (!name)
			return err_nomem(err);
		fprintf(out, " %-*s | ", (int)width, name);
		put_figures(out, colour, &view->v[i], &counts[i], most);
	}
	if (view->n > 0)
		put_totals(out, view->n, added, removed);
	return 0;
}

int show_stat(FILE *out, bool colour, int root, const struct view *view,
	      struct err *err)
{
	struct diff_count *counts = calloc(view->n + 1, sizeof(*counts));
	int rc = counts ? 0 : err_nomem(err);

	for (size_t i = 0; rc == 0 && i < view->n; i++)
		rc = count_file(root, &view->v[i], &counts[i], err);
	if (rc == 0)
		rc = put_table(out, colour, view, counts, err);
	free(counts);
	return rc;
}

/* ---- JSON ---- */

int show_json_path(json_t *obj, const char *path)
{
	size_t len = strlen(path);
	char *b64;
	int rc;

	if (json_object_set_new(obj, "path", jsonx_text(path)) < 0)
		return -ENOMEM;
	if (strcmp(jsonx_text_at(obj, "path"), path) == 0)
		return 0;
	b64 = malloc(
		sodium_base64_encoded_len(len, sodium_base64_VARIANT_ORIGINAL));
	if (!b64)
		return -ENOMEM;
	sodium_bin2base64(
		b64,
		sodium_base64_encoded_len(len, sodium_base64_VARIANT_ORIGINAL),
		(const unsigned char *)path, len,
		sodium_base64_VARIANT_ORIGINAL);
	rc = json_object_set_new(obj, "path_b64", json_string(b64));
	free(b64);
	return rc < 0 ? -ENOMEM : 0;
}

static const char *kind_word(const struct view_file *f)
{
	if (f->plan && (f->now.from != SIDE_NONE || f->is != VIEW_FILE))
		return plan_kind_word(f->plan->kind);
	return f->old.from == SIDE_NONE ? plan_kind_word(PLAN_NEW) :
	       f->now.from == SIDE_NONE ? plan_kind_word(PLAN_DELETED) :
					  plan_kind_word(PLAN_CHANGED);
}

static json_t *file_json(const struct view_file *f, const struct diff_count *c)
{
	const char *conflict = f->plan && plan_is_conflict(f->plan) ?
				       plan_why_word(f->plan->why) :
				       NULL;
	json_t *obj = json_object();

	/* The path comes first. */
	if (!obj || show_json_path(obj, f->path) < 0 ||
	    json_object_update_new(
		    obj,
		    json_pack("{s:s,s:b,s:I,s:I,s:b,s:I,s:I,s:s?,s:s?,s:s?}",
			      "kind", kind_word(f), "directory",
			      f->is != VIEW_FILE, "added", (json_int_t)c->added,
			      "removed", (json_int_t)c->removed, "binary",
			      (int)c->binary, "old_size",
			      (json_int_t)view_size(&f->old), "new_size",
			      (json_int_t)view_size(&f->now), "risky",
			      f->plan ? f->plan->risky : NULL, "conflict",
			      conflict, "merge",
			      f->plan ? plan_merge_word(f->plan) : NULL)) < 0) {
		json_decref(obj);
		return NULL;
	}
	return obj;
}

json_t *show_json(int root, const struct view *view, struct err *err)
{
	SCOPED_JSON list = json_array();

	for (size_t i = 0; i < view->n; i++) {
		struct diff_count c;

		if (count_file(root, &view->v[i], &c, err) < 0)
			return NULL;
		if (json_array_append_new(list, file_json(&view->v[i], &c)) <
		    0) {
			err_nomem(err);
			return NULL;
		}
	}
	return json_pack("{s:O}", "files", list);
}

/* ---- messages ---- */

void show_risky(const char *name, const struct plan *plan)
{
	size_t shown = 0;

	if (plan->risky == 0)
		return;
	say_error("these can run the agent's code on your machine:");
	for (size_t i = 0; i < plan->n && shown < SHOWN; i++) {
		const struct plan_item *p = &plan->v[i];
		SCOPED_STR path = NULL;

		if (!p->risky)
			continue;
		path = quote_path("", p->item->path);
		shown++;
		say_error("  %s (%s)", path ? path : "?", p->risky);
	}
	if (plan->risky > shown)
		say_error("  and %zu more: `ac diff %s --json` names all",
			  plan->risky - shown, name);
}

void show_both(const struct cli *cli, const struct plan *plan)
{
	size_t all = plan->conflicts + plan->merged + plan->marked, shown = 0;

	if (all > 0)
		say_info(cli, "what you have changed, too, `ac apply` merges "
			      "or puts beside yours:");
	for (size_t i = 0; i < plan->n && shown < SHOWN; i++) {
		const struct plan_item *p = &plan->v[i];
		SCOPED_STR name = NULL;

		if (!p->merged && !plan_is_conflict(p))
			continue;
		name = quote_path("", p->item->path);
		shown++;
		say_info(cli, "  %s (%s)", name ? name : "?",
			 !p->merged        ? plan_why_text(p->why) :
			 p->merged->marked ? "merged, with conflicts" :
					     "merged");
	}
	if (all > shown)
		say_info(cli, "  and %zu more: --json names all", all - shown);
}

/* Returns true if a directory is made or deleted. */
static bool is_dir(const struct plan_item *p)
{
	return p->item->kind == CHANGE_DIR ||
	       (p->item->kind == CHANGE_GONE && p->now.kind == SPOT_DIR);
}

/* Returns what the plan says about a change, "" for nothing. */
static const char *note_of(const struct plan_item *p)
{
	if (p->merged)
		return p->merged->marked ?
			       "with conflicts: you have both changed the "
			       "same lines" :
			       "your changes and the agent's";
	return plan_is_conflict(p) ? plan_why_text(p->why) : "";
}

/* Returns the first word of a line: what is done, or with @dry would be. */
static const char *done_word(const struct plan_item *p, bool dry)
{
	static const char *const would[PLAN_KINDS] = {
		[PLAN_NEW] = "would make",
		[PLAN_CHANGED] = "would change",
		[PLAN_DELETED] = "would delete",
		[PLAN_TYPE] = "would replace",
	};

	if (plan_is_conflict(p))
		return "conflict";
	if (p->merged)
		return dry ? "would merge" : "merged";
	return dry && would[p->kind] ? would[p->kind] : plan_kind_word(p->kind);
}

void show_plan(const struct plan *plan, bool dry)
{
	for (size_t i = 0; i < plan->n; i++) {
		const struct plan_item *p = &plan->v[i];
		const char *note = note_of(p);
		SCOPED_STR name = NULL;

		if (!plan_is_conflict(p) && !plan_applies(p))
			continue;
		name = quote_path("", p->item->path);
		printf("%-*s %s%s%s%s%s\n", dry ? 13 : 9, done_word(p, dry),
		       name ? name : "?", is_dir(p) ? "/" : "",
		       *note ? " (" : "", note, *note ? ")" : "");
	}
}
