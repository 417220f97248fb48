/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_kind.c - the kinds that a credential may have
 */
#include "control/cli/core/vault_kind.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/str.h"

const char *const vault_kinds[VAULT_KINDS] = {
	"generic", "github",          "gitlab",       "npm",
	"pypi",    "anthropic",       "openai",       "gemini",
	"aws",     "anthropic-login", "openai-login", "google-login",
};

char *vault_kinds_text(void)
{
	SCOPED_STR text = str_printf("%s", vault_kinds[0]);

	for (size_t i = 1; text && i < VAULT_KINDS; i++) {
		char *longer = str_printf("%s%s%s", text,
					  i + 1 < VAULT_KINDS ? ", " : " or ",
					  vault_kinds[i]);

		free(text);
		text = longer;
	}
	return ptr_take(&text);
}

bool vault_kind_known(const char *kind)
{
	for (size_t i = 0; i < VAULT_KINDS; i++)
		if (strcmp(vault_kinds[i], kind) == 0)
			return true;
	return false;
}
