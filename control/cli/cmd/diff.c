/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.c - `ac diff`: what an agent has changed in its copy of a directory
 */
#include "control/cli/cmd/diff.h"

#include <limits.h>
#include <string.h>

#include "control/cli/host/host.h"
#include "control/cli/layer/left_out.h"
#include "control/cli/layer/pager.h"
#include "control/cli/layer/show.h"
#include "control/cli/layer/unified.h"
#include "control/shared/json.h"

int diff_paths(const struct args *a, size_t from, const struct layer *l,
	       struct strv *ret, struct err *err)
{
	size_t n = a->n_words - from + a->n_cmd, used = 0;
	const char **words = calloc(n + 1, sizeof(*words));
	char here[PATH_MAX];
	bool all;
	int rc;

	if (!words)
		return err_nomem(err);
	for (size_t i = from; i < a->n_words; i++)
		words[used++] = a->words[i];
	for (size_t i = 0; i < a->n_cmd; i++)
		words[used++] = a->cmd[i];
	rc = layer_paths(l->ws.path, getcwd(here, sizeof(here)), words, used,
			 ret, &all, err);
	free(words);
	return rc;
}

/* With the changes of one instance @l, also what of them is never applied; NULL:
 * of two. */
static int print_json(int root, const struct view *view, const struct layer *l,
		      struct err *err)
{
	SCOPED_JSON all = show_json(root, view, err);

	if (!all)
		return err->code;
	if (l && json_object_set_new(all, "left_out",
				     left_out_json(&l->stage, &l->plan)) < 0)
		return err_nomem(err);
	return cli_print_json(all, false, err);
}

/* Prints @view as the options say. @l: as above. */
static int print(const struct cli *cli, const struct args *a, int root,
		 const struct view *view, const struct layer *l,
		 struct err *err)
{
	struct pager p;
	int rc, ended;

	if (cli->json)
		return print_json(root, view, l, err);
	if (view->n == 0)
		return 0;
	pager_begin(cli, &p);
	if (args_has(a, ARG_NAME_ONLY))
		rc = show_names(p.out, view, err);
	else if (args_has(a, ARG_STAT))
		rc = show_stat(p.out, cli->colour, root, view, err);
	else
		rc = show_patch(p.out, cli->colour, root, view, err);
	ended = pager_end(&p, rc < 0 ? NULL : err);
	return rc < 0 ? rc : ended;
}

static int open_changes(const struct cli *cli, struct client *c,
			const char *word, struct layer *ret, struct err *err)
{
	struct err other = { 0 };
	int rc = layer_open(cli, c, word, ret, err);

	if (rc == 0 && ret->elsewhere) {
		(void)layer_elsewhere(ret, &other);
		say_error("%s", other.msg);
	}
	if (rc == 0)
		rc = layer_stage(cli, ret, err);
	ret->stage.most = TEXT_MAX;
	return rc;
}

static int diff_one(const struct cli *cli, struct client *c,
		    const struct args *a, struct err *err)
{
	SCOPED_LAYER l = LAYER_NONE;
	SCOPED_VIEW view = { 0 };
	struct strv only = { 0 };
	int rc = open_changes(cli, c, a->words[0], &l, err);

	if (rc == 0)
		rc = diff_paths(a, 1, &l, &only, err);
	if (rc == 0)
		rc = layer_fetch(c, &l, &only, false, err);
	strv_done(&only);
	if (rc == 0)
		rc = layer_check_paths(&l, NULL, err);
	if (rc == 0 && !l.elsewhere)
		rc = layer_merge(&l, err);
	if (rc < 0)
		return rc;
	rc = view_make(&l.input, &l.plan, &l.stage, &view);
	if (rc < 0)
		return err_set(err, rc, "%s: %s", l.ws.path, err_text(rc));
	show_risky(l.name, &l.plan);
	left_out_show(cli, l.name, &l.stage, &l.plan);
	show_both(cli, &l.plan);
	return print(cli, a, l.ws.walk.fd, &view, &l, err);
}

/* ---- two instances ---- */

static int view_of(const struct cli *cli, struct client *c, const char *word,
		   const struct args *a, struct layer *l, struct view *ret,
		   struct err *err)
{
	struct strv only = { 0 };
	int rc = open_changes(cli, c, word, l, err);

	if (rc == 0)
		rc = diff_paths(a, a->n_words, l, &only, err);
	if (rc == 0)
		rc = layer_fetch(c, l, &only, false, err);
	strv_done(&only);
	if (rc < 0)
		return rc;
	rc = view_make(&l->input, &l->plan, &l->stage, ret);
	return rc < 0 ? err_set(err, rc, "%s: %s", l->ws.path, err_text(rc)) :
			0;
}

static int diff_two(const struct cli *cli, struct client *c,
		    const struct args *a, struct err *err)
{
	SCOPED_LAYER one = LAYER_NONE;
	SCOPED_LAYER two = LAYER_NONE;
	SCOPED_VIEW a_view = { 0 };
	SCOPED_VIEW b_view = { 0 };
	SCOPED_VIEW both = { 0 };
	int rc = view_of(cli, c, a->words[0], a, &one, &a_view, err);

	if (rc == 0)
		rc = view_of(cli, c, a->words[1], a, &two, &b_view, err);
	if (rc == 0)
		rc = layer_check_paths(&one, &two, err);
	if (rc < 0)
		return rc;
	if (strcmp(one.ws.path, two.ws.path) != 0)
		return err_set(err, -ENOTSUP,
			       "%s works in %s and %s in %s: only changes of "
			       "the same directory can be compared",
			       one.name, one.ws.path, two.name, two.ws.path);
	rc = view_join(one.ws.walk.fd, &a_view, &b_view, &both);
	if (rc < 0)
		return err_set(err, rc, "%s: %s", one.ws.path, err_text(rc));
	return print(cli, a, one.ws.walk.fd, &both, NULL, err);
}

/* Returns true if the second word is an instance, and no path. */
static bool names_another(struct client *c, const struct args *a)
{
	SCOPED_STR path = NULL;

	if (a->n_words != 2 || strchr(a->words[1], '/') ||
	    strcmp(a->words[1], "..") == 0 || strcmp(a->words[1], ".") == 0)
		return false;
	path = client_path("/v1/instances/", a->words[1], "");
	return path && client_call(c, "GET", path, NULL, NULL, NULL) == 0;
}

int cmd_diff(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	int rc = host_client(cli, false, &c, err);

	if (rc < 0)
		return rc;
	return names_another(c, a) ? diff_two(cli, c, a, err) :
				     diff_one(cli, c, a, err);
}
