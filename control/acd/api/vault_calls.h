/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_calls.h - inside of api/vault_calls.c and api/vault_key_calls.c
 */
#ifndef CONTROL_ACD_API_VAULT_CALLS_H
#define CONTROL_ACD_API_VAULT_CALLS_H

#include "control/acd/api/http/server.h"
#include "vault/store.h"

/* Returns the store of the vault, borrowed; @ctx is the struct acd. */
struct vstore *api_vault_store(void *ctx);
/* Answers with the message of @err, an error of the vault, and the word and
 * status that fit it. */
void api_vault_fail(struct http_req *req, const struct err *err);
/* Sends the gateway the current value of the credential @name, for the runs
 * that use it; NULL: of all. */
void api_vault_changed(void *ctx, const char *name);

#endif
