/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pump_keys_test.c - what a terminal drops between poll() and read()
 *
 * A Ctrl-C drops what was typed before it. Here that happens just when poll()
 * has seen the key before it.
 */
#undef _FORTIFY_SOURCE /* else poll() is no function of ours */

#include "control/cli/wire/pump.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>

#include "lib/file.h"
#include "tests/unit/tap.h"

static unsigned drops; /* how often it has happened */

int poll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	const struct timespec ts = { timeout / 1000,
				     (long)(timeout % 1000) * 1000000 };
	int n = (int)syscall(SYS_ppoll, fds, nfds, timeout < 0 ? NULL : &ts,
			     NULL, 0);

	for (nfds_t i = 0; n > 0 && drops == 0 && i < nfds; i++) {
		if (!(fds[i].revents & POLLIN) || !isatty(fds[i].fd))
			continue;
		drops++;
		tcflush(fds[i].fd, TCIFLUSH);
		kill(getpid(), SIGINT);
	}
	return n;
}

static void test_drop(bool keys_only, const char *typed, const char *what)
{
	SCOPED_FD null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct pump_opts o = {
		.out = null, .err = null, .keys_only = keys_only, .shared = true
	};
	struct pump_result res;
	struct err err = { 0 };
	int pair[2], master, slave;

	if (openpty(&master, &slave, NULL, NULL, NULL) < 0) {
		skip("no terminal to be had here");
		return;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return;
	o.in = slave;
	o.sock = pair[0];
	drops = 0;
	ok(fd_write_all(master, typed, strlen(typed)) == 0, "%s", what);
	is_int(pump_run(&o, &res, &err), 0, "runs %s", err.msg);
	is_int(drops, 1, "what was typed is dropped once");
	is_int(res.end, PUMP_DETACHED, "the signal leaves all the same");
	is_int(res.code, 128 + SIGINT, "with its code");
	close(master);
	close(slave);
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	alarm(60); /* one that waits for more would wait for ever */
	test_drop(true, "q", "a key, where the keys to detach alone count");
	test_drop(false, "line\n", "a line, where what is typed is passed on");
	return done_testing();
}
