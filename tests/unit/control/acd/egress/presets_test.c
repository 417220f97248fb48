/* SPDX-License-Identifier: Apache-2.0 */
/*
 * presets_test.c - which presets there are
 */
#include "control/acd/egress/presets.h"

#include <stdlib.h>

#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static void put(const char *dir, const char *name, const char *text)
{
	SCOPED_STR path = str_printf("%s/%s", dir, name);

	is_int(path ? file_write_atomic(path, text, strlen(text), 0644) : -1, 0,
	       "write %s", name);
}

int main(void)
{
	char dir[] = "/tmp/presets.XXXXXX";

	is_int(presets_find("blueprints/presets", "github"), 1, "shipped");
	is_int(presets_find("blueprints/presets", "nonsense"), 0, "not");
	is_int(presets_find("/nonexistent", "github"), -EIO, "no folder");
	if (!mkdtemp(dir))
		return 1;
	is_int(presets_find(dir, "a"), 0, "an empty one");
	put(dir, "m.yaml", "version: 1\npresets:\n  a: { rules: [] }\n");
	is_int(presets_find(dir, "a"), 1, "a file of one's own");
	put(dir, "n.yaml", "version: 1\npresets: [\n");
	is_int(presets_find(dir, "a"), 1, "beside a broken one");
	is_int(presets_find(dir, "b"), -EIO, "which may have it");
	put(dir, "n.yaml", "version: 1\ndeny: []\n");
	is_int(presets_find(dir, "b"), 0, "mended: it has not");
	file_remove_tree(dir);
	return done_testing();
}
