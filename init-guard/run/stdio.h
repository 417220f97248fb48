/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stdio.h - the descriptors of an exec, and our ends of them
 */
#ifndef INIT_GUARD_RUN_STDIO_H
#define INIT_GUARD_RUN_STDIO_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/attr.h"

struct stdio {
	/* of the program: blocking; with a terminal, one descriptor three
	 * times; [0] is -1 without input: then it gets PID 1's own,
	 * /dev/null */
	int child[3];
	int in; /* ours, non-blocking: writes the program's input; -1: none */
	int out[2]; /* ours: stdout and stderr; [1] is -1 with a terminal */
};

/* Initialises @s with nothing open. */
void stdio_init(struct stdio *s);
/* Makes pipes; without @input the program reads /dev/null. @spare is
 * initialised; if it is filled, its pipes are used for the output and it is
 * emptied. Returns 0, and the caller closes @s by stdio_close(); or -errno with
 * nothing open. */
int stdio_open_pipes(struct stdio *s, bool input, struct stdio *spare) ATTR_WUR;
/* Makes pipes for the output of the next program in @spare, which is
 * initialised, unless it has them; ignores failures. */
void stdio_spare(struct stdio *spare);
/* Makes a terminal of this size. Returns like stdio_open_pipes(). */
int stdio_open_tty(struct stdio *s, uint16_t rows, uint16_t cols) ATTR_WUR;
/* Closes the child's descriptors, after the program was started. */
void stdio_close_child(struct stdio *s);
/* Closes all descriptors that are still open. */
void stdio_close(struct stdio *s);

#endif
