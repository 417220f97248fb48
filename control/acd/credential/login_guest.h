/* SPDX-License-Identifier: Apache-2.0 */
/*
 * login_guest.h - what a sandbox gets of a login beside its surrogate
 */
#ifndef CONTROL_ACD_CREDENTIAL_LOGIN_GUEST_H
#define CONTROL_ACD_CREDENTIAL_LOGIN_GUEST_H

#include "vault/store.h"

/* Returns a token with the claims that clients read from an id token: whose it
 * is, which plan, and an end in the year 2100. It has the form of a JWT and a
 * signature that is none. The caller frees it; NULL without memory. */
char *login_id_token(const struct vstore_login *l);

#endif
