/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.c - follows what a program does to its terminal
 *
 * Recognises CSI ? n ; n ... h or l (DEC private modes), CSI ... m, the
 * keypad's ESC = and ESC >, changes of the keyboard, the cursor's shape, the
 * character set and the scrolling region, and what empties the screen: ESC c
 * (reset), CSI 2 J, CSI J directly after CSI H (home), and a change between the
 * two screens. It ignores all else.
 *
 * The cursor's position cannot be known without emulating a terminal. But what
 * is below it matters only once it has gone up (CSI A, ESC M, ...) or to a
 * place (CSI H, ...), until CSI J or enough line ends.
 */
#include "control/shared/screen.h"

#include <stdio.h>
#include <string.h>

#include "lib/slice.h"
#include "lib/str.h"

#define ESC 0x1b

#define NUMBER_MAX 100000u
#define ROWS_MAX 300u /* more than any terminal in use */

/* FOREIGN: a CSI sequence of which only the end matters. MORE, LESS: CSI > and
 * CSI <. STRING: titles and the like. */
enum {
	TEXT,
	SAW_ESC,
	SAW_CSI,
	PRIVATE,
	MORE,
	LESS,
	OTHER,
	FOREIGN,
	ESC_MORE,
	STRING
};

/* In the order in which they are restored: the alternate screen first, so the
 * others apply to the user's own. */
static const struct mode {
	unsigned number;
	bool normally;
} modes[] = {
	{ 1049, false }, { 1047, false }, { 47, false },   { 1000, false },
	{ 1002, false }, { 1003, false }, { 1005, false }, { 1006, false },
	{ 1015, false }, { 1016, false }, { 1004, false }, { 2004, false },
	{ 2026, false }, { 1, false },    { 5, false },    { 6, false },
	{ 7, true },     { 25, true },
};

static bool is_other_screen(unsigned number)
{
	return number == 1049 || number == 1047 || number == 47;
}

static bool on_other_screen(const struct screen *s)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(modes); i++)
		if (is_other_screen(modes[i].number) && s->changed & (1u << i))
			return true;
	return false;
}

static void cursor_placed(struct screen *s)
{
	if (!s->empty)
		s->raised = s->placed = ROWS_MAX;
}

static void cursor_free(struct screen *s)
{
	s->raised = s->placed = 0;
}

/* 1049 restores the cursor of the main screen; the others do not. */
static void change_screen(struct screen *s, unsigned number, bool on)
{
	/* After the sequence: the modes tell which screen is shown. */
	s->start = s->seen;
	if (on == on_other_screen(s))
		return;
	if (on) {
		s->main.raised = s->raised;
		s->main.placed = s->placed;
		s->main.mid_line = s->mid_line;
		s->empty = true;
	} else if (number == 1049) {
		s->raised = s->main.raised;
		s->placed = s->main.placed;
		s->mid_line = s->main.mid_line;
		s->empty = false;
	} else {
		s->empty = false;
		cursor_placed(s);
	}
}

static void set_mode(struct screen *s, unsigned number, bool on)
{
	size_t i;

	if (is_other_screen(number))
		change_screen(s, number, on);
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

/* Takes a digit or a separator of numbers (a colon separates parts of one, as
 * ISO 8613-6 has it for colours). Returns false at the end of the numbers. */
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

/* Returns true for CSI H, CSI 1 H and CSI 1 ; 1 H. */
static bool is_home(const struct screen *s)
{
	return s->n_numbers <= 2 && s->numbers[0] <= 1 &&
	       (s->n_numbers < 2 || s->numbers[1] <= 1);
}

/* CSI ... J. @home: directly after the cursor was sent home. */
static void erased(struct screen *s, bool home)
{
	if (s->numbers[0] == 2 || (home && s->numbers[0] == 0)) {
		s->start = home ? s->home_at : s->begun;
		s->empty = true;
	}
	if (s->numbers[0] == 2 || s->numbers[0] == 0)
		cursor_free(s);
}

static void in_other(struct screen *s, uint8_t c)
{
	bool home = s->home;

	if (in_number(s, c))
		return;
	s->state = c >= 0x40 && c <= 0x7e ? TEXT : FOREIGN;
	s->between = c;
	s->home = false;
	if (c == 'm') {
		s->styled = true;
		s->home = home; /* does not move the cursor */
	} else if (c == 'J') {
		erased(s, home);
	} else if (c == 'r') {
		s->region = s->numbers[0] > 0 || s->n_numbers > 1;
		cursor_placed(s);
	} else if (c == 'H' || c == 'f' || c == 'd') {
		s->home = c == 'H' && is_home(s);
		s->home_at = s->begun;
		cursor_placed(s);
	} else if (c == 'A' || c == 'F' || c == 'u') {
		s->raised = ROWS_MAX;
	}
}

/* CSI > and CSI <: kitty's u pushes and pops; CSI > 4 ; n m. */
static void in_keys(struct screen *s, uint8_t c)
{
	uint8_t *pushed = &s->keyboards[on_other_screen(s)];
	unsigned pops;

	if (in_number(s, c))
		return;
	pops = s->numbers[0] ? s->numbers[0] : 1;
	if (c == 'u' && s->state == MORE && *pushed < UINT8_MAX)
		(*pushed)++;
	else if (c == 'u' && s->state == LESS)
		*pushed = *pushed > pops ? (uint8_t)(*pushed - pops) : 0;
	else if (c == 'm' && s->state == MORE && s->numbers[0] == 4)
		s->other_keys = s->n_numbers > 1 && s->numbers[1] > 0;
	s->state = c >= 0x40 && c <= 0x7e ? TEXT : FOREIGN;
	s->between = 0;
	s->home = false;
}

static void as_terminals_begin(struct screen *s)
{
	s->changed = 0;
	s->styled = s->keypad = s->region = false;
	s->drawing = s->shaped = s->other_keys = false;
	s->keyboards[0] = s->keyboards[1] = 0;
}

static void after_esc(struct screen *s, uint8_t c)
{
	s->state = c == '[' ? SAW_CSI :
		   c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_' ?
			      STRING :
		   c >= 0x20 && c <= 0x2f ? ESC_MORE :
					    TEXT;
	s->between = c;
	if (c == '[')
		return;
	s->home = false;
	if (c == '=' || c == '>')
		s->keypad = c == '=';
	if (c == 'M' || c == '8')
		s->raised = ROWS_MAX;
	if (c == 'c') {
		s->start = s->begun;
		as_terminals_begin(s);
		cursor_free(s);
		s->mid_line = false;
		s->empty = true;
	}
}

static void after_csi(struct screen *s, uint8_t c)
{
	s->number = s->n_numbers = s->numbers[0] = 0;
	s->state = c == '?' ? PRIVATE :
		   c == '>' ? MORE :
		   c == '<' ? LESS :
			      OTHER;
	if (s->state == OTHER)
		in_other(s, c);
}

/* A sequence that matters only for the cursor's shape: CSI n SP q. */
static void in_foreign(struct screen *s, uint8_t c)
{
	if (c == 'q' && s->between == ' ')
		s->shaped = s->numbers[0] > 0;
	if (c >= 0x40 && c <= 0x7e)
		s->state = TEXT;
	s->between = c;
}

static void down(unsigned *rows, unsigned by)
{
	*rows -= *rows < by ? *rows : by;
}

/* Text without an escape. */
static void on_text(struct screen *s, const uint8_t *data, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (data[i] == '\n') {
			s->mid_line = false;
			down(&s->raised, 1);
			down(&s->placed, 1);
		} else if (data[i] >= 0x20 || data[i] == '\t') {
			s->mid_line = true;
			s->empty = false;
		}
	}
	s->home = false;
}

/* Takes the byte before s->seen. */
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
		after_csi(s, c);
		return;
	case MORE:
	case LESS:
		in_keys(s, c);
		return;
	case PRIVATE:
		in_private(s, c);
		return;
	case OTHER:
		in_other(s, c);
		return;
	case FOREIGN:
		in_foreign(s, c);
		return;
	case ESC_MORE:
		if (s->between == '(')
			s->drawing = c == '0';
		s->state = c >= 0x30 ? TEXT : ESC_MORE;
		return;
	case STRING:
		if (c == '\a' || c == 0x18 || c == 0x1a)
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
			on_text(s, data, (size_t)(esc - data));
			data = esc;
			continue;
		}
		s->seen++;
		feed(s, *data++);
	}
}

static size_t put_modes(const struct screen *s, bool set, char *out,
			size_t size)
{
	size_t used = 0, i;

	out[0] = '\0';
	for (i = 0; i < ARRAY_SIZE(modes); i++)
		if (s->changed & (1u << i))
			used += (size_t)snprintf(
				out + used, size - used, "\033[?%u%c",
				modes[i].number,
				modes[i].normally != set ? 'h' : 'l');
	if (s->keypad)
		used += (size_t)snprintf(out + used, size - used, "\033%c",
					 set ? '=' : '>');
	return used;
}

void screen_modes(const struct screen *s, char ret[SCREEN_MODES_MAX])
{
	(void)put_modes(s, true, ret, SCREEN_MODES_MAX);
}

void screen_reset(struct screen *s, char ret[SCREEN_RESET_MAX])
{
	char *out = ret;
	const char *end = ret + SCREEN_RESET_MAX;

	*out = '\0';
	if (s->keyboards[1])
		out += snprintf(out, (size_t)(end - out), "\033[<%uu",
				s->keyboards[1]);
	out += put_modes(s, false, out, (size_t)(end - out));
	if (s->keyboards[0])
		out += snprintf(out, (size_t)(end - out), "\033[<%uu",
				s->keyboards[0]);
	/* Resetting the region sends the cursor home, so it is saved. */
	snprintf(out, (size_t)(end - out), "%s%s%s%s%s",
		 s->region ? "\0337\033[r\0338" : "",
		 s->other_keys ? "\033[>4m" : "", s->shaped ? "\033[0 q" : "",
		 s->drawing ? "\033(B" : "", s->styled ? "\033[m" : "");
	/* As if the program had left the screen itself. */
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		if (is_other_screen(modes[i].number) && s->changed & (1u << i))
			set_mode(s, modes[i].number, false);
	as_terminals_begin(s);
}

bool screen_is_full(const struct screen *s)
{
	return on_other_screen(s) || s->placed > 0;
}

const char *screen_free_line(struct screen *s)
{
	if (s->raised == 0)
		return "";
	cursor_free(s);
	s->mid_line = false;
	return "\033[999;1H\r\n";
}

size_t screen_seam(const uint8_t *data, size_t len)
{
	const uint8_t *line = len ? memchr(data, '\n', len) : NULL;
	const uint8_t *esc = len ? memchr(data, ESC, len) : NULL;

	if (line && (!esc || line < esc))
		return (size_t)(line - data) + 1;
	return esc ? (size_t)(esc - data) : 0;
}
