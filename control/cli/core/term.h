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
 * Puts the terminal @fd (borrowed, one at a time) into raw mode. Afterwards
 * every way out restores the settings: term_restore(), exit(), and a crash.
 * Returns 0 or a negative errno.
 */
int term_raw(int fd);
/* Only delivers each key at once, without echo: output, Ctrl-C and Ctrl-Z work
 * as usual. Otherwise like term_raw(). */
int term_keys(int fd);
void term_restore(void); /* may be called at any time */

/* Sets the size, 24x80 if the terminal does not tell it. Returns 0, or -ENOTTY
 * if @fd is no terminal. */
int term_size(int fd, uint16_t *ret_rows, uint16_t *ret_cols);

#define DETACH_KEYS_MAX 8u
#define DETACH_KEYS_DEFAULT "ctrl-p,ctrl-q"

struct detach {
	uint8_t keys[DETACH_KEYS_MAX];
	size_t n; /* 0: no way to detach */
	size_t held; /* keys[0..held) were typed and held back */
};

/* Parses "ctrl-p,ctrl-q": single characters, and ctrl- with a-z @ [ \ ] ^ _;
 * the empty string means no keys. Returns 0 or -EINVAL. */
int detach_parse(const char *spec, struct detach *ret);

/*
 * Copies typed bytes to @out, but holds back what may be the beginning of the
 * keys. @out has room for @len + DETACH_KEYS_MAX bytes. Returns true if the
 * keys were complete; what came after them is dropped.
 */
bool detach_feed(struct detach *d, const uint8_t *in, size_t len, uint8_t *out,
		 size_t *ret_len);

#endif
