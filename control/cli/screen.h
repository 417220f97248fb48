/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.h - what a program there switched on in the terminal here
 *
 * A full-screen program that we leave, or that dies, does not put back what it
 * changed. We do, for what it was seen to switch on and nothing else: leaving
 * the alternate screen where nobody entered it would move the cursor.
 */
#ifndef CONTROL_CLI_SCREEN_H
#define CONTROL_CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCREEN_RESET_MAX 160u

struct screen {
	uint32_t changed; /* bit per mode that is not as terminals begin */
	bool styled; /* colours and the like were used */
	/* of an escape sequence under way */
	unsigned state, number, n_numbers;
	unsigned numbers[8];
};

/* What was written to the terminal, in any pieces. Accepts a zeroed one. */
void screen_feed(struct screen *s, const uint8_t *data, size_t len);

/* What puts it back; "" when there is nothing to do. */
void screen_reset(struct screen *s, char ret[SCREEN_RESET_MAX]);

#endif
