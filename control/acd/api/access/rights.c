/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rights.c - what a handler asks about the token of its request
 */
#include "control/acd/api/access/access.h"

#include "lib/err.h"

void access_note(struct http_req *req, enum access_scope scope)
{
	http_set_rights(req, (unsigned)scope + 1);
}

enum access_scope access_of(const struct http_req *req)
{
	unsigned rights = http_rights(req);

	return rights ? (enum access_scope)(rights - 1) : ACCESS_OWNER;
}

/* Returns the first of @keys that @options has, or NULL. */
static const char *first_of(const char *const *keys, const json_t *options)
{
	for (; *keys; keys++) {
		const json_t *v = json_object_get(options, *keys);

		if (v && !json_is_null(v))
			return *keys;
	}
	return NULL;
}

int access_may_set(const struct http_req *req, const json_t *options,
		   const struct instance_record *old, struct err *err)
{
	/* Where the owner's files are shown, how, and as whom. */
	static const char *const of_owner[] = { "workspace", "workspace_mode",
						"host_uid", "host_gid", NULL };
	/* What takes the place of gVisor, or passes through it. */
	static const char *const of_admin[] = { "isolation", "runtime", "gpus",
						NULL };
	enum access_scope scope = access_of(req);
	const char *key;

	if (scope == ACCESS_OWNER || !options)
		return 0;
	key = first_of(of_owner, options);
	if (key) {
		err_set(err, -EPERM,
			"'%s' is set at the unix socket, not over TCP", key);
		return err_key(err, key);
	}
	if (scope == ACCESS_ADMIN)
		return 0;
	key = first_of(of_admin, options);
	if (key) {
		err_set(err, -EPERM, "'%s' needs a token of the scope 'admin'",
			key);
		return err_key(err, key);
	}
	if (!old || !old->workspace || json_object_size(options) == 0)
		return 0;
	return err_set(err, -EPERM,
		       "'%s' has a directory of its owner's; to change its "
		       "options needs a token of the scope 'admin'",
		       old->name);
}
