/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes.c - writes the archive of a workspace's changes
 *
 * An entry is at most two blocks and EXT_MAX bytes of records. It is made on the
 * stack and appended whole.
 */
#include "control/shared/changes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "control/shared/changes_block.h"

#define MTIME_MAX 99999999999999999 /* s; a sandbox may have set any */

static_assert(EXT_MAX >= 2u * CHANGES_PATH_MAX + 4096u, "two paths fit");

struct records {
	char text[EXT_MAX];
	size_t len;
};

static size_t digits(size_t n)
{
	size_t d = 1;

	for (; n >= 10; n /= 10)
		d++;
	return d;
}

/* Appends "<length> <key>=<value>\n"; the length counts its own digits. */
static void record_add(struct records *r, const char *key, struct slice value)
{
	size_t rest = 1 + strlen(key) + 1 + value.len + 1;
	size_t len = rest + digits(rest);

	len = rest + digits(len);
	r->len += (size_t)snprintf(r->text + r->len, sizeof(r->text) - r->len,
				   "%zu %s=", len, key);
	if (value.len > 0)
		memcpy(r->text + r->len, value.ptr, value.len);
	r->len += value.len;
	r->text[r->len++] = '\n';
}

static void record_mtime(struct records *r, struct timespec t)
{
	long long sec = t.tv_sec > MTIME_MAX  ? MTIME_MAX :
			t.tv_sec < -MTIME_MAX ? -MTIME_MAX :
						t.tv_sec;
	long nsec = t.tv_nsec;
	char text[48];

	/* A negative time is written with its sign in front of all of it. */
	if (sec < 0 && nsec > 0) {
		sec++;
		nsec = 1000000000 - nsec;
		snprintf(text, sizeof(text), "-%lld.%09ld", -sec, nsec);
	} else {
		snprintf(text, sizeof(text), "%lld.%09ld", sec, nsec);
	}
	record_add(r, "mtime", slice_str(text));
}

static void octal(uint8_t *field, size_t len, uint64_t value)
{
	field[len - 1] = '\0';
	for (size_t i = len - 1; i-- > 0; value >>= 3)
		field[i] = (uint8_t)('0' + (value & 7));
}

static void block_fill(uint8_t block[CHANGES_BLOCK], char type, uint32_t mode,
		       uint64_t size)
{
	memset(block, 0, CHANGES_BLOCK);
	/* The path is in the records; this is what other programs show. */
	memcpy(block + TAR_NAME, "change", sizeof("change"));
	octal(block + TAR_MODE, 8, mode);
	octal(block + TAR_UID, 8, 0);
	octal(block + TAR_GID, 8, 0);
	octal(block + TAR_SIZE, 12, size);
	octal(block + TAR_MTIME, 12, 0);
	block[TAR_TYPE] = (uint8_t)type;
	memcpy(block + TAR_MAGIC, "ustar\00000", sizeof("ustar\00000"));
	if (type == '3') {
		octal(block + TAR_MAJOR, 8, 0);
		octal(block + TAR_MINOR, 8, 0);
	}
	snprintf((char *)block + TAR_SUM, 8, "%06o", changes_block_sum(block));
	block[TAR_SUM + 7] = ' ';
}

unsigned changes_block_sum(const uint8_t block[CHANGES_BLOCK])
{
	unsigned sum = 0;

	for (size_t i = 0; i < CHANGES_BLOCK; i++)
		sum += i >= TAR_SUM && i < TAR_SUM + 8 ? ' ' : block[i];
	return sum;
}

const char *changes_other_word(enum change_other other)
{
	static const char *const words[CHANGE_OTHERS] = {
		[CHANGE_UNSAID] = "",
		[CHANGE_FIFO] = "fifo",
		[CHANGE_SOCKET] = "socket",
		[CHANGE_DEVICE] = "device",
		[CHANGE_TOO_LARGE] = "too_large",
		[CHANGE_HOLES] = "holes",
	};

	return words[other];
}

bool changes_path_is_good(struct slice path)
{
	size_t from = 0;

	if (path.len == 0 || path.len > CHANGES_PATH_MAX ||
	    memchr(path.ptr, 0, path.len))
		return false;
	for (size_t i = 0; i <= path.len; i++) {
		size_t len = i - from;

		if (i < path.len && path.ptr[i] != '/')
			continue;
		if (len == 0 || len > CHANGES_NAME_MAX ||
		    (len <= 2 && path.ptr[from] == '.' &&
		     path.ptr[i - 1] == '.'))
			return false;
		from = i + 1;
	}
	return true;
}

bool changes_target_is_good(struct slice target)
{
	return target.len > 0 && target.len <= CHANGES_PATH_MAX &&
	       !memchr(target.ptr, 0, target.len);
}

static size_t padded(size_t len)
{
	return (len + CHANGES_BLOCK - 1) / CHANGES_BLOCK * CHANGES_BLOCK;
}

/* Appends an extended header and, if @block is not NULL, the block that it is
 * for. */
static int put(struct buf *out, const struct records *r,
	       const uint8_t block[CHANGES_BLOCK])
{
	size_t len = padded(r->len);
	size_t all = CHANGES_BLOCK + len + (block ? CHANGES_BLOCK : 0);
	uint8_t *at = buf_reserve(out, all);

	if (!at)
		return -ENOMEM;
	block_fill(at, 'x', 0644, r->len);
	memset(at + CHANGES_BLOCK, 0, len);
	memcpy(at + CHANGES_BLOCK, r->text, r->len);
	if (block)
		memcpy(at + CHANGES_BLOCK + len, block, CHANGES_BLOCK);
	buf_commit(out, all);
	return 0;
}

static bool is_good(const struct change *c)
{
	if (!changes_path_is_good(c->path) || c->mode > 07777 ||
	    c->mtime.tv_nsec < 0 || c->mtime.tv_nsec >= 1000000000)
		return false;
	if ((c->kind == CHANGE_LINK) != (c->target.len > 0) ||
	    (c->target.len > 0 && !changes_target_is_good(c->target)))
		return false;
	if ((c->opaque && c->kind != CHANGE_DIR) ||
	    (c->other != CHANGE_UNSAID && c->kind != CHANGE_OTHER))
		return false;
	return c->size <= (c->kind == CHANGE_FILE ? CHANGES_FILE_MAX : 0);
}

int changes_head(struct buf *out, const struct change *c)
{
	static const char types[] = {
		[CHANGE_FILE] = '0', [CHANGE_DIR] = '5',   [CHANGE_LINK] = '2',
		[CHANGE_GONE] = '3', [CHANGE_OTHER] = '6',
	};
	uint8_t block[CHANGES_BLOCK];
	struct records r = { .len = 0 };
	char size[24];

	if (!is_good(c))
		return -EINVAL;
	record_add(&r, "path", c->path);
	record_mtime(&r, c->mtime);
	if (c->kind == CHANGE_LINK)
		record_add(&r, "linkpath", c->target);
	if (c->size > TAR_SIZE_MAX) {
		snprintf(size, sizeof(size), "%" PRIu64, c->size);
		record_add(&r, "size", slice_str(size));
	}
	if (c->opaque)
		record_add(&r, "AC.opaque", slice_str("1"));
	if (c->other != CHANGE_UNSAID)
		record_add(&r, "AC.is",
			   slice_str(changes_other_word(c->other)));
	block_fill(block, types[c->kind], c->mode,
		   c->size > TAR_SIZE_MAX ? 0 : c->size);
	return put(out, &r, block);
}

static int put_zeros(struct buf *out, size_t len)
{
	uint8_t *at;

	if (len == 0)
		return 0;
	at = buf_reserve(out, len);
	if (!at)
		return -ENOMEM;
	memset(at, 0, len);
	buf_commit(out, len);
	return 0;
}

int changes_pad(struct buf *out, uint64_t size)
{
	size_t over = (size_t)(size % CHANGES_BLOCK);

	return put_zeros(out, over > 0 ? CHANGES_BLOCK - over : 0);
}

int changes_torn(struct buf *out)
{
	struct records r = { .len = 0 };

	record_add(&r, "AC.torn", slice_str("1"));
	return put(out, &r, NULL);
}

int changes_end(struct buf *out)
{
	return put_zeros(out, 2 * CHANGES_BLOCK);
}
