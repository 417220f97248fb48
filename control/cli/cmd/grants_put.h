/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grants_put.h - what --credential and --secret ask for
 */
#ifndef CONTROL_CLI_CMD_GRANTS_PUT_H
#define CONTROL_CLI_CMD_GRANTS_PUT_H

#include <jansson.h>

#include "lib/str.h"

/*
 * "credentials" of a body for acd: @credentials are names, "none" being
 * for those before it and the blueprint's; @secrets are NAME[=VAR], each with ":handover" behind the name or
 * not, and have a variable of their own (by default the name in upper case).
 * Whether a name is one is for acd to say. Nothing was given: nothing is put.
 * -ENOMEM. Pure.
 */
int grants_put(json_t *body, const struct strv *credentials,
	       const struct strv *secrets);

#endif
