/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pty.h - terminals for execs
 */
#ifndef INIT_GUARD_RUN_PTY_H
#define INIT_GUARD_RUN_PTY_H

#include <stdint.h>

#include "lib/err.h"

/* Makes a terminal whose slave is owned by the agent; the master is
 * non-blocking. Both are CLOEXEC and the caller's. Returns 0 or -errno. */
int pty_open(uint16_t rows, uint16_t cols, int *ret_master,
	     int *ret_slave) ATTR_WUR;
/* Sets the size; the foreground process group gets SIGWINCH. */
void pty_resize(int master, uint16_t rows, uint16_t cols);
/* Sends @signo to the foreground process group, if there is one. */
void pty_signal(int master, int signo);
/* Returns the end-of-file character, or -1 if the terminal is raw. */
int pty_eof_char(int master);

#endif
