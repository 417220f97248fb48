/* SPDX-License-Identifier: Apache-2.0 */
/*
 * first_use.c - asks for a credential that an agent needs
 *
 * Who types `ac run claude .` for the first time should not have to know of the
 * vault. The value is read and kept as by `ac vault add`. acd's refusal, which
 * names that command, is the answer where there is no terminal to ask on.
 */
#include "control/cli/cmd/first_use.h"

#include <string.h>
#include <unistd.h>

#include "control/cli/cmd/vault/vault.h"
#include "control/cli/core/vault_kind.h"
#include "control/shared/json.h"
#include "lib/str.h"

/* Leaves it out of this run. The next one asks again. */
static int leave_out(json_t *body, const char *credential, struct err *err)
{
	json_t *list = json_object_get(body, "without");

	if (!list) {
		list = json_array();
		if (json_object_set_new(body, "without", list) < 0)
			return err_nomem(err);
	}
	return json_array_append_new(list, jsonx_text(credential)) < 0 ?
		       err_nomem(err) :
		       0;
}

int first_use(struct launch *l, const char *credential, json_t *body,
	      struct err *err)
{
	SCOPED_INPUT in = { 0 };
	SCOPED_STR text = NULL;
	int rc;

	/* A login is a file of several lines, which cannot be pasted. */
	if (strcmp(credential, "openai-login") == 0 ||
	    strcmp(credential, "google-login") == 0)
		return err->code;
	if (l->cli->json || isatty(STDIN_FILENO) != 1 || !l->cli->err_tty)
		return err->code;
	text = str_printf(
		"%s needs a credential '%s': paste the key (it is not "
		"shown), or press Enter to go on without",
		l->blueprint, credential);
	rc = text ? vault_input_guard(err) : err_nomem(err);
	if (rc == 0)
		rc = vault_input_ask(text, &in, err);
	if (rc < 0)
		return rc;
	if (rc > 0)
		return leave_out(body, credential, err);
	/* A credential that is named after its kind is of that kind. */
	return vault_keep(l->cli, l->client, credential,
			  vault_kind_known(credential) ? credential : NULL, &in,
			  err);
}
