/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply.c - `ac apply`: an agent's changes into the user's directory
 *
 * An apply that was killed is finished first, as it was planned. Then the changes
 * that are left are shown, asked about, and made. Only one `ac apply` of an
 * instance runs at a time.
 */
#include "control/cli/cmd/apply.h"

#include <string.h>

#include "control/cli/cmd/diff.h"
#include "control/cli/host/host.h"
#include "control/cli/layer/applied.h"
#include "control/cli/layer/left_out.h"
#include "control/cli/layer/quote.h"
#include "control/cli/layer/room.h"
#include "control/cli/layer/show.h"
#include "control/shared/json.h"

#define LEFT_SHOWN 20u /* paths that are named; the rest is counted */

/* Names the files that were left as they are, because the user changed them. */
static void tell_left(const struct strv *left, const char *what)
{
	for (size_t i = 0; i < left->n && i < LEFT_SHOWN; i++) {
		SCOPED_STR name = quote_path("", left->v[i]);

		say_error("%s: you have changed it since: %s", name ? name : "",
			  what);
	}
	if (left->n > LEFT_SHOWN)
		say_error("and %zu more", left->n - LEFT_SHOWN);
}

/* Appends paths to the list @key of @obj. */
static int add_paths(json_t *obj, const char *key, const struct strv *paths)
{
	json_t *list = json_array();

	if (json_object_set_new(obj, key, list) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < paths->n; i++) {
		json_t *one = json_object();

		if (!one || show_json_path(one, paths->v[i]) < 0 ||
		    json_array_append_new(list, one) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* ---- the last apply ---- */

/* Checks that the last apply was to this directory, and notes whether its changes
 * have been discarded since. */
static int check_key(const struct layer *l, struct steps *steps,
		     struct err *err)
{
	int rc = layer_is_over(l, &steps->key);

	if (rc < 0)
		return err_set(err, rc, "%s: %s", l->ws.path, err_text(rc));
	if (rc == 0)
		return err_set(err, -ESTALE,
			       "the last apply was to another directory than "
			       "%s",
			       l->ws.path);
	steps->foreign = steps->key.since != l->key.since;
	return 0;
}

/* Finishes an apply that was killed. Returns 0, also if there is none. */
static int finish_last(const struct cli *cli, struct layer *l, struct err *err)
{
	SCOPED_STEPS steps = { 0 };
	SCOPED_APPLIED done = { 0 };
	SCOPED_FD last = -1;
	int rc;

	if (!applied_is_pending(l->stage.base))
		return 0;
	last = applied_open(l->stage.base, &steps, err);
	rc = last < 0 ? last : check_key(l, &steps, err);
	if (rc < 0)
		return rc;
	/* The user has dropped these changes: they are not made silently. */
	if (steps.foreign)
		return err_set(err, -ESTALE,
			       "the last apply was not finished, and what it "
			       "was of has been discarded since: `ac apply %s "
			       "--undo` takes it back first",
			       l->name);
	say_info(cli, "the last apply was not finished: that is done first");
	rc = applied_finish(l->stage.base, l->ws.walk.fd, &steps, last, &done,
			    err);
	if (rc < 0)
		return err_wrap(err, "finish the last apply");
	tell_left(&done.left, "it stays as it is");
	written_done(&l->written);
	rc = written_load(l->stage.base, &l->key, &l->written);
	return rc < 0 ? err_set(err, rc, "what was applied: %s", err_text(rc)) :
			0;
}

static int undo_print(const struct cli *cli, const struct layer *l,
		      const struct applied *done, struct err *err)
{
	SCOPED_JSON obj = NULL;

	if (!cli->json) {
		tell_left(&done->left, "it is not taken back");
		say_info(cli, "%s: the last apply is taken back%s", l->ws.path,
			 done->left.n ? ", but for these" : "");
		return 0;
	}
	obj = json_pack("{s:s,s:b}", "name", l->name, "undone",
			(int)(done->left.n == 0));
	if (!obj || add_paths(obj, "left", &done->left) < 0)
		return err_nomem(err);
	return cli_print_json(obj, false, err);
}

static int undo(const struct cli *cli, struct layer *l, struct err *err)
{
	SCOPED_STEPS steps = { 0 };
	SCOPED_APPLIED done = { 0 };
	SCOPED_FD last = applied_open(l->stage.base, &steps, err);
	int rc;

	if (last == -ENOENT)
		return err_set(err, -ENOENT,
			       "there is no apply of %s to take back", l->name);
	rc = last < 0 ? last : check_key(l, &steps, err);
	if (rc == 0)
		rc = applied_undo(l->stage.base, l->ws.walk.fd, &steps, last,
				  &done, err);
	if (rc == 0)
		rc = undo_print(cli, l, &done, err);
	return rc < 0 ? rc : done.left.n > 0 ? CLI_EXIT_FAIL : 0;
}

/* ---- a new one ---- */

static size_t to_do(const struct plan *plan)
{
	return plan->count[PLAN_NEW] + plan->count[PLAN_CHANGED] +
	       plan->count[PLAN_DELETED] + plan->count[PLAN_TYPE];
}

/* Returns 0 to go on, else the exit code. Without a terminal only what runs code
 * has to be allowed. */
static int ask(const struct cli *cli, const struct args *a,
	       const struct layer *l)
{
	size_t n = to_do(&l->plan);

	/* Without changes there are only conflicts: they replace nothing. */
	if (args_has(a, ARG_YES) || n == 0)
		return 0;
	if (isatty(STDIN_FILENO) != 1 || !cli->err_tty) {
		if (l->plan.risky == 0)
			return 0;
		say_error("nothing was applied: look at these files (ac diff "
			  "%s), then say --yes",
			  l->name);
		return CLI_EXIT_FAIL;
	}
	return cli_confirm(cli, false, "%zu change%s will be made in %s.", n,
			   n == 1 ? "" : "s", l->ws.path);
}

static json_t *plan_json(const struct plan *plan)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < plan->n; i++) {
		const struct plan_item *p = &plan->v[i];
		bool conflict = plan_is_conflict(p);
		json_t *one;

		if (!conflict && !plan_applies(p))
			continue;
		one = json_object();
		if (!one || show_json_path(one, p->item->path) < 0 ||
		    json_object_update_new(
			    one,
			    json_pack("{s:s,s:s?,s:s?,s:s?}", "kind",
				      plan_kind_word(p->kind), "risky",
				      p->risky, "conflict",
				      conflict ? plan_why_word(p->why) : NULL,
				      "merge", plan_merge_word(p))) < 0 ||
		    json_array_append_new(list, one) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* Prints the result with --json. */
static int print_json(const struct layer *l, const struct steps *steps,
		      const struct applied *done, bool dry, struct err *err)
{
	SCOPED_JSON obj = json_pack(
		"{s:s,s:b,s:I,s:I,s:I,s:I,s:I,s:o}", "name", l->name, "dry_run",
		(int)dry, "applied", (json_int_t)(dry ? 0 : to_do(&l->plan)),
		"conflicts", (json_int_t)l->plan.conflicts, "merged",
		(json_int_t)l->plan.merged, "merged_with_conflicts",
		(json_int_t)l->plan.marked, "git", (json_int_t)l->stage.set.git,
		"files", plan_json(&l->plan));

	if (!obj || add_paths(obj, "beside", &steps->beside) < 0 ||
	    add_paths(obj, "left", &done->left) < 0 ||
	    json_object_set_new(obj, "left_out",
				left_out_json(&l->stage, &l->plan)) < 0)
		return err_nomem(err);
	return cli_print_json(obj, false, err);
}

/* Names the files that the user has to look at. */
static void tell_marked(const struct plan *plan)
{
	size_t shown = 0;

	for (size_t i = 0; i < plan->n && shown < LEFT_SHOWN; i++) {
		const struct plan_item *p = &plan->v[i];
		SCOPED_STR name = NULL;

		if (!p->merged || !p->merged->marked)
			continue;
		name = quote_path("", p->item->path);
		shown++;
		say_error("%s is merged with conflicts: look for <<<<<<< in it",
			  name ? name : "");
	}
	if (plan->marked > shown)
		say_error("and %zu more: grep -r '^<<<<<<< yours' finds them",
			  plan->marked - shown);
}

static void tell_result(const struct cli *cli, const struct layer *l,
			const struct steps *steps, const struct applied *done)
{
	size_t n = to_do(&l->plan), conflicts = l->plan.conflicts;

	tell_left(&done->left, "it stays as it is");
	if (n > 0)
		say_info(cli, "%zu change%s applied to %s", n,
			 n == 1 ? "" : "s", l->ws.path);
	if (l->plan.merged > 0)
		say_info(cli, "%zu of them merged with yours", l->plan.merged);
	tell_marked(&l->plan);
	if (n > 0 && conflicts == 0)
		say_info(cli, "`ac apply %s --undo` takes them back", l->name);
	if (conflicts == 0)
		return;
	say_error("%zu conflict%s: your files stay as they are", conflicts,
		  conflicts == 1 ? "" : "s");
	for (size_t i = 0; i < steps->beside.n && i < LEFT_SHOWN; i++) {
		SCOPED_STR name = quote_path("", steps->beside.v[i]);

		say_error("the agent's version is in %s", name ? name : "");
	}
	say_error("--theirs takes the agent's versions; `ac discard %s` drops "
		  "what is left",
		  l->name);
}

/* Returns the exit code of a plan that is, or would be, carried out. */
static int plan_code(const struct plan *plan)
{
	return plan->conflicts + plan->marked > 0 ? CLI_EXIT_FAIL : 0;
}

/* Makes the changes. Returns the exit code or a negative errno with @err. */
static int make(const struct cli *cli, struct layer *l, struct err *err)
{
	SCOPED_STEPS steps = { 0 };
	SCOPED_APPLIED done = { 0 };
	char text[200];
	int rc = steps_make(&l->input, &l->plan, &l->stage, l->name, &steps,
			    err);

	snprintf(text, sizeof(text),
		 "`ac apply %s` finishes it, with --undo it is taken back",
		 l->name);
	if (rc == 0)
		rc = room_check(&steps, l->stage.dir, l->ws.walk.fd, l->ws.path,
				err);
	if (rc == 0 && steps.n > 0) {
		cli_on_interrupt(cli, text);
		rc = applied_run(&l->stage, l->ws.walk.fd, &steps, &done, err);
		cli_on_interrupt(cli, NULL);
	}
	if (rc < 0)
		return rc;
	if (cli->json)
		rc = print_json(l, &steps, &done, false, err);
	else
		tell_result(cli, l, &steps, &done);
	if (rc < 0)
		return rc;
	return done.left.n > 0 ? CLI_EXIT_FAIL : plan_code(&l->plan);
}

static int show(const struct cli *cli, const struct args *a, struct layer *l,
		struct err *err)
{
	const struct steps none = { .n = 0 };
	const struct applied nothing = { .done = 0 };
	bool dry = args_has(a, ARG_DRY_APPLY);
	int rc;

	left_out_show(cli, l->name, &l->stage, &l->plan);
	if (to_do(&l->plan) + l->plan.conflicts == 0) {
		say_info(cli, "nothing to apply");
		return cli->json ? print_json(l, &none, &nothing, dry, err) : 0;
	}
	show_risky(l->name, &l->plan);
	rc = dry && cli->json ? print_json(l, &none, &nothing, true, err) : 0;
	if (!cli->json && (dry || !cli->quiet))
		show_plan(&l->plan, dry);
	if (rc == 0 && fflush(stdout) == EOF)
		rc = cli_stdout_failed(err);
	if (rc < 0)
		return rc;
	if (dry && !cli->json)
		say_info(cli, "nothing was changed: the same command without "
			      "--dry-run applies this");
	if (dry)
		return plan_code(&l->plan);
	rc = ask(cli, a, l);
	return rc != 0 ? rc : make(cli, l, err);
}

/* A path in a directory that the agent deleted is no change of its own. */
static int check_whole(const struct layer *l, struct err *err)
{
	SCOPED_STR name = NULL;
	struct spot spot;

	if (!l->gone_above ||
	    tree_look(l->ws.walk.fd, l->gone_above, &spot) < 0 ||
	    spot.kind != SPOT_DIR)
		return 0;
	name = quote_path("", l->gone_above);
	return name ? err_set(err, -EINVAL,
			      "%s as a whole was deleted: `ac apply %s %s` "
			      "applies that",
			      name, l->name, name) :
		      err_nomem(err);
}

static int check_words(const struct args *a, struct err *err)
{
	if (args_has(a, ARG_THEIRS) && args_has(a, ARG_NO_MERGE))
		return err_set(err, -EINVAL,
			       "--theirs takes the agent's version, --no-merge "
			       "keeps both: give one of them");
	if (!args_has(a, ARG_UNDO))
		return 0;
	if (a->n_words + a->n_cmd > 1)
		return err_set(err, -EINVAL,
			       "--undo takes back all of the last apply: it "
			       "has no paths");
	if (args_has(a, ARG_THEIRS) || args_has(a, ARG_DRY_APPLY) ||
	    args_has(a, ARG_NO_MERGE))
		return err_set(err, -EINVAL,
			       "--undo excludes --theirs, --no-merge and "
			       "--dry-run");
	return 0;
}

static int lock_failed(const struct layer *l, int rc, struct err *err)
{
	if (rc == -EWOULDBLOCK)
		return err_set(err, -EBUSY,
			       "another `ac apply %s` runs: wait for it",
			       l->name);
	return err_set(err, rc, "lock %s: %s", l->stage.path, err_text(rc));
}

int cmd_apply(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_LAYER l = LAYER_NONE;
	SCOPED_FD lock = -1;
	struct strv only = { 0 };
	int rc = check_words(a, err);

	if (rc < 0)
		return cli_usage(err);
	rc = host_client(cli, false, &c, err);
	if (rc == 0)
		rc = layer_open(cli, c, a->words[0], &l, err);
	if (rc == 0 && l.elsewhere)
		rc = layer_elsewhere(&l, err);
	if (rc == 0)
		rc = layer_stage(cli, &l, err);
	if (rc < 0)
		return rc;
	lock = applied_lock(l.stage.base);
	if (lock < 0)
		return lock_failed(&l, lock, err);
	if (args_has(a, ARG_UNDO))
		return undo(cli, &l, err);
	rc = args_has(a, ARG_DRY_APPLY) ? 0 : finish_last(cli, &l, err);
	if (rc == 0)
		rc = diff_paths(a, 1, &l, &only, err);
	if (rc == 0)
		rc = layer_fetch(c, &l, &only, args_has(a, ARG_THEIRS), err);
	strv_done(&only);
	if (rc == 0)
		rc = layer_check_paths(&l, NULL, err);
	if (rc == 0)
		rc = check_whole(&l, err);
	if (rc == 0 && !args_has(a, ARG_NO_MERGE))
		rc = layer_merge(&l, err);
	return rc < 0 ? rc : show(cli, a, &l, err);
}
