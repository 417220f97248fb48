/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.h - follows what a program does to its terminal
 *
 * Reads the bytes that the program wrote, which are hostile: memory is fixed,
 * and output comes from a fixed table. It has two uses:
 *
 *	When a full-screen program or the user leaves, the terminal gets back
 *	exactly what was changed. Anything more would do harm: leaving an
 *	alternate screen that was not entered moves the cursor. Messages then
 *	begin on a free line.
 *
 *	A terminal that joins gets the same modes, and the output from where the
 *	screen was last empty.
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
	uint64_t start; /* byte at which the screen was last empty */
	uint32_t changed; /* bit per mode that differs from the default */
	bool styled; /* colours and the like were used */
	bool keypad; /* in application mode */
	bool region; /* only a part of the screen scrolls */
	bool drawing; /* letters are shown as line drawings */
	bool shaped; /* the cursor has another shape */
	bool other_keys; /* xterm's modifyOtherKeys is on */
	uint8_t keyboards[2]; /* kitty's keyboard stack, of each screen */
	/* Line ends until everything below the cursor has surely scrolled away,
	 * after the cursor went up (raised) or to an absolute place (placed).
	 * 0: nothing is below. */
	unsigned raised, placed;
	bool mid_line; /* the cursor is not at the beginning of a line */
	bool empty; /* nothing was written since the screen was last cleared */
	struct {
		unsigned raised, placed;
		bool mid_line;
	} main; /* saved from the main screen by mode 1049 */
	/* of an escape sequence being read */
	unsigned state, number, n_numbers;
	unsigned numbers[8];
	uint64_t begun; /* at which byte it begins */
	uint8_t between; /* its last byte of 0x20 to 0x2f */
	bool home; /* the last sequence sent the cursor home; */
	uint64_t home_at; /* it begins at this byte */
};

/* Takes what was written to the terminal, in pieces of any size. A zeroed @s is
 * a new terminal; there is nothing to free. */
void screen_feed(struct screen *s, const uint8_t *data, size_t len);

/* Writes the sequences that restore the terminal to @ret, "" if none are
 * needed. Sets @s to a terminal that has got them. */
void screen_reset(struct screen *s, char ret[SCREEN_RESET_MAX]);
/* Returns true if a program draws on the whole screen, so that a message would
 * stand in the middle of it. */
bool screen_is_full(const struct screen *s);

/* Returns the sequence, a constant, that moves the cursor to a free line at the
 * bottom; "" if the line below the cursor is free. Sets @s as if that had been
 * written: @s->mid_line tells whether a line end is needed first. To be called
 * after screen_reset(). */
const char *screen_free_line(struct screen *s);

/* Writes the sequences that put a new terminal in the same modes to @ret, "" if
 * none are needed. */
void screen_modes(const struct screen *s, char ret[SCREEN_MODES_MAX]);

/* Returns where a terminal may begin to show output that was cut at its start:
 * after the first line end or at the first escape sequence, else 0. */
size_t screen_seam(const uint8_t *data, size_t len);

#endif
