/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pump_screen.h - the user's terminal that a program draws on, and our own
 * lines on it
 */
#ifndef CONTROL_CLI_WIRE_PUMP_SCREEN_H
#define CONTROL_CLI_WIRE_PUMP_SCREEN_H

#include <stdbool.h>

#include "control/shared/screen.h"
#include "lib/buf.h"
#include "lib/slice.h"

struct pump_screen {
	struct screen screen;
	struct buf held; /* lines for when the program is left */
	int out, err; /* borrowed */
	bool is_tty; /* stdout is a terminal and the program knows it */
	bool one; /* stderr is the same */
	bool mid_line; /* what stderr shows last is no end of a line */
};

/* @tty: the program knows that it has a terminal. */
void pump_screen_init(struct pump_screen *ps, int out, int err, bool tty,
		      bool one);
void pump_screen_done(struct pump_screen *ps);

/* @piece was written to stdout, or else to stderr. */
void pump_screen_wrote(struct pump_screen *ps, struct slice piece, bool out);

/* Shows "ac: @line". Where a program draws on the whole screen it is kept until
 * that is left; what is @serious is shown in the last row as well. @raw: the
 * terminal's line ends are ours to make. */
void pump_screen_say(struct pump_screen *ps, const char *line, bool serious,
		     bool raw);

/* Puts the terminal back, its settings first, and shows what was kept. @cut:
 * the program has not ended by itself, so that what it drew still stands. What
 * is said next begins in a line of its own after a line end where @ps->mid_line
 * is set. */
void pump_screen_leave(struct pump_screen *ps, bool cut);

#endif
