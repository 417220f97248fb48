/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pump_screen_test.c - our own lines on a terminal that a program draws on
 */
#include "control/cli/wire/pump_screen.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/file.h"
#include "tests/unit/tap.h"

/* A pipe stands for the terminal: a pty hands over what was written when the
 * kernel comes to it, a pipe at once. */
static int shown = -1, out = -1;

static void wrote(struct pump_screen *ps, const char *text)
{
	struct slice s = slice_of(text, strlen(text));

	if (fd_write_all(out, s.ptr, s.len) == 0)
		pump_screen_wrote(ps, s, true);
}

/* What the terminal was sent since the last call. */
static const char *sent(void)
{
	static char text[4096];
	ssize_t n = read(shown, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void begin(struct pump_screen *ps)
{
	pump_screen_init(ps, out, out, true, true);
}

static void test_full(void)
{
	struct pump_screen ps;

	begin(&ps);
	wrote(&ps, "$ \033[?1049h\033[2J\033[5;5Hfull");
	sent();
	pump_screen_say(&ps, "by the way", false, true);
	is_str(sent(), "", "a line waits while a program has the screen");
	pump_screen_say(&ps, "it stands", true, true);
	is_str(sent(), "\0337\033[999;1H\033[2K\033[mac: it stands\0338",
	       "what is serious is in the last row");
	wrote(&ps, "more");
	sent();
	pump_screen_leave(&ps, true);
	is_str(sent(), "\033[?1049l\nac: by the way\nac: it stands\n",
	       "both come behind what was there before the program");
	ok(!ps.mid_line, "what is said then has a line of its own");
	pump_screen_leave(&ps, true);
	is_str(sent(), "", "once");
	pump_screen_done(&ps);
}

static void test_over(void)
{
	struct pump_screen ps;

	begin(&ps);
	wrote(&ps, "old\r\n\033[2;9r\033[?25l\033[5;5Hover");
	sent();
	pump_screen_leave(&ps, true);
	is_str(sent(), "\033[?25h\0337\033[r\0338\033[999;1H\r\n",
	       "one that drew over all is left for the row below it");
	ok(!ps.mid_line, "which is free");
	pump_screen_done(&ps);
	begin(&ps);
	wrote(&ps, "\033[5;5Hover\033[24;1H");
	sent();
	pump_screen_leave(&ps, false);
	is_str(sent(), "", "one that ended by itself has seen to it");
	pump_screen_done(&ps);
}

static void test_lines(void)
{
	struct pump_screen ps;

	begin(&ps);
	wrote(&ps, "text\r\n");
	sent();
	pump_screen_say(&ps, "one", false, false);
	is_str(sent(), "ac: one\n", "between lines a line comes at once");
	wrote(&ps, "$ ");
	sent();
	pump_screen_say(&ps, "two", false, false);
	is_str(sent(), "\nac: two\n", "and behind a prompt in its own");
	wrote(&ps, "$ ");
	pump_screen_leave(&ps, true);
	ok(ps.mid_line, "who says the next ends the line");
	pump_screen_done(&ps);
}

/* More than a program of hours can have us say. */
static void test_flood(void)
{
	struct pump_screen ps;
	char line[256];

	begin(&ps);
	wrote(&ps, "\033[?1049h");
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	for (int i = 0; i < 1000; i++)
		pump_screen_say(&ps, line, false, true);
	ok(buf_len(&ps.held) > 0 && buf_len(&ps.held) <= 16384,
	   "%zu bytes are kept of it", buf_len(&ps.held));
	pump_screen_done(&ps);
	sent();
}

int main(void)
{
	int fd[2];

	if (pipe2(fd, O_CLOEXEC | O_NONBLOCK) < 0) {
		printf("Bail out! no pipe\n");
		return 1;
	}
	shown = fd[0];
	out = fd[1];
	test_full();
	test_over();
	test_lines();
	test_flood();
	close(shown);
	close(out);
	return done_testing();
}
