/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - run, shell, exec, attach
 */
#include "control/cli/cmd/run.h"

#include <string.h>

#include "control/cli/host/self_addresses.h"
#include "control/cli/host/image_build.h"
#include "control/cli/cmd/instance.h"
#include "control/cli/cmd/first_use.h"
#include "control/cli/host/config_file.h"
#include "control/cli/core/git_identity.h"
#include "control/cli/host/host.h"
#include "control/shared/infer.h"
#include "control/cli/host/launch.h"
#include "control/cli/layer/base_look.h"
#include "control/cli/cmd/policy/log.h"
#include "control/cli/cmd/project.h"
#include "control/cli/cmd/prompt.h"
#include "control/cli/cmd/run_body.h"
#include "control/cli/host/stopped.h"
#include "control/shared/json.h"

/* Refuses a workspace whose path an instance could have changed. */
static int check_workspace(struct launch *l, const struct args *a,
			   struct err *err)
{
	SCOPED_JSON all = NULL;
	int rc;

	if (!l->workspace || l->workspace->walk.n_turns == 0 ||
	    args_has(a, ARG_LINKS))
		return 0;
	rc = client_call(l->client, "GET", "/v1/instances", NULL, &all, err);
	return rc < 0 ? rc :
			workspace_check_turns(l->workspace,
					      json_object_get(all, "instances"),
					      err);
}

/* The arguments of `ac run`, for the callbacks of a launch. */
struct asked {
	const struct args *a;
	struct strv identity; /* name and address in git, if new */
	bool fresh; /* the run makes the instance */
	struct prompt *prompt; /* text NULL: none */
	struct launch *launch;
	struct base_look look;
	void (*begun)(void *arg, const char *name); /* of run_kept() */
	void *begun_arg;
};

static int put_options(struct launch *l, const struct args *a,
		       const struct strv *identity, json_t *body)
{
	return json_object_set_new(body, "options",
				   run_body_options(l, a, identity));
}

/* Gives a new instance the defaults of this machine and the user's name in
 * git. */
static int on_new(struct launch *l, json_t *body, struct err *err)
{
	struct asked *asked = l->new_arg;
	struct config config = { 0 };
	struct args with = *asked->a;
	int rc = config_load(l->cli, &config, err);

	asked->fresh = true;
	if (rc == 0)
		rc = config_default(l->cli, &config, &with, err);
	if (rc == 0 &&
	    (git_identity_get(&asked->a->env, &asked->identity) < 0 ||
	     put_options(l, &with, &asked->identity, body) < 0 ||
	     json_object_set_new(body, "create", json_true()) < 0))
		rc = err_nomem(err);
	config_undefault(&with, asked->a);
	config_done(&config);
	return rc;
}

/* Returns true if a directory was given, alone or with a blueprint, but no
 * name. */
static bool is_by_dir(const struct launch *l, const struct args *a)
{
	return a->dir &&
	       (a->n_words == 0 ||
		(a->n_words == 1 && strcmp(a->words[0], l->blueprint) == 0));
}

/* Tells if the name that the directory alone would give is another one's. */
static void dir_tell(const struct launch *l, const struct args *a)
{
	char first[AC_NAME_MAX + 1];

	if (!is_by_dir(l, a))
		return;
	infer_dir_name(l->blueprint, l->workspace->path, 1, first);
	if (strcmp(first, l->name) != 0)
		say_info(l->cli, "'%s' has another directory, so this is '%s'",
			 first, l->name);
}

/* Returns the record, NULL if there is none. */
static json_t *record_of(const struct launch *l)
{
	struct err ignored = { 0 };
	json_t *rec = NULL;

	return instance_call(l->client, "GET", l->name, "", NULL, &rec,
			     &ignored) < 0 ?
		       NULL :
		       rec;
}

/* Says in one line whether the directory is written to. */
static void mode_tell(const struct launch *l, const json_t *rec)
{
	const char *mode = json_text(rec, "workspace_mode");
	const char *dir = json_text(rec, "workspace");

	if (l->cli->quiet || l->cli->json)
		return;
	if (strcmp(mode, "live") == 0)
		say_info(l->cli,
			 "workspace: %s itself; what it writes is "
			 "there at once",
			 dir);
	else if (strcmp(mode, "ro") == 0)
		say_info(l->cli, "workspace: %s, read-only", dir);
	else if (json_is_true(json_object_get(rec, "auto_remove")))
		say_info(l->cli,
			 "workspace: a copy of %s; its changes go when the "
			 "run ends (--rm)",
			 dir);
	else
		say_info(l->cli,
			 "workspace: a copy of %s; `ac diff %s` shows its "
			 "changes, `ac apply %s` brings them to you",
			 dir, l->name, l->name);
}

/* Asks git what a layer begins with, if one will be begun now, and outlives the
 * run. */
static void on_workspace(const struct launch *l, const struct workspace *ws,
			 void *arg)
{
	struct asked *asked = arg;
	SCOPED_JSON rec = *l->name ? record_of(l) : NULL;
	const char *mode = *ws->mode ? ws->mode :
				       json_text(rec, "workspace_mode");

	if (json_count(rec, "layer_since_ns") == 0 &&
	    (*mode == '\0' || strcmp(mode, "copy") == 0) &&
	    !args_has(asked->a, ARG_RM))
		base_look_begin(l->cli, ws->walk.fd, &asked->look);
}

/* Keeps what git has said. */
static void look_keep(struct asked *asked, const struct launch *l,
		      const json_t *rec)
{
	const struct layer_key key = {
		.since = json_count(rec, "layer_since_ns"),
		.dev = json_count(rec, "layer_dev"),
		.ino = json_count(rec, "layer_ino"),
	};

	if (!json_is_true(json_object_get(rec, "auto_remove")))
		base_look_keep(&asked->look, l->name, &key);
}

/* Tells of a new instance once the run has begun: a refused run leaves none. */
static void on_begun(const struct launch *l, void *arg)
{
	struct asked *asked = arg;
	SCOPED_JSON rec = l->shows ? record_of(l) : NULL;

	if (rec)
		look_keep(asked, l, rec);
	if (asked->fresh)
		dir_tell(l, asked->a);
	git_identity_tell(l->cli, &asked->identity);
	if (rec)
		mode_tell(l, rec);
	if (asked->prompt->text && !l->detached)
		prompt_attach(asked->prompt, asked->launch);
	if (asked->begun)
		asked->begun(asked->begun_arg, l->name);
}

/* Sets the user's words for the instance, from which acd infers it. */
static int set_names(const struct launch *l, json_t *body, const struct args *a)
{
	if (a->n_words <= 1)
		return run_body_text(body, "word",
				     a->n_words ? a->words[0] : NULL) |
		       run_body_text(body, "dir",
				     a->dir ? l->workspace->path : NULL);
	return run_body_text(body, "blueprint", a->words[0]) |
	       run_body_text(body, "name", a->words[1]);
}

/* Returns the whole request: instance, options, process; NULL with @err. */
static json_t *run_body(struct launch *l, const struct args *a,
			const char *prompt, bool shell, struct err *err)
{
	static const struct strv none;
	SCOPED_JSON body = launch_body(l, a->cmd, a->n_cmd, err);

	if (!body)
		return NULL;
	if (run_body_process(body, a, shell) < 0 ||
	    (l->tty && run_body_terminal(body, NULL) < 0) ||
	    set_names(l, body, a) < 0 ||
	    run_body_text(body, "prompt", prompt) < 0 ||
	    put_options(l, a, &none, body) < 0 || project_put(l, a, body) < 0 ||
	    json_object_set_new(body, "create", json_false()) < 0 ||
	    (args_has(a, ARG_BUILD) &&
	     json_object_set_new(body, "build", json_true()) < 0)) {
		err_nomem(err);
		return NULL;
	}
	return ptr_take(&body);
}

/* Starts a run by one request, sent again with what acd says is missing. */
static int run_asked(struct launch *l, const struct args *a,
		     struct asked *asked, bool shell, struct err *err)
{
	SCOPED_JSON body = run_body(l, a, asked->prompt->text, shell, err);
	uint64_t since = denials_now_ms();
	int rc = body ? addresses_tell(l->cli, l->client, err) : err->code;

	l->on_new = on_new;
	l->new_arg = asked;
	l->on_lacks = first_use;
	l->on_project = project_answer;
	l->on_workspace = on_workspace;
	l->on_begun = on_begun;
	l->begun_arg = asked;
	l->reaches = reach_is_given(&a->reach);
	if (rc == 0)
		rc = launch_go(l, body, err);
	l->new_arg = l->begun_arg = NULL;
	l->on_new = NULL;
	l->on_lacks = NULL;
	l->on_project = NULL;
	l->on_workspace = NULL;
	l->on_begun = NULL;
	base_look_done(&asked->look);
	if (rc >= 0 && l->ended && !l->cli->quiet && !l->cli->json)
		denials_tell(l->cli, l->client, l->name, since, asked->fresh);
	return rc;
}

static int run_main(struct launch *l, const struct args *a,
		    struct prompt *prompt, bool shell, struct err *err)
{
	struct asked asked = {
		.a = a, .launch = l, .prompt = prompt, .look = BASE_LOOK_NONE
	};
	int rc = run_asked(l, a, &asked, shell, err);
	int printed = 0;

	if (rc >= 0 && l->ended)
		printed = prompt_print(prompt, l->cli, rc, err);
	strv_done(&asked.identity);
	return printed < 0 ? printed : rc;
}

static int run_exec(struct launch *l, const struct args *a, bool shell,
		    struct err *err)
{
	SCOPED_JSON body = launch_body(l, a->cmd, a->n_cmd, err);

	l->verb = "exec";
	if (!body)
		return err->code;
	if (run_body_process(body, a, shell) < 0 ||
	    (l->tty ? run_body_terminal(body, &a->env) < 0 :
		      a->env.n > 0 && json_object_set_new(
					      body, "env",
					      jsonx_from_strv(&a->env)) < 0))
		return err_nomem(err);
	return launch_go(l, body, err);
}

static bool is_utf8(const char *text)
{
	SCOPED_JSON utf8 = json_string(text);

	return utf8 != NULL;
}

/* Refuses what acd could not take as it is, as words of a command are. Of a variable
 * only the name is shown: the value may be a secret. */
static int check_texts(const struct args *a, struct err *err)
{
	for (size_t i = 0; i < a->env.n; i++)
		if (!is_utf8(a->env.v[i]))
			return launch_refuse_text("-e: the variable ",
						  a->env.v[i],
						  strcspn(a->env.v[i], "="),
						  err);
	if (a->workdir && !is_utf8(a->workdir))
		return launch_refuse_text("--workdir ", a->workdir,
					  strlen(a->workdir), err);
	return 0;
}

/* Prepares a launch, for run and shell. */
static int prepare(struct launch *l, const struct args *a, struct workspace *ws,
		   struct client **ret_client, struct err *err)
{
	const char *dir = a->dir ? a->dir : a->workspace;
	int rc = check_texts(a, err);

	if (rc == 0)
		rc = launch_set_keys(l, a->detach_keys, err);
	if (rc < 0)
		return rc;
	launch_set_stdio(l, a);
	if (a->prompt)
		l->tty = l->use_stdin = false;
	l->what = a->n_cmd > 0 ? a->cmd[0] : NULL;
	if (args_has(a, ARG_RM) && l->detached)
		say_info(l->cli, "--rm: the workspace goes too when it ends");
	if (dir && *dir) {
		rc = workspace_parse(l->cli, dir, ws, err);
		l->workspace = ws;
	}
	if (rc == 0)
		rc = project_read(l, a, err);
	if (rc == 0)
		rc = host_client_after(l->cli, stopped_check_run, a, ret_client,
				       err);
	if (rc < 0)
		return rc;
	l->client = *ret_client;
	return check_workspace(l, a, err);
}

int cmd_run(const struct cli *cli, const struct args *a, struct err *err)
{
	struct launch l = { .cli = cli, .verb = "run" };
	struct prompt prompt = { 0 };
	SCOPED_CLIENT c = NULL;
	SCOPED_WORKSPACE ws = WORKSPACE_NONE;
	int rc = a->prompt ? prompt_read(a->prompt, &prompt.text, err) : 0;

	if (rc == 0)
		rc = prepare(&l, a, &ws, &c, err);
	if (rc == 0)
		rc = run_main(&l, a, &prompt, false, err);
	prompt_done(&prompt);
	json_decref(l.project);
	return rc;
}

int cmd_shell(const struct cli *cli, const struct args *a, struct err *err)
{
	/* Options that a running sandbox cannot change. */
	static const struct arg_set fixed =
		ARG_SET(ARG_IN(CPUS), ARG_IN(MEMORY), ARG_IN(PIDS),
			ARG_IN(GPUS), ARG_IN(DISK), ARG_IN(OUTPUT), ARG_IN(TTL),
			ARG_IN(IDLE), ARG_IN(WORKSPACE), ARG_IN(ISOLATION),
			ARG_IN(RUNTIME), ARG_IN(PUBLISH), ARG_IN(VOLUME));
	struct launch l = { .cli = cli, .verb = "run" };
	struct prompt none = { 0 };
	SCOPED_CLIENT c = NULL;
	SCOPED_WORKSPACE ws = WORKSPACE_NONE;
	int rc = prepare(&l, a, &ws, &c, err);

	if (rc == 0)
		rc = run_main(&l, a, &none, true, err);
	json_decref(l.project);
	/* An exec cannot be left behind. */
	if (rc >= 0 || !l.runs || l.detached)
		return rc;
	if (arg_set_meets(&a->given, &fixed) || (a->dir && !is_by_dir(&l, a)))
		say_info(cli,
			 "%s runs already, so it keeps its limits, its "
			 "workspace, its volumes and its ports",
			 l.name);
	if (reach_is_given(&a->reach))
		say_info(cli,
			 "%s runs already: `ac policy` changes what it may "
			 "reach",
			 l.name);
	return run_exec(&l, a, true, err);
}

int run_kept(const struct cli *cli, const struct args *a,
	     void (*begun)(void *arg, const char *name), void *arg,
	     struct err *err)
{
	struct launch l = { .cli = cli, .verb = "run", .silent = true };
	struct prompt none = { 0 };
	struct asked asked = { .a = a,
			       .launch = &l,
			       .prompt = &none,
			       .look = BASE_LOOK_NONE,
			       .begun = begun,
			       .begun_arg = arg };
	SCOPED_CLIENT c = NULL;
	SCOPED_WORKSPACE ws = WORKSPACE_NONE;
	int rc = prepare(&l, a, &ws, &c, err);

	if (rc == 0)
		rc = run_asked(&l, a, &asked, true, err);
	strv_done(&asked.identity);
	json_decref(l.project);
	json_decref(l.begun);
	if (rc < 0 && l.runs && args_has(a, ARG_DETACH)) {
		begun(arg, l.name);
		return 0;
	}
	return rc;
}

int cmd_exec(const struct cli *cli, const struct args *a, struct err *err)
{
	struct launch l = { .cli = cli, .verb = "exec", .unproven = true };
	SCOPED_CLIENT c = NULL;
	int rc;

	if (a->n_cmd == 0)
		return err_set(err, -EINVAL,
			       "what is to be run in '%s'? `ac "
			       "exec %s -- COMMAND`, or `ac shell %s`",
			       a->words[0], a->words[0], a->words[0]);
	rc = infer_instance(a->words[0], l.name, err);
	if (rc == 0)
		rc = check_texts(a, err);
	if (rc == 0)
		rc = launch_set_keys(&l, a->detach_keys, err);
	if (rc < 0)
		return rc;
	c = client_new(cli->sock, "acd");
	if (!c)
		return err_nomem(err);
	l.client = c;
	l.what = a->cmd[0];
	launch_set_stdio(&l, a);
	return run_exec(&l, a, false, err);
}

int cmd_attach(const struct cli *cli, const struct args *a, struct err *err)
{
	struct launch l = { .cli = cli, .verb = "attach", .shared = true };
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON rec = NULL;
	SCOPED_JSON body = NULL;
	SCOPED_STR path = NULL;
	int rc = infer_instance(a->words[0], l.name, err);

	if (rc == 0)
		rc = launch_set_keys(&l, a->detach_keys, err);
	if (rc == 0)
		rc = host_client(cli, false, &c, err);
	if (rc < 0)
		return rc;
	path = client_path("/v1/instances/", l.name, "");
	rc = path ? client_call(c, "GET", path, NULL, &rec, err) :
		    err_nomem(err);
	if (rc < 0)
		return rc;
	l.client = c;
	l.in = STDIN_FILENO;
	/* Uses the run's terminal only if we have one. */
	l.tty = json_is_true(json_object_get(rec, "tty")) &&
		isatty(STDIN_FILENO) == 1;
	l.use_stdin = l.tty;
	/* The detach keys work without a terminal in the sandbox too. In the
	 * background the terminal is not ours to set. */
	l.keys_only = !l.tty && isatty(STDIN_FILENO) == 1 &&
		      tcgetpgrp(STDIN_FILENO) == getpgrp();
	body = launch_body(&l, NULL, 0, err);
	if (!body)
		return err->code;
	/* attach takes only the size. */
	json_object_del(body, "tty");
	json_object_del(body, "stdin");
	json_object_del(body, "detached");
	return launch_go(&l, body, err);
}
