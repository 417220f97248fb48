/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.c - `ac schema`: JSON Schemas of the user's files, and the API
 *
 * They are shipped files. `make schemas` writes them from the tables by which
 * acd and ottergate read such files and requests.
 */
#include "control/cli/cmd/schema.h"

#include <stdio.h>
#include <string.h>

#include "lib/file.h"
#include "lib/str.h"

#define SCHEMA_BYTES_MAX (1024u * 1024)

const char *const schema_names[SCHEMA_NAMES] = { "blueprint", "preset",
						 "policy", "openapi" };
static const char *const files[SCHEMA_NAMES] = {
	"blueprints/blueprint.schema.json",
	"blueprints/preset.schema.json",
	"blueprints/policy.schema.json",
	"docs/openapi.json",
};

const char *schema_file(const char *name)
{
	for (size_t i = 0; i < SCHEMA_NAMES; i++) {
		if (strcmp(schema_names[i], name) == 0)
			return files[i];
	}
	return NULL;
}

int cmd_schema(const struct cli *cli, const struct args *a, struct err *err)
{
	const char *name = a->words[0], *file = schema_file(name);
	SCOPED_STR path = NULL;
	SCOPED_STR text = NULL;
	size_t len = 0;
	int rc;

	if (!file) {
		err_set(err, -EINVAL,
			"there is a schema of blueprint, of preset, of policy "
			"and of the API (openapi), none of '%s'",
			name);
		return CLI_USAGE;
	}
	path = str_printf("%s/%s", cli->share, file);
	rc = path ? file_read(path, SCHEMA_BYTES_MAX, &text, &len) : -ENOMEM;
	if (rc < 0)
		return err_set(err, rc, "%s: %s", path ? path : name,
			       err_text(rc));
	fwrite(text, 1, len, stdout);
	return 0;
}
