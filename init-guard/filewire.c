/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filewire.c - codec of the file protocol
 *
 * Theory of operation: both sides parse bytes that they do not trust. A message
 * is judged by its five bytes of header before any payload is kept; data is
 * passed on in the pieces in which it came. One table says what each request
 * may carry, so an unused field must be zero.
 */
#include "init-guard/filewire.h"

#include <string.h>

#define ERRNO_LAST 4095u /* the kernel's limit */
#define REQUEST_SIZE (4u + 4 + 8 + 8 + 8 + 4 + 4) /* without its strings */

/* The fields that a request may have. */
struct request_rule {
	uint64_t offset_max, length_min, length_max, mtime_max;
	enum filewire_type type;
	uint32_t flags;
	uint32_t mode_max;
	bool other, other_needed;
};

static const struct request_rule request_rules[] = {
	{ .type = FILEWIRE_STAT, .flags = FILEWIRE_FOLLOW },
	{ .type = FILEWIRE_LIST,
	  .length_min = 1,
	  .length_max = FILEWIRE_LIST_MAX,
	  .other = true },
	{ .type = FILEWIRE_READ,
	  .offset_max = INT64_MAX,
	  .length_max = INT64_MAX },
	{ .type = FILEWIRE_WRITE,
	  .flags = FILEWIRE_PARENTS | FILEWIRE_ATOMIC | FILEWIRE_TRUNCATE |
		   FILEWIRE_EXCLUSIVE | FILEWIRE_MODE,
	  .mode_max = 0777,
	  .offset_max = INT64_MAX,
	  .mtime_max = INT64_MAX },
	{ .type = FILEWIRE_MKDIR, .flags = FILEWIRE_PARENTS, .mode_max = 0777 },
	{ .type = FILEWIRE_REMOVE, .flags = FILEWIRE_RECURSIVE },
	{ .type = FILEWIRE_RENAME,
	  .flags = FILEWIRE_EXCLUSIVE,
	  .other = true,
	  .other_needed = true },
};

static const struct request_rule *rule_of(enum filewire_type type)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(request_rules); i++) {
		if (request_rules[i].type == type)
			return &request_rules[i];
	}
	return NULL;
}

/* ---- the stream ---- */

static int head_parse(const uint8_t *head, uint32_t *ret_len,
		      enum filewire_type *ret_type)
{
	struct slice s = slice_of(head, FILEWIRE_HEADER);
	uint32_t len, max = FILEWIRE_BODY_MAX;
	uint8_t type;

	if (slice_u32(&s, &len) < 0 || slice_u8(&s, &type) < 0)
		return -EBADMSG;
	switch (type) {
	case FILEWIRE_DATA:
		max = FILEWIRE_DATA_MAX;
		break;
	case FILEWIRE_END:
		max = 0;
		break;
	case FILEWIRE_ENTRY:
	case FILEWIRE_DONE:
		break;
	default:
		if (!rule_of((enum filewire_type)type))
			return -EBADMSG;
	}
	if (len > max || (type == FILEWIRE_DATA && len == 0))
		return -EBADMSG;
	*ret_len = len;
	*ret_type = (enum filewire_type)type;
	return 0;
}

/* Copies up to @want bytes of @in to @to. Returns how many. */
static size_t move(struct slice *in, uint8_t *to, size_t want)
{
	struct slice piece;

	if (want > in->len)
		want = in->len;
	if (want == 0 || slice_take(in, want, &piece) < 0)
		return 0;
	memcpy(to, piece.ptr, want);
	return want;
}

int filewire_next(struct filewire_reader *r, struct slice *in,
		  struct filewire_msg *ret)
{
	enum filewire_type type;
	uint32_t len;
	size_t got;

	if (r->have < FILEWIRE_HEADER) {
		r->have +=
			move(in, r->head + r->have, FILEWIRE_HEADER - r->have);
		if (r->have < FILEWIRE_HEADER)
			return -EAGAIN;
		if (head_parse(r->head, &len, &type) < 0)
			return -EBADMSG;
		r->data = type == FILEWIRE_DATA ? len : 0;
	}
	if (head_parse(r->head, &len, &type) < 0)
		return -EBADMSG;
	*ret = (struct filewire_msg){ .type = type };
	if (type == FILEWIRE_DATA) {
		got = r->data < in->len ? r->data : in->len;
		if (got == 0 || slice_take(in, got, &ret->payload) < 0)
			return -EAGAIN;
		r->data -= (uint32_t)got;
		if (r->data == 0)
			r->have = 0;
		return 0;
	}
	got = r->have - FILEWIRE_HEADER;
	r->have += move(in, r->body + got, len - got);
	if (r->have < FILEWIRE_HEADER + len)
		return -EAGAIN;
	r->have = 0;
	ret->payload = slice_of(r->body, len);
	return 0;
}

/* ---- encoders ---- */

static uint8_t *wr_int(uint8_t *p, size_t size, uint64_t v)
{
	size_t i;

	for (i = size; i-- > 0; v >>= 8)
		p[i] = (uint8_t)v;
	return p + size;
}

static uint8_t *wr_lstr(uint8_t *p, struct slice s)
{
	p = wr_int(p, 4, s.len);
	if (s.len > 0)
		memcpy(p, s.ptr, s.len);
	return p + s.len;
}

void filewire_put_header(uint8_t out[FILEWIRE_HEADER], enum filewire_type type,
			 size_t len)
{
	wr_int(wr_int(out, 4, len), 1, type);
}

/* Reserves a message and writes its header. Returns NULL without room. */
static uint8_t *begin(struct buf *out, enum filewire_type type, size_t len)
{
	uint8_t *p = buf_reserve(out, FILEWIRE_HEADER + len);

	if (!p)
		return NULL;
	filewire_put_header(p, type, len);
	return p + FILEWIRE_HEADER;
}

int filewire_put_request(struct buf *out, const struct filewire_request *rq)
{
	size_t len;
	uint8_t *p;

	if (rq->path.len > FILEWIRE_PATH_MAX ||
	    rq->other.len > FILEWIRE_PATH_MAX)
		return -EMSGSIZE;
	len = REQUEST_SIZE + rq->path.len + rq->other.len;
	p = begin(out, rq->type, len);
	if (!p)
		return -ENOBUFS;
	p = wr_int(p, 4, rq->flags);
	p = wr_int(p, 4, rq->mode);
	p = wr_int(p, 8, rq->offset);
	p = wr_int(p, 8, rq->length);
	p = wr_int(p, 8, rq->mtime);
	wr_lstr(wr_lstr(p, rq->path), rq->other);
	buf_commit(out, FILEWIRE_HEADER + len);
	return 0;
}

int filewire_put_entry(struct buf *out, const struct filewire_entry *e)
{
	size_t len;
	uint8_t *p;

	if (e->name.len > FILEWIRE_NAME_MAX ||
	    e->target.len > FILEWIRE_PATH_MAX)
		return -EMSGSIZE;
	len = 1 + 4 + 8 + 8 + 4 + e->name.len + 4 + e->target.len;
	p = begin(out, FILEWIRE_ENTRY, len);
	if (!p)
		return -ENOBUFS;
	p = wr_int(p, 1, e->kind);
	p = wr_int(p, 4, e->mode);
	p = wr_int(p, 8, e->size);
	p = wr_int(p, 8, e->mtime);
	wr_lstr(wr_lstr(p, e->name), e->target);
	buf_commit(out, FILEWIRE_HEADER + len);
	return 0;
}

int filewire_put_done(struct buf *out, const struct filewire_done *d)
{
	const size_t len = 4 + 1 + 8;
	uint8_t *p = begin(out, FILEWIRE_DONE, len);

	if (!p)
		return -ENOBUFS;
	p = wr_int(p, 4, d->error);
	p = wr_int(p, 1, d->more);
	wr_int(p, 8, d->bytes);
	buf_commit(out, FILEWIRE_HEADER + len);
	return 0;
}

/* ---- getters ---- */

static bool has_nul(struct slice s)
{
	return s.len > 0 && memchr(s.ptr, 0, s.len);
}

static bool request_is_good(const struct filewire_request *rq)
{
	const struct request_rule *rule = rule_of(rq->type);

	if (!rule || rq->flags & ~rule->flags || rq->mode > rule->mode_max ||
	    rq->offset > rule->offset_max || rq->length < rule->length_min ||
	    rq->length > rule->length_max || rq->mtime > rule->mtime_max)
		return false;
	if (rq->type == FILEWIRE_WRITE && rq->mode > 0 &&
	    !(rq->flags & FILEWIRE_MODE))
		return false;
	if (rq->path.len == 0 || has_nul(rq->path) || has_nul(rq->other))
		return false;
	if (rq->other.len == 0)
		return !rule->other_needed;
	return rule->other;
}

int filewire_get_request(const struct filewire_msg *m,
			 struct filewire_request *ret)
{
	struct filewire_request rq = { .type = m->type };
	struct slice s = m->payload;

	if (slice_u32(&s, &rq.flags) < 0 || slice_u32(&s, &rq.mode) < 0 ||
	    slice_u64(&s, &rq.offset) < 0 || slice_u64(&s, &rq.length) < 0 ||
	    slice_u64(&s, &rq.mtime) < 0 ||
	    slice_lstr(&s, FILEWIRE_PATH_MAX, &rq.path) < 0 ||
	    slice_lstr(&s, FILEWIRE_PATH_MAX, &rq.other) < 0 || s.len > 0 ||
	    !request_is_good(&rq))
		return -EBADMSG;
	*ret = rq;
	return 0;
}

static bool name_is_good(struct slice name)
{
	return !has_nul(name) &&
	       (name.len == 0 || !memchr(name.ptr, '/', name.len)) &&
	       !slice_eq(name, slice_str(".")) &&
	       !slice_eq(name, slice_str(".."));
}

int filewire_get_entry(const struct filewire_msg *m, struct filewire_entry *ret)
{
	struct filewire_entry e;
	struct slice s = m->payload;
	uint8_t kind;

	if (m->type != FILEWIRE_ENTRY || slice_u8(&s, &kind) < 0 ||
	    slice_u32(&s, &e.mode) < 0 || slice_u64(&s, &e.size) < 0 ||
	    slice_u64(&s, &e.mtime) < 0 ||
	    slice_lstr(&s, FILEWIRE_NAME_MAX, &e.name) < 0 ||
	    slice_lstr(&s, FILEWIRE_PATH_MAX, &e.target) < 0 || s.len > 0)
		return -EBADMSG;
	if (kind < FILEWIRE_FILE || kind > FILEWIRE_SPECIAL || e.mode > 07777 ||
	    e.size > INT64_MAX || e.mtime > INT64_MAX ||
	    !name_is_good(e.name) || has_nul(e.target) ||
	    (e.target.len > 0 && kind != FILEWIRE_SYMLINK))
		return -EBADMSG;
	e.kind = (enum filewire_kind)kind;
	*ret = e;
	return 0;
}

int filewire_get_done(const struct filewire_msg *m, struct filewire_done *ret)
{
	struct filewire_done d;
	struct slice s = m->payload;
	uint8_t more;

	if (m->type != FILEWIRE_DONE || slice_u32(&s, &d.error) < 0 ||
	    slice_u8(&s, &more) < 0 || slice_u64(&s, &d.bytes) < 0 ||
	    s.len > 0 || d.error > ERRNO_LAST || more > 1 ||
	    d.bytes > INT64_MAX)
		return -EBADMSG;
	d.more = more;
	*ret = d;
	return 0;
}
