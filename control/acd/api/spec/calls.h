/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.h - what each call of the HTTP API takes and gives
 *
 * One file has the tables of a kind of calls. The server holds each request
 * against them before its handler runs (http/takes.c), and openapi.c
 * prints them.
 */
#ifndef CONTROL_ACD_API_SPEC_CALLS_H
#define CONTROL_ACD_API_SPEC_CALLS_H

#include "control/acd/api/http/server.h"

extern const struct http_call spec_version, spec_status, spec_doctor, spec_log,
	spec_df, spec_prune, spec_events, spec_metrics, spec_usage,
	spec_machine_addresses;
extern const struct http_call spec_preset_list, spec_policy_reload,
	spec_policy_lint, spec_policy_get, spec_policy_set, spec_policy_check,
	spec_policy_learn;
extern const struct http_call spec_vault_list, spec_vault_add,
	spec_vault_unlock, spec_vault_lock, spec_vault_passphrase,
	spec_vault_export, spec_vault_import, spec_vault_remove,
	spec_vault_rotate, spec_vault_test;
extern const struct http_call spec_service_list, spec_service_get,
	spec_service_add, spec_service_remove;
extern const struct http_call spec_volume_list, spec_volume_get,
	spec_volume_create, spec_volume_delete;
extern const struct http_call spec_blueprint_list, spec_blueprint_get,
	spec_blueprint_check, spec_blueprint_build;
extern const struct http_call spec_image_list, spec_image_remove,
	spec_image_prune, spec_image_sbom;
extern const struct http_call spec_project_list, spec_project_check,
	spec_project_approve, spec_project_forget;
extern const struct http_call spec_run, spec_instance_run, spec_instance_exec,
	spec_instance_attach;
extern const struct http_call spec_command_start, spec_command_list,
	spec_command_get, spec_command_remove, spec_command_events,
	spec_command_stdin, spec_command_signal;
extern const struct http_call spec_stats_all, spec_instance_list,
	spec_instance_create, spec_instance_get, spec_instance_delete,
	spec_instance_stop, spec_instance_kill, spec_instance_processes,
	spec_instance_pause, spec_instance_hibernate, spec_instance_resume,
	spec_instance_touch, spec_instance_clean, spec_instance_discard,
	spec_instance_changes, spec_instance_logs, spec_instance_stats,
	spec_instance_ports, spec_instance_publish;
extern const struct http_call spec_snapshot_list, spec_instance_snapshots,
	spec_instance_snapshot, spec_instance_snapshot_remove,
	spec_instance_restore, spec_instance_fork;
extern const struct http_call spec_files_get, spec_files_put, spec_files_post,
	spec_files_delete;

extern const struct http_call spec_token_list, spec_token_add,
	spec_token_remove, spec_serve_get, spec_serve_set, spec_serve_stop;
extern const struct schema spec_serve_is; /* part of the status, too */

/* What the two kinds of POST .../files take. */
extern const struct schema files_mkdir_is, files_rename_is;

/* An answer that is a failure. */
extern const struct schema error_answer;

/* Limits that handlers apply too. */
#define SPEC_SIZE_MAX (1ull << 50) /* of memory, disk and output */
#define SPEC_TIME_MAX (3660ull * 86400 * 1000) /* ms: of a timeout, a ttl */
#define SPEC_ENV_MAX 512u /* variables of an instance */
#define SPEC_ARGS_MAX 4000u /* entries of cmd, and of env, of a run */
#define SPEC_FORKS_MAX 64u /* of one request */
#define SPEC_TOKEN_NAME "[A-Za-z0-9][A-Za-z0-9_.-]{0,62}"
#define SPEC_GRACE_MAX (3600u * 1000) /* ms */
#define SPEC_PID_MAX 4194304u
#define SPEC_PIDS_MAX 64u /* of one request */
/* Bytes of output that may be kept of a command. */
#define SPEC_OUTPUT_MIN 4096u
#define SPEC_OUTPUT_MAX (4u * 1024 * 1024)

#endif
