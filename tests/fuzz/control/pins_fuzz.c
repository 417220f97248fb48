/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pins_fuzz.c - a requirements.txt from an install sandbox: what is proven has no
 * byte that pip may read otherwise, and is read as one that need not be, with the
 * same pins
 */
#include <stdlib.h>

#include "control/cli/cmd/update/pins.h"
#include "control/shared/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void plain(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if ((data[i] != '\n' && (data[i] < ' ' || data[i] > '~')) ||
		    data[i] == '#' || data[i] == '\\' || data[i] == ';' ||
		    (data[i] == '-' && (i == 0 || data[i - 1] == '\n')))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct err err = { 0 };
	SCOPED_JSON proven = pins_pip(text, size, true, &err);
	SCOPED_JSON any = pins_pip(text, size, false, &err);

	if (!proven)
		return 0;
	plain(data, size);
	if (!json_equal(proven, any) || json_object_size(proven) == 0 ||
	    json_object_size(proven) > PINS_MAX)
		abort();
	return 0;
}
