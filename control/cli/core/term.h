/* SPDX-License-Identifier: Apache-2.0 */
/*
 * term.h - the user's terminal: raw mode, size, keys to detach
 */
#ifndef CONTROL_CLI_CORE_TERM_H
#define CONTROL_CLI_CORE_TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/*
 * Raw mode for the terminal at @fd (borrowed, one at a time). From then on
 * every way out puts the settings back: term_restore(), exit(), and a crash.
 */
int term_raw(int fd);
/* The same, but only so that each key comes at once and is not shown: output,
 * Ctrl-C and Ctrl-Z stay the terminal's. */
int term_keys(int fd);
void term_restore(void); /* harmless when not raw */

/* -ENOTTY when @fd is no terminal; 24x80 for one that does not know. */
int term_size(int fd, uint16_t *ret_rows, uint16_t *ret_cols);

#define DETACH_KEYS_MAX 8u
#define DETACH_KEYS_DEFAULT "ctrl-p,ctrl-q"

struct detach {
	uint8_t keys[DETACH_KEYS_MAX];
	size_t n; /* 0: no way to detach */
	size_t held; /* keys[0..held) were typed and kept back */
};

/* "ctrl-p,ctrl-q": single characters, and ctrl- with a-z @ [ \ ] ^ _; the
 * empty string is no sequence. -EINVAL. */
int detach_parse(const char *spec, struct detach *ret);

/*
 * Passes typed bytes on, but for a sequence that may be the beginning of the
 * keys. @out has room for @len + DETACH_KEYS_MAX bytes. True when the keys
 * were complete; what came after them is dropped.
 */
bool detach_feed(struct detach *d, const uint8_t *in, size_t len, uint8_t *out,
		 size_t *ret_len);

#endif
