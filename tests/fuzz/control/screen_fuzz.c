/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_fuzz.c - what is known of a terminal does not depend on the pieces
 * in which its output came, is within it, and is put back by a fixed table
 */
#include <stdlib.h>
#include <string.h>

#include "control/shared/screen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char modes[SCREEN_MODES_MAX], again[SCREEN_MODES_MAX];
	struct screen whole = { 0 }, pieces = { 0 }, fresh = { 0 };
	size_t step = size > 0 ? data[0] % 7 + 1u : 1, i;

	screen_feed(&whole, data, size);
	for (i = 0; i < size; i += step)
		screen_feed(&pieces, data + i,
			    size - i < step ? size - i : step);
	if (whole.seen != size || pieces.seen != size || whole.start > size ||
	    whole.start != pieces.start || whole.changed != pieces.changed ||
	    whole.styled != pieces.styled || whole.keypad != pieces.keypad)
		abort();
	/* A terminal that is told the modes has them, and no others. */
	screen_modes(&whole, modes);
	screen_feed(&fresh, (const uint8_t *)modes, strlen(modes));
	screen_modes(&fresh, again);
	if (strcmp(modes, again) != 0 || fresh.changed != whole.changed)
		abort();
	/* And what puts them back does. */
	screen_reset(&whole, modes);
	screen_feed(&fresh, (const uint8_t *)modes, strlen(modes));
	if (fresh.changed != 0 || fresh.keypad ||
	    strlen(modes) + 1 > sizeof(modes))
		abort();
	if (screen_seam(data, size) > size)
		abort();
	return 0;
}
