/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes_read.c - reads the archive of a workspace's changes, piece by piece
 *
 * Theory of operation: the reader is in one of five states. HEAD collects a
 * block, EXT the records of an extended header, BODY passes on the content of a
 * file, PAD skips the zeros after it, and END takes nothing. An entry is over
 * when the next block shows that no AC.torn follows; so `end` is called then.
 *
 * Memory is one block and one extended header. What the format allows and the
 * writer never does is refused: another program could read it otherwise.
 */
#include "control/shared/changes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/shared/changes_block.h"

enum state { HEAD, EXT, BODY, PAD, END };

struct changes_reader {
	const struct changes_ops *ops;
	void *arg;
	const char *why;
	enum state state;
	uint8_t block[CHANGES_BLOCK];
	size_t have; /* bytes of block, or of ext */
	uint8_t ext[EXT_MAX + CHANGES_BLOCK]; /* with its padding */
	size_t ext_len;
	bool has_ext; /* an extended header waits for its entry */
	bool open; /* an entry waits for its end */
	bool open_file; /* and it is a file, so AC.torn may follow */
	bool zeros; /* the first block of the end was seen */
	uint64_t left; /* bytes of content, or of padding */
	size_t pad; /* that follows the content */
};

struct changes_reader *changes_reader_new(const struct changes_ops *ops,
					  void *arg)
{
	struct changes_reader *r = calloc(1, sizeof(*r));

	if (r) {
		r->ops = ops;
		r->arg = arg;
	}
	return r;
}

void changes_reader_free(struct changes_reader *r)
{
	free(r);
}

const char *changes_why(const struct changes_reader *r)
{
	return r->why ? r->why : "";
}

static int refuse(struct changes_reader *r, const char *why)
{
	r->why = why;
	return -EBADMSG;
}

/* ---- records ---- */

/* The records of one extended header, views of it. A NULL pointer: absent. */
struct records {
	struct slice path, target, mtime, size, opaque, torn, other;
};

static struct slice *record_of(struct records *rec, struct slice key)
{
	const struct {
		const char *key;
		struct slice *at;
	} known[] = {
		{ "path", &rec->path },        { "mtime", &rec->mtime },
		{ "linkpath", &rec->target },  { "size", &rec->size },
		{ "AC.opaque", &rec->opaque }, { "AC.torn", &rec->torn },
		{ "AC.is", &rec->other },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (slice_eq(key, slice_str(known[i].key)))
			return known[i].at;
	return NULL;
}

/* Takes decimal digits, at least one, without a zero in front of others. */
static int take_number(struct slice *s, uint64_t *ret)
{
	uint64_t n = 0;
	size_t i = 0;

	for (; i < s->len && s->ptr[i] >= '0' && s->ptr[i] <= '9'; i++) {
		if (i == 18)
			return -EBADMSG;
		n = n * 10 + (s->ptr[i] - '0');
	}
	if (i == 0 || (i > 1 && s->ptr[0] == '0'))
		return -EBADMSG;
	*s = slice_of(s->ptr + i, s->len - i);
	*ret = n;
	return 0;
}

/* Takes one record: "<length> <key>=<value>\n". */
static int take_record(struct slice *in, struct records *rec)
{
	struct slice s = *in, all, key;
	const uint8_t *equals;
	struct slice *at;
	uint64_t len;

	if (take_number(&s, &len) < 0 || len > in->len)
		return -EBADMSG;
	all = slice_of(in->ptr, (size_t)len);
	*in = slice_of(in->ptr + len, in->len - (size_t)len);
	if ((size_t)(s.ptr - all.ptr) + 3 > all.len || s.ptr[0] != ' ' ||
	    all.ptr[all.len - 1] != '\n')
		return -EBADMSG;
	s = slice_of(s.ptr + 1, all.len - (size_t)(s.ptr + 1 - all.ptr) - 1);
	equals = s.len > 0 ? memchr(s.ptr, '=', s.len) : NULL;
	if (!equals)
		return -EBADMSG;
	key = slice_of(s.ptr, (size_t)(equals - s.ptr));
	at = record_of(rec, key);
	if (!at || at->ptr)
		return -EBADMSG;
	*at = slice_of(equals + 1, s.len - key.len - 1);
	return 0;
}

static int flag_read(struct slice value, bool *ret)
{
	if (value.ptr && !slice_eq(value, slice_str("1")))
		return -EBADMSG;
	*ret = value.ptr != NULL;
	return 0;
}

static int other_read(struct slice value, enum change_other *ret)
{
	if (!value.ptr)
		return 0;
	for (int i = CHANGE_UNSAID + 1; i < CHANGE_OTHERS; i++)
		if (slice_eq(value, slice_str(changes_other_word(
					    (enum change_other)i)))) {
			*ret = (enum change_other)i;
			return 0;
		}
	return -EBADMSG;
}

/* Reads "[-]SECONDS.NNNNNNNNN". */
static int mtime_read(struct slice s, struct timespec *ret)
{
	bool minus = s.len > 0 && s.ptr[0] == '-';
	uint64_t sec = 0;
	long nsec = 0;

	if (minus)
		s = slice_of(s.ptr + 1, s.len - 1);
	if (take_number(&s, &sec) < 0 || s.len != 10 || s.ptr[0] != '.')
		return -EBADMSG;
	for (size_t i = 1; i < 10; i++) {
		if (s.ptr[i] < '0' || s.ptr[i] > '9')
			return -EBADMSG;
		nsec = nsec * 10 + (s.ptr[i] - '0');
	}
	ret->tv_sec = minus ? -(time_t)sec : (time_t)sec;
	ret->tv_nsec = nsec;
	if (minus && nsec > 0) {
		ret->tv_sec--;
		ret->tv_nsec = 1000000000 - nsec;
	}
	return 0;
}

static int size_read(struct slice s, uint64_t *ret)
{
	if (take_number(&s, ret) < 0 || s.len > 0 || *ret <= TAR_SIZE_MAX)
		return -EBADMSG;
	return 0;
}

/* ---- blocks ---- */

static int octal_read(const uint8_t *field, size_t len, uint64_t *ret)
{
	uint64_t n = 0;

	for (size_t i = 0; i + 1 < len; i++) {
		if (field[i] < '0' || field[i] > '7')
			return -EBADMSG;
		n = n * 8 + (field[i] - '0');
	}
	*ret = n;
	return field[len - 1] == '\0' ? 0 : -EBADMSG;
}

static bool all_zero(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i])
			return false;
	return true;
}

/* Checks what is the same in every block. */
static int block_check(struct changes_reader *r)
{
	const uint8_t *b = r->block;
	uint64_t sum = 0;

	for (size_t i = 0; i < 6; i++) {
		if (b[TAR_SUM + i] < '0' || b[TAR_SUM + i] > '7')
			return refuse(r, "a bad checksum");
		sum = sum * 8 + (b[TAR_SUM + i] - '0');
	}
	if (b[TAR_SUM + 6] != '\0' || b[TAR_SUM + 7] != ' ' ||
	    sum != changes_block_sum(b))
		return refuse(r, "a bad checksum");
	if (memcmp(b + TAR_MAGIC, "ustar\00000", 8) != 0)
		return refuse(r, "a block that is not ustar");
	return 0;
}

/* Reports the end of the entry before. */
static int entry_close(struct changes_reader *r, bool torn)
{
	if (!r->open)
		return 0;
	r->open = false;
	r->open_file = false;
	return r->ops->end(r->arg, torn);
}

static int kind_of(uint8_t type, enum change_kind *ret)
{
	switch (type) {
	case '0':
		*ret = CHANGE_FILE;
		return 0;
	case '5':
		*ret = CHANGE_DIR;
		return 0;
	case '2':
		*ret = CHANGE_LINK;
		return 0;
	case '3':
		*ret = CHANGE_GONE;
		return 0;
	case '6':
		*ret = CHANGE_OTHER;
		return 0;
	default:
		return -EBADMSG;
	}
}

/* Fills @c from the records of the extended header. */
static int change_read(struct changes_reader *r, struct records *rec,
		       struct change *c)
{
	struct slice in = slice_of(r->ext, r->ext_len);

	while (in.len > 0)
		if (take_record(&in, rec) < 0)
			return refuse(r, "a bad record");
	if (flag_read(rec->opaque, &c->opaque) < 0 ||
	    other_read(rec->other, &c->other) < 0 || !rec->mtime.ptr ||
	    mtime_read(rec->mtime, &c->mtime) < 0)
		return refuse(r, "a bad record");
	if (!rec->path.ptr || !changes_path_is_good(rec->path))
		return refuse(r, "a bad path");
	if (rec->target.ptr && !changes_target_is_good(rec->target))
		return refuse(r, "a bad target of a link");
	c->path = rec->path;
	c->target = rec->target;
	return 0;
}

/* Checks that @c has what its kind has, and no more. */
static int change_check(struct changes_reader *r, const struct change *c)
{
	if ((c->kind == CHANGE_LINK) != (c->target.ptr != NULL))
		return refuse(r, "a target of what is no link");
	if (c->kind != CHANGE_DIR && c->opaque)
		return refuse(r, "a directory's record of what is none");
	if (c->kind != CHANGE_OTHER && c->other != CHANGE_UNSAID)
		return refuse(r, "AC.is of what is applied");
	if (c->kind != CHANGE_FILE && c->size > 0)
		return refuse(r, "content of what is no file");
	if (c->size > CHANGES_FILE_MAX)
		return refuse(r, "a file that is too large");
	return 0;
}

static int device_check(struct changes_reader *r)
{
	uint64_t major, minor;

	if (octal_read(r->block + TAR_MAJOR, 8, &major) < 0 ||
	    octal_read(r->block + TAR_MINOR, 8, &minor) < 0 || major || minor)
		return refuse(r, "a device");
	return 0;
}

/* Takes the block of an entry, whose extended header came before. */
static int entry_read(struct changes_reader *r)
{
	struct records rec = { 0 };
	struct change c = { 0 };
	uint64_t mode = 0, size = 0;
	int rc;

	if (kind_of(r->block[TAR_TYPE], &c.kind) < 0)
		return refuse(r, "an entry of another type");
	if (octal_read(r->block + TAR_MODE, 8, &mode) < 0 || mode > 07777 ||
	    octal_read(r->block + TAR_SIZE, 12, &size) < 0)
		return refuse(r, "a bad number");
	rc = change_read(r, &rec, &c);
	if (rc == 0 && c.kind == CHANGE_GONE)
		rc = device_check(r);
	if (rc < 0)
		return rc;
	if (rec.torn.ptr)
		return refuse(r, "AC.torn before a file");
	if (rec.size.ptr && (size > 0 || size_read(rec.size, &size) < 0))
		return refuse(r, "a bad size");
	c.mode = (uint32_t)mode;
	c.size = size;
	rc = change_check(r, &c);
	if (rc == 0)
		rc = r->ops->entry(r->arg, &c);
	if (rc < 0)
		return rc;
	r->has_ext = false;
	r->open = true;
	r->open_file = c.kind == CHANGE_FILE;
	r->left = c.size;
	r->pad = (size_t)((CHANGES_BLOCK - c.size % CHANGES_BLOCK) %
			  CHANGES_BLOCK);
	r->state = c.size > 0 ? BODY : HEAD;
	return 0;
}

static int ext_begin(struct changes_reader *r)
{
	uint64_t size;

	if (r->has_ext)
		return refuse(r, "two extended headers of one entry");
	if (octal_read(r->block + TAR_SIZE, 12, &size) < 0 || size == 0 ||
	    size > EXT_MAX)
		return refuse(r, "an extended header that is too long");
	r->ext_len = (size_t)size;
	r->left = (size + CHANGES_BLOCK - 1) / CHANGES_BLOCK * CHANGES_BLOCK;
	r->state = EXT;
	return 0;
}

/* Takes a complete extended header: AC.torn alone belongs to the entry before,
 * anything else to the one that follows. */
static int ext_take(struct changes_reader *r)
{
	static const char torn[] = "13 AC.torn=1\n";

	r->state = HEAD;
	if (!all_zero(r->ext + r->ext_len, r->have - r->ext_len))
		return refuse(r, "padding that is not zero");
	r->have = 0;
	if (slice_eq(slice_of(r->ext, r->ext_len), slice_str(torn))) {
		if (!r->open_file)
			return refuse(r, "AC.torn that follows no file");
		return entry_close(r, true);
	}
	r->has_ext = true;
	return entry_close(r, false);
}

static int head_take(struct changes_reader *r)
{
	int rc;

	r->have = 0;
	if (all_zero(r->block, CHANGES_BLOCK)) {
		if (r->has_ext)
			return refuse(r, "an extended header of nothing");
		if (r->zeros)
			r->state = END;
		r->zeros = true;
		return r->state == END ? entry_close(r, false) : 0;
	}
	if (r->zeros)
		return refuse(r, "an entry after the end");
	rc = block_check(r);
	if (rc < 0)
		return rc;
	if (r->block[TAR_TYPE] == 'x')
		return ext_begin(r);
	if (!r->has_ext)
		return refuse(r, "an entry without its extended header");
	return entry_read(r);
}

/* ---- pieces ---- */

/* Copies from @in to @to until it has @want bytes. Returns true then. */
static bool fill(struct slice *in, uint8_t *to, size_t *have, size_t want)
{
	size_t n = want - *have < in->len ? want - *have : in->len;

	if (n > 0)
		memcpy(to + *have, in->ptr, n);
	*have += n;
	*in = slice_of(in->ptr + n, in->len - n);
	return *have == want;
}

static int body_take(struct changes_reader *r, struct slice *in)
{
	size_t n = r->left < in->len ? (size_t)r->left : in->len;
	struct slice piece = slice_of(in->ptr, n);

	*in = slice_of(in->ptr + n, in->len - n);
	r->left -= n;
	if (r->left == 0) {
		r->state = r->pad > 0 ? PAD : HEAD;
		r->left = r->pad;
	}
	return r->ops->content(r->arg, piece);
}

static int pad_take(struct changes_reader *r, struct slice *in)
{
	size_t n = r->left < in->len ? (size_t)r->left : in->len;

	if (!all_zero(in->ptr, n))
		return refuse(r, "padding that is not zero");
	*in = slice_of(in->ptr + n, in->len - n);
	r->left -= n;
	if (r->left == 0)
		r->state = HEAD;
	return 0;
}

int changes_feed(struct changes_reader *r, struct slice piece)
{
	int rc = 0;

	while (rc == 0 && piece.len > 0) {
		switch (r->state) {
		case HEAD:
			if (fill(&piece, r->block, &r->have, CHANGES_BLOCK))
				rc = head_take(r);
			break;
		case EXT:
			if (fill(&piece, r->ext, &r->have, (size_t)r->left))
				rc = ext_take(r);
			break;
		case BODY:
			rc = body_take(r, &piece);
			break;
		case PAD:
			rc = pad_take(r, &piece);
			break;
		case END:
		default:
			rc = refuse(r, "bytes after the end");
		}
	}
	return rc;
}

int changes_finish(struct changes_reader *r)
{
	if (r->state == END)
		return 0;
	return refuse(r, "no end: it is incomplete");
}
