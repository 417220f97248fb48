/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pump_screen.c - our messages on a terminal that a program draws on
 *
 * In the middle of a full-screen program, a line would be overwritten or spoil
 * the drawing. So lines wait for the end. What cannot wait, such as that the
 * program is frozen, is written into the last row, and the cursor goes back to
 * its place.
 */
#include "control/cli/wire/pump_screen.h"

#include <stdio.h>
#include <string.h>

#include "lib/file.h"

#define HELD_MAX (16u * 1024) /* bytes of lines; later ones are dropped */

void pump_screen_init(struct pump_screen *ps, int out, int err, bool tty,
		      bool one)
{
	*ps = (struct pump_screen){
		.out = out, .err = err, .is_tty = tty, .one = one
	};
	buf_init(&ps->held, HELD_MAX);
}

void pump_screen_done(struct pump_screen *ps)
{
	buf_done(&ps->held);
}

void pump_screen_wrote(struct pump_screen *ps, struct slice piece, bool out)
{
	if (piece.len == 0)
		return;
	if (ps->is_tty && (out || ps->one))
		screen_feed(&ps->screen, piece.ptr, piece.len);
	if (ps->is_tty && ps->one)
		ps->mid_line = ps->screen.mid_line;
	else if (ps->one || !out)
		ps->mid_line = piece.ptr[piece.len - 1] != '\n';
}

static void hold(struct pump_screen *ps, const char *line)
{
	/* Lines past the maximum are dropped. */
	(void)buf_printf(&ps->held, "ac: %s\n", line);
}

void pump_screen_say(struct pump_screen *ps, const char *line, bool serious,
		     bool raw)
{
	if (ps->is_tty && ps->one && screen_is_full(&ps->screen)) {
		hold(ps, line);
		if (serious)
			dprintf(ps->err,
				"\0337\033[999;1H\033[2K\033[mac: %s\0338",
				line);
		return;
	}
	dprintf(ps->err, "%sac: %s%s",
		!ps->mid_line ? "" :
		raw           ? "\r\n" :
				"\n",
		line, raw ? "\r\n" : "\n");
	ps->mid_line = ps->screen.mid_line = false;
}

void pump_screen_leave(struct pump_screen *ps, bool cut)
{
	struct slice held = buf_slice(&ps->held);
	char back[SCREEN_RESET_MAX];
	const char *line;

	if (!ps->is_tty)
		return;
	screen_reset(&ps->screen, back);
	(void)fd_write_all(ps->out, back, strlen(back));
	line = cut || held.len > 0 ? screen_free_line(&ps->screen) : "";
	(void)fd_write_all(ps->out, line, strlen(line));
	if (!ps->one)
		return;
	ps->mid_line = ps->screen.mid_line;
	if (held.len == 0)
		return;
	if (ps->mid_line)
		(void)fd_write_all(ps->err, "\n", 1);
	(void)fd_write_all(ps->err, held.ptr, held.len);
	buf_consume(&ps->held, held.len);
	ps->mid_line = false;
}
