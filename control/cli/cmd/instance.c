/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance.c - stop-instance, clean, destroy, clean-all, destroy-all
 */
#include "control/cli/cmd/instance.h"

#include <string.h>

#include "control/cli/host/host.h"
#include "control/shared/infer.h"
#include "control/cli/host/stopped.h"
#include "control/shared/json.h"
#include "lib/str.h"

bool instance_runs(const json_t *rec)
{
	const char *state = json_text(rec, "state");

	return strcmp(state, "running") == 0 || strcmp(state, "paused") == 0 ||
	       strcmp(state, "hibernated") == 0;
}

/* An instance that is stopping is over for the user; acd waits for the rest. */
bool record_is_live(const json_t *rec)
{
	return instance_runs(rec) ||
	       strcmp(json_text(rec, "state"), "starting") == 0;
}

int instance_get_list(struct client *c, const char *what, json_t **ret,
		      struct err *err)
{
	SCOPED_STR path = str_printf("/v1/%s", what);
	SCOPED_JSON all = NULL;
	int rc = path ? client_call(c, "GET", path, NULL, &all, err) :
			err_nomem(err);

	if (rc < 0)
		return rc;
	*ret = json_incref(json_object_get(all, what));
	if (!json_is_array(*ret))
		return err_set(err, -EPROTO, "acd gave no list of %s", what);
	return 0;
}

int instance_call(struct client *c, const char *method, const char *word,
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
		return err_nomem(err);
	return client_call(c, method, path, body, ret, err);
}

static int post_one(const struct cli *cli, struct client *c, const char *word,
		    const char *rest, const json_t *body, instance_said_fn said,
		    struct err *err)
{
	SCOPED_JSON was = NULL;
	SCOPED_JSON rec = NULL;
	struct err ignored = { 0 };
	int rc;

	/* The answer to a resume does not have the previous state. */
	if (strcmp(rest, "/resume") == 0)
		(void)instance_call(c, "GET", word, "", NULL, &was, &ignored);
	rc = instance_call(c, "POST", word, rest, body, &rec, err);
	if (rc < 0)
		return rc;
	if (cli->json)
		return cli_print_json(rec, false, err);
	/* An instance removed with its run (--rm) has no record. */
	say_info(cli, "%s %s",
		 *json_text(rec, "name") ? json_text(rec, "name") : word,
		 said(was, rec));
	return 0;
}

int instance_post_each(const struct cli *cli, struct client *c,
		       const struct args *a, const char *rest,
		       const json_t *body, instance_said_fn said,
		       struct err *err)
{
	int first = 0;

	for (size_t i = 0; i < a->n_words; i++) {
		struct err failed = { 0 };
		int rc = post_one(cli, c, a->words[i], rest, body, said,
				  &failed);

		if (rc == 0)
			continue;
		if (first < 0)
			say_error("%s", err->msg);
		else
			first = rc;
		*err = failed;
	}
	return first;
}

static const char *stopped(const json_t *was, const json_t *is)
{
	(void)was;
	(void)is;
	return "is stopped";
}

int cmd_stop_instance(const struct cli *cli, const struct args *a,
		      struct err *err)
{
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON body = json_object();
	int rc = host_client(cli, false, &c, err);

	if (rc == 0 && args_has(a, ARG_GRACE) &&
	    json_object_set_new(body, "grace_ms",
				json_integer((json_int_t)a->grace_ms)) < 0)
		rc = err_nomem(err);
	return rc < 0 ? rc :
			instance_post_each(cli, c, a, "/stop", body, stopped,
					   err);
}

static int clean_one(const struct cli *cli, struct client *c, const char *name,
		     bool force, struct err *err)
{
	SCOPED_JSON body = json_pack("{s:b}", "force", force);
	SCOPED_JSON rec = NULL;
	int rc = body ? instance_call(c, "POST", name, "/clean", body, &rec,
				      err) :
			err_nomem(err);

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
	/* Unlike destroy, clean does not need -y without a terminal. */
	bool ask = isatty(STDIN_FILENO) == 1 && cli->err_tty;
	SCOPED_CLIENT c = NULL;
	int rc = host_client_after(cli, stopped_check, a, &c, err);
	size_t i;

	for (i = 0; rc == 0 && i < a->n_words; i++) {
		rc = cli_confirm(cli,
				 !ask || args_has(a, ARG_YES) ||
					 args_has(a, ARG_FORCE),
				 "The home of %s, with its credentials, and "
				 "its log will be wiped; its workspace stays.",
				 a->words[i]);
		if (rc == 0)
			rc = clean_one(cli, c, a->words[i],
				       args_has(a, ARG_FORCE), err);
	}
	return rc;
}

int instance_delete(const struct cli *cli, struct client *c, const char *name,
		    bool force, struct err *err)
{
	int rc = instance_call(c, "DELETE", name, force ? "?force=1" : "", NULL,
			       NULL, err);

	if (rc == 0)
		say_info(cli, "%s is destroyed", name);
	return rc;
}

/* Asks, then destroys the instance. The question says whether it runs, so a yes
 * covers that; -y alone does not. */
static int destroy_asked(const struct cli *cli, const struct args *a,
			 struct client *c, const char *word, struct err *err)
{
	bool force = args_has(a, ARG_FORCE), live;
	bool yes = force || args_has(a, ARG_YES);
	const char *name, *yours, *runs;
	SCOPED_JSON rec = NULL;
	int rc = instance_call(c, "GET", word, "", NULL, &rec, err);

	if (rc < 0)
		return rc;
	name = json_text(rec, "name");
	live = record_is_live(rec);
	if (live && !force && (yes || isatty(STDIN_FILENO) != 1))
		return err_set(err, -EBUSY,
			       "%s is running: `ac stop-instance %s` first, or "
			       "-f, which stops it",
			       name, name);
	yours = json_text(rec, "workspace");
	runs = live ? ", which runs" : "";
	if (json_integer_value(json_object_get(rec, "layer_since_ns")) != 0)
		rc = cli_confirm(
			cli, yes,
			"%s%s, its home and what it has changed in its "
			"copy of %s (`ac diff %s`) will be deleted; "
			"your directory is kept.",
			name, runs, yours, name);
	else if (*yours)
		rc = cli_confirm(cli, yes,
				 "%s%s, and its home will be deleted; your "
				 "directory %s is kept.",
				 name, runs, yours);
	else
		rc = cli_confirm(cli, yes,
				 "%s%s, its home and its workspace will be "
				 "deleted.",
				 name, runs);
	return rc == 0 ? instance_delete(cli, c, name, force || live, err) : rc;
}

int cmd_destroy(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	int rc = host_client_after(cli, stopped_check, a, &c, err);
	size_t i;

	for (i = 0; rc == 0 && i < a->n_words; i++)
		rc = destroy_asked(cli, a, c, a->words[i], err);
	return rc;
}

void instance_tell_live(const struct cli *cli, const json_t *list,
			const char *what)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *rec = json_array_get(list, i);

		if (record_is_live(rec))
			say_info(cli, "%s %s", json_text(rec, "name"), what);
	}
}

const char *instance_fate(const json_t *list, bool live)
{
	bool own = false, yours = false, layer = false;

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *rec = json_array_get(list, i);

		if (!live && record_is_live(rec))
			continue;
		if (json_count(rec, "layer_since_ns") != 0)
			layer = true;
		if (*json_text(rec, "workspace"))
			yours = true;
		else
			own = true;
	}
	if (layer)
		return "homes and workspaces will be deleted, and what was "
		       "changed in copies of your directories and not applied "
		       "(`ac diff NAME`); the directories are kept.";
	if (own && yours)
		return "homes and workspaces will be deleted, but no directory "
		       "that was given with --workspace.";
	return yours ? "homes will be deleted; the directories given with "
		       "--workspace are kept." :
		       "homes and workspaces will be deleted.";
}

size_t instance_names(const json_t *list, bool live, char *ret, size_t size)
{
	size_t used = 0, n = 0, i;

	ret[0] = '\0';
	for (i = 0; i < json_array_size(list); i++) {
		const json_t *rec = json_array_get(list, i);
		const char *name = json_text(rec, "name");

		if (record_is_live(rec) != live)
			continue;
		n++;
		/* Keeps room for ", ...". */
		if (used + strlen(name) + sizeof(", , ...") <= size)
			used += (size_t)snprintf(ret + used, size - used,
						 "%s%s", used ? ", " : "",
						 name);
		else if (used && ret[used - 1] != '.')
			used += (size_t)snprintf(ret + used, size - used,
						 ", ...");
		else if (!used)
			used += (size_t)snprintf(ret, size, "...");
	}
	return n;
}

/* Asks one question that names all affected instances. */
static int confirm_all(const struct cli *cli, const struct args *a,
		       const json_t *list, const char *what)
{
	bool force = args_has(a, ARG_FORCE);
	char idle[160], live[96];
	size_t n_idle = instance_names(list, false, idle, sizeof(idle));
	size_t n_live = instance_names(list, true, live, sizeof(live));
	size_t n = n_idle + (force ? n_live : 0);
	bool both = force && n_idle && n_live;

	return cli_confirm(
		cli, args_has(a, ARG_YES),
		"%zu instance%s (%s%s%s%s): %s%s%s%s", n, n == 1 ? "" : "s",
		n ? idle : "none", both ? "; " : "",
		force && n_live ? "running: " : "", force ? live : "",
		what ? what : instance_fate(list, force),
		!force && n_live ? " Left alone, for they run: " : "",
		!force && n_live ? live : "", !force && n_live ? "." : "");
}

/*
 * Asks once, then calls @one for each instance that does not run, or with
 * --force for all. @what says what happens to them; NULL: they are destroyed.
 */
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
		rc = instance_get_list(c, "instances", &list, err);
	if (rc == 0 && json_array_size(list) == 0)
		say_info(cli, "there are no instances: nothing to do");
	else if (rc == 0)
		rc = confirm_all(cli, a, list, what);
	for (i = 0; rc == 0 && i < json_array_size(list); i++) {
		const json_t *rec = json_array_get(list, i);

		if (record_is_live(rec) && !force)
			spared++;
		else
			rc = one(cli, c, json_text(rec, "name"), force, err);
	}
	if (rc == 0 && spared > 0)
		say_info(cli,
			 "%zu running instance%s left alone (--force takes "
			 "running ones too)",
			 spared, spared == 1 ? " was" : "s were");
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
	return for_all(cli, a, NULL, instance_delete, err);
}
