/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build_script.h - what images/build.sh is given, and what it says of a failure
 */
#ifndef CONTROL_ACD_BLUEPRINT_BUILD_SCRIPT_H
#define CONTROL_ACD_BLUEPRINT_BUILD_SCRIPT_H

#include "lib/err.h"
#include "lib/slice.h"
#include "lib/str.h"

/* Makes the file that the script writes its sentence into; its path is *ret,
 * for build_why_remove(). */
int build_why_make(char **ret, struct err *err);
/* Returns what the script has written, which the caller frees; it is not
 * escaped. Returns NULL if there is nothing. */
char *build_why_read(const char *why);
/* Removes the file and frees its path. NULL is fine. */
void build_why_remove(char *why);

/* Adds acd's environment to @ret, but with the state directory of ac-host, and
 * so that messages have no prefix and the sentence is in @why. */
int build_script_env(const char *why, struct strv *ret, struct err *err);

/* Writes a line of its output to @out: text stays as it is, backslashes too,
 * which a Dockerfile is full of; a tab becomes a blank, everything else \xNN. */
void build_line_escape(char *out, size_t size, struct slice in);

#endif
