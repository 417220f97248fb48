/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_vault_impl.h - inside of api_vault.c and api_vault_key.c
 */
#ifndef CONTROL_ACD_API_VAULT_IMPL_H
#define CONTROL_ACD_API_VAULT_IMPL_H

#include "control/acd/http.h"
#include "vault/store.h"

struct vstore *api_vault_store(void *ctx);
/* Answers with the store's own words, and the status that fits them. */
void api_vault_fail(struct http_req *req, const struct err *err);
/* Those that run and use it get what there is now; NULL: any of it. */
void api_vault_changed(void *ctx, const char *name);

#endif
