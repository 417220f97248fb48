/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access.c - who may call what over TCP
 */
#include "control/acd/api/access/access.h"

#include <sodium.h>
#include <string.h>

#include "control/acd/api/access/token_text.h"
#include "control/acd/api/e2b/routes.h"
#include "control/acd/api/spec/calls.h"
#include "control/acd/storage/tokens.h"
#include "lib/log.h"

/* A use is noted at most so often: it is a write to the store. */
#define NOTE_S 60

static const struct http_call *const readers[] = {
	&spec_version,
	&spec_status,
	&spec_events,
	&spec_stats_all,
	&spec_usage,
	&spec_metrics,
	&spec_preset_list,
	&spec_policy_get,
	&spec_policy_check,
	&spec_policy_learn,
	&spec_policy_lint,
	&spec_service_list,
	&spec_service_get,
	&spec_volume_list,
	&spec_volume_get,
	&spec_blueprint_list,
	&spec_blueprint_get,
	&spec_blueprint_check,
	&spec_image_list,
	&spec_image_sbom,
	&spec_instance_list,
	&spec_instance_get,
	&spec_instance_processes,
	&spec_instance_changes,
	&spec_instance_logs,
	&spec_instance_stats,
	&spec_instance_ports,
	&spec_snapshot_list,
	&spec_instance_snapshots,
	&spec_files_get,
	&spec_command_list,
	&spec_command_get,
	&spec_command_events,
	&e2b_look,
	&e2b_missing,
};

static const struct http_call *const runners[] = {
	&spec_run,
	&spec_instance_run,
	&spec_instance_exec,
	&spec_instance_attach,
	&spec_instance_create,
	&spec_instance_delete,
	&spec_instance_stop,
	&spec_instance_kill,
	&spec_instance_pause,
	&spec_instance_hibernate,
	&spec_instance_resume,
	&spec_instance_touch,
	&spec_instance_clean,
	&spec_instance_discard,
	&spec_instance_snapshot,
	&spec_instance_snapshot_remove,
	&spec_instance_restore,
	&spec_instance_fork,
	&spec_command_start,
	&spec_command_remove,
	&spec_command_stdin,
	&spec_command_signal,
	&spec_files_put,
	&spec_files_post,
	&spec_files_delete,
	&e2b_detail,
	&e2b_change,
};

static const struct http_call *const owners[] = {
	&spec_token_list,        &spec_token_add,     &spec_token_remove,
	&spec_serve_get,         &spec_serve_set,     &spec_serve_stop,
	&spec_vault_unlock,      &spec_vault_lock,    &spec_vault_passphrase,
	&spec_vault_export,      &spec_vault_import,  &spec_project_approve,
	&spec_project_forget,    &spec_project_check, &spec_project_list,
	&spec_machine_addresses,
};

static bool in_list(const struct http_call *const *list, size_t n,
		    const struct http_call *call)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == call)
			return true;
	return false;
}

enum access_scope access_needed(const struct http_call *call)
{
	if (in_list(readers, ARRAY_SIZE(readers), call))
		return ACCESS_READ;
	if (in_list(runners, ARRAY_SIZE(runners), call))
		return ACCESS_RUN;
	if (in_list(owners, ARRAY_SIZE(owners), call))
		return ACCESS_OWNER;
	return ACCESS_ADMIN;
}

const char *access_scope_name(enum access_scope s)
{
	static const char *const names[] = {
		[ACCESS_READ] = "read",
		[ACCESS_RUN] = "run",
		[ACCESS_ADMIN] = "admin",
	};

	return (size_t)s < ARRAY_SIZE(names) ? names[s] : NULL;
}

int access_scope_of(const char *word)
{
	const char *name;

	for (int s = 0; (name = access_scope_name((enum access_scope)s)); s++)
		if (strcmp(name, word) == 0)
			return s;
	return -1;
}

/* ---- tokens ---- */

static int unknown(struct err *err)
{
	err_set(err, -EACCES,
		"this token is not known, has expired, or was removed; `ac "
		"token add` makes one");
	return 401;
}

/* What is noted is for people: a store that is full changes nothing. */
static void note(struct store *s, const struct token *t, int64_t now)
{
	struct err ignored = { 0 };

	if (now - t->used_at >= NOTE_S || now < t->used_at)
		(void)token_note_use(s, t->id, now, &ignored);
}

static int find(struct store *s, struct slice text, int64_t now,
		struct token *ret, struct err *err)
{
	uint8_t hash[TOKEN_HASH_BYTES];
	char id[TOKEN_ID_LEN + 1];
	int rc;

	if (!token_text_read(text, id, hash))
		return unknown(err);
	rc = token_find(s, id, ret, err);
	if (rc < 0 && rc != -ENOENT)
		return 503;
	if (rc < 0 || sodium_memcmp(hash, ret->hash, sizeof(hash)) != 0 ||
	    (ret->expires_at && now >= ret->expires_at))
		return unknown(err);
	return 0;
}

int access_judge_token(struct store *s, struct slice token,
		       const struct http_call *call, int64_t now,
		       enum access_scope *ret, struct err *err)
{
	enum access_scope needed = access_needed(call);
	struct token t;
	int scope, status = find(s, token, now, &t, err);

	if (status)
		return status;
	scope = access_scope_of(t.scope);
	if (needed == ACCESS_OWNER) {
		err_set(err, -EPERM,
			"this call is its owner's alone: it is taken at the "
			"unix socket, not over TCP");
		return 403;
	}
	if (scope < (int)needed) {
		err_set(err, -EPERM,
			"token '%s' has the scope '%s'; this call needs '%s'",
			t.name, t.scope, access_scope_name(needed));
		return 403;
	}
	note(s, &t, now);
	*ret = (enum access_scope)scope;
	return 0;
}

int access_judge(struct store *s, const char *authorization,
		 const struct http_call *call, int64_t now,
		 enum access_scope *ret, struct err *err)
{
	struct slice text;

	if (authorization && token_text_bearer(slice_str(authorization), &text))
		return access_judge_token(s, text, call, now, ret, err);
	err_set(err, -EACCES,
		"over TCP each request needs the header 'Authorization: Bearer "
		"TOKEN'; `ac token add` makes a token");
	return 401;
}
