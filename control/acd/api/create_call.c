/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create_call.c - POST /v1/instances: a new instance, or new wishes for one
 *
 * A record starts from its blueprint; what the request names replaces that,
 * and variables are merged by name. For an instance that exists the same is
 * done to the record it has, unless it is running: then it stays as it is.
 * One that is just being removed is waited for. 0, "", null and [] take a
 * wish back: the blueprint decides again. What cannot be had here is refused
 * before it is stored, or every later run would fail for it; and a client whose
 * run is refused takes back what it had asked for, with "undo".
 */
#include <string.h>

#include "control/acd/api/gate_calls.h"
#include "control/acd/api/instance_calls.h"
#include "control/acd/blueprint/limit_keys.h"
#include "control/acd/daemon/machine.h"
#include "control/acd/instance/policy.h"
#include "control/shared/json.h"
#include "control/shared/names.h"

#define SIZE_MAX_BYTES (1ull << 50) /* of memory, disk and output */
#define ENV_MAX 512u
#define ENV_BYTES_MAX (64u * 1024)
#define PATH_BYTES_MAX 4095u

struct create_call {
	struct acd *acd;
	struct http_req *req; /* NULL: the client left */
};

static int text_set(char **field, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(*field);
	*field = copy;
	return 0;
}

/* Replaces *@field when the request has @key; "" and null: by @def, which
 * may be NULL. */
static int wish_text(json_t *body, const char *key, const char *def,
		     char **field, struct err *err)
{
	const char *text = NULL;
	int ret;

	if (!json_object_get(body, key))
		return 0;
	ret = jsonx_str(body, key, NULL, &text, err);
	if (ret < 0)
		return ret;
	if (!text || !*text)
		text = def;
	if (!text) {
		free(*field);
		*field = NULL;
	} else if (text_set(field, text) < 0) {
		ret = err_nomem(err);
	}
	return ret;
}

static int wish_path(json_t *body, const char *key, char **field,
		     struct err *err)
{
	int ret = wish_text(body, key, NULL, field, err);

	if (ret == 0 && *field &&
	    ((*field)[0] != '/' || strlen(*field) > PATH_BYTES_MAX))
		ret = err_set(err, -EINVAL,
			      "'%s' must be an absolute path of at most %u "
			      "bytes",
			      key, PATH_BYTES_MAX);
	return ret;
}

/* 0 and null: @def. */
static int wish_number(json_t *body, const char *key, uint64_t max,
		       uint64_t def, uint64_t *field, struct err *err)
{
	uint64_t n = 0;
	int ret;

	if (!json_object_get(body, key))
		return 0;
	ret = jsonx_u64(body, key, 0, max, 0, &n, err);
	if (ret == 0)
		*field = n ? n : def;
	return ret;
}

static int wish_limits(json_t *body, const struct instance_record *def,
		       struct instance_record *r, struct err *err)
{
	int ret = wish_number(body, "cpus_milli", BLUEPRINT_CPU_MILLI_MAX,
			      def->cpu_milli, &r->cpu_milli, err);

	if (ret == 0 && json_object_get(body, "cpus_milli"))
		ret = machine_check_cpus(r->cpu_milli, err);
	if (ret == 0)
		ret = wish_number(body, "memory", SIZE_MAX_BYTES, def->memory,
				  &r->memory, err);
	if (ret == 0 && r->memory > 0 && r->memory < BLUEPRINT_MEMORY_MIN)
		ret = err_set(err, -EINVAL,
			      "'memory' must be at least 16 MiB, or 0 for what "
			      "the blueprint says");
	if (ret == 0)
		ret = wish_number(body, "pids", BLUEPRINT_PIDS_MAX, def->pids,
				  &r->pids, err);
	if (ret == 0)
		ret = wish_number(body, "timeout_ms", API_TIMEOUT_MAX_MS,
				  def->timeout_ms, &r->timeout_ms, err);
	return ret;
}

/* What is kept on disk, how much is written, how long it may stay. */
static int wish_life(json_t *body, const struct instance_record *def,
		     struct instance_record *r, struct err *err)
{
	int ret = wish_number(body, "disk", SIZE_MAX_BYTES, def->disk, &r->disk,
			      err);

	if (ret == 0 && r->disk > 0 && r->disk < BLUEPRINT_DISK_MIN)
		ret = err_set(err, -EINVAL,
			      "'disk' must be at least 16 MiB, or 0 for what "
			      "the blueprint says");
	if (ret == 0)
		ret = wish_number(body, "output", SIZE_MAX_BYTES, def->output,
				  &r->output, err);
	if (ret == 0)
		ret = wish_number(body, "ttl_ms", API_TIMEOUT_MAX_MS,
				  def->ttl_ms, &r->ttl_ms, err);
	if (ret == 0)
		ret = wish_number(body, "idle_ms", API_TIMEOUT_MAX_MS,
				  def->idle_ms, &r->idle_ms, err);
	return ret;
}

static int wish_gpus(const struct acd *acd, json_t *body,
		     struct instance_record *r, struct err *err)
{
	struct runtime *rt = acd->runtime;
	int ret = wish_text(body, "gpus", NULL, &r->gpus, err);

	/* An old wish is not judged here: one may take it back. */
	if (ret < 0 || !r->gpus || !json_object_get(body, "gpus"))
		return ret;
	/* It becomes a part of what the engine is asked for. */
	if (strlen(r->gpus) > 255 ||
	    r->gpus[strspn(r->gpus, "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789,:-")])
		return err_set(err, -EINVAL,
			       "'gpus' must be \"all\" or a list of devices");
	if (!rt->ops->has_gpus)
		return err_set(err, -ENOTSUP, "--gpus: not with this runtime");
	return rt->ops->has_gpus(rt, r->gpus, err);
}

static int wish_isolation(json_t *body, const struct instance_record *def,
			  struct instance_record *r, struct err *err)
{
	int ret = wish_text(body, "isolation", def->isolation, &r->isolation,
			    err);

	if (ret == 0 && strcmp(r->isolation, "runsc") != 0 &&
	    strcmp(r->isolation, "crun") != 0)
		ret = err_set(err, -EINVAL,
			      "'isolation' must be runsc or crun, not '%s'",
			      r->isolation);
	return ret;
}

static int wish_runtime(json_t *body, struct instance_record *r,
			struct err *err)
{
	int ret = wish_text(body, "runtime", NULL, &r->runtime, err);

	if (ret == 0 && r->runtime && strcmp(r->runtime, "docker") != 0 &&
	    strcmp(r->runtime, "runsc") != 0)
		ret = err_set(err, -EINVAL,
			      "'runtime' must be runsc or docker, not '%s'",
			      r->runtime);
	return ret;
}

static int env_check(const struct strv *env, struct err *err)
{
	size_t i, total = 0;
	int ret = 0;

	for (i = 0; i < env->n && ret == 0; i++) {
		total += strlen(env->v[i]);
		ret = name_check_env(env->v[i], err);
	}
	if (ret == 0 && total > ENV_BYTES_MAX)
		ret = err_set(err, -EINVAL, "'env' is over %u bytes",
			      ENV_BYTES_MAX);
	return ret;
}

static bool same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return n == strcspn(b, "=") && memcmp(a, b, n) == 0;
}

/* Of the stored variables those that @env, which has @n of the request, does
 * not name. */
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

/* Adds to what is stored; an empty list, or env_clear, takes that back. */
static int wish_env(json_t *body, struct instance_record *r, struct err *err)
{
	struct strv env = { 0 };
	bool clear = false;
	int ret = jsonx_bool(body, "env_clear", false, &clear, err);

	if (ret < 0 || (!clear && !json_object_get(body, "env")))
		return ret;
	ret = jsonx_strv(body, "env", ENV_MAX, &env, err);
	if (ret == 0 && env.n > 0 && !clear &&
	    env_keep(r->env_json, env.n, &env) < 0)
		ret = err_nomem(err);
	if (ret == 0)
		ret = env_check(&env, err);
	if (ret == 0 && env_store(&env, r) < 0)
		ret = err_nomem(err);
	strv_done(&env);
	return ret;
}

static int wish_egress(json_t *body, struct instance_record *r, struct err *err)
{
	char *text = NULL;
	int ret = api_egress_apply(body, r->egress_json, &text, err);

	if (ret < 0)
		return ret;
	free(r->egress_json);
	r->egress_json = text;
	return 0;
}

/* Those that are named are added, or take the place of one of that name; an
 * empty list takes all wishes back, "none" the blueprint's as well. */
static int wish_credentials(json_t *body, struct instance_record *r,
			    struct err *err)
{
	json_t *list = json_object_get(body, "credentials");
	struct credentials own = { 0 }, add = { 0 }, all = { 0 };
	char *text = NULL;
	int ret = 0;

	if (!list || json_is_null(list))
		return 0;
	ret = credentials_parse(list, &add, err);
	/* What is taken back may be what cannot be read any more. */
	if (ret == 0 && !add.only && json_array_size(list) > 0)
		ret = credentials_load(r->credentials_json, &own, err);
	if (ret == 0)
		ret = credentials_merge(&own, &add, &all, err);
	if (ret == 0 && (all.n > 0 || all.only)) {
		text = credentials_store(&all);
		ret = text ? 0 : err_nomem(err);
	}
	if (ret == 0) {
		free(r->credentials_json);
		r->credentials_json = text;
	}
	credentials_done(&own);
	credentials_done(&add);
	credentials_done(&all);
	return ret;
}

/* Those that it names now and has no right to, or that are not there, are no
 * reason to keep an instance that cannot run. */
static int credentials_may(const struct acd *acd, json_t *body,
			   const struct instance_record *r, struct err *err)
{
	if (!json_array_size(json_object_get(body, "credentials")) ||
	    !acd->policies)
		return 0;
	return policy_may(acd->policies, r, err);
}

/* @def: what the blueprint says. */
static int wishes_apply(const struct acd *acd, json_t *body,
			const struct instance_record *def,
			struct instance_record *r, struct err *err)
{
	uint64_t uid = r->host_uid, gid = r->host_gid;
	int ret = wish_limits(body, def, r, err);

	if (ret == 0)
		ret = wish_life(body, def, r, err);
	if (ret == 0)
		ret = wish_runtime(body, r, err);
	if (ret == 0)
		ret = wish_isolation(body, def, r, err);
	if (ret == 0)
		ret = wish_gpus(acd, body, r, err);
	if (ret == 0)
		ret = wish_path(body, "workspace", &r->workspace, err);
	if (ret == 0)
		ret = wish_path(body, "workdir", &r->workdir, err);
	if (ret == 0)
		ret = wish_env(body, r, err);
	if (ret == 0)
		ret = wish_egress(body, r, err);
	if (ret == 0)
		ret = wish_credentials(body, r, err);
	if (ret == 0)
		ret = jsonx_bool(body, "workspace_ro", r->workspace_ro,
				 &r->workspace_ro, err);
	if (ret == 0)
		ret = jsonx_bool(body, "auto_remove", r->auto_remove,
				 &r->auto_remove, err);
	if (ret == 0)
		ret = jsonx_u64(body, "host_uid", 0, UINT32_MAX - 1, uid, &uid,
				err);
	if (ret == 0)
		ret = jsonx_u64(body, "host_gid", 0, UINT32_MAX - 1, gid, &gid,
				err);
	r->host_uid = (uint32_t)uid;
	r->host_gid = (uint32_t)gid;
	return ret == 0 ? credentials_may(acd, body, r, err) : ret;
}

/* A record as its blueprint would have it. */
static int record_start(const struct acd *acd, const char *name,
			const char *blueprint, struct instance_record *r,
			struct err *err)
{
	struct blueprint bp = { 0 };
	int ret = blueprint_load(blueprint, &bp, err);

	if (ret < 0)
		return ret;
	*r = (struct instance_record){
		.name = strdup(name),
		.blueprint = strdup(blueprint),
		.isolation = strdup(bp.isolation),
		.cpu_milli = bp.cpu_milli,
		.memory = bp.memory,
		.pids = bp.pids,
		.timeout_ms = bp.timeout_ms,
		.disk = bp.disk,
		.output = bp.output,
		.ttl_ms = bp.ttl_ms,
		.idle_ms = bp.idle_ms,
		.host_uid = acd->owner,
		.host_gid = acd->owner_group,
	};
	blueprint_done(&bp);
	if (r->name && r->blueprint && r->isolation)
		return 0;
	instance_record_done(r);
	return err_nomem(err);
}

/* The instance, and what its user should know of his wishes. */
static void reply_instance(struct create_call *c, int status,
			   struct instance *in)
{
	const struct instance_record *r = instance_record(in);
	const json_t *body = http_body(c->req);
	json_t *j = instance_json(in), *said;

	said = machine_warnings(
		json_integer_value(json_object_get(body, "memory")) > 0 ?
			r->memory :
			0,
		json_integer_value(json_object_get(body, "pids")) > 0 ?
			r->pids :
			0);
	api_policy_warn(c->acd, said);
	if (json_array_size(said) > 0)
		json_object_set(j, "warnings", said);
	json_decref(said);
	http_reply_json(c->req, status, j);
}

/* The wishes are stored; the ones before are kept. */
static int wishes_store(struct instance *in, const struct instance_record *r,
			struct err *err)
{
	struct instance_record before = { 0 };
	int ret = instance_record_copy(&before, instance_record(in));

	before.disk = instance_disk_wanted(in);
	if (ret == 0)
		ret = instance_update(in, r, err);
	else
		ret = err_nomem(err);
	if (ret == 0 && instance_remember(in, &before) < 0)
		ret = err_nomem(err);
	instance_record_done(&before);
	return ret;
}

/* @in has the name already. */
static void create_known(struct create_call *c, struct instance *in,
			 const char *blueprint)
{
	const struct instance_record *old = instance_record(in);
	struct instance_record r = { 0 }, def = { 0 };
	struct err err = { 0 };
	int ret;

	if (strcmp(old->blueprint, blueprint) != 0) {
		err_set(&err, -EEXIST,
			"'%s' is bound to the blueprint '%s'; choose another "
			"name, or remove it with 'ac destroy %s'",
			old->name, old->blueprint, old->name);
		http_reply_error(c->req, &err, "name_collision");
		return;
	}
	ret = record_start(c->acd, old->name, blueprint, &def, &err);
	if (ret == 0 && instance_record_copy(&r, old) < 0)
		ret = err_nomem(&err);
	r.disk = instance_disk_wanted(in);
	if (ret == 0)
		ret = wishes_apply(c->acd, http_body(c->req), &def, &r, &err);
	if (ret == 0 && old->state != INSTANCE_STARTING && !instance_is_up(in))
		ret = wishes_store(in, &r, &err);
	instance_record_done(&r);
	instance_record_done(&def);
	if (ret < 0)
		http_reply_error(c->req, &err,
				 ret == -ENOENT ? "unknown_blueprint" : NULL);
	else
		reply_instance(c, 200, in);
}

static void create_new(struct create_call *c, const char *name,
		       const char *blueprint)
{
	struct instance_record r = { 0 }, def = { 0 };
	struct instance *in = NULL;
	struct err err = { 0 };
	const char *code = NULL;
	int ret = record_start(c->acd, name, blueprint, &r, &err);

	if (ret == -ENOENT)
		code = "unknown_blueprint";
	if (ret == 0 && instance_record_copy(&def, &r) < 0)
		ret = err_nomem(&err);
	if (ret == 0)
		ret = wishes_apply(c->acd, http_body(c->req), &def, &r, &err);
	/* Whose its files are is no wish that a run could be refused for. */
	def.host_uid = r.host_uid;
	def.host_gid = r.host_gid;
	if (ret == 0)
		ret = instance_create(c->acd->instances, &r, &in, &err);
	if (ret == 0 && instance_remember(in, &def) < 0)
		ret = err_nomem(&err);
	instance_record_done(&r);
	instance_record_done(&def);
	if (ret == 0)
		instance_set_new(in);
	if (ret < 0)
		http_reply_error(c->req, &err, code);
	else
		reply_instance(c, 201, in);
}

static void create_go(struct create_call *c);

static void create_again(void *arg, const struct err *err)
{
	struct create_call *c = arg;

	if (!c->req)
		free(c);
	else if (!err)
		create_go(c);
	else {
		http_reply_error(c->req, err, NULL);
		free(c);
	}
}

static void create_abort(void *arg)
{
	struct create_call *c = arg;

	c->req = NULL;
}

/* Ends the call, or leaves it to create_again(). */
static void create_go(struct create_call *c)
{
	const char *name, *blueprint;
	struct err err = { 0 };
	struct instance *in;
	int ret;

	/* Checked when the request came. */
	name = json_string_value(json_object_get(http_body(c->req), "name"));
	blueprint = json_string_value(
		json_object_get(http_body(c->req), "blueprint"));
	in = instance_find(c->acd->instances, name);
	if (json_is_true(json_object_get(http_body(c->req), "undo"))) {
		api_instance_undo(c->acd, c->req, in);
	} else if (in && instance_is_leaving(in)) {
		http_on_abort(c->req, create_abort, c);
		ret = instance_stop(in, 0, create_again, c);
		if (ret == 0)
			return;
		err_set(&err, ret, "%s: %s", name, err_text(ret));
		http_reply_error(c->req, &err, NULL);
	} else if (in) {
		create_known(c, in, blueprint);
	} else {
		create_new(c, name, blueprint);
	}
	free(c);
}

void api_instance_create(void *ctx, struct http_req *req)
{
	static const char *const keys[] = {
		"name",      "blueprint",    "cpus_milli",  "memory",
		"pids",      "timeout_ms",   "gpus",        "isolation",
		"workspace", "workspace_ro", "auto_remove", "workdir",
		"env",       "env_clear",    "host_uid",    "host_gid",
		"egress",    "egress_reset", "allow",       "deny",
		"disk",      "output",       "ttl_ms",      "idle_ms",
		"runtime",   "undo",         "credentials", "push",
		NULL,
	};
	bool undo = false;
	json_t *body = http_body(req);
	const char *name = NULL, *blueprint = NULL;
	struct create_call *c;
	struct err err = { 0 };
	int ret = jsonx_known(body, keys, &err);

	if (ret == 0)
		ret = jsonx_str(body, "name", "", &name, &err);
	if (ret == 0)
		ret = jsonx_str(body, "blueprint", "", &blueprint, &err);
	if (ret == 0)
		ret = jsonx_bool(body, "undo", false, &undo, &err);
	if (ret == 0)
		ret = name_check_instance(name, &err);
	if (ret == 0)
		ret = name_check_blueprint(blueprint, &err);
	c = ret == 0 ? calloc(1, sizeof(*c)) : NULL;
	if (ret == 0 && !c)
		ret = err_nomem(&err);
	if (ret < 0 || !c) {
		http_reply_error(req, &err, NULL);
		return;
	}
	c->acd = ctx;
	c->req = req;
	create_go(c);
}
