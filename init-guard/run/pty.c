/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pty.c - terminals for execs
 */
#include "init-guard/run/pty.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "init-guard/start/setup.h"
#include "lib/sock.h"

int pty_open(uint16_t rows, uint16_t cols, int *ret_master, int *ret_slave)
{
	const struct winsize size = { .ws_row = rows ? rows : 24,
				      .ws_col = cols ? cols : 80 };
	SCOPED_FD master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	SCOPED_FD slave = -1;
	char path[PATH_MAX];

	if (master < 0 || unlockpt(master) < 0)
		return -errno;
	if (ptsname_r(master, path, sizeof(path)) != 0)
		return -errno;
	slave = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0 || fchown(slave, AGENT_UID, AGENT_GID) < 0 ||
	    ioctl(slave, TIOCSWINSZ, &size) < 0 || fd_nonblock(master, 1) < 0)
		return -errno;
	*ret_master = fd_take(&master);
	*ret_slave = fd_take(&slave);
	return 0;
}

void pty_signal(int master, int signo)
{
	pid_t group = -1;

	if (ioctl(master, TIOCGPGRP, &group) == 0 && group > 1)
		kill(-group, signo);
}

void pty_resize(int master, uint16_t rows, uint16_t cols)
{
	const struct winsize size = { .ws_row = rows, .ws_col = cols };

	/* The kernel sends SIGWINCH. A closed terminal has no size. */
	(void)ioctl(master, TIOCSWINSZ, &size);
}

int pty_eof_char(int master)
{
	struct termios tio;

	if (tcgetattr(master, &tio) < 0 || !(tio.c_lflag & ICANON))
		return -1;
	return tio.c_cc[VEOF];
}
