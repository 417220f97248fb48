/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.h - what a program made of its terminal
 *
 * Follows the bytes that it wrote, which are hostile: nothing grows with
 * them, and what comes out is made of a fixed table. For two uses:
 *
 *	a terminal that is left by a full-screen program, or by us, gets back
 *	what was seen to be switched on, and nothing else: leaving the alternate
 *	screen where nobody entered it would move the cursor. What is said then
 *	begins on a line that is free;
 *
 *	a terminal that joins gets the same switched on, and the output from
 *	where the screen was last empty.
 */
#ifndef CONTROL_SHARED_SCREEN_H
#define CONTROL_SHARED_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCREEN_RESET_MAX 256u
#define SCREEN_MODES_MAX SCREEN_RESET_MAX

struct screen {
	uint64_t seen; /* bytes fed */
	uint64_t start; /* of these, before the screen was last empty */
	uint32_t changed; /* bit per mode that is not as terminals begin */
	bool styled; /* colours and the like were used */
	bool keypad; /* in application mode */
	bool region; /* only a part of it scrolls */
	bool drawing; /* letters are drawn as lines */
	bool shaped; /* the cursor has another form */
	bool other_keys; /* keys are told in xterm's other way, */
	uint8_t keyboards[2]; /* in kitty's: pushed on each of the screens */
	/* Where the cursor is. Line ends that are still to come until all
	 * that was painted has surely scrolled away; 0: nothing was, since the
	 * cursor went up, or went to an absolute place. */
	unsigned raised, placed;
	bool mid_line; /* the cursor's line has begun */
	bool empty; /* nothing is on it */
	struct {
		unsigned raised, placed;
		bool mid_line;
	} main; /* the same of the screen that 1049 left */
	/* of an escape sequence under way */
	unsigned state, number, n_numbers;
	unsigned numbers[8];
	uint64_t begun; /* where it begins */
	uint8_t between; /* the last byte 0x20 to 0x2f in it */
	bool home; /* the cursor was sent home just before, */
	uint64_t home_at; /* here */
};

/* What was written to the terminal, in any pieces. Accepts a zeroed one. */
void screen_feed(struct screen *s, const uint8_t *data, size_t len);

/* What puts it back, and forgets it; "" when there is nothing to do. */
void screen_reset(struct screen *s, char ret[SCREEN_RESET_MAX]);
/* Does a program paint on all of it, so that a line of ours would be in its
 * midst? */
bool screen_is_full(const struct screen *s);

/* After screen_reset(): what moves the cursor to a free line at the bottom, ""
 * where the line below the cursor is free; @s->mid_line is right behind it. */
const char *screen_free_line(struct screen *s);

/* What makes a terminal that is as terminals begin the same. */
void screen_modes(const struct screen *s, char ret[SCREEN_MODES_MAX]);

/* Where in the output from somewhere in its midst a terminal may begin:
 * behind the first line's end or at the first escape sequence, else 0. */
size_t screen_seam(const uint8_t *data, size_t len);

#endif
