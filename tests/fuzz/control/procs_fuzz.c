/* SPDX-License-Identifier: Apache-2.0 */
/*
 * procs_fuzz.c - what a sandbox says of its processes: text, and bounded
 */
#include <stdlib.h>
#include <string.h>

#include "control/acd/guest/procs.h"

#define TEXT_MAX 1024u /* what is no UTF-8 is escaped, and longer for it */

static void bounded(const json_t *row, const char *key, size_t max)
{
	const char *text = json_string_value(json_object_get(row, key));

	if (!text || strlen(text) >= max)
		abort();
}

static void within(const json_t *row, const char *key, json_int_t max)
{
	const json_t *v = json_object_get(row, key);

	if (!json_is_integer(v) || json_integer_value(v) < 0 ||
	    json_integer_value(v) > max)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *rows = procs_parse(slice_of(data, size));
	const json_t *row;
	size_t i;

	if (!rows || json_array_size(rows) > PROCS_MAX)
		abort();
	json_array_foreach (rows, i, row) {
		bounded(row, "command", TEXT_MAX);
		bounded(row, "user", TEXT_MAX);
		bounded(row, "state", TEXT_MAX);
		within(row, "pid", 4194304);
		within(row, "ppid", 4194304);
		within(row, "rss", INT64_MAX);
		within(row, "elapsed_s", INT64_MAX);
	}
	json_decref(rows);
	return 0;
}
