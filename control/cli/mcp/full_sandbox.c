/* SPDX-License-Identifier: Apache-2.0 */
/*
 * full_sandbox.c - tools: sandbox_create, _list, _get, _start, _stop, _delete
 *
 * A sandbox is an instance: it stays until it is deleted, or its time is over. A
 * model chooses its blueprint, command and limits, and never what it reaches: that is
 * what the blueprint and the options of `ac mcp` say. Credentials are those of the
 * options alone.
 */
#include "control/cli/mcp/full.h"

#include <string.h>

#include "control/cli/mcp/scope.h"
#include "control/shared/json.h"
#include "lib/str.h"

#define CPUS_MAX 1024
#define MEMORY_MAX_MB (1u << 30)
#define TTL_MAX_S 316224000u
#define CMD_MAX 4000u

static const struct schema is_image = {
	.kind = SCHEMA_TEXT,
	.about = "The blueprint to make it from; blueprint_list names all. "
		 "Default: that of this server."
};
static const struct schema is_profile = { .kind = SCHEMA_TEXT,
					  .about = "The same as image." };
static const struct schema is_name = {
	.kind = SCHEMA_TEXT,
	.about = "A name of your choice: the id is mcp-NAME."
};
static const struct schema is_cmd = {
	.kind = SCHEMA_LIST,
	.item = &schema_text,
	.max = CMD_MAX,
	.about = "What it runs; the sandbox ends with it. Default: it waits "
		 "for sandbox_exec."
};
static const struct schema is_cpus = { .kind = SCHEMA_DECIMAL,
				       .about = "How many CPUs (1.5)." };
static const struct schema is_memory = { .kind = SCHEMA_NUMBER,
					 .min = 16,
					 .max = MEMORY_MAX_MB,
					 .about = "In MiB." };
static const struct schema is_ttl = {
	.kind = SCHEMA_NUMBER,
	.min = 1,
	.max = TTL_MAX_S,
	.about = "Seconds after which it is stopped, and loses its home."
};

static const struct schema_key create_rows[] = {
	{ "image", &is_image },      { "profile", &is_profile },
	{ "name", &is_name },        { "cmd", &is_cmd },
	{ "env", &full_is_env },     { "cpus", &is_cpus },
	{ "memory_mb", &is_memory }, { "ttl_seconds", &is_ttl },
};
static const struct schema_key id_rows[] = { { "id", &full_is_id } };
static const struct schema_key start_rows[] = { { "id", &full_is_id },
						{ "cmd", &is_cmd } };
static const char *const needs_id[] = { "id", NULL };
static const struct schema create_takes = { SCHEMA_ROWS(create_rows),
					    .nulls = true };
static const struct schema none_takes = { .kind = SCHEMA_MAP };
static const struct schema id_takes = { SCHEMA_ROWS(id_rows),
					.required = needs_id };
static const struct schema start_takes = { SCHEMA_ROWS(start_rows),
					   .nulls = true,
					   .required = needs_id };

static bool is_given(const json_t *args, const char *key)
{
	const json_t *v = json_object_get(args, key);

	return v && !json_is_null(v);
}

static int create_check(const struct tool_call *c, struct err *err)
{
	char name[AC_NAME_MAX + 1];
	const json_t *cpus = json_object_get(c->args, "cpus");
	double n = json_number_value(cpus);
	struct strv env = { 0 };
	int rc;

	if (is_given(c->args, "image") && is_given(c->args, "profile"))
		return err_set(err, -EINVAL,
			       "'image' and 'profile' are the same here: give "
			       "one");
	if (is_given(c->args, "cpus") &&
	    (!json_is_number(cpus) || !(n > 0 && n <= CPUS_MAX)))
		return jsonx_refuse(err, "cpus", "must be a number above 0");
	rc = full_env(c->args, &env, err);
	strv_done(&env);
	return rc < 0 ? rc :
			scope_new_name(json_text(c->args, "name"), name, err);
}

/* ---- Runs ---- */

/* What `ac run` would be called with. */
struct run {
	struct args a;
	struct strv env, credentials;
	char **cmd;
	const struct tool_call *c;
};

/* Puts the argument "cmd", or one that waits, into r->a. */
static int run_cmd(struct run *r, struct err *err)
{
	static char sleeps[] = "sleep", forever[] = "infinity";
	const json_t *cmd = json_object_get(r->c->args, "cmd");
	size_t n = json_array_size(cmd);

	r->cmd = calloc(n + 3, sizeof(*r->cmd));
	if (!r->cmd)
		return err_nomem(err);
	r->a.cmd = r->cmd;
	r->a.n_cmd = n ? n : 2;
	if (n == 0) {
		r->cmd[0] = sleeps;
		r->cmd[1] = forever;
	}
	for (size_t i = 0; i < n; i++) {
		r->cmd[i] = strdup(json_string_value(json_array_get(cmd, i)));
		if (!r->cmd[i])
			return err_nomem(err);
	}
	return 0;
}

static int copy(const struct strv *from, struct strv *to)
{
	int rc = 0;

	for (size_t i = 0; i < from->n && rc == 0; i++)
		rc = strv_push(to, from->v[i]);
	return rc;
}

static void begun(void *arg, const char *name)
{
	(void)arg;
	(void)name;
}

/* Runs it detached, and returns the record in *ret. The process ends after this:
 * what @r holds is not freed. */
static int run_go(struct run *r, const char *id, json_t **ret, struct err *err)
{
	const struct mcp_opts *o = r->c->o;
	SCOPED_JSON rec = NULL;
	SCOPED_STR path = client_path("/v1/instances/", id, "");
	int rc = run_cmd(r, err);

	r->a.workdir = NULL;
	r->a.given.has[ARG_NO_TTY] = true;
	r->a.given.has[ARG_NO_PROJECT] = true;
	r->a.given.has[ARG_DETACH] = true;
	if (rc == 0)
		rc = o->run(o->cli, &r->a, begun, NULL, err);
	if (rc >= 0)
		rc = path ? scope_ask(r->c, path, &rec, err) : -ENOMEM;
	if (rc < 0)
		return rc;
	*ret = scope_view(rec);
	return *ret ? 0 : err_nomem(err);
}

static void create_limits(struct run *r)
{
	const json_t *args = r->c->args;
	double cpus = json_number_value(json_object_get(args, "cpus"));

	if (is_given(args, "cpus")) {
		r->a.cpus_milli = (uint64_t)(cpus * 1000 + 0.5);
		r->a.given.has[ARG_CPUS] = true;
	}
	if (is_given(args, "memory_mb")) {
		r->a.memory = (uint64_t)json_count(args, "memory_mb") << 20;
		r->a.given.has[ARG_MEMORY] = true;
	}
	if (is_given(args, "ttl_seconds")) {
		r->a.ttl_ms = (uint64_t)json_count(args, "ttl_seconds") * 1000;
		r->a.given.has[ARG_TTL] = true;
	}
}

/* Fails if there is one of this name: a run would use it. */
static int check_new(const struct tool_call *c, const char *name,
		     struct err *err)
{
	SCOPED_STR path = client_path("/v1/instances/", name, "");
	struct err ignored = { 0 };

	if (!path)
		return err_nomem(err);
	if (scope_ask(c, path, NULL, &ignored) == 0)
		return err_set(err, -EEXIST, "there is a sandbox %s already",
			       name);
	return 0;
}

static int create(const struct tool_call *c, json_t **ret, struct err *err)
{
	struct run r = { .a = *c->o->args, .c = c };
	char name[AC_NAME_MAX + 1];
	const char *image = json_text(c->args, "image");
	int rc = scope_new_name(json_text(c->args, "name"), name, err);

	if (!*image)
		image = json_text(c->args, "profile");
	if (rc == 0)
		rc = check_new(c, name, err);
	if (rc == 0 && (copy(&c->o->args->env, &r.env) < 0 ||
			copy(&c->o->args->credentials, &r.credentials) < 0))
		rc = err_nomem(err);
	if (rc == 0)
		rc = full_env(c->args, &r.env, err);
	if (rc == 0 && r.credentials.n == 0 && c->o->args->secrets.n == 0 &&
	    strv_push(&r.credentials, "none") < 0)
		rc = err_nomem(err);
	if (rc < 0)
		return rc;
	r.a.env = r.env;
	r.a.credentials = r.credentials;
	r.a.words[0] = *image ? image : c->o->blueprint;
	r.a.words[1] = name;
	r.a.n_words = 2;
	create_limits(&r);
	return run_go(&r, name, ret, err);
}

static int start(const struct tool_call *c, json_t **ret, struct err *err)
{
	struct run r = { .a = { .n_words = 1 }, .c = c };
	SCOPED_JSON rec = NULL;
	const char *id = NULL;
	int rc = scope_id(c, &id, err);

	/* A run would make one that is not there. */
	if (rc == 0)
		rc = scope_call(c, "GET", "", NULL, &rec, err);
	if (rc < 0)
		return rc;
	r.a.words[0] = id;
	return run_go(&r, id, ret, err);
}

/* ---- The others ---- */

static int list(const struct tool_call *c, json_t **ret, struct err *err)
{
	SCOPED_JSON all = NULL;
	json_t *boxes = json_array();
	const json_t *rec;
	size_t i;
	int rc = boxes ? scope_ask(c, "/v1/instances", &all, err) :
			 err_nomem(err);

	json_array_foreach (json_object_get(all, "instances"), i, rec) {
		if (rc == 0 && scope_has(c->o, json_text(rec, "name")) &&
		    json_array_append_new(boxes, scope_view(rec)) < 0)
			rc = err_nomem(err);
	}
	if (rc < 0) {
		json_decref(boxes);
		return rc;
	}
	*ret = json_pack("{s:o}", "sandboxes", boxes);
	return *ret ? 0 : err_nomem(err);
}

static int get(const struct tool_call *c, json_t **ret, struct err *err)
{
	SCOPED_JSON rec = NULL;
	int rc = scope_call(c, "GET", "", NULL, &rec, err);

	if (rc < 0)
		return rc;
	*ret = scope_view(rec);
	return *ret ? 0 : err_nomem(err);
}

static int stop(const struct tool_call *c, json_t **ret, struct err *err)
{
	SCOPED_JSON body = json_pack("{s:i}", "grace_ms", 5000);
	int rc = body ? scope_call(c, "POST", "/stop", body, NULL, err) :
			err_nomem(err);

	return rc < 0 ? rc : get(c, ret, err);
}

static int delete (const struct tool_call *c, json_t **ret, struct err *err)
{
	int rc = scope_call(c, "DELETE", "?force=1", NULL, NULL, err);

	if (rc < 0)
		return rc;
	*ret = json_pack("{s:s, s:b}", "id", json_text(c->args, "id"),
			 "deleted", 1);
	return *ret ? 0 : err_nomem(err);
}

const struct tool full_create = {
	.name = "sandbox_create",
	.title = "Make a sandbox",
	.about = "Makes an isolated Linux sandbox and starts it. It stays "
		 "until it is deleted. The first one of an image may take "
		 "minutes.",
	.takes = &create_takes,
	.check = create_check,
	.run = create,
};
const struct tool full_list = {
	.name = "sandbox_list",
	.title = "List the sandboxes",
	.about = "Lists the sandboxes that MCP clients have made.",
	.takes = &none_takes,
	.reads = true,
	.run = list,
};
const struct tool full_get = {
	.name = "sandbox_get",
	.title = "Look at a sandbox",
	.about = "Returns the state and the limits of a sandbox.",
	.takes = &id_takes,
	.reads = true,
	.run = get,
};
const struct tool full_start = {
	.name = "sandbox_start",
	.title = "Start a sandbox",
	.about = "Starts a sandbox that is stopped, restored or forked, with "
		 "its files.",
	.takes = &start_takes,
	.run = start,
};
const struct tool full_stop = {
	.name = "sandbox_stop",
	.title = "Stop a sandbox",
	.about = "Ends what runs in a sandbox; its files stay.",
	.takes = &id_takes,
	.run = stop,
};
const struct tool full_delete = {
	.name = "sandbox_delete",
	.title = "Delete a sandbox",
	.about = "Deletes a sandbox with its files and snapshots.",
	.takes = &id_takes,
	.run = delete,
};
