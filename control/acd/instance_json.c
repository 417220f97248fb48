/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance_json.c - an instance as the API shows it
 */
#include "control/acd/instance_impl.h"

#include <string.h>

#include "control/shared/json.h"
#include "control/shared/paths.h"

/* An array of strings as stored; what does not parse shows as empty. */
static json_t *stored_array(const char *text)
{
	json_t *v = text ? json_loads(text, 0, NULL) : NULL;

	if (json_is_array(v))
		return v;
	json_decref(v);
	return json_array();
}

static json_t *paths_json(const struct instance *in)
{
	static const char *const sub[3] = { "workspace", "home", "log" };
	char path[3][AC_NAME_MAX + 32];
	size_t i;

	for (i = 0; i < 3; i++)
		snprintf(path[i], sizeof(path[i]), "instances/%.63s/%s",
			 in->rec.name, sub[i]);
	return json_pack("{s:s, s:s, s:s}", sub[0], path[0], sub[1], path[1],
			 sub[2], path[2]);
}

/* What happened to it. */
static json_t *life_json(const struct instance_record *r)
{
	json_t *code = r->exit_code < 0 ? json_null() :
					  json_integer(r->exit_code);

	return json_pack("{s:o, s:o, s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:o, "
			 "s:I}",
			 "name", jsonx_text(r->name), "blueprint",
			 jsonx_text(r->blueprint), "state",
			 instance_state_name(r->state), "reason",
			 jsonx_text(r->reason), "exit_code", code, "created_at",
			 (json_int_t)r->created_at, "started_at",
			 (json_int_t)r->started_at, "finished_at",
			 (json_int_t)r->finished_at, "touched_at",
			 (json_int_t)r->touched_at, "address",
			 jsonx_text(r->address), "runs", (json_int_t)r->runs);
}

/* What its user asked for. */
static json_t *wishes_json(const struct instance_record *r)
{
	return json_pack(
		"{s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
		"s:o, s:o, s:b, s:b, s:b, s:b, s:o, s:o, s:o}",
		"isolation", jsonx_text(r->isolation), "runtime",
		jsonx_text(r->runtime), "disk", (json_int_t)r->disk, "output",
		(json_int_t)r->output, "ttl_ms", (json_int_t)r->ttl_ms,
		"idle_ms", (json_int_t)r->idle_ms, "cpus_milli",
		(json_int_t)r->cpu_milli, "memory", (json_int_t)r->memory,
		"pids", (json_int_t)r->pids, "timeout_ms",
		(json_int_t)r->timeout_ms, "gpus", jsonx_text(r->gpus),
		"workspace", jsonx_text(r->workspace), "workspace_ro",
		(int)r->workspace_ro, "auto_remove", (int)r->auto_remove,
		"detached", (int)r->detached, "tty", (int)r->tty, "workdir",
		jsonx_text(r->workdir), "env", stored_array(r->env_json), "cmd",
		stored_array(r->cmd_json));
}

/* Its own wishes; what does not parse shows as none. */
static json_t *stored_egress(const char *text)
{
	struct egress e = { 0 };
	struct err ignored = { 0 };
	json_t *v;

	egress_load(text, &e, &ignored);
	v = egress_json(&e);
	egress_done(&e);
	return v;
}

/* As they were given to it; what does not parse shows as none. That they are
 * instead of the blueprint's, which is a word in the list of a request, is a
 * member of its own here. */
static json_t *stored_credentials(const char *text, bool *ret_only)
{
	struct credentials l = { 0 };
	struct err ignored = { 0 };
	json_t *v;

	credentials_load(text, &l, &ignored);
	*ret_only = l.only;
	l.only = false;
	v = credentials_json(&l);
	credentials_done(&l);
	return v;
}

/* What its init-guard said of the start, {"check": "ok", ...}; null while
 * nothing runs. */
static json_t *guard_json(const struct instance *in)
{
	const char *const *report = in->session ? session_report(in->session) :
						  NULL;
	json_t *all = report ? json_object() : json_null();

	for (; report && *report; report++) {
		const char *value = strchr(*report, '=');

		if (value)
			json_object_setn_new(all, *report,
					     (size_t)(value - *report),
					     json_string(value + 1));
	}
	return all;
}

json_t *instance_json(struct instance *in)
{
	struct err ignored = { 0 };
	json_t *all, *wishes;
	int64_t expires;
	bool ready, only;
	int ret;

	/* A blueprint that is gone or broken has no image that is ready. */
	if (!in->image)
		instance_load_blueprint(in, &ignored);
	ready = in->image && build_is_present(in->is->builds, in->image);

	all = life_json(&in->rec);
	wishes = wishes_json(&in->rec);
	ret = json_object_update(all, wishes);
	json_decref(wishes);
	expires = instance_expires_at(in);
	if (ret < 0 ||
	    json_object_set_new(
		    all, "disk",
		    json_integer((json_int_t)instance_disk_wanted(in))) < 0 ||
	    json_object_set_new(all, "expires_at",
				expires ? json_integer(expires) : json_null()) <
		    0 ||
	    json_object_set_new(all, "paths", paths_json(in)) < 0 ||
	    json_object_set_new(all, "egress",
				stored_egress(in->rec.egress_json)) < 0 ||
	    json_object_set_new(all, "credentials",
				stored_credentials(in->rec.credentials_json,
						   &only)) < 0 ||
	    json_object_set_new(all, "credentials_only", json_boolean(only)) <
		    0 ||
	    json_object_set_new(all, "guard", guard_json(in)) < 0 ||
	    json_object_set_new(all, "disk_use", instance_disk_json(in)) < 0 ||
	    json_object_set_new(all, "image_ready", json_boolean(ready)) < 0) {
		json_decref(all);
		return NULL;
	}
	return all;
}
