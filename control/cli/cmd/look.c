/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look.c - ls, list, inspect: what acd has recorded, or its store while acd
 * does not run
 */
#include "control/cli/cmd/instance.h"

#include <string.h>
#include <time.h>

#include "control/cli/cmd/project.h"
#include "control/shared/infer.h"
#include "control/cli/host/disk_room.h"
#include "control/cli/host/stopped.h"
#include "control/cli/core/table.h"
#include "control/shared/json.h"
#include "lib/str.h"

static enum table_colour state_colour(const json_t *rec)
{
	if (record_is_live(rec))
		return TABLE_GREEN;
	return strcmp(json_text(rec, "state"), "failed") == 0 ? TABLE_RED :
								TABLE_PLAIN;
}

/* Formats the age of the state; times of acd are seconds since 1970. */
static void format_since(char *out, size_t size, const json_t *rec)
{
	long long since = json_count(rec, record_is_live(rec) ? "started_at" :
								"finished_at");
	long long now = (long long)time(NULL);

	snprintf(out, size, "-");
	if (since > 0)
		str_format_age(out, size,
			       now > since ? (uint64_t)(now - since) : 0);
}

#define COL_ISOLATION 7 /* shown if an instance does not use gVisor */

static int put_instance(struct table *t, const json_t *rec, bool isolation)
{
	char since[32], code[16] = "-", cpus[24] = "-", memory[24] = "-";
	long long milli = json_count(rec, "cpus_milli");
	const char *cells[] = { json_text(rec, "name"),
				json_text(rec, "blueprint"),
				json_text(rec, "state"),
				since,
				code,
				cpus,
				memory,
				json_text(rec, "isolation"),
				json_text(rec, "reason") };

	if (!isolation)
		cells[COL_ISOLATION] = cells[COL_ISOLATION + 1];

	format_since(since, sizeof(since), rec);
	if (json_is_integer(json_object_get(rec, "exit_code")))
		snprintf(code, sizeof(code), "%d",
			 (int)json_count(rec, "exit_code"));
	if (milli > 0)
		snprintf(cpus, sizeof(cpus), "%g", (double)milli / 1000);
	if (json_count(rec, "memory") > 0)
		str_format_size(memory, sizeof(memory),
				(uint64_t)json_count(rec, "memory"));
	if (table_row(t, cells) < 0)
		return -ENOMEM;
	table_paint(t, 2, state_colour(rec));
	return 0;
}

static int add_instance(struct table *t, const json_t *rec)
{
	return put_instance(t, rec, false);
}

static int add_isolated(struct table *t, const json_t *rec)
{
	return put_instance(t, rec, true);
}

/* Returns true if an instance is not isolated by gVisor. */
static bool any_weaker(const json_t *list)
{
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		const json_t *rec = json_array_get(list, i);

		if (strcmp(json_text(rec, "isolation"), "runsc") != 0)
			return true;
	}
	return false;
}

int instance_print_list(const struct cli *cli, const json_t *list,
			struct err *err)
{
	static const struct table_col cols[] = {
		{ "NAME", 0 },
		{ "BLUEPRINT", 0 },
		{ "STATE", 0 },
		{ "SINCE", TABLE_RIGHT },
		{ "EXIT", TABLE_RIGHT },
		{ "CPUS", TABLE_RIGHT },
		{ "MEMORY", TABLE_RIGHT },
		{ "ISOLATION", 0 },
		{ "REASON", TABLE_CUT },
	};
	struct table_col shown[ARRAY_SIZE(cols)];
	bool isolation = any_weaker(list);

	memcpy(shown, cols, sizeof(shown));
	if (!isolation)
		shown[COL_ISOLATION] = cols[COL_ISOLATION + 1];
	return table_print_list(cli, shown, ARRAY_SIZE(cols) - !isolation, list,
				isolation ? add_isolated : add_instance, err);
}

/* Adds the row of a broken blueprint, such as "broken: blueprint.yaml:3:5:
 * reason". The path is left out: the row has its folder's name. */
static int add_broken(struct table *t, const json_t *bp, const char *why)
{
	const char *file = strstr(why, "/blueprint.yaml:");
	SCOPED_STR text = str_printf("broken: %s", file ? file + 1 : why);
	const char *cells[] = { json_text(bp, "name"), "-", "no", "-", text };

	if (!text || table_row(t, cells) < 0)
		return -ENOMEM;
	table_paint(t, 4, TABLE_RED);
	return 0;
}

static int add_blueprint(struct table *t, const json_t *bp)
{
	const char *broken = json_text(bp, "error");
	const json_t *ready_json = json_object_get(bp, "ready");
	bool ready = json_is_true(ready_json);
	bool own = !json_is_true(json_object_get(bp, "builtin"));
	const char *image = json_text(bp, "image");
	const char *cells[] = { json_text(bp, "name"), *image ? image : "-",
				ready                    ? "yes" :
				json_is_null(ready_json) ? "-" :
							   "no",
				own ? "you" : "ac",
				json_text(bp, "description") };

	if (*broken)
		return add_broken(t, bp, broken);
	if (table_row(t, cells) < 0)
		return -ENOMEM;
	if (ready)
		table_paint(t, 2, TABLE_GREEN);
	return 0;
}

static int print_blueprints(const struct cli *cli, const json_t *list,
			    struct err *err)
{
	static const struct table_col cols[] = {
		{ "BLUEPRINT", 0 },
		{ "IMAGE", 0 },
		{ "READY", 0 },
		{ "FROM", 0 },
		{ "DESCRIPTION", TABLE_CUT },
	};

	return table_print_list(cli, cols, ARRAY_SIZE(cols), list,
				add_blueprint, err);
}

/* Gets the instances from acd, or from the store if acd does not run. */
static int get_instances(const struct cli *cli, struct client *c, json_t **ret,
			 struct err *err)
{
	return c ? instance_get_list(c, "instances", ret, err) :
		   stopped_instances(cli, ret, err);
}

/* Removes from @list the instances that are not live. */
static int keep_live(json_t *list)
{
	size_t i = 0;

	while (i < json_array_size(list))
		if (record_is_live(json_array_get(list, i)))
			i++;
		else if (json_array_remove(list, i) < 0)
			return -ENOMEM;
	return 0;
}

int cmd_ls(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON list = NULL;
	size_t i;
	int rc = stopped_look(cli, &c, err);

	if (rc == 0)
		rc = get_instances(cli, c, &list, err);
	if (rc == 0 && args_has(a, ARG_RUNNING) && keep_live(list) < 0)
		rc = err_nomem(err);
	if (rc < 0)
		return rc;
	if (cli->json)
		return cli_print_json(list, false, err);
	if (!cli->quiet) {
		rc = instance_print_list(cli, list, err);
		if (c)
			room_tell(cli, c);
		return rc;
	}
	for (i = 0; i < json_array_size(list); i++)
		puts(json_text(json_array_get(list, i), "name"));
	return 0;
}

/* What `ac list` shows; NULL: not asked for. */
struct lists {
	json_t *blueprints, *instances, *projects;
};

static int lists_get(const struct cli *cli, struct client *c, bool projects,
		     struct lists *ret, struct err *err)
{
	int rc = c ? instance_get_list(c, "blueprints", &ret->blueprints, err) :
		     stopped_blueprints(cli, &ret->blueprints, err);

	if (rc == 0)
		rc = get_instances(cli, c, &ret->instances, err);
	/* They are in acd's store alone. */
	if (rc == 0 && projects && c)
		rc = instance_get_list(c, "projects", &ret->projects, err);
	return rc;
}

static int lists_json(const struct lists *l, bool stopped, struct err *err)
{
	SCOPED_JSON all = json_pack("{s:O, s:O}", "blueprints", l->blueprints,
				    "instances", l->instances);

	if (!all ||
	    (l->projects && json_object_set(all, "projects", l->projects)) ||
	    (stopped &&
	     json_object_set_new(all, "host", json_string("stopped"))))
		return err_nomem(err);
	return cli_print_json(all, false, err);
}

static int lists_print(const struct cli *cli, const struct lists *l,
		       struct err *err)
{
	int rc = print_blueprints(cli, l->blueprints, err);

	if (rc == 0 && json_array_size(l->projects) > 0) {
		putchar('\n');
		rc = project_print_list(cli, l->projects, err);
	}
	if (rc == 0 && json_array_size(l->instances) > 0) {
		putchar('\n');
		rc = instance_print_list(cli, l->instances, err);
	}
	return rc;
}

static int list(const struct cli *cli, bool projects, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	struct lists l = { 0 };
	int rc = stopped_look(cli, &c, err);

	if (rc == 0)
		rc = lists_get(cli, c, projects, &l, err);
	if (rc == 0)
		rc = cli->json ? lists_json(&l, !c, err) :
				 lists_print(cli, &l, err);
	if (c && !cli->json)
		room_tell(cli, c);
	json_decref(l.blueprints);
	json_decref(l.instances);
	json_decref(l.projects);
	return rc;
}

int cmd_list(const struct cli *cli, const struct args *a, struct err *err)
{
	(void)a;
	return list(cli, false, err);
}

int cmd_blueprint_ls(const struct cli *cli, const struct args *a,
		     struct err *err)
{
	(void)a;
	return list(cli, true, err);
}

static int get_instance(const struct cli *cli, struct client *c,
			const char *word, json_t **ret, struct err *err)
{
	char name[AC_NAME_MAX + 1];
	int rc = c ? instance_call(c, "GET", word, "", NULL, ret, err) :
		     infer_instance(word, name, err);

	return rc < 0 || c ? rc : stopped_instance(cli, name, ret, err);
}

int cmd_inspect(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	int rc = stopped_look(cli, &c, err);
	size_t i;

	for (i = 0; rc == 0 && i < a->n_words; i++) {
		SCOPED_JSON rec = NULL;

		rc = get_instance(cli, c, a->words[i], &rec, err);
		if (rc == 0)
			rc = cli_print_json(rec, !cli->json, err);
	}
	return rc;
}
