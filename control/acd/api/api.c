/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api.c - the one route table of the HTTP API, and what handlers share
 */
#include "control/acd/api/api.h"

#include <string.h>

#include "control/shared/names.h"
#include "lib/str.h"

#define V1 "/v1"
#define INSTANCE V1 "/instances/{name}"
#define BLUEPRINT V1 "/blueprints/{name}"
#define VAULT V1 "/vault"

const struct http_route api_routes[] = {
	{ "GET", V1 "/version", api_version },
	{ "GET", V1 "/status", api_status },
	{ "GET", V1 "/doctor", api_doctor },
	{ "GET", V1 "/logs/{source}", api_log },
	{ "GET", V1 "/df", api_df },
	{ "POST", V1 "/prune", api_prune },
	{ "GET", V1 "/events", api_events },
	{ "GET", V1 "/stats", api_instance_stats_all },

	{ "GET", V1 "/metrics", api_metrics },
	{ "GET", V1 "/usage", api_usage },

	{ "POST", V1 "/machine/addresses", api_machine_addresses },
	{ "GET", V1 "/policy/presets", api_policy_presets },
	{ "POST", V1 "/policy/reload", api_policy_reload },
	{ "POST", V1 "/policy/lint", api_policy_lint },

	{ "GET", VAULT, api_vault_list },
	{ "POST", VAULT, api_vault_add },
	{ "POST", VAULT "/unlock", api_vault_unlock },
	{ "POST", VAULT "/lock", api_vault_lock },
	{ "POST", VAULT "/passphrase", api_vault_passphrase },
	{ "POST", VAULT "/export", api_vault_export },
	{ "POST", VAULT "/import", api_vault_import },
	{ "DELETE", VAULT "/{name}", api_vault_remove },
	{ "POST", VAULT "/{name}/rotate", api_vault_rotate },
	{ "POST", VAULT "/{name}/test", api_vault_test },

	{ "GET", V1 "/blueprints", api_blueprint_list },
	{ "GET", BLUEPRINT, api_blueprint_get },
	{ "POST", BLUEPRINT "/build", api_blueprint_build },

	{ "GET", V1 "/instances", api_instance_list },
	{ "POST", V1 "/instances", api_instance_create },
	{ "GET", INSTANCE, api_instance_get },
	{ "DELETE", INSTANCE, api_instance_delete },
	{ "POST", INSTANCE "/run", api_instance_run },
	{ "POST", INSTANCE "/exec", api_instance_exec },
	{ "POST", INSTANCE "/attach", api_instance_attach },
	{ "POST", INSTANCE "/stop", api_instance_stop },
	{ "POST", INSTANCE "/kill", api_instance_kill },
	{ "GET", INSTANCE "/processes", api_instance_processes },
	{ "POST", INSTANCE "/pause", api_instance_pause },
	{ "POST", INSTANCE "/resume", api_instance_resume },
	{ "POST", INSTANCE "/touch", api_instance_touch },
	{ "POST", INSTANCE "/clean", api_instance_clean },
	{ "GET", INSTANCE "/files", api_files_get },
	{ "PUT", INSTANCE "/files", api_files_put },
	{ "POST", INSTANCE "/files", api_files_post },
	{ "DELETE", INSTANCE "/files", api_files_delete },
	{ "GET", INSTANCE "/logs", api_instance_logs },
	{ "GET", INSTANCE "/stats", api_instance_stats },
	{ "GET", INSTANCE "/policy", api_policy_get },
	{ "POST", INSTANCE "/policy", api_policy_set },
	{ "GET", INSTANCE "/policy/check", api_policy_check },
	{ "GET", INSTANCE "/policy/learn", api_policy_learn },
	{ NULL, NULL, NULL },
};

const char *api_param_name(struct http_req *req)
{
	const char *name = http_param(req, "name");
	struct err err = { 0 };

	if (name && name_check_instance(name, &err) == 0)
		return name;
	http_reply_error(req, &err, NULL);
	return NULL;
}

int api_query_u64(struct http_req *req, const char *key, uint64_t max,
		  uint64_t def, uint64_t *ret)
{
	const char *text = http_query(req, key);
	struct err err = { 0 };

	if (!text) {
		*ret = def;
		return 0;
	}
	if (str_parse_u64(text, 0, max, ret) == 0)
		return 0;
	err_set(&err, -EINVAL, "'%s' must be a whole number up to %llu", key,
		(unsigned long long)max);
	http_reply_error(req, &err, NULL);
	return -EINVAL;
}
