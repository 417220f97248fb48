/* SPDX-License-Identifier: Apache-2.0 */
/*
 * term_test.c - keys that detach, the terminal's way there and back
 */
#include "control/cli/core/term.h"

#include <pty.h>
#include <termios.h>

#include "control/cli/wire/pump_signal.h"
#include "control/shared/screen.h"
#include "tests/unit/tap.h"

static void test_specs(void)
{
	static const struct {
		const char *spec;
		int want;
		size_t n;
	} rows[] = {
		{ "ctrl-p,ctrl-q", 0, 2 },
		{ "", 0, 0 },
		{ "a", 0, 1 },
		{ "ctrl-@,ctrl-[,ctrl-_", 0, 3 },
		{ "a,b,c,d,e,f,g,h", 0, 8 },
		{ "a,b,c,d,e,f,g,h,i", -EINVAL, 0 },
		{ "ctrl-", -EINVAL, 0 },
		{ "ctrl-1", -EINVAL, 0 },
		{ "ctrl-pq", -EINVAL, 0 },
		{ "a,", -EINVAL, 0 },
		{ ",a", -EINVAL, 0 },
		{ "ab", -EINVAL, 0 },
	};
	struct detach d;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		is_int(detach_parse(rows[i].spec, &d), rows[i].want,
		       "keys '%s'", rows[i].spec);
		if (rows[i].want == 0)
			is_int(d.n, rows[i].n, "their number");
	}
}

/* Feeds @typed byte by byte and as a whole: it must not matter. */
static void test_feed(const char *spec, const char *typed, const char *out,
		      bool leaves)
{
	size_t step, i, n, len = strlen(typed);

	for (step = 1; step <= len; step += len > 1 ? len - 1 : 1) {
		char got[64] = "";
		size_t total = 0;
		struct detach d;
		bool left = false;

		if (detach_parse(spec, &d) < 0)
			return;
		for (i = 0; i < len && !left; i += step) {
			left = detach_feed(&d, (const uint8_t *)typed + i,
					   len - i < step ? len - i : step,
					   (uint8_t *)got + total, &n);
			total += n;
		}
		got[total] = '\0';
		is_str(got, out, "%s: typed in steps of %zu", spec, step);
		is_int(left, leaves, "detached");
	}
}

static void test_terminal(void)
{
	struct winsize ws = { .ws_row = 31, .ws_col = 97 };
	struct termios before, raw, after;
	uint16_t rows = 0, cols = 0;
	int master, slave, pipes[2];

	if (openpty(&master, &slave, NULL, NULL, &ws) < 0) {
		skip("no pseudo-terminals here");
		return;
	}
	tcgetattr(slave, &before);
	is_int(term_raw(slave), 0, "raw mode");
	tcgetattr(slave, &raw);
	ok(!(raw.c_lflag & (ICANON | ECHO | ISIG)), "is raw");
	is_int(term_raw(slave), 0, "twice is once");
	term_restore();
	tcgetattr(slave, &after);
	ok(memcmp(&before.c_lflag, &after.c_lflag, sizeof(tcflag_t)) == 0 &&
		   before.c_oflag == after.c_oflag,
	   "all is as before");
	term_restore();
	is_int(term_keys(slave), 0, "keys alone");
	tcgetattr(slave, &raw);
	ok(!(raw.c_lflag & (ICANON | ECHO)) && raw.c_lflag & ISIG &&
		   raw.c_oflag == before.c_oflag,
	   "come at once, unseen, but for Ctrl-C");
	term_restore();
	tcgetattr(slave, &after);
	ok(before.c_lflag == after.c_lflag, "all is as before");
	is_int(term_size(slave, &rows, &cols), 0, "its size");
	ok(rows == 31 && cols == 97, "is 31 x 97");
	is_int(pipe(pipes), 0, "a pipe");
	is_int(term_size(pipes[0], &rows, &cols), -ENOTTY, "has no size");
	is_int(term_raw(pipes[0]), -ENOTTY, "cannot be raw");
	close(pipes[0]);
	close(pipes[1]);
	close(master);
	close(slave);
}

static void test_signals(void)
{
	struct pump_signals s;
	uint32_t pass;

	pump_signals_init(&s);
	is_int(pump_signals_decide(&s, SIGINT, false, false, 1000, &pass),
	       PUMP_SIGNAL_PASS, "the first");
	is_int(pass, SIGINT, "is passed on");
	pump_signals_decide(&s, SIGUSR1, false, false, 1100, &pass);
	is_int(pass, SIGUSR1, "another kind does not count");
	is_int(pump_signals_decide(&s, SIGINT, false, false, 9000, &pass),
	       PUMP_SIGNAL_PASS, "one much later");
	is_int(pass, SIGINT, "is a first again");
	is_int(pump_signals_decide(&s, SIGTERM, false, false, 9500, &pass),
	       PUMP_SIGNAL_PASS, "a second soon after");
	is_int(pass, SIGKILL, "kills");
	is_int(pump_signals_decide(&s, SIGINT, false, false, 9600, &pass),
	       PUMP_SIGNAL_GIVE_UP, "the third gives up");
	pump_signals_init(&s);
	is_int(pump_signals_decide(&s, SIGHUP, true, false, 1, &pass),
	       PUMP_SIGNAL_GIVE_UP, "our terminal is gone");
	is_int(pass, SIGHUP, "which is passed on");
	is_int(pump_signals_decide(&s, SIGTERM, false, true, 1, &pass),
	       PUMP_SIGNAL_DETACH, "attached to another's run: detach");
	is_int(pass, 0, "and leave it alone");
	is_int(pump_signals_decide(&s, SIGINT, false, true, 1, &pass),
	       PUMP_SIGNAL_DETACH, "Ctrl-C there leaves too");
	is_int(pass, 0, "and the run hears nothing");
	is_int(pump_signals_decide(&s, SIGINT, true, true, 1, &pass),
	       PUMP_SIGNAL_PASS, "but not where it is a key");
}

/* What a program leaves switched on, and what puts it back. */
static void test_screen(void)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "plain text\r\n", "" },
		{ "\033[?1049h\033[?25l", "\033[?1049l\033[?25h" },
		{ "\033[?1049h\033[?1049l", "" },
		{ "\033[?1000;1006h", "\033[?1000l\033[?1006l" },
		{ "\033[?2004h\033[1;31mred", "\033[?2004l\033[m" },
		{ "\033[?1002h\033[?1003h", "\033[?1002l\033[?1003l" },
		{ "\033[?99999999999999999999h", "" },
		{ "\033[?1;2;3;4;5;6;7;8;9;10;25l", "\033[?7h" },
		{ "\033[?1049\033[?1049r", "" },
		{ "\033[1049h", "" },
		{ "\033[4:3m", "\033[m" },
		{ "\033[38:2::255:0:0mred", "\033[m" },
		{ "\033[2;9r", "\0337\033[r\0338" },
		{ "\033[2;9r\033[r", "" },
		{ "\033[?2026h\033[?1015h", "\033[?1015l\033[?2026l" },
		{ "\033(0lqqk", "\033(B" },
		{ "\033(0lqqk\033(B", "" },
		{ "\033)0\033 F", "" },
		{ "\033[4 q", "\033[0 q" },
		{ "\033[4 q\033[0 q", "" },
		{ "\033[4\"q", "" },
		{ "\033[>4;2m", "\033[>4m" },
		{ "\033[>4;2m\033[>4m", "" },
		{ "\033[>1u\033[>5u", "\033[<2u" },
		{ "\033[>1u\033[<u", "" },
		{ "\033[>1u\033[<99u\033[<u", "" },
		{ "\033[>1u\033[?1049h\033[>1u",
		  "\033[<1u\033[?1049l\033[<1u" },
		{ "\033]0;a title\033\\\033]2;\033[?25l", "\033[?25h" },
		{ "\033]0;\a\033[?25l", "\033[?25h" },
		{ "\033[2;9r\033[?25l\033[>4;1m\033(0\033[1m\033c", "" },
	};
	char got[SCREEN_RESET_MAX];
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const uint8_t *text = (const uint8_t *)rows[i].text;
		struct screen s = { 0 };

		for (j = 0; j < strlen(rows[i].text); j++)
			screen_feed(&s, text + j, 1);
		screen_reset(&s, got);
		is_str(got, rows[i].want, "screen %zu, byte by byte", i);
		screen_reset(&s, got);
		is_str(got, "", "screen %zu: once", i);
		screen_feed(&s, text, strlen(rows[i].text));
		screen_reset(&s, got);
		is_str(got, rows[i].want, "screen %zu, in one piece", i);
	}
}

/* Where a terminal that joins begins, and with which modes. */
static void test_screen_join(void)
{
	static const struct {
		const char *text;
		uint64_t start;
		const char *modes;
	} rows[] = {
		{ "ab\r\ncd", 0, "" },
		{ "ab\033[2Jcd", 2, "" },
		{ "ab\033[H\033[2J\033[3Jcd", 2, "" },
		{ "ab\033[H\033[Jcd", 2, "" },
		{ "ab\033[1;1H\033[m\033[0Jcd", 2, "" },
		{ "ab\033[Hx\033[Jcd", 0, "" },
		{ "ab\033[2;1H\033[Jcd", 0, "" },
		{ "ab\033[Jcd", 0, "" },
		{ "ab\033[1Jcd", 0, "" },
		{ "ab\033[?2Jcd", 0, "" },
		{ "ab\033[>2Jcd", 0, "" },
		{ "ab\033[ 2Jcd", 0, "" },
		{ "ab\033[?1049hcd", 10, "\033[?1049h" },
		{ "ab\033[?1049h\033[2Jcd", 10, "\033[?1049h" },
		{ "ab\033[?1049hxx\033[?1049lcd", 20, "" },
		{ "\033[?25l\033[?1h\033=x", 0, "\033[?1h\033[?25l\033=" },
		{ "\033[?25l\033=\033ccd", 8, "" },
	};
	char got[SCREEN_MODES_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const uint8_t *text = (const uint8_t *)rows[i].text;
		struct screen s = { 0 }, p = { 0 };

		screen_feed(&s, text, strlen(rows[i].text));
		is_int(s.start, rows[i].start, "join %zu: start", i);
		screen_modes(&s, got);
		is_str(got, rows[i].modes, "join %zu: modes", i);
		for (size_t j = 0; j < strlen(rows[i].text); j++)
			screen_feed(&p, text + j, 1);
		is_int(p.start, rows[i].start, "join %zu, byte by byte", i);
	}
	is_int(screen_seam((const uint8_t *)"ab\ncd", 5), 3, "at a line");
	is_int(screen_seam((const uint8_t *)"ab\033[m\n", 6), 2,
	       "at a sequence");
	is_int(screen_seam((const uint8_t *)"abc", 3), 0, "or nowhere");
	is_int(screen_seam(NULL, 0), 0, "in nothing");
}

/* All that can be switched on at once fits, and comes out whole. */
static void test_screen_most(void)
{
	static const char text[] =
		"\033[?1049;1047;47;1000;1002;1003;1005;1006h"
		"\033[?1015;1016;1004;2004;2026;1;5;6h\033[?7;25l"
		"\033=\033[2;3r\033[>4;1m\033[2 q\033(0\033[1m";
	char got[SCREEN_RESET_MAX];
	struct screen s = { 0 };

	for (int i = 0; i < 300; i++)
		screen_feed(&s, (const uint8_t *)"\033[>1u", 5);
	screen_feed(&s, (const uint8_t *)text, sizeof(text) - 1);
	for (int i = 0; i < 300; i++)
		screen_feed(&s, (const uint8_t *)"\033[>1u", 5);
	screen_reset(&s, got);
	ok(strlen(got) < SCREEN_RESET_MAX - 1 &&
		   strcmp(got + strlen(got) - 3, "\033[m") == 0,
	   "%zu bytes put back everything", strlen(got));
	screen_modes(&s, got);
	is_str(got, "", "and then nothing is changed");
}

/* Where a line of ours may stand when the program is left. */
static void test_screen_line(void)
{
	static const struct {
		const char *text;
		bool full, bottom, mid_line;
	} rows[] = {
		{ "", false, false, false },
		{ "text\r\n", false, false, false },
		{ "text\r\n$ ", false, false, true },
		{ "10 %\r", false, false, true },
		{ "\r\n\033[?2004l\r\033[m\033(B", false, false, false },
		{ "\r\n\033]0;title\a", false, false, false },
		/* A screen that the program leaves as it was. */
		{ "\033[?1049h\033[5;5Hx", true, false, false },
		{ "$ \033[?1049h\033[5;5Hx", true, false, true },
		{ "\033[?1049h\033[5;5Hx\033[?1049l", false, false, false },
		{ "\033[?47h\033[5;5Hx", true, true, false },
		{ "a\033[5;5Hx\033[?1049h\033[J", true, true, false },
		/* One that draws over all. */
		{ "old\r\n\033[5;5Hx", true, true, false },
		{ "old\033[2;5r", true, true, false },
		{ "old\r\n\033[3A\r", false, true, false },
		{ "old\r\n\033Mx", false, true, false },
		/* Nothing is below it. */
		{ "old\r\n\033[3A\r\033[J$ ", false, false, true },
		{ "old\033[H\033[2Jnew\r\n", false, false, false },
		{ "old\033[2J\033[Hnew\r\n", false, false, false },
		{ "old\033[2J\033[H\033[4;4Hx\033[2;2Hy", true, true, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct screen s = { 0 };
		char back[SCREEN_RESET_MAX];

		screen_feed(&s, (const uint8_t *)rows[i].text,
			    strlen(rows[i].text));
		is_int(screen_is_full(&s), rows[i].full, "line %zu: full", i);
		screen_reset(&s, back);
		is_str(screen_free_line(&s),
		       rows[i].bottom ? "\033[999;1H\r\n" : "",
		       "line %zu: where it goes", i);
		is_int(s.mid_line, rows[i].mid_line, "line %zu: begun", i);
	}
}

/* What was drawn is believed gone when it has surely scrolled away. */
static void test_screen_scrolled(void)
{
	struct screen s = { 0 };

	screen_feed(&s, (const uint8_t *)"x\033[5;5Hx", 8);
	for (int i = 0; i < 299; i++)
		screen_feed(&s, (const uint8_t *)"x\r\n", 3);
	ok(screen_is_full(&s), "not yet");
	screen_feed(&s, (const uint8_t *)"x\r\n", 3);
	ok(!screen_is_full(&s) && !*screen_free_line(&s), "now");
}

int main(void)
{
	test_screen_most();
	test_screen_line();
	test_screen_scrolled();
	test_specs();
	test_feed("ctrl-p,ctrl-q", "ab\020\021cd", "ab", true);
	test_feed("ctrl-p,ctrl-q", "ab\020cd", "ab\020cd", false);
	test_feed("ctrl-p,ctrl-q", "\020\020\021", "\020", true);
	test_feed("ctrl-p,ctrl-q", "\021\020", "\021", false);
	test_feed("", "\020\021", "\020\021", false);
	test_feed("a,a,b", "aaab", "a", true);
	test_feed("a,b,a,c", "ababac", "ab", true);
	test_feed("a,b,a,c", "abax", "abax", false);
	test_feed("x", "x", "", true);
	test_terminal();
	test_signals();
	test_screen();
	test_screen_join();
	return done_testing();
}
