/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api.h - the HTTP API of acd: one route table, its handlers
 *
 * docs/openapi.json says what each route takes and gives; a test holds the
 * two together. @ctx of every handler is the struct acd.
 */
#ifndef CONTROL_ACD_API_API_H
#define CONTROL_ACD_API_API_H

#include "control/acd/api/http.h"

struct acd;

extern const struct http_route api_routes[]; /* ends with a NULL method */

/* The name in the path, checked; NULL: the request was answered. */
const char *api_param_name(struct http_req *req);
/* A query parameter as a number up to @max; absent: @def. Negative: the
 * request was answered. */
int api_query_u64(struct http_req *req, const char *key, uint64_t max,
		  uint64_t def, uint64_t *ret);

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

/* api/file_calls.c */
void api_files_get(void *ctx, struct http_req *req);
void api_files_put(void *ctx, struct http_req *req);
void api_files_post(void *ctx, struct http_req *req);
void api_files_delete(void *ctx, struct http_req *req);

/* api/gate_calls.c */
void api_policy_presets(void *ctx, struct http_req *req);
void api_machine_addresses(void *ctx, struct http_req *req);
void api_policy_reload(void *ctx, struct http_req *req);
void api_policy_lint(void *ctx, struct http_req *req);
void api_metrics(void *ctx, struct http_req *req);

/* api/policy_calls.c */
void api_policy_get(void *ctx, struct http_req *req);
void api_policy_set(void *ctx, struct http_req *req);
void api_policy_check(void *ctx, struct http_req *req);
void api_policy_learn(void *ctx, struct http_req *req);

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

/* api/process_calls.c */
void api_instance_processes(void *ctx, struct http_req *req);
void api_instance_kill(void *ctx, struct http_req *req);

/* api/instance_calls.c */
void api_instance_pause(void *ctx, struct http_req *req);
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
void api_instance_logs(void *ctx, struct http_req *req);
void api_instance_stats(void *ctx, struct http_req *req);
void api_instance_stats_all(void *ctx, struct http_req *req);
void api_events(void *ctx, struct http_req *req);

#endif
