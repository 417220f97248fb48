/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pathcode.h - paths of any bytes as ASCII, for files of JSON
 */
#ifndef CONTROL_CLI_LAYER_PATHCODE_H
#define CONTROL_CLI_LAYER_PATHCODE_H

#include <jansson.h>

/* Returns @path with %XX for each byte outside printable ASCII, and for % itself;
 * the caller frees it. NULL: out of memory. */
char *pathcode_put(const char *path);
/* Returns the path that @text stands for, or NULL for a bad escape, a NUL in it,
 * or without memory; the caller frees it. */
char *pathcode_get(const char *text);

/* Appends @value and a newline to the buffered file @out. Takes the reference.
 * Returns 0, -ENOMEM or -EIO. */
int pathcode_line(FILE *out, json_t *value);
/* Reads the next line as JSON. Sets *ret to a new reference, or to NULL at the
 * end. Returns 0, -EBADMSG or another negative errno. */
int pathcode_read(FILE *in, json_t **ret);

#endif
