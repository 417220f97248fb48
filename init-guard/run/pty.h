/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pty.h - terminals for execs
 */
#ifndef INIT_GUARD_PTY_H
#define INIT_GUARD_PTY_H

#include <stdint.h>

#include "lib/err.h"

/*
 * Makes a terminal whose slave belongs to the agent. The master does not
 * block. Both are CLOEXEC and the caller's to close. -errno.
 */
int pty_open(uint16_t rows, uint16_t cols, int *ret_master,
	     int *ret_slave) ATTR_WUR;
/* Sets the size; the foreground group gets a SIGWINCH. */
void pty_resize(int master, uint16_t rows, uint16_t cols);
/* Sends @signo to the foreground group, if there is one. */
void pty_signal(int master, int signo);
/* The end-of-file character, or -1 when the terminal is raw. */
int pty_eof_char(int master);

#endif
