/* SPDX-License-Identifier: Apache-2.0 */
/*
 * project_file.h - reads the blueprint that a directory brings along
 */
#ifndef CONTROL_CLI_CORE_PROJECT_FILE_H
#define CONTROL_CLI_CORE_PROJECT_FILE_H

#include <stddef.h>

#include "lib/err.h"

#define PROJECT_FILE ".ac/blueprint.yaml"
#define PROJECT_FILE_MAX (64u * 1024) /* bytes; acd has the same */

/*
 * Reads PROJECT_FILE below the directory @dir, which may be O_PATH: opened once,
 * without following a link or leaving the directory, and read once. So what is
 * shown to the user, hashed and run are the same bytes, whatever is done to the
 * file meanwhile. Returns 0, and the caller frees *ret, a text without NUL;
 * -ENOENT, without a text in @err, if there is no such file; or another negative
 * errno with @err.
 */
int project_file_read(int dir, char **ret, size_t *ret_len, struct err *err);

#endif
