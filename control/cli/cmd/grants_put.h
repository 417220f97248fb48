/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grants_put.h - the options --credential and --secret
 */
#ifndef CONTROL_CLI_CMD_GRANTS_PUT_H
#define CONTROL_CLI_CMD_GRANTS_PUT_H

#include <jansson.h>

#include "lib/str.h"

/* Sets "credentials" in @body, a request to acd; does nothing if both lists are
 * empty. @credentials are names, or "none", which drops those before it and the
 * blueprint's. @secrets are NAME[:handover][=VAR]; VAR is by default the name
 * in upper case. acd checks the names. Returns 0 or -ENOMEM. */
int grants_put(json_t *body, const struct strv *credentials,
	       const struct strv *secrets);

#endif
