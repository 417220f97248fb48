/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help_test.c - the overview has each command that has a group
 */
#include "control/cli/help.h"

#include <stdlib.h>

#include "control/cli/commands.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

int main(void)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!ok(out != NULL, "a stream"))
		return done_testing();
	help_overview(out);
	fclose(out);
	for (const struct command *c = commands; c->name; c++) {
		SCOPED_STR line = str_printf("\n  %-14s ", c->name);

		ok(!c->group == !strstr(text, line), "%s is %s", c->name,
		   c->group ? "shown" : "hidden");
	}
	free(text);
	return done_testing();
}
