/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.c - what a program there switched on in the terminal here
 *
 * Looks for CSI ? n ; n ... h or l (DEC private modes) and for CSI ... m, and
 * lets all else pass. The bytes are hostile: nothing grows with them.
 */
#include "control/cli/screen.h"

#include <stdio.h>
#include <string.h>

#include "lib/slice.h"
#include "lib/str.h"

#define ESC 0x1b

enum { TEXT, SAW_ESC, SAW_CSI, PRIVATE, OTHER };

/* In the order in which they are put back: the alternate screen first, so
 * that the rest holds for the user's own. */
static const struct mode {
	unsigned number;
	bool normally;
} modes[] = {
	{ 1049, false }, { 1047, false }, { 47, false },   { 1000, false },
	{ 1002, false }, { 1003, false }, { 1006, false }, { 1004, false },
	{ 2004, false }, { 1, false },    { 7, true },     { 25, true },
};

static void set_mode(struct screen *s, unsigned number, bool on)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		if (modes[i].number != number)
			continue;
		if (on == modes[i].normally)
			s->changed &= ~(1u << i);
		else
			s->changed |= 1u << i;
	}
}

static void push_number(struct screen *s)
{
	if (s->n_numbers < ARRAY_SIZE(s->numbers))
		s->numbers[s->n_numbers++] = s->number;
	s->number = 0;
}

static void in_private(struct screen *s, uint8_t c)
{
	unsigned i;

	if (c >= '0' && c <= '9') {
		if (s->number < 100000)
			s->number = s->number * 10 + (c - '0');
		return;
	}
	push_number(s);
	if (c == ';')
		return;
	for (i = 0; (c == 'h' || c == 'l') && i < s->n_numbers; i++)
		set_mode(s, s->numbers[i], c == 'h');
	s->state = TEXT;
}

static void in_other(struct screen *s, uint8_t c)
{
	if (c == 'm')
		s->styled = true;
	if (c >= 0x40 && c <= 0x7e)
		s->state = TEXT;
}

static void feed(struct screen *s, uint8_t c)
{
	if (c == ESC) {
		s->state = SAW_ESC;
		return;
	}
	switch (s->state) {
	case SAW_ESC:
		s->state = c == '[' ? SAW_CSI : TEXT;
		return;
	case SAW_CSI:
		s->number = s->n_numbers = 0;
		s->state = c == '?' ? PRIVATE : OTHER;
		if (c != '?')
			in_other(s, c);
		return;
	case PRIVATE:
		in_private(s, c);
		return;
	case OTHER:
		in_other(s, c);
		return;
	default:
		return;
	}
}

void screen_feed(struct screen *s, const uint8_t *data, size_t len)
{
	const uint8_t *end = data + len;

	while (data < end) {
		if (s->state == TEXT) {
			data = memchr(data, ESC, (size_t)(end - data));
			if (!data)
				return;
		}
		feed(s, *data++);
	}
}

void screen_reset(struct screen *s, char ret[SCREEN_RESET_MAX])
{
	size_t used = 0, i;

	ret[0] = '\0';
	for (i = 0; i < ARRAY_SIZE(modes); i++)
		if (s->changed & (1u << i))
			used += (size_t)snprintf(ret + used,
						 SCREEN_RESET_MAX - used,
						 "\033[?%u%c", modes[i].number,
						 modes[i].normally ? 'h' : 'l');
	if (s->styled)
		snprintf(ret + used, SCREEN_RESET_MAX - used, "\033[m");
	s->changed = 0;
	s->styled = false;
}
