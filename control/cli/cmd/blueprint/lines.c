/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines.c - a resolved blueprint, line by line with what each is from
 */
#include "control/cli/cmd/blueprint/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/cli/cmd/blueprint/blueprint.h"
#include "control/cli/core/linediff.h"
#include "control/cli/host/host.h"
#include "control/cli/wire/client.h"
#include "control/shared/json.h"
#include "control/shared/paths.h"
#include "lib/str.h"

#define PLACE_MAX 4096u /* bytes of a file's path */
#define LINE_WIDTH 76u
#define CONTEXT 2u /* lines around a change */

/* Sets @out to the place that @line is from, on this machine. */
static void place_of(const struct cli *cli, const json_t *line, char *out,
		     size_t size)
{
	static const char shipped[] = AC_SHARE "/";
	const char *file = json_text(line, "file");
	char shown[PLACE_MAX];

	if (!*file) {
		snprintf(out, size, "by default");
		return;
	}
	if (str_starts(file, shipped))
		snprintf(shown, sizeof(shown), "%s/%s", cli->share,
			 file + strlen(shipped));
	else
		cli_user_paths(cli, shown, sizeof(shown), file);
	snprintf(out, size, "%s:%lld", shown,
		 (long long)json_integer_value(json_object_get(line, "line")));
}

void blueprint_line_print(const struct cli *cli, const char *mark,
			  const json_t *line)
{
	char place[PLACE_MAX + 32];

	printf("%s%s", mark, json_text(line, "text"));
	if (json_is_true(json_object_get(line, "value")) &&
	    !json_is_true(json_object_get(line, "inside"))) {
		place_of(cli, line, place, sizeof(place));
		printf("  # %s", place);
	}
	putchar('\n');
}

void blueprint_lines_print(const struct cli *cli, const json_t *lines)
{
	for (size_t i = 0; i < json_array_size(lines); i++)
		blueprint_line_print(cli, "", json_array_get(lines, i));
}

/* ---- what presets open ---- */

/* Prints @names as comments of at most LINE_WIDTH columns. */
static void print_names(const json_t *names)
{
	size_t i, at = 0;
	const json_t *name;

	json_array_foreach (names, i, name) {
		char shown[512];
		size_t len;

		cli_clean(shown, sizeof(shown), json_string_value(name));
		len = strlen(shown) + 2;
		if (at > 0 && at + len > LINE_WIDTH)
			at = 0;
		printf("%s%s", at == 0 ? i == 0 ? "#   " : "\n#   " : ", ",
		       shown);
		at += len;
	}
	if (i > 0)
		putchar('\n');
}

static const json_t *preset_find(const json_t *all, const char *name)
{
	const json_t *one;
	size_t i;

	json_array_foreach (all, i, one) {
		if (strcmp(json_text(one, "name"), name) == 0)
			return one;
	}
	return NULL;
}

int blueprint_presets_print(struct client *c, const json_t *blueprint,
			    struct err *err)
{
	const json_t *used = json_object_get(
		json_object_get(blueprint, "egress"), "presets");
	SCOPED_JSON answer = NULL;
	const json_t *name;
	size_t i;
	int rc = json_array_size(used) == 0 ?
			 0 :
			 client_call(c, "GET", "/v1/policy/presets", NULL,
				     &answer, err);

	if (rc < 0)
		return rc;
	json_array_foreach (used, i, name) {
		const json_t *preset =
			preset_find(json_object_get(answer, "presets"),
				    json_string_value(name));
		char shown[128];

		cli_clean(shown, sizeof(shown), json_string_value(name));
		printf("# egress preset %s%s:\n", shown,
		       preset ? "" : ", which there is not");
		print_names(json_object_get(preset, "names"));
	}
	return 0;
}

/* ---- diff ---- */

/* Two resolved blueprints, and how they differ. */
struct pair {
	const json_t *old, *new; /* their lines, borrowed */
	struct linediff_line *v;
	size_t n;
};

static const json_t *line_of(const struct pair *p, size_t i)
{
	const struct linediff_line *l = &p->v[i];

	return l->op == '+' ? json_array_get(p->new, l->new) :
			      json_array_get(p->old, l->old);
}

/* Returns the texts of @lines; the caller frees the array alone. */
static const char **texts_of(const json_t *lines)
{
	size_t n = json_array_size(lines);
	const char **v = calloc(n + 1, sizeof(*v));

	for (size_t i = 0; v && i < n; i++)
		v[i] = json_text(json_array_get(lines, i), "text");
	return v;
}

static int compare(struct pair *p, struct err *err)
{
	const char **old = texts_of(p->old), **new = texts_of(p->new);

	if (old && new)
		p->v = linediff(old, json_array_size(p->old), new,
				json_array_size(p->new), &p->n);
	free(old);
	free(new);
	return p->v ? 0 : err_nomem(err);
}

/* Returns true if a line within CONTEXT of the @i-th has changed. */
static bool is_near(const struct pair *p, size_t i)
{
	size_t from = i > CONTEXT ? i - CONTEXT : 0;

	for (size_t k = from; k < p->n && k <= i + CONTEXT; k++) {
		if (p->v[k].op != ' ')
			return true;
	}
	return false;
}

static void print_diff(const struct cli *cli, const struct pair *p,
		       const char *old, const char *new)
{
	bool any = false, gap = false;

	for (size_t i = 0; i < p->n; i++) {
		const char mark[2] = { p->v[i].op, '\0' };

		if (!is_near(p, i)) {
			gap = true;
			continue;
		}
		if (!any)
			printf("--- %s\n+++ %s\n", old, new);
		else if (gap)
			puts("@@");
		any = true;
		gap = false;
		if (p->v[i].op == ' ')
			printf(" %s\n", json_text(line_of(p, i), "text"));
		else
			blueprint_line_print(cli, mark, line_of(p, i));
	}
	if (!any)
		say_info(cli, "%s and %s are the same", old, new);
}

static int print_diff_json(const struct pair *p, const char *old,
			   const char *new, struct err *err)
{
	SCOPED_JSON all = json_array();
	SCOPED_JSON answer = NULL;

	for (size_t i = 0; all && i < p->n; i++) {
		const char op[2] = { p->v[i].op, '\0' };
		json_t *one;

		if (p->v[i].op == ' ')
			continue;
		one = json_pack("{s:s, s:o}", "op", op, "text",
				jsonx_text(json_text(line_of(p, i), "text")));
		json_object_set(one, "file",
				json_object_get(line_of(p, i), "file"));
		json_object_set(one, "line",
				json_object_get(line_of(p, i), "line"));
		json_array_append_new(all, one);
	}
	answer = json_pack("{s:o, s:o, s:O}", "old", jsonx_text(old), "new",
			   jsonx_text(new), "changes", all);
	return answer ? cli_print_json(answer, false, err) : err_nomem(err);
}

/* Asks acd for what @body is about, resolved. Fails if that has mistakes. */
static int resolve(struct client *c, const json_t *body, json_t **ret,
		   struct err *err)
{
	const json_t *errors;
	int rc = client_call(c, "POST", "/v1/blueprints/check", body, ret, err);

	if (rc < 0)
		return rc;
	errors = json_object_get(*ret, "errors");
	if (json_array_size(errors) > 0)
		return err_set(err, -EINVAL, "%s",
			       json_text(json_array_get(errors, 0), "message"));
	return 0;
}

/* Resolves the parent of @word, whose answer is @heir. */
static int resolve_parent(struct client *c, const char *word,
			  const json_t *heir, json_t **ret, struct err *err)
{
	const char *parent = json_text(heir, "extends");
	SCOPED_STR text = str_printf("version: 2\nextends: %s\n", parent);
	SCOPED_STR file =
		str_printf(AC_STATE_BLUEPRINTS "/%s/blueprint.yaml", word);
	SCOPED_JSON body = NULL;

	if (!*parent)
		return err_set(err, -EINVAL,
			       "'%s' extends no other blueprint: name a second "
			       "one",
			       word);
	/* Under the heir's own name its parent is the shipped one. */
	body = json_pack("{s:o, s:o}", "text", jsonx_text(text), "file",
			 jsonx_text(strcmp(parent, word) == 0 ? file : "-"));
	return body ? resolve(c, body, ret, err) : err_nomem(err);
}

static int diff_print(const struct cli *cli, const struct args *a,
		      const json_t *first, const json_t *second,
		      struct err *err)
{
	const char *old = a->words[0], *new = a->words[a->n_words - 1];
	SCOPED_STR parent =
		str_printf("%s (parent)", json_text(first, "extends"));
	struct pair p = { .old = json_object_get(first, "lines"),
			  .new = json_object_get(second, "lines") };
	int rc;

	if (!parent)
		return err_nomem(err);
	if (a->n_words == 1) {
		old = parent;
		p.new = p.old;
		p.old = json_object_get(second, "lines");
	}
	rc = compare(&p, err);
	if (rc == 0 && cli->json)
		rc = print_diff_json(&p, old, new, err);
	else if (rc == 0)
		print_diff(cli, &p, old, new);
	free(p.v);
	return rc;
}

int cmd_blueprint_diff(const struct cli *cli, const struct args *a,
		       struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON body = NULL;
	SCOPED_JSON other = NULL;
	SCOPED_JSON first = NULL;
	SCOPED_JSON second = NULL;
	int rc = blueprint_body(a->words[0], &body, err);

	if (rc == 0 && a->n_words > 1)
		rc = blueprint_body(a->words[1], &other, err);
	if (rc == 0)
		rc = host_client(cli, false, &c, err);
	if (rc == 0)
		rc = resolve(c, body, &first, err);
	if (rc == 0)
		rc = other ? resolve(c, other, &second, err) :
			     resolve_parent(c, a->words[0], first, &second,
					    err);
	return rc < 0 ? rc : diff_print(cli, a, first, second, err);
}
