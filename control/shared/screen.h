/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.h - what a program made of its terminal
 *
 * Follows the bytes that it wrote, which are hostile: nothing grows with
 * them, and what comes out is made of a fixed table. For two uses:
 *
 *	a terminal that is left by a full-screen program, or by us, gets back
 *	what was seen to be switched on, and nothing else: leaving the alternate
 *	screen where nobody entered it would move the cursor;
 *
 *	a terminal that joins gets the same switched on, and the output from
 *	where the screen was last empty.
 */
#ifndef CONTROL_SHARED_SCREEN_H
#define CONTROL_SHARED_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCREEN_RESET_MAX 160u
#define SCREEN_MODES_MAX SCREEN_RESET_MAX

struct screen {
	uint64_t seen; /* bytes fed */
	uint64_t start; /* of these, before the screen was last empty */
	uint32_t changed; /* bit per mode that is not as terminals begin */
	bool styled; /* colours and the like were used */
	bool keypad; /* in application mode */
	/* of an escape sequence under way */
	unsigned state, number, n_numbers;
	unsigned numbers[8];
	uint64_t begun; /* where it begins */
	bool home; /* the cursor was sent home just before, */
	uint64_t home_at; /* here */
};

/* What was written to the terminal, in any pieces. Accepts a zeroed one. */
void screen_feed(struct screen *s, const uint8_t *data, size_t len);

/* What puts it back, and forgets it; "" when there is nothing to do. */
void screen_reset(struct screen *s, char ret[SCREEN_RESET_MAX]);
/* What makes a terminal that is as terminals begin the same. */
void screen_modes(const struct screen *s, char ret[SCREEN_MODES_MAX]);

/* Where in the output from somewhere in its midst a terminal may begin:
 * behind the first line's end or at the first escape sequence, else 0. */
size_t screen_seam(const uint8_t *data, size_t len);

#endif
