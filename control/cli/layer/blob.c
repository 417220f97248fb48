/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob.c - the content of files: copied with holes, and named by its digest
 */
#include "control/cli/layer/blob.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/file.h"

#define HOLE 4096u /* bytes; zeros of this size, aligned, are not written */
#define PIECE 65536u /* bytes that are read at once */

bool blob_same(const struct blob_id *a, const struct blob_id *b)
{
	return a->size == b->size && memcmp(a->sum, b->sum, BLOB_SUM) == 0;
}

void blob_begin(struct blob_writer *w, int fd)
{
	w->fd = fd;
	w->at = 0;
	crypto_generichash_init(&w->hash, NULL, 0, BLOB_SUM);
}

static bool is_hole(const struct blob_writer *w, struct slice piece)
{
	static const uint8_t zeros[HOLE];

	return w->at % HOLE == 0 && piece.len >= HOLE &&
	       memcmp(piece.ptr, zeros, HOLE) == 0;
}

/* Writes up to the next boundary where a hole may begin. */
static int put(struct blob_writer *w, struct slice *piece)
{
	size_t n = HOLE - (size_t)(w->at % HOLE);
	int rc = 0;

	if (n > piece->len)
		n = piece->len;
	if (!is_hole(w, *piece)) {
		struct slice rest = slice_of(piece->ptr + n, piece->len - n);

		/* All blocks up to the next hole in one call. */
		w->at += n;
		while (rest.len >= HOLE && !is_hole(w, rest)) {
			rest = slice_of(rest.ptr + HOLE, rest.len - HOLE);
			w->at += HOLE;
			n += HOLE;
		}
		w->at -= n;
		if (lseek(w->fd, (off_t)w->at, SEEK_SET) < 0)
			return -errno;
		rc = fd_write_all(w->fd, piece->ptr, n);
	}
	w->at += n;
	*piece = slice_of(piece->ptr + n, piece->len - n);
	return rc;
}

int blob_write(struct blob_writer *w, struct slice piece)
{
	int rc = 0;

	if (piece.len > 0)
		crypto_generichash_update(&w->hash, piece.ptr, piece.len);
	if (w->fd < 0) {
		w->at += piece.len;
		return 0;
	}
	while (rc == 0 && piece.len > 0)
		rc = put(w, &piece);
	return rc;
}

int blob_end(struct blob_writer *w, struct blob_id *ret)
{
	/* The file may end in a hole. */
	if (w->fd >= 0 && ftruncate(w->fd, (off_t)w->at) < 0)
		return -errno;
	ret->size = w->at;
	crypto_generichash_final(&w->hash, ret->sum, BLOB_SUM);
	return 0;
}

int blob_copy(int from, int to, struct blob_id *ret)
{
	static uint8_t piece[PIECE];
	struct blob_writer w;
	int rc = 0;

	blob_begin(&w, to);
	while (rc == 0) {
		ssize_t n = read(from, piece, sizeof(piece));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			rc = n < 0 ? -errno : 1;
			break;
		}
		rc = blob_write(&w, slice_of(piece, (size_t)n));
	}
	return rc < 0 ? rc : blob_end(&w, ret);
}
