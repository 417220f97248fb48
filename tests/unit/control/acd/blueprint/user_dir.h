/* SPDX-License-Identifier: Apache-2.0 */
/*
 * user_dir.h - a folder of user's blueprints, in a current directory of its own
 *
 * Tests run side by side, so none writes into the directory where it is started.
 */
#ifndef TESTS_UNIT_CONTROL_ACD_BLUEPRINT_USER_DIR_H
#define TESTS_UNIT_CONTROL_ACD_BLUEPRINT_USER_DIR_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/acd/blueprint/blueprint.h"
#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static char user_top[] = "/tmp/user_dir.XXXXXX";

/* Returns false if there is no place for it. No blueprint is shipped. */
static inline bool user_dir_begin(void)
{
	if (!mkdtemp(user_top) || chdir(user_top) < 0)
		return false;
	blueprint_set_dirs("user", "shipped");
	return true;
}

static inline void user_dir_end(void)
{
	if (chdir("/") == 0)
		file_remove_tree(user_top);
}

/* Writes the blueprint @name. */
static inline void user_put(const char *name, const char *text)
{
	SCOPED_STR folder = str_printf("user/%s", name);
	SCOPED_STR path = str_printf("user/%s/blueprint.yaml", name);

	if (file_mkdir_p(folder, 0755) < 0 ||
	    file_write_atomic(path, text, strlen(text), 0644) < 0)
		ok(false, "write %s", path);
}

#endif
