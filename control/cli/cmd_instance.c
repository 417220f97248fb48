/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_instance.c - ls, list, inspect, stop-instance, clean, destroy, and the
 * last two for all
 */
#include "control/cli/cmd_instance.h"

#include <string.h>
#include <time.h>

#include "control/cli/host.h"
#include "control/cli/infer.h"
#include "control/cli/table.h"
#include "control/shared/json.h"
#include "lib/str.h"

static int out_of_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

static bool is_live(const json_t *rec)
{
	const char *state = json_text(rec, "state");

	return strcmp(state, "running") == 0 ||
	       strcmp(state, "starting") == 0 || strcmp(state, "stopping") == 0;
}

static enum table_colour state_colour(const json_t *rec)
{
	if (is_live(rec))
		return TABLE_GREEN;
	return strcmp(json_text(rec, "state"), "failed") == 0 ? TABLE_RED :
								TABLE_PLAIN;
}

/* Times of acd are seconds since 1970. */
static void format_since(char *out, size_t size, const json_t *rec)
{
	long long since =
		json_count(rec, is_live(rec) ? "started_at" : "finished_at");
	long long now = (long long)time(NULL);

	snprintf(out, size, "-");
	if (since > 0)
		str_format_age(out, size,
			       now > since ? (uint64_t)(now - since) : 0);
}

static int instance_row(struct table *t, const json_t *rec)
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
				json_text(rec, "reason") };

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

static int print_instances(const struct cli *cli, const json_t *list,
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
		{ "REASON", TABLE_CUT },
	};
	struct table *t = table_new(cli, cols, ARRAY_SIZE(cols));
	size_t i;
	int rc = t ? 0 : -ENOMEM;

	for (i = 0; rc == 0 && i < json_array_size(list); i++)
		rc = instance_row(t, json_array_get(list, i));
	rc = rc < 0 ? out_of_memory(err) : table_print(t, err);
	table_free(t);
	return rc;
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
	struct table *t = table_new(cli, cols, ARRAY_SIZE(cols));
	size_t i;
	int rc = t ? 0 : -ENOMEM;

	for (i = 0; rc == 0 && i < json_array_size(list); i++) {
		const json_t *bp = json_array_get(list, i);
		bool ready = json_is_true(json_object_get(bp, "ready"));
		bool own = !json_is_true(json_object_get(bp, "builtin"));
		const char *cells[] = { json_text(bp, "name"),
					json_text(bp, "image"),
					ready ? "yes" : "no",
					own ? "you" : "ac",
					json_text(bp, "description") };

		rc = table_row(t, cells);
		if (rc == 0 && ready)
			table_paint(t, 2, TABLE_GREEN);
	}
	rc = rc < 0 ? out_of_memory(err) : table_print(t, err);
	table_free(t);
	return rc;
}

static int get_list(struct client *c, const char *what, json_t **ret,
		    struct err *err)
{
	SCOPED_STR path = str_printf("/v1/%s", what);
	SCOPED_JSON all = NULL;
	int rc = path ? client_call(c, "GET", path, NULL, &all, err) :
			out_of_memory(err);

	if (rc < 0)
		return rc;
	*ret = json_incref(json_object_get(all, what));
	if (!json_is_array(*ret))
		return err_set(err, -EPROTO, "acd gave no list of %s", what);
	return 0;
}

int cmd_ls(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON list = NULL;
	size_t i;
	int rc = host_client(cli, true, &c, err);

	(void)a;
	if (rc == 0)
		rc = get_list(c, "instances", &list, err);
	if (rc < 0)
		return rc;
	if (cli->json)
		return cli_print_json(list, false, err);
	if (!cli->quiet)
		return print_instances(cli, list, err);
	for (i = 0; i < json_array_size(list); i++)
		puts(json_text(json_array_get(list, i), "name"));
	return 0;
}

int cmd_list(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON instances = NULL;
	SCOPED_JSON blueprints = NULL;
	int rc = host_client(cli, true, &c, err);

	(void)a;
	if (rc == 0)
		rc = get_list(c, "blueprints", &blueprints, err);
	if (rc == 0)
		rc = get_list(c, "instances", &instances, err);
	if (rc < 0)
		return rc;
	if (cli->json) {
		SCOPED_JSON both = json_pack("{s:O, s:O}", "blueprints",
					     blueprints, "instances",
					     instances);

		return both ? cli_print_json(both, false, err) :
			      out_of_memory(err);
	}
	rc = print_blueprints(cli, blueprints, err);
	if (rc < 0 || json_array_size(instances) == 0)
		return rc;
	putchar('\n');
	return print_instances(cli, instances, err);
}

/* A call about one instance. */
static int instance_call(struct client *c, const char *method, const char *word,
			 const char *rest, const json_t *body, json_t **ret,
			 struct err *err)
{
	char name[AC_NAME_MAX + 1];
	int rc = infer_instance(word, name, err);
	SCOPED_STR path = rc == 0 ? client_path("/v1/instances/", name, rest) :
				    NULL;

	if (rc < 0)
		return rc;
	if (!path)
		return out_of_memory(err);
	return client_call(c, method, path, body, ret, err);
}

int cmd_inspect(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	int rc = host_client(cli, true, &c, err);
	size_t i;

	for (i = 0; rc == 0 && i < a->n_words; i++) {
		SCOPED_JSON rec = NULL;

		rc = instance_call(c, "GET", a->words[i], "", NULL, &rec, err);
		if (rc == 0)
			rc = cli_print_json(rec, !cli->json, err);
	}
	return rc;
}

int cmd_stop_instance(const struct cli *cli, const struct args *a,
		      struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON body = json_object();
	int rc = host_client(cli, false, &c, err);
	size_t i;

	if (rc == 0 && args_has(a, ARG_GRACE) &&
	    json_object_set_new(body, "grace_ms",
				json_integer((json_int_t)a->grace_ms)) < 0)
		rc = out_of_memory(err);
	for (i = 0; rc == 0 && i < a->n_words; i++) {
		SCOPED_JSON rec = NULL;

		rc = instance_call(c, "POST", a->words[i], "/stop", body, &rec,
				   err);
		if (rc == 0 && cli->json)
			rc = cli_print_json(rec, false, err);
		else if (rc == 0)
			say_info(cli, "%s is stopped", json_text(rec, "name"));
	}
	return rc;
}

static int clean_one(const struct cli *cli, struct client *c, const char *name,
		     bool force, struct err *err)
{
	SCOPED_JSON body = json_pack("{s:b}", "force", force);
	SCOPED_JSON rec = NULL;
	int rc = body ? instance_call(c, "POST", name, "/clean", body, &rec,
				      err) :
			out_of_memory(err);

	if (rc < 0)
		return rc;
	if (cli->json)
		return cli_print_json(rec, false, err);
	say_info(cli,
		 "%s is clean: its workspace is kept, its home and log "
		 "are gone",
		 json_text(rec, "name"));
	return 0;
}

int cmd_clean(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	int rc = host_client(cli, true, &c, err);
	size_t i;

	for (i = 0; rc == 0 && i < a->n_words; i++)
		rc = clean_one(cli, c, a->words[i], args_has(a, ARG_FORCE),
			       err);
	return rc;
}

static int destroy_one(const struct cli *cli, struct client *c,
		       const char *name, bool force, struct err *err)
{
	int rc = instance_call(c, "DELETE", name, force ? "?force=1" : "", NULL,
			       NULL, err);

	if (rc == 0)
		say_info(cli, "%s is destroyed", name);
	return rc;
}

int cmd_destroy(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	int rc = host_client(cli, true, &c, err);
	size_t i;

	for (i = 0; rc == 0 && i < a->n_words; i++) {
		SCOPED_JSON rec = NULL;

		rc = instance_call(c, "GET", a->words[i], "", NULL, &rec, err);
		if (rc == 0)
			rc = cli_confirm(cli,
					 a->given & (ARG_BIT(ARG_YES) |
						     ARG_BIT(ARG_FORCE)),
					 "%s%s, its home and its workspace "
					 "will be deleted.",
					 json_text(rec, "name"),
					 is_live(rec) ? ", which runs" : "");
		/* Whoever agreed knew that it runs. */
		if (rc == 0)
			rc = destroy_one(cli, c, json_text(rec, "name"), true,
					 err);
	}
	return rc;
}

/* Asks once, then does @one to each that does not run, or with --force to
 * all. */
static int for_all(const struct cli *cli, const struct args *a,
		   const char *what,
		   int (*one)(const struct cli *cli, struct client *c,
			      const char *name, bool force, struct err *err),
		   struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON list = NULL;
	bool force = args_has(a, ARG_FORCE);
	size_t i, spared = 0;
	int rc = host_client(cli, true, &c, err);

	if (rc == 0)
		rc = get_list(c, "instances", &list, err);
	if (rc == 0)
		rc = cli_confirm(cli, args_has(a, ARG_YES),
				 "All %zu instances%s: %s",
				 json_array_size(list),
				 force ? "" : " that do not run", what);
	for (i = 0; rc == 0 && i < json_array_size(list); i++) {
		const json_t *rec = json_array_get(list, i);

		if (is_live(rec) && !force)
			spared++;
		else
			rc = one(cli, c, json_text(rec, "name"), force, err);
	}
	if (rc == 0 && spared > 0)
		say_info(cli,
			 "%zu that run were left alone (--force takes "
			 "them too)",
			 spared);
	return rc;
}

int cmd_clean_all(const struct cli *cli, const struct args *a, struct err *err)
{
	return for_all(cli, a,
		       "their homes, with credentials, and their logs "
		       "will be deleted; workspaces are kept.",
		       clean_one, err);
}

int cmd_destroy_all(const struct cli *cli, const struct args *a,
		    struct err *err)
{
	return for_all(cli, a,
		       "their homes and their workspaces will be "
		       "deleted.",
		       destroy_one, err);
}
