/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err.h - the error a user will read, on the caller's stack
 *
 * Two tiers, one return convention: 0 or more is success, a negative errno
 * is failure. Leaf code returns the code alone; the first function that
 * knows what the user asked for fills a struct err, callers may prepend one
 * clause. No allocation, nothing to release: usable in PID 1.
 */
#ifndef LIB_ERR_H
#define LIB_ERR_H

#include "lib/attr.h"

struct err {
	int code; /* negative errno, 0 while nothing failed */
	char msg[512]; /* cut, never overrun */
	char word[32]; /* a stable name of the failure for programs, or "" */
};

/* Sets code (a negative errno) and text, without a word. Returns code. @err may
 * be NULL. */
int err_set(struct err *err, int code, const char *fmt, ...) ATTR_PRINTF(3, 4);

/* Like err_set() with the code and ": <text>" taken from errno. */
int err_sys(struct err *err, const char *fmt, ...) ATTR_PRINTF(2, 3);

/* -ENOMEM, "out of memory". */
int err_nomem(struct err *err);

/* Gives what err_set() has said its word, cut to what fits; the next err_set()
 * takes it away. Returns the code that is there, -EIO if @err is NULL. */
int err_name(struct err *err, const char *word);

/* Prepends "clause: " to the message. Returns the code that is there. */
int err_wrap(struct err *err, const char *fmt, ...) ATTR_PRINTF(2, 3);

/* Text of a negative errno, static storage, never NULL. */
const char *err_text(int code);

#endif
