/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - bytes of a sandbox as text of JSON
 */
#ifndef CONTROL_CLI_MCP_TEXT_H
#define CONTROL_CLI_MCP_TEXT_H

#include <jansson.h>

#include "lib/slice.h"

/* Returns a string with @bytes, in which U+FFFD stands for each byte that is not
 * part of UTF-8: a new reference, NULL without memory. */
json_t *text_json(struct slice bytes);

/* Returns true if @bytes are UTF-8 without NUL. */
bool text_is_utf8(struct slice bytes);

/* Returns @bytes in Base64 as a string: a new reference, NULL without memory. */
json_t *text_base64(struct slice bytes);

#endif
