/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logring.h - the last bytes of a run's terminal output, on disk
 *
 * Two files, <path> and <path>.1, of at most half the ring each; rotation drops
 * the older. They have the bytes as the program wrote them. Position 0 is the
 * oldest byte that was on disk when the ring was opened. A reader that is
 * behind the oldest byte is moved forward and told how many bytes it has
 * missed.
 */
#ifndef CONTROL_ACD_GUEST_LOGRING_H
#define CONTROL_ACD_GUEST_LOGRING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

#define LOGRING_BYTES (8u * 1024 * 1024)

struct logring;

/* Opens the ring at @path; @fresh removes what is there (a new run). Only the
 * ring that was opened last for a path may be written. The caller owns a
 * reference in *ret. Returns 0 or a negative errno with @err. */
int logring_open(const char *path, uint64_t max_bytes, bool fresh,
		 struct logring **ret, struct err *err);
/* Takes a reference, to be dropped with logring_close(): the ring stays
 * readable when the path has a new ring, or nothing. Returns @r. */
struct logring *logring_ref(struct logring *r);
/* Drops a reference; the last one frees the ring. NULL is fine. */
void logring_close(struct logring *r);
/* Appends. Never fails: bytes that do not fit on the disk count as dropped. */
void logring_write(struct logring *r, const void *data, size_t len);
/* Returns the position of the byte that is written next. */
uint64_t logring_end(const struct logring *r);
/* Returns how many bytes were dropped. */
uint64_t logring_dropped(const struct logring *r);
/* Returns the position where the last @lines lines begin, that of the oldest
 * byte if there are fewer, or the end for 0. */
uint64_t logring_tail(const struct logring *r, uint64_t lines);
/* Reads at most @len bytes at *pos and moves it behind them. Returns the number
 * of bytes, which may be fewer; 0 only at the end; or a negative errno: -EIO if
 * somebody has cut the file. *ret_skipped (unless NULL): bytes that were missed
 * before these. */
ssize_t logring_read(struct logring *r, uint64_t *pos, void *data, size_t len,
		     uint64_t *ret_skipped);

#endif
