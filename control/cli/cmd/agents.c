/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agents.c - `ac agents`: which agents there are, and what they still need
 */
#include "control/cli/cmd/agents.h"

#include <string.h>

#include "control/cli/cmd/instance.h"
#include "control/cli/cmd/vault/vault.h"
#include "control/cli/core/table.h"
#include "control/cli/host/host.h"
#include "control/shared/json.h"
#include "lib/str.h"

/* ---- the list ---- */

/* Returns the names of the credentials, each with whether the vault has it: null
 * if that is not known. */
static json_t *credentials_of(const json_t *bp, const json_t *vault)
{
	SCOPED_JSON list = json_array();
	const json_t *c;
	size_t i;

	json_array_foreach (json_object_get(bp, "credentials"), i, c) {
		const char *name = json_is_string(c) ? json_string_value(c) :
						       json_text(c, "name");
		json_t *has;

		if (strcmp(name, "none") == 0)
			continue; /* drops those of a parent */
		has = !vault ? json_null() :
			       json_boolean(vault_listed(vault, name));

		if (json_array_append_new(list,
					  json_pack("{s:s, s:o}", "name", name,
						    "in_vault", has)) < 0)
			return NULL;
	}
	return ptr_take(&list);
}

static json_t *agent_of(const json_t *bp, const json_t *vault)
{
	const char *broken = json_text(bp, "error");
	json_t *bytes = json_object_get(bp, "image_bytes");

	if (*broken)
		return json_pack("{s:s, s:s}", "name", json_text(bp, "name"),
				 "error", broken);
	return json_pack("{s:s, s:s, s:b, s:O, s:o, s:s}", "name",
			 json_text(bp, "name"), "image", json_text(bp, "image"),
			 "built", json_is_true(json_object_get(bp, "ready")),
			 "image_bytes", bytes ? bytes : json_null(),
			 "credentials", credentials_of(bp, vault),
			 "description", json_text(bp, "description"));
}

json_t *agents_list(const json_t *blueprints, const json_t *vault)
{
	SCOPED_JSON list = json_array();
	const json_t *bp;
	size_t i;

	if (!list)
		return NULL;
	json_array_foreach (blueprints, i, bp) {
		if (!json_is_true(json_object_get(bp, "agent")) &&
		    !json_object_get(bp, "error"))
			continue;
		if (json_array_append_new(list, agent_of(bp, vault)) < 0)
			return NULL;
	}
	return ptr_take(&list);
}

/* ---- the table ---- */

/* Appends "name (yes)" to *text. Returns 0 or -ENOMEM. */
static int credential_add(char **text, const json_t *c)
{
	const json_t *has = json_object_get(c, "in_vault");
	char *longer = str_printf("%s%s%s (%s)", *text, **text ? ", " : "",
				  json_text(c, "name"),
				  json_is_true(has)  ? "yes" :
				  json_is_false(has) ? "no" :
						       "?");

	if (!longer)
		return -ENOMEM;
	free(*text);
	*text = longer;
	return 0;
}

static int add_agent(struct table *t, const json_t *agent)
{
	const char *broken = json_text(agent, "error");
	const char *file = strstr(broken, "/blueprint.yaml:");
	long long bytes = json_count(agent, "image_bytes");
	bool built = json_is_true(json_object_get(agent, "built"));
	bool lacks = false;
	SCOPED_STR text = strdup("");
	SCOPED_STR why = str_printf("broken: %s", file ? file + 1 : broken);
	char size[32], image[48];
	const char *cells[4];
	const json_t *c;
	size_t i;

	json_array_foreach (json_object_get(agent, "credentials"), i, c) {
		if (!text || credential_add(&text, c) < 0)
			return -ENOMEM;
		lacks |= json_is_false(json_object_get(c, "in_vault"));
	}
	if (!text || !why)
		return -ENOMEM;
	snprintf(image, sizeof(image), "%s%s%s",
		 *broken ? "-" :
		 built   ? "built" :
			   "not built",
		 built && bytes > 0 ? ", " : "",
		 built && bytes > 0 ?
			 str_format_size(size, sizeof(size), (uint64_t)bytes) :
			 "");
	cells[0] = json_text(agent, "name");
	cells[1] = image;
	cells[2] = *text ? text : "-";
	cells[3] = *broken ? why : json_text(agent, "description");
	if (table_row(t, cells) < 0)
		return -ENOMEM;
	table_paint(t, 1, built ? TABLE_GREEN : TABLE_PLAIN);
	table_paint(t, 2, lacks ? TABLE_YELLOW : TABLE_PLAIN);
	table_paint(t, 3, *broken ? TABLE_RED : TABLE_PLAIN);
	return 0;
}

int cmd_agents(const struct cli *cli, const struct args *a, struct err *err)
{
	static const struct table_col cols[] = {
		{ "NAME", 0 },
		{ "IMAGE", 0 },
		{ "CREDENTIALS", 0 },
		{ "DESCRIPTION", TABLE_CUT },
	};
	SCOPED_CLIENT c = NULL;
	SCOPED_JSON blueprints = NULL;
	SCOPED_JSON vault = NULL;
	SCOPED_JSON list = NULL;
	struct err locked = { 0 };
	size_t i;
	int rc = host_client(cli, false, &c, err);

	(void)a;
	if (rc == 0)
		rc = instance_get_list(c, "blueprints", &blueprints, err);
	if (rc < 0)
		return rc;
	if (client_call(c, "GET", "/v1/vault", NULL, &vault, &locked) < 0)
		say_info(cli, "the vault cannot be read: %s", locked.msg);
	list = agents_list(blueprints, vault);
	if (!list)
		return err_nomem(err);
	if (cli->json)
		return cli_print_json(list, false, err);
	for (i = 0; cli->quiet && i < json_array_size(list); i++)
		puts(json_text(json_array_get(list, i), "name"));
	if (cli->quiet)
		return 0;
	if (json_array_size(list) == 0)
		say_info(cli, "no blueprint is an agent: `ac list` shows them");
	return table_print_list(cli, cols, ARRAY_SIZE(cols), list, add_agent,
				err);
}
