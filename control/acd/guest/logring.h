/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logring.h - the last bytes of a run's terminal output, on disk
 *
 * Two files, <path> and <path>.1, of at most half the ring each; the older
 * is dropped on rotation. Raw bytes, as the program wrote them. A position
 * is the count of bytes ever written since the ring was opened (what was on
 * disk then counts as written); readers past the tail are moved forward and
 * told how many bytes they missed.
 */
#ifndef CONTROL_ACD_GUEST_LOGRING_H
#define CONTROL_ACD_GUEST_LOGRING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

#define LOGRING_BYTES (8u * 1024 * 1024)

struct logring;

/* @fresh empties what is there (a new run). */
int logring_open(const char *path, uint64_t max_bytes, bool fresh,
		 struct logring **ret, struct err *err);
/* Another owner, who closes it too: it can be read when there is a new ring at
 * the path, or nothing. */
struct logring *logring_ref(struct logring *r);
void logring_close(struct logring *r); /* NULL is fine */
/* Never fails the run: a full disk is counted as dropped bytes. */
void logring_write(struct logring *r, const void *data, size_t len);
uint64_t logring_end(const struct logring *r); /* position of the next byte */
uint64_t logring_dropped(const struct logring *r);
/* Start of the last @lines lines, or of the ring. */
uint64_t logring_tail(const struct logring *r, uint64_t lines);
/* Reads at *pos, moves it; 0 at the end alone. *ret_skipped: bytes lost
 * before. */
ssize_t logring_read(struct logring *r, uint64_t *pos, void *data, size_t len,
		     uint64_t *ret_skipped);

#endif
