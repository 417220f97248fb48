/* SPDX-License-Identifier: Apache-2.0 */
/*
 * left_out.c - names what an apply leaves out, and says why
 */
#include "control/cli/layer/left_out.h"

#include <string.h>

#include "control/cli/layer/quote.h"
#include "control/cli/layer/show.h"
#include "control/shared/json.h"

#define SHOWN 20u /* paths that are named; the rest is counted */
#define SETID 06000u /* the bits setuid and setgid */

static const char *other_text(const struct layer_item *it)
{
	static const char *const texts[CHANGE_OTHERS] = {
		[CHANGE_UNSAID] = "a device, a socket or a FIFO, or too large",
		[CHANGE_FIFO] = "a FIFO",
		[CHANGE_SOCKET] = "a socket",
		[CHANGE_DEVICE] = "a device",
		[CHANGE_TOO_LARGE] = "larger than 16 GiB",
		[CHANGE_HOLES] = "larger than 256 MiB, and mostly holes",
	};

	return texts[it->other];
}

/* Returns true for a file that is applied, but not with all of its mode. */
static bool loses_bits(const struct plan_item *p)
{
	return p->item->kind == CHANGE_FILE && (p->item->mode & SETID) != 0 &&
	       plan_applies(p);
}

/* Every commit makes such files, and hides among them what runs code. */
static bool is_usual_in_git(const struct layer_item *it)
{
	const char *at = strncmp(it->path, ".git/", 5) == 0 ?
				 it->path + 4 :
				 strstr(it->path, "/.git/");

	if (it->kind == CHANGE_DIR)
		return true;
	if (at && at != it->path + 4)
		at += 5;
	/* Above .git there may be directories of these names. */
	return at && (strstr(at, "/objects/") || strstr(at, "/logs/"));
}

/* ---- for people ---- */

/* Names @it, unless SHOWN are named. */
static void show_one(const struct cli *cli, const struct layer_item *it,
		     const char *why, size_t *shown)
{
	SCOPED_STR name = NULL;

	if (*shown >= SHOWN)
		return;
	++*shown;
	name = quote_path("", it->path);
	if (why)
		say_info(cli, "  %s (%s)", name ? name : "?", why);
	else
		say_info(cli, "  %s", name ? name : "?");
}

static void show_rest(const struct cli *cli, size_t all, size_t shown)
{
	if (all > shown)
		say_info(cli, "  and %zu more: --json names all", all - shown);
}

static void show_others(const struct cli *cli, const char *name,
			const struct plan *plan)
{
	size_t all = plan->count[PLAN_LEFT_OUT], shown = 0;

	if (all == 0)
		return;
	say_info(cli, "%zu file%s of %s left out, and never applied:", all,
		 all == 1 ? "" : "s", name);
	for (size_t i = 0; i < plan->n; i++)
		if (plan->v[i].kind == PLAN_LEFT_OUT)
			show_one(cli, plan->v[i].item,
				 other_text(plan->v[i].item), &shown);
	show_rest(cli, all, shown);
}

static void show_setid(const struct cli *cli, const struct plan *plan)
{
	size_t all = 0, shown = 0;

	for (size_t i = 0; i < plan->n; i++)
		all += loses_bits(&plan->v[i]);
	if (all == 0)
		return;
	say_info(cli,
		 "%zu file%s applied without the bits setuid and setgid:", all,
		 all == 1 ? " is" : "s are");
	for (size_t i = 0; i < plan->n; i++)
		if (loses_bits(&plan->v[i]))
			show_one(cli, plan->v[i].item, NULL, &shown);
	show_rest(cli, all, shown);
}

static void show_git(const struct cli *cli, const char *name,
		     const struct stage *stage)
{
	size_t all = stage->set.git, shown = 0;

	if (all == 0)
		return;
	say_info(cli,
		 "%zu change%s in .git: these are never applied; commits come "
		 "by `ac fetch %s`",
		 all, all == 1 ? "" : "s", name);
	for (size_t i = 0; i < stage->git.n; i++)
		if (!is_usual_in_git(&stage->git.v[i]))
			show_one(cli, &stage->git.v[i], NULL, &shown);
	show_rest(cli, all, shown);
}

void left_out_show(const struct cli *cli, const char *name,
		   const struct stage *stage, const struct plan *plan)
{
	show_git(cli, name, stage);
	show_others(cli, name, plan);
	show_setid(cli, plan);
}

/* ---- for programs ---- */

static int put_one(json_t *list, const struct layer_item *it,
		   const char *reason)
{
	SCOPED_JSON one = json_object();

	return !one || show_json_path(one, it->path) < 0 ||
			       json_object_set_new(one, "reason",
						   json_string(reason)) < 0 ||
			       json_array_append(list, one) < 0 ?
		       -ENOMEM :
		       0;
}

static int put_item(json_t *list, const struct plan_item *p)
{
	if (p->kind == PLAN_LEFT_OUT)
		return put_one(list, p->item,
			       p->item->other == CHANGE_UNSAID ?
				       "other" :
				       changes_other_word(p->item->other));
	return loses_bits(p) ? put_one(list, p->item, "setuid") : 0;
}

json_t *left_out_json(const struct stage *stage, const struct plan *plan)
{
	SCOPED_JSON list = json_array();
	int rc = list ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < stage->git.n; i++)
		rc = put_one(list, &stage->git.v[i], "git");
	for (size_t i = 0; rc == 0 && i < plan->n; i++)
		rc = put_item(list, &plan->v[i]);
	return rc < 0 ? NULL : ptr_take(&list);
}
