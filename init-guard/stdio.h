/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stdio.h - the three descriptors of an exec and our ends of them
 */
#ifndef INIT_GUARD_STDIO_H
#define INIT_GUARD_STDIO_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/attr.h"

struct stdio {
	int child[3]; /* blocking; with a terminal, one descriptor thrice */
	int in; /* ours, non-blocking: writes the program's input; or -1 */
	int out[2]; /* ours: its stdout and stderr; [1] is -1 with a terminal */
};

/* Pipes; @input: else the program reads /dev/null. -errno. */
int stdio_open_pipes(struct stdio *s, bool input) ATTR_WUR;
int stdio_open_tty(struct stdio *s, uint16_t rows, uint16_t cols) ATTR_WUR;
void stdio_close_child(struct stdio *s); /* once the program has them */
void stdio_close(struct stdio *s); /* everything that was not taken */

#endif
