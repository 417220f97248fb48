/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob.h - the content of files: copied with holes, and named by its digest
 */
#ifndef CONTROL_CLI_LAYER_BLOB_H
#define CONTROL_CLI_LAYER_BLOB_H

#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/slice.h"

#define BLOB_SUM 32u /* bytes of the digest, BLAKE2b */

struct blob_id {
	uint64_t size;
	uint8_t sum[BLOB_SUM];
};

bool blob_same(const struct blob_id *a, const struct blob_id *b);

/* A file that is being written, from its beginning. */
struct blob_writer {
	int fd; /* borrowed; a new, empty file, or -1: only the digest */
	uint64_t at;
	crypto_generichash_state hash;
};

void blob_begin(struct blob_writer *w, int fd);
/* Appends @piece; blocks of zeros become holes. Returns 0 or a negative
 * errno. */
int blob_write(struct blob_writer *w, struct slice piece) ATTR_WUR;
/* Gives the file its size. Returns 0 or a negative errno. */
int blob_end(struct blob_writer *w, struct blob_id *ret) ATTR_WUR;

/* Copies @from, to its end, to the new file @to; -1: only reads it. Returns 0 or
 * a negative errno. */
int blob_copy(int from, int to, struct blob_id *ret) ATTR_WUR;

#endif
