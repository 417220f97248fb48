/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say.c - messages to the user on standard error
 *
 * Descriptor 2 belongs to the program. A line in the middle of a data file or
 * of a drawn screen, or a signal that kills the program, would be worse than no
 * line, so doubtful cases are silent.
 */
#include "net-preload/say.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>

#include "net-preload/cache.h"
#include "net-preload/sys.h"

#define PREFIX "ac: "
#define PREFIX_LEN (sizeof(PREFIX) - 1)
#define OUT_MAX (WIRE_TEXT_MAX + WIRE_LINES_MAX * PREFIX_LEN)

/* The beginning of the kernel's struct termios, which differs from the C
 * library's; no architecture has a longer one than this. */
struct kernel_termios {
	uint32_t iflag, oflag, cflag, lflag;
	uint8_t rest[112];
};

/* Written only by say_start(), before the hooks are on. */
static bool allowed;
static struct stat begun;

static bool is_quiet(void)
{
	const char *v = getenv("AC_NET_QUIET");

	return v && v[0] && !(v[0] == '0' && v[1] == '\0');
}

void say_start(void)
{
	allowed = !is_quiet() && getauxval(AT_SECURE) == 0 &&
		  syscall(SYS_fstat, STDERR_FILENO, &begun) == 0;
}

static bool is_as_begun(void)
{
	struct stat now;

	return syscall(SYS_fstat, STDERR_FILENO, &now) == 0 &&
	       now.st_dev == begun.st_dev && now.st_ino == begun.st_ino &&
	       now.st_rdev == begun.st_rdev &&
	       (now.st_mode & S_IFMT) == (begun.st_mode & S_IFMT);
}

/* Returns true for a raw terminal, as editors and prompts use it, and for one
 * that stops background writers (TOSTOP). */
static bool is_drawn_on(void)
{
	struct kernel_termios t;

	if (syscall(SYS_ioctl, STDERR_FILENO, TCGETS, &t) < 0)
		return false; /* not a terminal */
	return (t.lflag & (ICANON | TOSTOP)) != ICANON;
}

/* Returns true if a write would not block and a reader is there. */
static bool is_writable(void)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };
	struct timespec at_once = { 0 };

	return syscall(SYS_ppoll, &p, 1, &at_once, NULL, 0) == 1 &&
	       p.revents == POLLOUT;
}

bool say_may(void)
{
	return allowed && is_as_begun() && !is_drawn_on() && is_writable();
}

/*
 * Does one write(2) and swallows the signal that it may raise: SIGPIPE when the
 * reader has just gone, SIGXFSZ at the limit of a file. Such a signal is sent
 * to this very thread before write(2) returns, so it is removed before the mask
 * is restored; one that was pending before remains.
 *
 * Only these two are blocked. The pipe may have been filled by others, or a
 * terminal may have less room than the line is long: then write(2) waits, as
 * the program's own would, and Ctrl-C has to end it. A non-blocking write is
 * impossible: O_NONBLOCK affects every process that has the file open,
 * terminals and gVisor refuse RWF_NOWAIT, and a pipe of root's cannot be
 * reopened. The price: a handler that leaves by longjmp(3) in these
 * microseconds, with no mask saved (sigsetjmp(3)), leaves the two blocked.
 */
static void write_out(const char *text, size_t len)
{
	const uint64_t own = SYS_SIGNAL(SIGPIPE) | SYS_SIGNAL(SIGXFSZ);
	const struct timespec at_once = { 0 };
	uint64_t before, pending = 0, mine = 0;

	if (!sys_signals_hold(own, &before))
		return;
	syscall(SYS_rt_sigpending, &pending, SYS_SIGSET_BYTES);
	if (syscall(SYS_write, STDERR_FILENO, text, len) < 0) {
		if (errno == EPIPE)
			mine = SYS_SIGNAL(SIGPIPE);
		else if (errno == EFBIG)
			mine = SYS_SIGNAL(SIGXFSZ);
	}
	if (mine & ~pending)
		syscall(SYS_rt_sigtimedwait, &mine, NULL, &at_once,
			SYS_SIGSET_BYTES);
	sys_signals_restore(before);
}

/*
 * Copies @text with "ac: " before each line that lacks it; returns the length.
 */
static size_t prefixed(const uint8_t *text, size_t len, char out[OUT_MAX])
{
	bool begin = true;
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (begin && (len - i < PREFIX_LEN ||
			      memcmp(text + i, PREFIX, PREFIX_LEN) != 0)) {
			memcpy(out + n, PREFIX, PREFIX_LEN);
			n += PREFIX_LEN;
		}
		begin = text[i] == '\n';
		out[n++] = (char)text[i];
	}
	return n;
}

void say_answer(const struct dest *d, const struct wire_answer *a)
{
	uint64_t begin = CACHE_HASH + (a->verdict == WIRE_DENY);
	char out[OUT_MAX];
	uint64_t who;

	if (a->text_len == 0 || !say_may())
		return;
	who = a->name_len > 0 ?
		      cache_hash(begin, a->name, (unsigned)a->name_len) :
		      cache_hash(begin, &d->address, sizeof(d->address));
	if (cache_tell(who))
		write_out(out, prefixed(a->text, a->text_len, out));
}

void say_ipv6(void)
{
	static const char text[] =
		"ac: IPv6 does not leave the sandbox; use a name or an IPv4 "
		"address\n";

	if (say_may() && cache_tell(cache_hash(CACHE_HASH, text, 8)))
		write_out(text, sizeof(text) - 1);
}
