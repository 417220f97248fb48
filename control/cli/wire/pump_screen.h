/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pump_screen.h - our messages on a terminal that a program draws on
 */
#ifndef CONTROL_CLI_WIRE_PUMP_SCREEN_H
#define CONTROL_CLI_WIRE_PUMP_SCREEN_H

#include <stdbool.h>

#include "control/shared/screen.h"
#include "lib/buf.h"
#include "lib/slice.h"

struct pump_screen {
	struct screen screen;
	struct buf held; /* lines to show when the program is left */
	int out, err; /* borrowed */
	bool is_tty; /* stdout is a terminal, and so for the program */
	bool one; /* stderr is the same terminal or file as stdout */
	bool mid_line; /* the last output on stderr has no line end */
};

/* Begins with the descriptors @out and @err of stdout and stderr. @tty: stdout
 * is a terminal, and so for the program. @one: as above. */
void pump_screen_init(struct pump_screen *ps, int out, int err, bool tty,
		      bool one);
/* Frees what is kept. */
void pump_screen_done(struct pump_screen *ps);

/* Notes that @piece was written to stdout if @out, else to stderr. */
void pump_screen_wrote(struct pump_screen *ps, struct slice piece, bool out);

/* Shows "ac: @line". If a program draws on the whole screen, keeps it until the
 * program is left; a @serious one is also shown in the last row. @raw: the
 * terminal does not add carriage returns. */
void pump_screen_say(struct pump_screen *ps, const char *line, bool serious,
		     bool raw);

/* Restores the terminal, its modes first, and shows what was kept. @cut: the
 * program has not ended by itself, so its drawing is still there. If
 * @ps->mid_line is set, the caller writes a line end before its next
 * message. */
void pump_screen_leave(struct pump_screen *ps, bool cut);

#endif
