/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err.h - an error message on the caller's stack
 *
 * Functions return 0 or more on success and a negative errno on failure. Leaf
 * code returns only the code; the first function that knows what the user asked
 * for fills a struct err, and its callers may prepend one clause each. Nothing
 * is allocated, so it can be used in PID 1.
 *
 * Every function keeps errno and accepts NULL for @err.
 */
#ifndef LIB_ERR_H
#define LIB_ERR_H

#include "lib/attr.h"

struct err {
	int code; /* negative errno, 0 while nothing failed */
	char msg[512]; /* cut to fit */
	char word[32]; /* stable name of the failure for programs, or "" */
	char key[32]; /* of what was read: what is wrong with it; or "" */
	char hint[64]; /* the word that was probably meant, or "" */
	unsigned line, column; /* in the file that was read, from 1; or 0 */
};

/* Sets the code (a negative errno) and the message, and clears the rest.
 * Returns @code. */
int err_set(struct err *err, int code, const char *fmt, ...) ATTR_PRINTF(3, 4);

/* Like err_set(), with the code and ": <text>" from errno (-EIO if it is 0).
 * Returns the code. */
int err_sys(struct err *err, const char *fmt, ...) ATTR_PRINTF(2, 3);

/* Sets -ENOMEM and "out of memory". Returns -ENOMEM. */
int err_nomem(struct err *err);

/* Sets the word, cut to fit, of the error that err_set() has set; the next
 * err_set() clears it. Returns the code in @err, or -EIO if @err is NULL. */
int err_name(struct err *err, const char *word);

/* Sets the place of the error that err_set() has set; the next err_set() clears
 * it. Returns the code in @err, or -EIO if @err is NULL. */
int err_place(struct err *err, unsigned line, unsigned column);

/* Sets the word that was probably meant, cut to fit; cleared as above. Returns
 * the code in @err, or -EIO if @err is NULL. */
int err_hint(struct err *err, const char *word);

/* Prepends "'@key' " to the message and keeps @key, cut to fit, for programs;
 * the next err_set() or err_wrap() clears it. Returns the code in @err, or -EIO
 * if @err is NULL. */
int err_key(struct err *err, const char *key);

/* Prepends "clause: " to the message. Returns the code in @err, or -EIO if @err
 * is NULL. */
int err_wrap(struct err *err, const char *fmt, ...) ATTR_PRINTF(2, 3);

/* Returns the text of a negative errno in static storage, "Unknown error" for
 * other numbers. */
const char *err_text(int code);

#endif
