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
	int child[3]; /* blocking; with a terminal, one descriptor thrice; [0]
		       * is -1 when it is PID 1's own, /dev/null */
	int in; /* ours, non-blocking: writes the program's input; or -1 */
	int out[2]; /* ours: its stdout and stderr; [1] is -1 with a terminal */
};

void stdio_init(struct stdio *s); /* nothing open */
/* Pipes; @input: else the program reads /dev/null. @spare, where it is
 * filled, is used for the output and emptied. -errno. */
int stdio_open_pipes(struct stdio *s, bool input, struct stdio *spare) ATTR_WUR;
/* Fills @spare unless it is filled, as far as that goes. */
void stdio_spare(struct stdio *spare);
int stdio_open_tty(struct stdio *s, uint16_t rows, uint16_t cols) ATTR_WUR;
void stdio_close_child(struct stdio *s); /* once the program has them */
void stdio_close(struct stdio *s); /* everything that was not taken */

#endif
