/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.c - puts the options of a request into an instance's record
 *
 * A record begins as its blueprint says. What the request names replaces that;
 * variables are merged by name. 0, "", null and [] clear an option: the
 * blueprint decides again. What this machine cannot provide is refused before
 * it is stored, else every later run would fail.
 */
#include "control/acd/api/run/options.h"

#include <inttypes.h>
#include <string.h>

#include "control/acd/acd.h"
#include "control/acd/api/gate_calls.h"
#include "control/acd/api/instance_calls.h"
#include "control/acd/blueprint/limit_keys.h"
#include "control/acd/daemon/machine.h"
#include "control/acd/instance/policy.h"
#include "control/shared/json.h"
#include "control/shared/names.h"
#include "control/shared/publish.h"
#include "control/shared/volume.h"

#define ENV_BYTES_MAX (64u * 1024)
#define PATH_BYTES_MAX 4095u

static int text_set(char **field, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(*field);
	*field = copy;
	return 0;
}

/* Replaces *@field if the request has @key; "" and null stand for @def, which
 * may be NULL. */
static int set_text(json_t *body, const char *key, const char *def,
		    char **field, struct err *err)
{
	const char *text = NULL;
	int rc;

	if (!json_object_get(body, key))
		return 0;
	rc = jsonx_str(body, key, NULL, &text, err);
	if (rc < 0)
		return rc;
	if (!text || !*text)
		text = def;
	if (!text) {
		free(*field);
		*field = NULL;
	} else if (text_set(field, text) < 0) {
		rc = err_nomem(err);
	}
	return rc;
}

static int set_path(json_t *body, const char *key, char **field,
		    struct err *err)
{
	int rc = set_text(body, key, NULL, field, err);

	if (rc == 0 && *field &&
	    ((*field)[0] != '/' || strlen(*field) > PATH_BYTES_MAX))
		rc = jsonx_refuse(err, key,
				  "must be an absolute path of at most %u "
				  "bytes",
				  PATH_BYTES_MAX);
	return rc;
}

/* Replaces *@field if the request has @key; 0 and null stand for @def. */
static void set_number(const json_t *body, const char *key, uint64_t def,
		       uint64_t *field)
{
	if (json_object_get(body, key))
		*field = api_number(body, key, 0);
	if (json_object_get(body, key) && *field == 0)
		*field = def;
}

/* Bytes: at least @min, or none. */
static int at_least(const char *key, uint64_t n, uint64_t min, struct err *err)
{
	return n > 0 && n < min ?
		       jsonx_refuse(err, key,
				    "must be at least %" PRIu64 " MiB, or 0 "
				    "for what the blueprint says",
				    min >> 20) :
		       0;
}

/* What it may use, what is kept on disk, how much is written, how long it may
 * stay. */
static int set_limits(const json_t *body, const struct instance_record *def,
		      struct instance_record *r, struct err *err)
{
	int rc = 0;

	set_number(body, "cpus_milli", def->cpu_milli, &r->cpu_milli);
	set_number(body, "memory", def->memory, &r->memory);
	set_number(body, "pids", def->pids, &r->pids);
	set_number(body, "timeout_ms", def->timeout_ms, &r->timeout_ms);
	set_number(body, "disk", def->disk, &r->disk);
	set_number(body, "output", def->output, &r->output);
	set_number(body, "ttl_ms", def->ttl_ms, &r->ttl_ms);
	set_number(body, "idle_ms", def->idle_ms, &r->idle_ms);
	set_number(body, "hibernate_ms", def->hibernate_ms, &r->hibernate_ms);
	if (json_object_get(body, "cpus_milli"))
		rc = machine_check_cpus(r->cpu_milli, err);
	if (rc == 0)
		rc = at_least("memory", r->memory, BLUEPRINT_MEMORY_MIN, err);
	if (rc == 0)
		rc = at_least("disk", r->disk, BLUEPRINT_DISK_MIN, err);
	return rc;
}

/* Without a word about it, a directory is copied unless the instance has it
 * already. */
static int set_mode(json_t *body, struct instance_record *r, bool same,
		    struct err *err)
{
	const json_t *given = json_object_get(body, "workspace_mode");
	const char *mode = same ? instance_record_mode(r) : "copy";

	if (given && !json_is_null(given)) {
		mode = json_string_value(given);
		if (!mode ||
		    (strcmp(mode, "copy") != 0 && strcmp(mode, "live") != 0 &&
		     strcmp(mode, "ro") != 0))
			return jsonx_refuse(err, "workspace_mode",
					    "must be copy, live or ro");
	}
	r->workspace_copy = r->workspace && strcmp(mode, "copy") == 0;
	r->workspace_ro = r->workspace && strcmp(mode, "ro") == 0;
	return 0;
}

/* A project's own blueprint is that of a directory. */
static int set_workspace(json_t *body, struct instance_record *r,
			 struct err *err)
{
	SCOPED_STR old = r->workspace ? strdup(r->workspace) : NULL;
	int rc = set_path(body, "workspace", &r->workspace, err);
	bool same = old && r->workspace && strcmp(old, r->workspace) == 0;

	if (rc == 0 && r->project_json && !same)
		free(ptr_take(&r->project_json));
	return rc < 0 ? rc : set_mode(body, r, same, err);
}

static int set_gpus(const struct acd *acd, json_t *body,
		    struct instance_record *r, struct err *err)
{
	struct runtime *rt = acd->runtime;
	int rc = set_text(body, "gpus", NULL, &r->gpus, err);

	/* A stored value is not checked: it can be cleared. */
	if (rc < 0 || !r->gpus || !json_object_get(body, "gpus"))
		return rc;
	/* It becomes part of a request to the engine. */
	if (strlen(r->gpus) > 255 ||
	    r->gpus[strspn(r->gpus, "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789,:-")])
		return jsonx_refuse(err, "gpus",
				    "must be \"all\" or a list of devices");
	if (!rt->ops->has_gpus)
		return err_set(err, -ENOTSUP, "--gpus: not with this runtime");
	return rt->ops->has_gpus(rt, r->gpus, err);
}

static int set_isolation(json_t *body, const struct instance_record *def,
			 struct instance_record *r, struct err *err)
{
	int rc =
		set_text(body, "isolation", def->isolation, &r->isolation, err);

	if (rc == 0 && strcmp(r->isolation, "runsc") != 0 &&
	    strcmp(r->isolation, "crun") != 0)
		rc = jsonx_refuse(err, "isolation",
				  "must be runsc or crun, not '%s'",
				  r->isolation);
	return rc;
}

static int set_runtime(json_t *body, struct instance_record *r, struct err *err)
{
	int rc = set_text(body, "runtime", NULL, &r->runtime, err);

	if (rc == 0 && r->runtime && strcmp(r->runtime, "docker") != 0 &&
	    strcmp(r->runtime, "runsc") != 0)
		rc = jsonx_refuse(err, "runtime",
				  "must be runsc or docker, not '%s'",
				  r->runtime);
	return rc;
}

static int env_check(const struct strv *env, struct err *err)
{
	size_t i, total = 0;
	int rc = 0;

	for (i = 0; i < env->n && rc == 0; i++) {
		total += strlen(env->v[i]);
		rc = name_check_env(env->v[i], err);
	}
	if (rc == 0 && total > ENV_BYTES_MAX)
		rc = jsonx_refuse(err, "env", "is over %u bytes",
				  ENV_BYTES_MAX);
	return rc;
}

static bool same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return n == strcspn(b, "=") && memcmp(a, b, n) == 0;
}

/* Appends the stored variables that the first @n of @env do not name. */
static int env_keep(const char *stored, size_t n, struct strv *env)
{
	SCOPED_JSON list = stored ? json_loads(stored, 0, NULL) : NULL;
	json_t *entry;
	size_t i, k;

	json_array_foreach (list, i, entry) {
		const char *text = json_string_value(entry);

		for (k = 0; text && k < n && !same_name(env->v[k], text); k++)
			continue;
		if (text && k == n && strv_push(env, text) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int env_store(const struct strv *env, struct instance_record *r)
{
	SCOPED_JSON list = jsonx_from_strv(env);
	char *text = list ? json_dumps(list, JSON_COMPACT) : NULL;

	if (!text)
		return -ENOMEM;
	free(r->env_json);
	r->env_json = text;
	return 0;
}

/* Adds variables to the stored ones. An empty list or env_clear clears those
 * first. */
static int set_env(json_t *body, struct instance_record *r, struct err *err)
{
	struct strv env = { 0 };
	bool clear = false;
	int rc = jsonx_bool(body, "env_clear", false, &clear, err);

	if (rc < 0 || (!clear && !json_object_get(body, "env")))
		return rc;
	rc = jsonx_strv(body, "env", SPEC_ENV_MAX, &env, err);
	if (rc == 0 && env.n > 0 && !clear &&
	    env_keep(r->env_json, env.n, &env) < 0)
		rc = err_nomem(err);
	if (rc == 0)
		rc = env_check(&env, err);
	if (rc == 0 && env_store(&env, r) < 0)
		rc = err_nomem(err);
	strv_done(&env);
	return rc;
}

static int set_egress(json_t *body, struct instance_record *r, struct err *err)
{
	char *text = NULL;
	int rc = api_egress_apply(body, r->egress_json, &text, err);

	if (rc < 0)
		return rc;
	free(r->egress_json);
	r->egress_json = text;
	return 0;
}

/* Adds the named credentials, each in place of one of its name. An empty list
 * clears the instance's own, "none" also the blueprint's. */
static int set_credentials(json_t *body, struct instance_record *r,
			   struct err *err)
{
	json_t *list = json_object_get(body, "credentials");
	struct credentials own = { 0 }, add = { 0 }, all = { 0 };
	char *text = NULL;
	int rc = 0;

	if (!list || json_is_null(list))
		return 0;
	rc = credentials_parse(list, &add, err);
	/* What cannot be read any more can be cleared. */
	if (rc == 0 && !add.only && json_array_size(list) > 0)
		rc = credentials_load(r->credentials_json, &own, err);
	if (rc == 0)
		rc = credentials_merge(&own, &add, &all, err);
	if (rc == 0 && (all.n > 0 || all.only)) {
		text = credentials_store(&all);
		rc = text ? 0 : err_nomem(err);
	}
	if (rc == 0) {
		free(r->credentials_json);
		r->credentials_json = text;
	}
	credentials_done(&own);
	credentials_done(&add);
	credentials_done(&all);
	return rc;
}

/* Replaces the published ports. */
static int set_publish(json_t *body, struct instance_record *r, struct err *err)
{
	const json_t *list = json_object_get(body, "publish");
	struct publish v[PUBLISH_MAX];
	SCOPED_STR asked = NULL;
	char *text = NULL;
	size_t n = 0;
	int rc;

	if (!list)
		return 0;
	asked = json_is_null(list) ? NULL : json_dumps(list, JSON_COMPACT);
	rc = publish_load(asked, v, &n, err);
	if (rc < 0)
		return err_key(err, "publish");
	text = n > 0 ? publish_store(v, n) : NULL;
	if (n > 0 && !text)
		return err_nomem(err);
	free(r->publish_json);
	r->publish_json = text;
	return 0;
}

/* Replaces its own volumes. That they are there is checked when it starts. */
static int set_volumes(json_t *body, struct instance_record *r, struct err *err)
{
	const json_t *list = json_object_get(body, "volumes");
	struct volume_use v[VOLUME_USES_MAX];
	SCOPED_STR asked = NULL;
	char *text = NULL;
	size_t n = 0;
	int rc;

	if (!list)
		return 0;
	asked = json_is_null(list) ? NULL : json_dumps(list, JSON_COMPACT);
	rc = volume_load(asked, v, &n, err);
	if (rc < 0)
		return err_key(err, "volumes");
	text = n > 0 ? volume_store(v, n) : NULL;
	if (n > 0 && !text)
		return err_nomem(err);
	free(r->volumes_json);
	r->volumes_json = text;
	return 0;
}

/* Refuses credentials in the request that do not exist or that the instance may
 * not use: every later run would fail. */
static int credentials_may(const struct acd *acd, json_t *body,
			   const struct instance_record *r, struct err *err)
{
	if (!json_array_size(json_object_get(body, "credentials")) ||
	    !acd->policies)
		return 0;
	return policy_may(acd->policies, r, err);
}

int api_options_apply(const struct acd *acd, json_t *body,
		      const struct instance_record *def,
		      struct instance_record *r, struct err *err)
{
	uint64_t uid = r->host_uid, gid = r->host_gid;
	int rc = set_limits(body, def, r, err);

	if (rc == 0)
		rc = set_runtime(body, r, err);
	if (rc == 0)
		rc = set_isolation(body, def, r, err);
	if (rc == 0)
		rc = set_gpus(acd, body, r, err);
	if (rc == 0)
		rc = set_workspace(body, r, err);
	if (rc == 0)
		rc = set_path(body, "workdir", &r->workdir, err);
	if (rc == 0)
		rc = set_env(body, r, err);
	if (rc == 0)
		rc = set_egress(body, r, err);
	if (rc == 0)
		rc = set_credentials(body, r, err);
	if (rc == 0)
		rc = set_publish(body, r, err);
	if (rc == 0)
		rc = set_volumes(body, r, err);
	if (rc == 0)
		rc = jsonx_bool(body, "auto_remove", r->auto_remove,
				&r->auto_remove, err);
	if (rc == 0)
		rc = jsonx_u64(body, "host_uid", 0, UINT32_MAX - 1, uid, &uid,
			       err);
	if (rc == 0)
		rc = jsonx_u64(body, "host_gid", 0, UINT32_MAX - 1, gid, &gid,
			       err);
	r->host_uid = (uint32_t)uid;
	r->host_gid = (uint32_t)gid;
	return rc == 0 ? credentials_may(acd, body, r, err) : rc;
}

int api_options_default_of(const struct acd *acd, const char *name,
			   const struct blueprint *bp,
			   struct instance_record *r, struct err *err)
{
	*r = (struct instance_record){
		.name = strdup(name),
		.blueprint = strdup(bp->name),
		.isolation = strdup(bp->isolation),
		.cpu_milli = bp->cpu_milli,
		.memory = bp->memory,
		.pids = bp->pids,
		.timeout_ms = bp->timeout_ms,
		.disk = bp->disk,
		.output = bp->output,
		.ttl_ms = bp->ttl_ms,
		.idle_ms = bp->idle_ms,
		.hibernate_ms = bp->hibernate_ms,
		.host_uid = acd->owner,
		.host_gid = acd->owner_group,
	};
	if (r->name && r->blueprint && r->isolation)
		return 0;
	instance_record_done(r);
	return err_nomem(err);
}

int api_options_default(const struct acd *acd, const char *name,
			const char *blueprint, struct instance_record *r,
			struct err *err)
{
	struct blueprint bp = { 0 };
	int rc = blueprint_load(blueprint, &bp, err);

	if (rc == 0)
		rc = api_options_default_of(acd, name, &bp, r, err);
	blueprint_done(&bp);
	return rc;
}

/* The option stays with the instance, so each run says it again. */
static void warn_publish(const struct instance_record *r, json_t *said)
{
	struct publish v[PUBLISH_MAX];
	struct err ignored = { 0 };
	char place[PUBLISH_TEXT_MAX];
	size_t n = 0;

	publish_load(r->publish_json, v, &n, &ignored);
	for (size_t i = 0; i < n; i++) {
		if (publish_is_loopback(&v[i]))
			continue;
		publish_place(&v[i], v[i].outer, place);
		json_array_append_new(
			said,
			json_sprintf("port %u of the sandbox is published at "
				     "%s: everybody who reaches this machine "
				     "reaches it, without a password",
				     (unsigned)v[i].inner, place));
	}
}

json_t *api_options_warnings(const struct acd *acd, const json_t *body,
			     const struct instance_record *r)
{
	json_t *said = machine_warnings(
		json_integer_value(json_object_get(body, "memory")) > 0 ?
			r->memory :
			0,
		json_integer_value(json_object_get(body, "pids")) > 0 ?
			r->pids :
			0);

	warn_publish(r, said);
	api_policy_warn(acd, said);
	return said;
}
