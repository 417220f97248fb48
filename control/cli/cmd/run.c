/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - run, shell, exec, attach
 */
#include "control/cli/cmd/run.h"

#include <string.h>

#include "control/cli/host/self_addresses.h"
#include "control/cli/host/image_build.h"
#include "control/cli/cmd/instance.h"
#include "control/cli/host/config_file.h"
#include "control/cli/core/git_identity.h"
#include "control/cli/cmd/grants_put.h"
#include "control/cli/host/host.h"
#include "control/cli/host/infer.h"
#include "control/cli/host/launch.h"
#include "control/cli/cmd/policy_log.h"
#include "control/cli/host/stopped.h"
#include "control/shared/json.h"

/* Which instance of which blueprint is meant; *ret_running: it runs now. */
static int find(struct launch *l, const struct args *a, struct infer *ret_who,
		bool *ret_running, struct err *err)
{
	SCOPED_JSON instances = NULL;
	SCOPED_JSON blueprints = NULL;
	const json_t *list, *item;
	struct infer who;
	size_t i;
	int rc = client_call(l->client, "GET", "/v1/instances", NULL,
			     &instances, err);

	if (rc == 0)
		rc = client_call(l->client, "GET", "/v1/blueprints", NULL,
				 &blueprints, err);
	if (rc < 0)
		return rc;
	list = json_object_get(instances, "instances");
	if (l->workspace && !args_has(a, ARG_LINKS))
		rc = workspace_check_turns(l->workspace, list, err);
	if (rc < 0)
		return rc;
	rc = infer_names(a->words, a->n_words, list,
			 json_object_get(blueprints, "blueprints"), &who, err);
	if (rc < 0)
		return rc;
	*ret_who = who;
	memcpy(l->name, who.instance, sizeof(l->name));
	memcpy(l->blueprint, who.blueprint, sizeof(l->blueprint));
	*ret_running = false;
	for (i = 0; i < json_array_size(list); i++) {
		item = json_array_get(list, i);
		if (strcmp(json_text(item, "name"), l->name) == 0)
			*ret_running = instance_runs(item);
	}
	return 0;
}

static int set_count(json_t *obj, const char *key, uint64_t value, bool given)
{
	return given ? json_object_set_new(obj, key,
					   json_integer((json_int_t)value)) :
		       0;
}

static int set_text(json_t *obj, const char *key, const char *value)
{
	return value ? json_object_set_new(obj, key, jsonx_text(value)) : 0;
}

/* Both, as far as they have any. */
static int set_env(json_t *body, const struct strv *env,
		   const struct strv *identity)
{
	SCOPED_JSON list = jsonx_from_strv(identity);
	SCOPED_JSON given = jsonx_from_strv(env);

	if (!list || !given || json_array_extend(list, given) < 0)
		return -ENOMEM;
	return json_array_size(list) ? json_object_set(body, "env", list) : 0;
}

/* What of the instance the options change. */
static json_t *create_body(const struct launch *l, const struct args *a,
			   const struct strv *identity)
{
	const struct workspace *ws = l->workspace;
	SCOPED_JSON body = json_pack(
		"{s:s, s:s, s:I, s:I}", "name", l->name, "blueprint",
		l->blueprint, "host_uid",
		(json_int_t)(ws && geteuid() == 0 ? ws->uid : geteuid()),
		"host_gid",
		(json_int_t)(ws && geteuid() == 0 ? ws->gid : getegid()));
	const char *runtime = a->runtime ? a->runtime : getenv("AC_RUNTIME");
	int bad = !body;

	if (bad)
		return NULL;
	bad |= set_count(body, "cpus_milli", a->cpus_milli,
			 args_has(a, ARG_CPUS));
	bad |= set_count(body, "memory", a->memory, args_has(a, ARG_MEMORY));
	bad |= set_count(body, "pids", a->pids, args_has(a, ARG_PIDS));
	bad |= set_count(body, "disk", a->disk, args_has(a, ARG_DISK));
	bad |= set_count(body, "output", a->output, args_has(a, ARG_OUTPUT));
	bad |= set_count(body, "ttl_ms", a->ttl_ms, args_has(a, ARG_TTL));
	bad |= set_count(body, "idle_ms", a->idle_ms, args_has(a, ARG_IDLE));
	/* "" takes it back. */
	bad |= set_text(body, "gpus",
			a->gpus && strcmp(a->gpus, "none") == 0 ? "" : a->gpus);
	bad |= set_text(body, "isolation", a->isolation);
	if (runtime && *runtime)
		bad |= set_text(body, "runtime", runtime);
	if (args_has(a, ARG_RM))
		bad |= json_object_set_new(body, "auto_remove", json_true());
	if (args_has(a, ARG_ENV_CLEAR))
		bad |= json_object_set_new(body, "env_clear", json_true());
	bad |= set_env(body, &a->env, identity);
	bad |= reach_put(body, &a->reach);
	bad |= grants_put(body, &a->credentials, &a->secrets);
	if (ws) {
		bad |= set_text(body, "workspace", ws->path);
		bad |= json_object_set_new(body, "workspace_ro",
					   json_boolean(ws->read_only));
	} else if (a->workspace) {
		bad |= set_text(body, "workspace", "");
		bad |= json_object_set_new(body, "workspace_ro", json_false());
	}
	return bad ? NULL : ptr_take(&body);
}

static int create(struct launch *l, const struct args *a,
		  const struct strv *identity, struct err *err)
{
	SCOPED_JSON body = create_body(l, a, identity);
	SCOPED_JSON rec = NULL;
	int rc = body ? client_call(l->client, "POST", "/v1/instances", body,
				    &rec, err) :
			err_nomem(err);

	say_warnings(rec);
	return rc;
}

/* No run came of it: what the options changed of the instance is taken back.
 * That the run failed is what the user hears, not whether this does. */
static void uncreate(struct launch *l)
{
	SCOPED_JSON body = json_pack("{s:s, s:s, s:b}", "name", l->name,
				     "blueprint", l->blueprint, "undo", 1);
	struct err ignored = { 0 };

	if (body)
		(void)client_call(l->client, "POST", "/v1/instances", body,
				  NULL, &ignored);
}

/* With a terminal there, programs want to know of which kind it is. */
static int set_terminal_env(json_t *body, const struct strv *more)
{
	static const char *const names[] = { "TERM", "COLORTERM" };
	SCOPED_JSON env = json_array();
	size_t i;

	if (!env)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		const char *value = getenv(names[i]);
		SCOPED_STR entry =
			value ? str_printf("%s=%s", names[i], value) : NULL;

		if (entry && json_array_append_new(env, jsonx_text(entry)) < 0)
			return -ENOMEM;
	}
	for (i = 0; more && i < more->n; i++)
		if (json_array_append_new(env, jsonx_text(more->v[i])) < 0)
			return -ENOMEM;
	return json_object_set(body, "env", env);
}

/* What holds for this one process, and not for the instance. */
static int set_process(json_t *body, const struct args *a, bool shell)
{
	int bad = set_count(body, "timeout_ms", a->timeout_ms,
			    args_has(a, ARG_TIMEOUT));

	bad |= set_text(body, "cwd", a->workdir);
	if (shell)
		bad |= json_object_set_new(body, "shell", json_true());
	return bad ? -ENOMEM : 0;
}

/* With the defaults of this machine and the user's name in git where @fresh: the
 * instance is made now. Adds what was taken of that name to @identity. */
static int create_first(struct launch *l, const struct args *a, bool fresh,
			struct strv *identity, struct err *err)
{
	struct config config = { 0 };
	struct args with = *a;
	int rc;

	if (!fresh)
		return create(l, a, identity, err);
	rc = config_load(l->cli, &config, err);
	if (rc == 0)
		rc = config_default(l->cli, &config, &with, err);
	if (rc == 0 && git_identity_get(&a->env, identity) < 0)
		rc = err_nomem(err);
	if (rc == 0)
		rc = create(l, &with, identity, err);
	config_undefault(&with, a);
	config_done(&config);
	return rc;
}

/* As `ac build`: also what failed, and has not changed since. */
static int build_again(struct launch *l, struct err *err)
{
	SCOPED_JSON how = json_pack("{s:b}", "retry", true);

	return how ? build_image(l->cli, l->client, l->blueprint, how, err) :
		     err_nomem(err);
}

/* Not before: a run that is refused leaves no instance behind. */
static void on_begun(const struct launch *l, void *arg)
{
	const struct strv *identity = arg;

	git_identity_tell(l->cli, identity);
}

/* A run of its own: the record, the image if asked for, the process. */
static int run_main(struct launch *l, const struct args *a, bool fresh,
		    bool shell, struct err *err)
{
	SCOPED_JSON body = launch_body(l, a->cmd, a->n_cmd);
	uint64_t since = denials_now_ms();
	struct strv identity = { 0 };
	int rc;

	if (!body || set_process(body, a, shell) < 0 ||
	    (l->tty && set_terminal_env(body, NULL) < 0))
		return err_nomem(err);
	rc = addresses_tell(l->cli, l->client, err);
	if (rc == 0)
		rc = create_first(l, a, fresh, &identity, err);
	if (rc < 0) {
		strv_done(&identity);
		return rc;
	}
	l->on_begun = on_begun;
	l->begun_arg = &identity;
	if (args_has(a, ARG_BUILD))
		rc = build_again(l, err);
	l->reaches = reach_is_given(&a->reach);
	if (rc == 0)
		rc = launch_go(l, body, err);
	/* acd does so only while no run has begun. */
	if (rc < 0)
		uncreate(l);
	l->begun_arg = NULL;
	strv_done(&identity);
	if (rc >= 0 && l->ended && !l->cli->quiet && !l->cli->json)
		denials_tell(l->cli, l->client, l->name, since, fresh);
	return rc;
}

static int run_exec(struct launch *l, const struct args *a, bool shell,
		    struct err *err)
{
	SCOPED_JSON body = launch_body(l, a->cmd, a->n_cmd);

	l->verb = "exec";
	if (!body || set_process(body, a, shell) < 0 ||
	    (l->tty ? set_terminal_env(body, &a->env) < 0 :
		      a->env.n > 0 && json_object_set_new(
					      body, "env",
					      jsonx_from_strv(&a->env)) < 0))
		return err_nomem(err);
	return launch_go(l, body, err);
}

/* Asked while ac-host does not run: what cannot be meant is told before it is
 * built and started for it. Where its store cannot be read, acd tells why. */
static int check_names(const struct cli *cli, const struct args *a,
		       struct err *err)
{
	SCOPED_JSON instances = NULL;
	SCOPED_JSON blueprints = NULL;
	struct err found = { 0 };
	struct infer who;
	int rc;

	if (stopped_instances(cli, &instances, &found) < 0 ||
	    stopped_blueprints(cli, &blueprints, &found) < 0)
		return 0;
	rc = infer_names(a->words, a->n_words, instances, blueprints, &who,
			 err);
	return rc < 0 || who.exists ?
		       rc :
		       infer_check_blueprint(who.blueprint, blueprints, err);
}

/* Everything that run and shell share before the process. */
static int prepare(struct launch *l, const struct args *a, struct workspace *ws,
		   struct client **ret_client, struct infer *ret_who,
		   bool *ret_running, struct err *err)
{
	int rc = 0;

	rc = launch_set_keys(l, a->detach_keys, err);
	if (rc < 0)
		return rc;
	launch_set_stdio(l, a);
	l->what = a->n_cmd > 0 ? a->cmd[0] : NULL;
	if (args_has(a, ARG_RM) && l->detached)
		say_info(l->cli, "--rm: the workspace goes too when it ends");
	if (a->workspace && *a->workspace) {
		rc = workspace_parse(l->cli, a->workspace, ws, err);
		l->workspace = ws;
	}
	if (rc == 0)
		rc = host_client_after(l->cli, check_names, a, ret_client, err);
	if (rc < 0)
		return rc;
	l->client = *ret_client;
	return find(l, a, ret_who, ret_running, err);
}

int cmd_run(const struct cli *cli, const struct args *a, struct err *err)
{
	struct launch l = { .cli = cli, .verb = "run" };
	SCOPED_CLIENT c = NULL;
	SCOPED_WORKSPACE ws = WORKSPACE_NONE;
	struct infer who;
	bool running;
	int rc = prepare(&l, a, &ws, &c, &who, &running, err);

	return rc < 0 ? rc : run_main(&l, a, !who.exists, false, err);
}

int cmd_shell(const struct cli *cli, const struct args *a, struct err *err)
{
	/* What a sandbox that runs cannot change. */
	static const struct arg_set fixed = ARG_SET(
		ARG_IN(CPUS), ARG_IN(MEMORY), ARG_IN(PIDS), ARG_IN(GPUS),
		ARG_IN(DISK), ARG_IN(OUTPUT), ARG_IN(TTL), ARG_IN(IDLE),
		ARG_IN(WORKSPACE), ARG_IN(ISOLATION), ARG_IN(RUNTIME));
	struct launch l = { .cli = cli, .verb = "run" };
	SCOPED_CLIENT c = NULL;
	SCOPED_WORKSPACE ws = WORKSPACE_NONE;
	struct infer who;
	bool running;
	int rc = prepare(&l, a, &ws, &c, &who, &running, err);

	if (rc < 0)
		return rc;
	if (!running)
		return run_main(&l, a, !who.exists, true, err);
	if (arg_set_meets(&a->given, &fixed))
		say_info(cli,
			 "%s runs already, so it keeps its limits and "
			 "its workspace",
			 l.name);
	if (reach_is_given(&a->reach))
		say_info(cli,
			 "%s runs already: `ac policy` changes what it may "
			 "reach",
			 l.name);
	return run_exec(&l, a, true, err);
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
	/* Its terminal is ours only if we have one. */
	l.tty = json_is_true(json_object_get(rec, "tty")) &&
		isatty(STDIN_FILENO) == 1;
	l.use_stdin = l.tty;
	/* The keys leave it in any case. Behind another job of the shell our
	 * terminal is not ours to set. */
	l.keys_only = !l.tty && isatty(STDIN_FILENO) == 1 &&
		      tcgetpgrp(STDIN_FILENO) == getpgrp();
	body = launch_body(&l, NULL, 0);
	if (body) {
		/* attach knows only the size. */
		json_object_del(body, "tty");
		json_object_del(body, "stdin");
		json_object_del(body, "detached");
	}
	return launch_go(&l, body, err);
}
