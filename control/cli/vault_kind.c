/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_kind.c - the kinds that a credential may have
 */
#include "control/cli/vault_kind.h"

#include <stddef.h>
#include <string.h>

const char *const vault_kinds[VAULT_KINDS] = { "generic", "github", "gitlab",
					       "npm",     "pypi",   "anthropic",
					       "openai",  "gemini", "aws" };

bool vault_kind_known(const char *kind)
{
	for (size_t i = 0; i < VAULT_KINDS; i++)
		if (strcmp(vault_kinds[i], kind) == 0)
			return true;
	return false;
}
