/* SPDX-License-Identifier: Apache-2.0 */
/*
 * env.c - the environment of a sandbox
 *
 * A live workspace is changed from two sides. A change that the user makes
 * outside raises no inotify event in the sandbox, since gVisor sees only its
 * own changes. Programs that watch files can poll instead; the common ones read
 * that from documented variables.
 */
#include "control/acd/instance/env.h"

#include <jansson.h>
#include <string.h>

#include "control/shared/json.h"

static const char *const polling[] = {
	/* chokidar from 1.6 on: Vite, nodemon, many others; ms */
	"CHOKIDAR_USEPOLLING=true",
	"CHOKIDAR_INTERVAL=1000",
	/* watchpack from 2.0 on: webpack, Next.js; ms */
	"WATCHPACK_POLLING=1000",
	/* watchfiles: uvicorn, and others in Python; ms */
	"WATCHFILES_FORCE_POLLING=true",
	"WATCHFILES_POLL_DELAY_MS=1000",
	/* tsc --watch */
	"TSC_WATCHFILE=DynamicPriorityPolling",
	"TSC_WATCHDIRECTORY=RecursiveDirectoryUsingDynamicPriorityPolling",
	/* dotnet watch, and PhysicalFileProvider */
	"DOTNET_USE_POLLING_FILE_WATCHER=true",
	NULL,
};

static int add_missing(struct strv *env, const char *const *entries)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && entries && entries[i]; i++)
		if (strv_find_env(env, entries[i]) < 0)
			rc = strv_push(env, entries[i]);
	return rc;
}

int instance_env(const struct instance_record *rec,
		 const struct strv *blueprint, const char *const *more,
		 struct strv *ret)
{
	SCOPED_JSON stored =
		rec->env_json ? json_loads(rec->env_json, 0, NULL) : NULL;
	json_t *entry;
	size_t i;
	int rc = 0;

	for (i = 0; i < blueprint->n && rc == 0; i++)
		rc = strv_push(ret, blueprint->v[i]);
	json_array_foreach (stored, i, entry) {
		if (rc == 0 && json_is_string(entry))
			rc = strv_push(ret, json_string_value(entry));
	}
	if (rc == 0)
		rc = strv_pushf(ret, "AC_INSTANCE=%s", rec->name);
	if (rc == 0)
		rc = strv_pushf(ret, "AC_BLUEPRINT=%s", rec->blueprint);
	if (rc == 0)
		rc = add_missing(ret, more);
	if (rc == 0 && rec->workspace)
		rc = add_missing(ret, polling);
	return rc;
}
