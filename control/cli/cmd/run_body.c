/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_body.c - what a command line says of a run, as a request for acd
 */
#include "control/cli/cmd/run_body.h"

#include <string.h>

#include "control/cli/cmd/grants_put.h"
#include "control/shared/json.h"
#include "control/shared/publish.h"
#include "control/shared/volume.h"

static int set_count(json_t *obj, const char *key, uint64_t value, bool given)
{
	return given ? json_object_set_new(obj, key,
					   json_integer((json_int_t)value)) :
		       0;
}

int run_body_text(json_t *body, const char *key, const char *value)
{
	return value ? json_object_set_new(body, key, jsonx_text(value)) : 0;
}

/* Sets the variables of both lists. */
static int set_env(json_t *body, const struct strv *env,
		   const struct strv *identity)
{
	SCOPED_JSON list = jsonx_from_strv(identity);
	SCOPED_JSON given = jsonx_from_strv(env);

	if (!list || !given || json_array_extend(list, given) < 0)
		return -ENOMEM;
	return json_array_size(list) ? json_object_set(body, "env", list) : 0;
}

/* What @given has takes the place of what the instance has; @none alone, of all
 * of it. */
static int set_list(json_t *body, const char *key, const struct strv *given,
		    const char *none)
{
	json_t *list;

	if (given->n == 0)
		return 0;
	list = strv_has(given, none) ? json_array() : jsonx_from_strv(given);
	return json_object_set_new(body, key, list);
}

json_t *run_body_options(const struct launch *l, const struct args *a,
			 const struct strv *identity)
{
	const struct workspace *ws = l->workspace;
	SCOPED_JSON body = json_pack(
		"{s:I, s:I}", "host_uid",
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
	bad |= set_count(body, "hibernate_ms", a->hibernate_ms,
			 args_has(a, ARG_HIBERNATE_AFTER));
	/* "" removes the option. */
	bad |= run_body_text(body, "gpus",
			     a->gpus && strcmp(a->gpus, "none") == 0 ? "" :
								       a->gpus);
	bad |= run_body_text(body, "isolation", a->isolation);
	if (runtime && *runtime)
		bad |= run_body_text(body, "runtime", runtime);
	if (args_has(a, ARG_RM))
		bad |= json_object_set_new(body, "auto_remove", json_true());
	if (args_has(a, ARG_ENV_CLEAR))
		bad |= json_object_set_new(body, "env_clear", json_true());
	bad |= set_env(body, &a->env, identity);
	bad |= set_list(body, "publish", &a->publish, PUBLISH_NONE);
	bad |= set_list(body, "volumes", &a->volumes, VOLUME_NO_USE);
	bad |= reach_put(body, &a->reach);
	bad |= grants_put(body, &a->credentials, &a->secrets);
	if (ws) {
		bad |= run_body_text(body, "workspace", ws->path);
		if (*ws->mode)
			bad |= run_body_text(body, "workspace_mode", ws->mode);
	} else if (a->workspace) {
		bad |= run_body_text(body, "workspace", "");
	}
	return bad ? NULL : ptr_take(&body);
}

int run_body_terminal(json_t *body, const struct strv *more)
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

int run_body_process(json_t *body, const struct args *a, bool shell)
{
	int bad = set_count(body, "timeout_ms", a->timeout_ms,
			    args_has(a, ARG_TIMEOUT));

	bad |= run_body_text(body, "cwd", a->workdir);
	if (shell)
		bad |= json_object_set_new(body, "shell", json_true());
	if (args_has(a, ARG_RESUME))
		bad |= json_object_set_new(body, "resume", json_true());
	return bad ? -ENOMEM : 0;
}
