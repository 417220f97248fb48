/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api.c - the route table of the HTTP API, and what handlers share
 */
#include "control/acd/api/api.h"

#include "control/shared/names.h"

#define V1 "/v1"
#define INSTANCE V1 "/instances/{name}"
#define COMMANDS INSTANCE "/commands"
#define BLUEPRINT V1 "/blueprints/{name}"
#define VAULT V1 "/vault"
#define IMAGES V1 "/images"
#define SERVICES V1 "/services"
#define VOLUMES V1 "/volumes"

const struct http_route api_routes[] = {
	{ "GET", V1 "/version", api_version, &spec_version },
	{ "GET", V1 "/status", api_status, &spec_status },
	{ "GET", V1 "/doctor", api_doctor, &spec_doctor },
	{ "GET", V1 "/logs/{source}", api_log, &spec_log },
	{ "GET", V1 "/df", api_df, &spec_df },
	{ "POST", V1 "/prune", api_prune, &spec_prune },
	{ "GET", V1 "/events", api_events, &spec_events },
	{ "GET", V1 "/stats", api_instance_stats_all, &spec_stats_all },

	{ "GET", V1 "/metrics", api_metrics, &spec_metrics },
	{ "GET", V1 "/usage", api_usage, &spec_usage },

	{ "POST", V1 "/machine/addresses", api_machine_addresses,
	  &spec_machine_addresses },
	{ "GET", V1 "/presets", api_preset_list, &spec_preset_list },
	{ "POST", V1 "/policy/reload", api_policy_reload, &spec_policy_reload },
	{ "POST", V1 "/policy/lint", api_policy_lint, &spec_policy_lint },

	{ "GET", VAULT, api_vault_list, &spec_vault_list },
	{ "POST", VAULT, api_vault_add, &spec_vault_add },
	{ "POST", VAULT "/unlock", api_vault_unlock, &spec_vault_unlock },
	{ "POST", VAULT "/lock", api_vault_lock, &spec_vault_lock },
	{ "POST", VAULT "/passphrase", api_vault_passphrase,
	  &spec_vault_passphrase },
	{ "POST", VAULT "/export", api_vault_export, &spec_vault_export },
	{ "POST", VAULT "/import", api_vault_import, &spec_vault_import },
	{ "DELETE", VAULT "/{name}", api_vault_remove, &spec_vault_remove },
	{ "POST", VAULT "/{name}/rotate", api_vault_rotate,
	  &spec_vault_rotate },
	{ "POST", VAULT "/{name}/test", api_vault_test, &spec_vault_test },

	{ "GET", V1 "/tokens", api_token_list, &spec_token_list },
	{ "POST", V1 "/tokens", api_token_add, &spec_token_add },
	{ "DELETE", V1 "/tokens/{name}", api_token_remove, &spec_token_remove },
	{ "GET", V1 "/serve", api_serve_get, &spec_serve_get },
	{ "POST", V1 "/serve", api_serve_set, &spec_serve_set },
	{ "DELETE", V1 "/serve", api_serve_stop, &spec_serve_stop },

	{ "GET", SERVICES, api_service_list, &spec_service_list },
	{ "POST", SERVICES, api_service_add, &spec_service_add },
	{ "GET", SERVICES "/{name}", api_service_get, &spec_service_get },
	{ "DELETE", SERVICES "/{name}", api_service_remove,
	  &spec_service_remove },

	{ "GET", VOLUMES, api_volume_list, &spec_volume_list },
	{ "POST", VOLUMES, api_volume_create, &spec_volume_create },
	{ "GET", VOLUMES "/{name}", api_volume_get, &spec_volume_get },
	{ "DELETE", VOLUMES "/{name}", api_volume_delete, &spec_volume_delete },

	{ "GET", V1 "/blueprints", api_blueprint_list, &spec_blueprint_list },
	{ "POST", V1 "/blueprints/check", api_blueprint_check,
	  &spec_blueprint_check },
	{ "GET", BLUEPRINT, api_blueprint_get, &spec_blueprint_get },
	{ "POST", BLUEPRINT "/build", api_blueprint_build,
	  &spec_blueprint_build },

	{ "GET", IMAGES, api_image_list, &spec_image_list },
	{ "POST", IMAGES "/prune", api_image_prune, &spec_image_prune },
	{ "DELETE", IMAGES "/{id}", api_image_remove, &spec_image_remove },
	{ "GET", V1 "/projects", api_project_list, &spec_project_list },
	{ "POST", V1 "/projects", api_project_approve, &spec_project_approve },
	{ "POST", V1 "/projects/check", api_project_check,
	  &spec_project_check },
	{ "POST", V1 "/projects/forget", api_project_forget,
	  &spec_project_forget },
	{ "GET", IMAGES "/{id}/sbom", api_image_sbom, &spec_image_sbom },

	{ "POST", V1 "/run", api_run, &spec_run },
	{ "GET", V1 "/instances", api_instance_list, &spec_instance_list },
	{ "POST", V1 "/instances", api_instance_create, &spec_instance_create },
	{ "GET", INSTANCE, api_instance_get, &spec_instance_get },
	{ "DELETE", INSTANCE, api_instance_delete, &spec_instance_delete },
	{ "POST", INSTANCE "/run", api_instance_run, &spec_instance_run },
	{ "POST", INSTANCE "/exec", api_instance_exec, &spec_instance_exec },
	{ "POST", COMMANDS, api_command_start, &spec_command_start },
	{ "GET", COMMANDS, api_command_list, &spec_command_list },
	{ "GET", COMMANDS "/{id}", api_command_get, &spec_command_get },
	{ "DELETE", COMMANDS "/{id}", api_command_remove,
	  &spec_command_remove },
	{ "GET", COMMANDS "/{id}/events", api_command_events,
	  &spec_command_events },
	{ "POST", COMMANDS "/{id}/stdin", api_command_stdin,
	  &spec_command_stdin },
	{ "POST", COMMANDS "/{id}/signal", api_command_signal,
	  &spec_command_signal },
	{ "POST", INSTANCE "/attach", api_instance_attach,
	  &spec_instance_attach },
	{ "POST", INSTANCE "/stop", api_instance_stop, &spec_instance_stop },
	{ "POST", INSTANCE "/kill", api_instance_kill, &spec_instance_kill },
	{ "GET", INSTANCE "/processes", api_instance_processes,
	  &spec_instance_processes },
	{ "POST", INSTANCE "/pause", api_instance_pause, &spec_instance_pause },
	{ "POST", INSTANCE "/hibernate", api_instance_hibernate,
	  &spec_instance_hibernate },
	{ "POST", INSTANCE "/resume", api_instance_resume,
	  &spec_instance_resume },
	{ "POST", INSTANCE "/touch", api_instance_touch, &spec_instance_touch },
	{ "POST", INSTANCE "/clean", api_instance_clean, &spec_instance_clean },
	{ "GET", INSTANCE "/changes", api_instance_changes,
	  &spec_instance_changes },
	{ "POST", INSTANCE "/discard", api_instance_discard,
	  &spec_instance_discard },
	{ "GET", INSTANCE "/files", api_files_get, &spec_files_get },
	{ "PUT", INSTANCE "/files", api_files_put, &spec_files_put },
	{ "POST", INSTANCE "/files", api_files_post, &spec_files_post },
	{ "DELETE", INSTANCE "/files", api_files_delete, &spec_files_delete },
	{ "GET", INSTANCE "/logs", api_instance_logs, &spec_instance_logs },
	{ "GET", INSTANCE "/stats", api_instance_stats, &spec_instance_stats },
	{ "GET", INSTANCE "/ports", api_instance_ports, &spec_instance_ports },
	{ "POST", INSTANCE "/ports", api_instance_publish,
	  &spec_instance_publish },
	{ "GET", V1 "/snapshots", api_snapshot_list, &spec_snapshot_list },
	{ "GET", INSTANCE "/snapshots", api_instance_snapshots,
	  &spec_instance_snapshots },
	{ "POST", INSTANCE "/snapshots", api_instance_snapshot,
	  &spec_instance_snapshot },
	{ "DELETE", INSTANCE "/snapshots", api_instance_snapshot_remove,
	  &spec_instance_snapshot_remove },
	{ "POST", INSTANCE "/restore", api_instance_restore,
	  &spec_instance_restore },
	{ "POST", INSTANCE "/fork", api_instance_fork, &spec_instance_fork },
	{ "GET", INSTANCE "/policy", api_policy_get, &spec_policy_get },
	{ "POST", INSTANCE "/policy", api_policy_set, &spec_policy_set },
	{ "GET", INSTANCE "/policy/check", api_policy_check,
	  &spec_policy_check },
	{ "GET", INSTANCE "/policy/learn", api_policy_learn,
	  &spec_policy_learn },
	{ NULL, NULL, NULL, NULL },
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
