/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api.h - the HTTP API of acd: one route table and its handlers
 *
 * spec/calls.h says what each call takes and gives. @ctx of every handler is
 * the struct acd.
 */
#ifndef CONTROL_ACD_API_API_H
#define CONTROL_ACD_API_API_H

#include "control/acd/api/http/server.h"
#include "control/acd/api/spec/calls.h"

struct acd;

extern const struct http_route api_routes[]; /* ends with a NULL method */

/* Returns the name in the path, checked and borrowed, or NULL after an
 * answer. */
const char *api_param_name(struct http_req *req);
/*
 * A member of a body that fits its call (http/server.h). Each returns what stands for
 * absent, if it is absent or null: false, @def, NULL. The text and the object
 * are borrowed.
 */
bool api_flag(const json_t *body, const char *key);
uint64_t api_number(const json_t *body, const char *key, uint64_t def);
const char *api_text(const json_t *body, const char *key);
json_t *api_object(const json_t *body, const char *key);

/* api/host_calls.c: the daemon itself */
void api_version(void *ctx, struct http_req *req);
void api_status(void *ctx, struct http_req *req);
void api_doctor(void *ctx, struct http_req *req);
void api_log(void *ctx, struct http_req *req);
void api_prune(void *ctx, struct http_req *req);

/* api/df_call.c */
void api_df(void *ctx, struct http_req *req);

/* api/blueprint_calls.c */
void api_blueprint_list(void *ctx, struct http_req *req);
void api_blueprint_get(void *ctx, struct http_req *req);
void api_blueprint_build(void *ctx, struct http_req *req);

/* api/blueprint_show.c */
void api_blueprint_check(void *ctx, struct http_req *req);

/* api/image_calls.c */
void api_image_list(void *ctx, struct http_req *req);
void api_image_remove(void *ctx, struct http_req *req);
void api_image_prune(void *ctx, struct http_req *req);
/* Writes the engine's id of the image in the path to @out, of 72 bytes or more.
 * Returns 0, or -EINVAL after an answer. */
int api_image_id(struct http_req *req, char *out, size_t size);

/* api/sbom_call.c */
void api_image_sbom(void *ctx, struct http_req *req);

/* api/project_calls.c */
void api_project_list(void *ctx, struct http_req *req);
void api_project_check(void *ctx, struct http_req *req);
void api_project_approve(void *ctx, struct http_req *req);
void api_project_forget(void *ctx, struct http_req *req);

/* api/file_calls.c */
void api_files_get(void *ctx, struct http_req *req);
void api_files_put(void *ctx, struct http_req *req);
void api_files_post(void *ctx, struct http_req *req);
void api_files_delete(void *ctx, struct http_req *req);

/* api/preset_calls.c */
void api_preset_list(void *ctx, struct http_req *req);

/* api/gate_calls.c */
void api_machine_addresses(void *ctx, struct http_req *req);
void api_policy_reload(void *ctx, struct http_req *req);
void api_policy_lint(void *ctx, struct http_req *req);
void api_metrics(void *ctx, struct http_req *req);

/* api/policy_calls.c */
void api_policy_get(void *ctx, struct http_req *req);
void api_policy_set(void *ctx, struct http_req *req);
void api_policy_check(void *ctx, struct http_req *req);
void api_policy_learn(void *ctx, struct http_req *req);

/* api/service_calls.c */
void api_service_list(void *ctx, struct http_req *req);
void api_service_get(void *ctx, struct http_req *req);
void api_service_add(void *ctx, struct http_req *req);
void api_service_remove(void *ctx, struct http_req *req);

/* api/volume_calls.c */
void api_volume_list(void *ctx, struct http_req *req);
void api_volume_get(void *ctx, struct http_req *req);
void api_volume_create(void *ctx, struct http_req *req);
void api_volume_delete(void *ctx, struct http_req *req);

/* api/port_calls.c */
void api_instance_ports(void *ctx, struct http_req *req);
void api_instance_publish(void *ctx, struct http_req *req);

/* api/usage_call.c */
void api_usage(void *ctx, struct http_req *req);

/* api/vault_calls.c */
void api_vault_list(void *ctx, struct http_req *req);
void api_vault_add(void *ctx, struct http_req *req);
void api_vault_rotate(void *ctx, struct http_req *req);
void api_vault_remove(void *ctx, struct http_req *req);
void api_vault_test(void *ctx, struct http_req *req);
void api_vault_unlock(void *ctx, struct http_req *req);
void api_vault_lock(void *ctx, struct http_req *req);
void api_vault_passphrase(void *ctx, struct http_req *req);
void api_vault_export(void *ctx, struct http_req *req);
void api_vault_import(void *ctx, struct http_req *req);

/* api/access_calls.c */
void api_token_list(void *ctx, struct http_req *req);
void api_token_add(void *ctx, struct http_req *req);
void api_token_remove(void *ctx, struct http_req *req);
void api_serve_get(void *ctx, struct http_req *req);
void api_serve_set(void *ctx, struct http_req *req);
void api_serve_stop(void *ctx, struct http_req *req);

/* api/run/as_call.c */
void api_run(void *ctx, struct http_req *req);

/* api/command/calls.c */
void api_command_start(void *ctx, struct http_req *req);
void api_command_list(void *ctx, struct http_req *req);
void api_command_get(void *ctx, struct http_req *req);
void api_command_events(void *ctx, struct http_req *req);
void api_command_remove(void *ctx, struct http_req *req);
void api_command_stdin(void *ctx, struct http_req *req);
void api_command_signal(void *ctx, struct http_req *req);

/* api/process_calls.c */
void api_instance_processes(void *ctx, struct http_req *req);
void api_instance_kill(void *ctx, struct http_req *req);

/* api/instance_calls.c */
void api_instance_pause(void *ctx, struct http_req *req);
void api_instance_hibernate(void *ctx, struct http_req *req);
void api_instance_resume(void *ctx, struct http_req *req);
void api_instance_touch(void *ctx, struct http_req *req);
void api_instance_list(void *ctx, struct http_req *req);
void api_instance_create(void *ctx, struct http_req *req);
void api_instance_get(void *ctx, struct http_req *req);
void api_instance_delete(void *ctx, struct http_req *req);
void api_instance_run(void *ctx, struct http_req *req);
void api_instance_exec(void *ctx, struct http_req *req);
void api_instance_attach(void *ctx, struct http_req *req);
void api_instance_stop(void *ctx, struct http_req *req);
void api_instance_clean(void *ctx, struct http_req *req);
void api_instance_discard(void *ctx, struct http_req *req);

/* ---- snapshot_calls.c ---- */

void api_snapshot_list(void *ctx, struct http_req *req);
void api_instance_snapshots(void *ctx, struct http_req *req);
void api_instance_snapshot(void *ctx, struct http_req *req);
void api_instance_snapshot_remove(void *ctx, struct http_req *req);
void api_instance_restore(void *ctx, struct http_req *req);
void api_instance_fork(void *ctx, struct http_req *req);
void api_instance_changes(void *ctx, struct http_req *req);
void api_instance_logs(void *ctx, struct http_req *req);
void api_instance_stats(void *ctx, struct http_req *req);
void api_instance_stats_all(void *ctx, struct http_req *req);
void api_events(void *ctx, struct http_req *req);

#endif
