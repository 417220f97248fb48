/* SPDX-License-Identifier: Apache-2.0 */
/*
 * term.c - the user's terminal
 *
 * The saved settings are global, so that a crash handler finds them.
 */
#include "control/cli/core/term.h"

#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>

static struct {
	volatile sig_atomic_t raw;
	int fd;
	struct termios before;
} saved;

/* Signal handlers call this too: only tcsetattr(). */
void term_restore(void)
{
	int keep = errno;

	if (saved.raw) {
		saved.raw = 0;
		tcsetattr(saved.fd, TCSADRAIN, &saved.before);
	}
	errno = keep;
}

static void on_crash(int signo)
{
	term_restore();
	/* SA_RESETHAND has restored the default action. */
	raise(signo);
}

static void crash_handlers_set(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL,
				       SIGABRT };
	struct sigaction sa = { .sa_handler = on_crash,
				.sa_flags = SA_RESETHAND | SA_NODEFER };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &sa, NULL);
	atexit(term_restore);
}

/* Saves the terminal's settings, and copies them to *ret to be changed. Returns
 * 1 if they are saved already. */
static int settings_save(int fd, struct termios *ret)
{
	if (saved.raw)
		return 1;
	if (tcgetattr(fd, &saved.before) < 0)
		return -errno;
	*ret = saved.before;
	return 0;
}

static int settings_set(int fd, const struct termios *t)
{
	static bool handlers;

	if (!handlers) {
		crash_handlers_set();
		handlers = true;
	}
	saved.fd = fd;
	saved.raw = 1;
	if (tcsetattr(fd, TCSADRAIN, t) < 0) {
		saved.raw = 0;
		return -errno;
	}
	return 0;
}

int term_raw(int fd)
{
	struct termios t = { 0 };
	int rc = settings_save(fd, &t);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	cfmakeraw(&t);
	return settings_set(fd, &t);
}

int term_keys(int fd)
{
	struct termios t = { 0 };
	int rc = settings_save(fd, &t);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	t.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN);
	t.c_iflag &= ~(tcflag_t)(IXON | IXOFF);
	t.c_cc[VMIN] = 1;
	t.c_cc[VTIME] = 0;
	return settings_set(fd, &t);
}

int term_size(int fd, uint16_t *ret_rows, uint16_t *ret_cols)
{
	struct winsize ws = { 0 };

	if (ioctl(fd, TIOCGWINSZ, &ws) < 0)
		return -ENOTTY;
	*ret_rows = ws.ws_row ? ws.ws_row : 24;
	*ret_cols = ws.ws_col ? ws.ws_col : 80;
	return 0;
}

/* Parses one key of the list, @len characters at @s. */
static int key_parse(const char *s, size_t len, uint8_t *ret)
{
	unsigned char c;

	if (len == 1) {
		*ret = (uint8_t)s[0];
		return 0;
	}
	if (len != 6 || strncmp(s, "ctrl-", 5) != 0)
		return -EINVAL;
	c = (unsigned char)s[5];
	if (c >= 'a' && c <= 'z')
		*ret = (uint8_t)(c - 'a' + 1);
	else if (c >= '@' && c <= '_')
		*ret = (uint8_t)(c - '@');
	else
		return -EINVAL;
	return 0;
}

int detach_parse(const char *spec, struct detach *ret)
{
	struct detach d = { .n = 0 };

	while (*spec) {
		size_t len = strcspn(spec, ",");

		if (d.n == DETACH_KEYS_MAX ||
		    key_parse(spec, len, &d.keys[d.n]) < 0)
			return -EINVAL;
		d.n++;
		spec += len;
		if (*spec == ',' && *++spec == '\0')
			return -EINVAL; /* a comma at the end */
	}
	*ret = d;
	return 0;
}

/* @c does not continue the sequence: passes on what cannot begin it any more,
 * and keeps the longest end that can. */
static size_t detach_shift(struct detach *d, uint8_t c, uint8_t *out)
{
	uint8_t all[DETACH_KEYS_MAX + 1];
	size_t n = d->held + 1, from = 1;

	memcpy(all, d->keys, d->held);
	all[d->held] = c;
	while (from < n && memcmp(all + from, d->keys, n - from) != 0)
		from++;
	memcpy(out, all, from);
	d->held = n - from;
	return from;
}

bool detach_feed(struct detach *d, const uint8_t *in, size_t len, uint8_t *out,
		 size_t *ret_len)
{
	size_t i, n = 0;

	for (i = 0; i < len; i++) {
		if (d->n == 0) {
			out[n++] = in[i];
			continue;
		}
		if (in[i] != d->keys[d->held]) {
			n += detach_shift(d, in[i], out + n);
			continue;
		}
		if (++d->held == d->n) {
			d->held = 0;
			*ret_len = n;
			return true;
		}
	}
	*ret_len = n;
	return false;
}
