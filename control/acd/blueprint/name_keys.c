/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_keys.c - what a blueprint is: its description and isolation
 */
#include <string.h>

#include "control/acd/blueprint/keys.h"
#include "control/shared/paths.h"
#include "lib/str.h"

#define DESCRIPTION_MAX 200u

int blueprint_read_description(const struct blueprint_place *p,
			       const struct yaml_node *n)
{
	int rc = blueprint_read_string(p, n, &p->bp->description);

	if (rc < 0)
		return rc;
	if (str_has_control(p->bp->description))
		return yaml_tree_refuse(p->tree, n, p->err,
					"the description must be one line of "
					"text");
	if (strlen(p->bp->description) > DESCRIPTION_MAX)
		return yaml_tree_refuse(p->tree, n, p->err,
					"the description has more than %u "
					"bytes",
					DESCRIPTION_MAX);
	return 0;
}

int blueprint_read_isolation(const struct blueprint_place *p,
			     const struct yaml_node *n)
{
	int rc = blueprint_read_word(p, n, &blueprint_isolation_is,
				     "isolation must be runsc or crun");

	return rc < 0 ? rc : blueprint_read_string(p, n, &p->bp->isolation);
}

static const char *const isolation_words[] = { "runsc", "crun", NULL };
const struct schema blueprint_description_is = { .kind = SCHEMA_TEXT,
						 .max = DESCRIPTION_MAX };
const struct schema blueprint_name_is = { .kind = SCHEMA_TEXT,
					  .max = AC_NAME_MAX,
					  .pattern = "[a-z0-9][a-z0-9_.-]+" };
const struct schema blueprint_isolation_is = SCHEMA_WORDS(isolation_words);
