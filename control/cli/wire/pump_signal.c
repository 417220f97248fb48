/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pump_signal.c - the user's signals during a run
 */
#include "control/cli/wire/pump_signal.h"

#include <string.h>
#include <sys/signalfd.h>

#include "lib/attr.h"

void pump_signals_init(struct pump_signals *s)
{
	memset(s, 0, sizeof(*s));
	s->fd = -1;
}

int pump_signals_begin(struct pump_signals *s, bool tty)
{
	static const int caught[] = { SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
				      SIGUSR1, SIGUSR2, SIGWINCH };
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < ARRAY_SIZE(caught); i++)
		sigaddset(&set, caught[i]);
	if (tty)
		sigaddset(&set, SIGTSTP);
	if (sigprocmask(SIG_BLOCK, &set, &s->before) < 0)
		return -errno;
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd < 0) {
		int rc = -errno;

		sigprocmask(SIG_SETMASK, &s->before, NULL);
		return rc;
	}
	return 0;
}

void pump_signals_end(struct pump_signals *s)
{
	if (s->fd < 0)
		return;
	close(s->fd);
	s->fd = -1;
	sigprocmask(SIG_SETMASK, &s->before, NULL);
}

int pump_signals_read(struct pump_signals *s)
{
	struct signalfd_siginfo info;

	if (read(s->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	return (int)info.ssi_signo;
}

enum pump_signal_act pump_signals_decide(struct pump_signals *s, int signo,
					 bool raw, bool shared, uint64_t now_ms,
					 uint32_t *ret_pass)
{
	*ret_pass = (uint32_t)signo;
	if (signo == SIGUSR1 || signo == SIGUSR2)
		return PUMP_SIGNAL_PASS;
	if (shared && (signo == SIGHUP || signo == SIGTERM || !raw)) {
		*ret_pass = 0;
		return PUMP_SIGNAL_DETACH;
	}
	if (raw && signo == SIGHUP)
		return PUMP_SIGNAL_GIVE_UP;
	if (s->count > 0 && now_ms - s->last_ms > PUMP_SIGNAL_INSIST_MS)
		s->count = 0;
	s->last_ms = now_ms;
	s->count++;
	if (s->count == 1)
		return PUMP_SIGNAL_PASS;
	*ret_pass = SIGKILL;
	return s->count == 2 ? PUMP_SIGNAL_PASS : PUMP_SIGNAL_GIVE_UP;
}
