/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scope.c - which instances a client may see and change
 */
#include "control/cli/mcp/scope.h"

#include <string.h>
#include <sys/random.h>

#include "control/cli/host/host.h"
#include "control/cli/mcp/command.h"
#include "control/shared/json.h"
#include "control/shared/names.h"
#include "lib/str.h"

bool scope_has(const struct mcp_opts *o, const char *name)
{
	return str_starts(name, SCOPE_PREFIX) ||
	       (o->name && strcmp(name, o->name) == 0);
}

int scope_id(const struct tool_call *c, const char **ret, struct err *err)
{
	const char *id = json_text(c->args, "id");
	struct err ignored = { 0 };

	if (!scope_has(c->o, id) || name_check_instance(id, &ignored) < 0) {
		err_set(err, -ENOENT,
			"there is no such sandbox; sandbox_list names all");
		return err_name(err, COMMAND_NOT_FOUND);
	}
	*ret = id;
	return 0;
}

int scope_new_name(const char *wish, char ret[AC_NAME_MAX + 1], struct err *err)
{
	char name[2 * AC_NAME_MAX];
	uint32_t number;
	int rc;

	if (wish && *wish) {
		snprintf(name, sizeof(name), "%s%s",
			 str_starts(wish, SCOPE_PREFIX) ? "" : SCOPE_PREFIX,
			 wish);
	} else {
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return err_sys(err, "getrandom");
		snprintf(name, sizeof(name), SCOPE_PREFIX "%08x", number);
	}
	rc = name_check_instance(name, err);
	if (rc == 0)
		str_copy(ret, AC_NAME_MAX + 1, name);
	return rc;
}

int scope_ask(const struct tool_call *c, const char *path, json_t **ret,
	      struct err *err)
{
	SCOPED_CLIENT client = NULL;
	int rc = host_client(c->o->cli, true, &client, err);

	return rc < 0 ? rc : client_call(client, "GET", path, NULL, ret, err);
}

int scope_call(const struct tool_call *c, const char *method, const char *rest,
	       const json_t *body, json_t **ret, struct err *err)
{
	SCOPED_CLIENT client = NULL;
	SCOPED_STR path = NULL;
	const char *id = NULL;
	int rc = scope_id(c, &id, err);

	if (rc == 0)
		rc = host_client(c->o->cli, true, &client, err);
	if (rc < 0)
		return rc;
	path = client_path("/v1/instances/", id, rest);
	return path ? client_call(client, method, path, body, ret, err) :
		      err_nomem(err);
}

json_t *scope_pick(const json_t *from, const char *const *keys)
{
	SCOPED_JSON to = json_object();

	for (; to && *keys; keys++) {
		json_t *v = json_object_get(from, *keys);

		if (v && !json_is_null(v) && json_object_set(to, *keys, v) < 0)
			return NULL;
	}
	return ptr_take(&to);
}

json_t *scope_view(const json_t *rec)
{
	static const char *const keys[] = { "state",      "reason",
					    "exit_code",  "created_at",
					    "started_at", "finished_at",
					    "cmd",        "expires_at",
					    NULL };
	const json_t *egress = json_object_get(rec, "egress");
	SCOPED_JSON view = scope_pick(rec, keys);
	const char *name = json_text(rec, "name");
	const char *mode = json_text(egress, "mode");
	double cpus = (double)json_count(rec, "cpus_milli") / 1000;
	SCOPED_JSON more = json_pack("{s:s, s:s, s:f, s:I, s:s*}", "id", name,
				     "image", json_text(rec, "blueprint"),
				     "cpus", cpus, "memory_mb",
				     json_count(rec, "memory") >> 20, "egress",
				     *mode ? mode : NULL);

	if (!view || !more || json_object_update(view, more) < 0)
		return NULL;
	return ptr_take(&view);
}
