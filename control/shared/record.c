/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.c - the stored record of an instance
 *
 * One list of fields drives binding, reading, copying and releasing.
 */
#include "control/shared/record.h"

#include <sqlite3.h>
#include <stddef.h>
#include <string.h>

#include "control/shared/json.h"
#include "control/shared/paths.h"

enum field_type {
	FIELD_STR,
	FIELD_U64,
	FIELD_I64,
	FIELD_INT,
	FIELD_U32,
	FIELD_BOOL,
	FIELD_STATE,
};

struct field {
	const char *column;
	enum field_type type;
	size_t offset;
};

#define AS_FIELD(kind, name) \
	{ #name, FIELD_##kind, offsetof(struct instance_record, name) },

static const struct field fields[] = { AS_FIELD(STR, name) /* the key */
				       RECORD_FIELDS(AS_FIELD) };

static void *member(struct instance_record *r, const struct field *f)
{
	return (char *)r + f->offset;
}

static const void *member_const(const struct instance_record *r,
				const struct field *f)
{
	return (const char *)r + f->offset;
}

void instance_record_done(struct instance_record *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (fields[i].type == FIELD_STR)
			free(*(char **)member(r, &fields[i]));
	}
	*r = (struct instance_record){ 0 };
}

int instance_record_copy(struct instance_record *dst,
			 const struct instance_record *src)
{
	struct instance_record copy = *src;
	bool failed = false;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		char **s = member(&copy, &fields[i]);

		if (fields[i].type != FIELD_STR || !*s)
			continue;
		*s = strdup(*s);
		failed |= !*s;
	}
	if (failed) {
		instance_record_done(&copy);
		return -ENOMEM;
	}
	*dst = copy;
	return 0;
}

static int field_bind(sqlite3_stmt *st, int index, const struct field *f,
		      const struct instance_record *r)
{
	const void *p = member_const(r, f);
	uint64_t v;

	switch (f->type) {
	case FIELD_STR:
		/* NULL binds as NULL. */
		return sqlite3_bind_text(st, index, *(char *const *)p, -1,
					 SQLITE_STATIC);
	case FIELD_U64:
		v = *(const uint64_t *)p;
		if (v > INT64_MAX)
			return SQLITE_RANGE;
		return sqlite3_bind_int64(st, index, (int64_t)v);
	case FIELD_I64:
		return sqlite3_bind_int64(st, index, *(const int64_t *)p);
	case FIELD_INT:
		return sqlite3_bind_int64(st, index, *(const int *)p);
	case FIELD_U32:
		return sqlite3_bind_int64(st, index, *(const uint32_t *)p);
	case FIELD_BOOL:
		return sqlite3_bind_int64(st, index, *(const bool *)p);
	case FIELD_STATE:
		return sqlite3_bind_text(
			st, index,
			instance_state_name(*(const enum instance_state *)p),
			-1, SQLITE_STATIC);
	}
	return SQLITE_INTERNAL;
}

int instance_record_bind(sqlite3_stmt *st, const struct instance_record *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		int rc = field_bind(st, (int)i + 1, &fields[i], r);

		if (rc != SQLITE_OK)
			return rc;
	}
	return SQLITE_OK;
}

static int field_read(sqlite3_stmt *st, int index, const struct field *f,
		      struct instance_record *r)
{
	void *p = member(r, f);
	const char *text;
	int64_t v;

	if (f->type == FIELD_STR || f->type == FIELD_STATE) {
		text = (const char *)sqlite3_column_text(st, index);
		if (f->type == FIELD_STATE)
			return text ? instance_state_parse(text, p) : -EUCLEAN;
		if (!text)
			return sqlite3_column_type(st, index) == SQLITE_NULL ?
				       0 :
				       -ENOMEM;
		*(char **)p = strdup(text);
		return *(char **)p ? 0 : -ENOMEM;
	}

	v = sqlite3_column_int64(st, index);
	if (f->type == FIELD_U64)
		*(uint64_t *)p = (uint64_t)v;
	else if (f->type == FIELD_I64)
		*(int64_t *)p = v;
	else if (f->type == FIELD_INT)
		*(int *)p = (int)v;
	else if (f->type == FIELD_U32)
		*(uint32_t *)p = (uint32_t)v;
	else
		*(bool *)p = v != 0;
	return 0;
}

static const struct field *field_find(const char *column)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (strcmp(fields[i].column, column) == 0)
			return &fields[i];
	return NULL;
}

int instance_record_read(sqlite3_stmt *st, struct instance_record *ret,
			 struct err *err)
{
	struct instance_record r = { 0 };
	int n = sqlite3_column_count(st), rc = 0;

	for (int i = 0; rc == 0 && i < n; i++) {
		const char *column = sqlite3_column_name(st, i);
		const struct field *f = column ? field_find(column) : NULL;

		if (f)
			rc = field_read(st, i, f, &r);
		if (rc < 0)
			err_set(err, rc, "a record cannot be read: %s: %s",
				f->column, err_text(rc));
	}
	if (rc == 0 && !r.name)
		rc = err_set(err, -EUCLEAN, "a record has no name");
	if (rc < 0) {
		instance_record_done(&r);
		return rc;
	}
	*ret = r;
	return 0;
}

/* ---- the API's form ---- */

/* Returns a stored array; an empty one if it cannot be parsed. */
static json_t *stored_array(const char *text)
{
	json_t *v = text ? json_loads(text, 0, NULL) : NULL;

	if (json_is_array(v))
		return v;
	json_decref(v);
	return json_array();
}

static json_t *paths_json(const struct instance_record *r)
{
	static const char *const sub[4] = { "workspace", "layer", "home",
					    "log" };
	char path[4][AC_NAME_MAX + 32];
	size_t i;

	for (i = 0; i < 4; i++)
		snprintf(path[i], sizeof(path[i]), "instances/%.63s/%s",
			 r->name, sub[i]);
	return json_pack("{s:s, s:s, s:s, s:s}", sub[0], path[0], sub[1],
			 path[1], sub[2], path[2], sub[3], path[3]);
}

/* Times, exit code and reason. */
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

const char *instance_record_mode(const struct instance_record *r)
{
	if (!r->workspace)
		return "";
	return r->workspace_copy ? "copy" : r->workspace_ro ? "ro" : "live";
}

/* The options that its user gave. */
static json_t *options_json(const struct instance_record *r)
{
	return json_pack(
		"{s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
		"s:o, s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:o, "
		"s:o, s:o}",
		"isolation", jsonx_text(r->isolation), "runtime",
		jsonx_text(r->runtime), "disk", (json_int_t)r->disk, "output",
		(json_int_t)r->output, "ttl_ms", (json_int_t)r->ttl_ms,
		"idle_ms", (json_int_t)r->idle_ms, "hibernate_ms",
		(json_int_t)r->hibernate_ms, "cpus_milli",
		(json_int_t)r->cpu_milli, "memory", (json_int_t)r->memory,
		"pids", (json_int_t)r->pids, "timeout_ms",
		(json_int_t)r->timeout_ms, "gpus", jsonx_text(r->gpus),
		"workspace", jsonx_text(r->workspace), "workspace_mode",
		instance_record_mode(r), "layer_since_ns",
		(json_int_t)r->layer_since_ns, "layer_dev",
		(json_int_t)r->layer_dev, "layer_ino", (json_int_t)r->layer_ino,
		"workspace_dev", (json_int_t)r->workspace_dev, "workspace_ino",
		(json_int_t)r->workspace_ino, "auto_remove",
		(int)r->auto_remove, "detached", (int)r->detached, "tty",
		(int)r->tty, "workdir", jsonx_text(r->workdir), "env",
		stored_array(r->env_json), "cmd", stored_array(r->cmd_json));
}

/* Returns the hash of the project's own blueprint; null: none. */
static json_t *project_hash(const struct instance_record *r)
{
	SCOPED_JSON v = r->project_json ? json_loads(r->project_json, 0, NULL) :
					  NULL;
	json_t *hash = json_object_get(v, "hash");

	return json_is_string(hash) ? json_incref(hash) : json_null();
}

json_t *instance_record_json(const struct instance_record *r)
{
	SCOPED_JSON all = life_json(r);
	SCOPED_JSON options = options_json(r);

	if (!all || !options || json_object_update(all, options) < 0 ||
	    json_object_set_new(all, "paths", paths_json(r)) < 0 ||
	    json_object_set_new(all, "mounts", stored_array(r->mounts_json)) <
		    0 ||
	    json_object_set_new(all, "publish", stored_array(r->publish_json)) <
		    0 ||
	    json_object_set_new(all, "volumes", stored_array(r->volumes_json)) <
		    0 ||
	    json_object_set_new(all, "project", project_hash(r)) < 0)
		return NULL;
	return json_incref(all);
}
