/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.c - what a program made of its terminal
 *
 * Looks for CSI ? n ; n ... h or l (DEC private modes), CSI ... m, the keypad's
 * ESC = and ESC >, and for what empties the screen: ESC c (reset), CSI 2 J,
 * CSI J right behind CSI H (home), and a change between the two screens. All
 * else passes.
 */
#include "control/shared/screen.h"

#include <stdio.h>
#include <string.h>

#include "lib/slice.h"
#include "lib/str.h"

#define ESC 0x1b

#define NUMBER_MAX 100000u

/* FOREIGN: of a kind that is of no interest but for its end. */
enum { TEXT, SAW_ESC, SAW_CSI, PRIVATE, OTHER, FOREIGN };

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

static bool is_other_screen(unsigned number)
{
	return number == 1049 || number == 1047 || number == 47;
}

static void set_mode(struct screen *s, unsigned number, bool on)
{
	size_t i;

	/* Behind it: the modes say which screen it is. */
	if (is_other_screen(number))
		s->start = s->seen;
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

/* Takes a digit or what parts two numbers (a colon: two parts of one, as
 * ISO 8613-6 has it for colours); at the end all are there. */
static bool in_number(struct screen *s, uint8_t c)
{
	if (c >= '0' && c <= '9') {
		if (s->number < NUMBER_MAX)
			s->number = s->number * 10 + (c - '0');
		return true;
	}
	push_number(s);
	return c == ';' || c == ':';
}

static void in_private(struct screen *s, uint8_t c)
{
	unsigned i;

	if (in_number(s, c))
		return;
	for (i = 0; (c == 'h' || c == 'l') && i < s->n_numbers; i++)
		set_mode(s, s->numbers[i], c == 'h');
	s->state = TEXT;
	s->home = false;
}

/* CSI H, also as CSI 1 H and CSI 1 ; 1 H. */
static bool is_home(const struct screen *s)
{
	return s->n_numbers <= 2 && s->numbers[0] <= 1 &&
	       (s->n_numbers < 2 || s->numbers[1] <= 1);
}

static void in_other(struct screen *s, uint8_t c)
{
	bool home = s->home;

	if (in_number(s, c))
		return;
	s->state = c >= 0x40 && c <= 0x7e ? TEXT : FOREIGN;
	s->home = false;
	if (c == 'm') {
		s->styled = true;
		s->home = home; /* moves nothing */
	} else if (c == 'H' && is_home(s)) {
		s->home = true;
		s->home_at = s->begun;
	} else if (c == 'J' &&
		   (s->numbers[0] == 2 || (home && s->numbers[0] == 0))) {
		s->start = home ? s->home_at : s->begun;
	}
}

static void after_esc(struct screen *s, uint8_t c)
{
	s->state = c == '[' ? SAW_CSI : TEXT;
	if (c == '[')
		return;
	s->home = false;
	if (c == '=' || c == '>')
		s->keypad = c == '=';
	if (c == 'c') {
		s->start = s->begun;
		s->changed = 0;
		s->styled = s->keypad = false;
	}
}

/* The byte before s->seen. */
static void feed(struct screen *s, uint8_t c)
{
	if (c == ESC) {
		s->state = SAW_ESC;
		s->begun = s->seen - 1;
		return;
	}
	switch (s->state) {
	case SAW_ESC:
		after_esc(s, c);
		return;
	case SAW_CSI:
		s->number = s->n_numbers = s->numbers[0] = 0;
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
	case FOREIGN:
		if (c >= 0x40 && c <= 0x7e)
			s->state = TEXT;
		return;
	default:
		return;
	}
}

void screen_feed(struct screen *s, const uint8_t *data, size_t len)
{
	const uint8_t *end = data + len, *esc;

	while (data < end) {
		if (s->state == TEXT && *data != ESC) {
			esc = memchr(data, ESC, (size_t)(end - data));
			if (!esc)
				esc = end;
			s->seen += (uint64_t)(esc - data);
			s->home = false;
			data = esc;
			continue;
		}
		s->seen++;
		feed(s, *data++);
	}
}

/* @set: as it is; else as terminals begin. */
static void modes_write(const struct screen *s, bool set,
			char out[SCREEN_MODES_MAX])
{
	size_t used = 0, i;

	out[0] = '\0';
	for (i = 0; i < ARRAY_SIZE(modes); i++)
		if (s->changed & (1u << i))
			used += (size_t)snprintf(
				out + used, SCREEN_MODES_MAX - used,
				"\033[?%u%c", modes[i].number,
				modes[i].normally != set ? 'h' : 'l');
	if (s->keypad)
		used += (size_t)snprintf(out + used, SCREEN_MODES_MAX - used,
					 "\033%c", set ? '=' : '>');
	if (s->styled && !set)
		snprintf(out + used, SCREEN_MODES_MAX - used, "\033[m");
}

void screen_modes(const struct screen *s, char ret[SCREEN_MODES_MAX])
{
	modes_write(s, true, ret);
}

void screen_reset(struct screen *s, char ret[SCREEN_RESET_MAX])
{
	modes_write(s, false, ret);
	s->changed = 0;
	s->styled = s->keypad = false;
}

size_t screen_seam(const uint8_t *data, size_t len)
{
	const uint8_t *line = len ? memchr(data, '\n', len) : NULL;
	const uint8_t *esc = len ? memchr(data, ESC, len) : NULL;

	if (line && (!esc || line < esc))
		return (size_t)(line - data) + 1;
	return esc ? (size_t)(esc - data) : 0;
}
