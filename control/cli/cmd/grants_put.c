/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grants_put.c - the options --credential and --secret
 */
#include "control/cli/cmd/grants_put.h"

#include <errno.h>
#include <string.h>

#include "control/shared/json.h"

static const char handover[] = ":handover";

/* Returns the default variable of a credential ("my-key" becomes "MY_KEY"); the
 * caller frees it. */
static char *variable_of(const char *name)
{
	char *text = str_printf("%s%s", *name >= '0' && *name <= '9' ? "_" : "",
				name);

	for (char *p = text; p && *p; p++) {
		if (*p >= 'a' && *p <= 'z')
			*p = (char)(*p - 'a' + 'A');
		else if ((*p < 'A' || *p > 'Z') && (*p < '0' || *p > '9'))
			*p = '_';
	}
	return text;
}

/* Parses NAME[:handover][=VAR] into an object for acd. */
static json_t *secret_json(const char *word)
{
	const char *eq = strchr(word, '=');
	SCOPED_STR name = strndup(word, strcspn(word, "="));
	SCOPED_STR var = NULL;
	bool whole = name && str_ends(name, handover);

	if (!name)
		return NULL;
	if (whole)
		name[strlen(name) - strlen(handover)] = '\0';
	var = eq ? strdup(eq + 1) : variable_of(name);
	return json_pack("{s:o, s:o, s:s}", "name", jsonx_text(name), "env",
			 jsonx_text(var), "mode",
			 whole ? "handover" : "surrogate");
}

int grants_put(json_t *body, const struct strv *credentials,
	       const struct strv *secrets)
{
	json_t *list;
	int bad = 0;

	if (credentials->n == 0 && secrets->n == 0)
		return 0;
	list = json_array();
	for (size_t i = 0; list && i < credentials->n; i++)
		bad |= json_array_append_new(list,
					     jsonx_text(credentials->v[i]));
	for (size_t i = 0; list && i < secrets->n; i++)
		bad |= json_array_append_new(list, secret_json(secrets->v[i]));
	bad |= json_object_set_new(body, "credentials", list);
	return bad ? -ENOMEM : 0;
}
