/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_calls.h - inside of api/vault_calls.c and api/vault_key_calls.c
 */
#ifndef CONTROL_ACD_API_VAULT_CALLS_H
#define CONTROL_ACD_API_VAULT_CALLS_H

#include "control/acd/api/http.h"
#include "vault/store.h"

struct vstore *api_vault_store(void *ctx);
/* Answers with the store's own words, and the status that fits them. */
void api_vault_fail(struct http_req *req, const struct err *err);
/* Those that run and use it get what there is now; NULL: any of it. */
void api_vault_changed(void *ctx, const char *name);

#endif
