/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.c - codec of the guest link: framing and encoders
 *
 * Theory of operation: one table says for every frame type which channels and
 * payload sizes it may have; link_parse() refuses a frame by its nine bytes of
 * header, before the payload has arrived. The getters (link_get.c) then check
 * the payload. Encoders compute the size of a frame first, reserve it in one
 * piece and write it, so that a frame is written whole or not at all.
 */
#include "init-guard/link.h"

#include <string.h>

#define EXIT_SIZE 29u

enum link_side { SIDE_SANDBOX, SIDE_CHANNEL, SIDE_ANY };

struct link_rule {
	enum link_side side;
	uint32_t min, max; /* payload bytes */
};

#define BIG LINK_PAYLOAD_MAX
#define READY_SIZE (2 + LINK_CHECKS_MAX * (4 + LINK_CHECK_MAX))

static int link_rule(uint8_t type, struct link_rule *ret)
{
	static const struct {
		uint8_t type;
		struct link_rule rule;
	} rules[] = {
		{ LINK_HELLO, { SIDE_SANDBOX, 6, 6 } },
		{ LINK_READY, { SIDE_SANDBOX, 2, READY_SIZE } },
		{ LINK_FAIL, { SIDE_SANDBOX, 1, 1 + LINK_TEXT_MAX } },
		{ LINK_LOG, { SIDE_SANDBOX, 1, 1 + LINK_TEXT_MAX } },
		{ LINK_PONG, { SIDE_SANDBOX, 0, 64 } },
		{ LINK_PREPARED, { SIDE_SANDBOX, 0, 0 } },
		{ LINK_UNVAULTED, { SIDE_SANDBOX, 0, 0 } },
		{ LINK_AUDIT, { SIDE_SANDBOX, 1, LINK_TEXT_MAX } },
		{ LINK_ASSIGN, { SIDE_SANDBOX, 22, BIG } },
		{ LINK_PING, { SIDE_SANDBOX, 0, 64 } },
		{ LINK_QUIT, { SIDE_SANDBOX, 4, 4 } },
		{ LINK_PREPARE, { SIDE_SANDBOX, 8, 8 + LINK_CA_MAX } },
		{ LINK_EXEC, { SIDE_CHANNEL, 16, BIG } },
		{ LINK_STDIN, { SIDE_CHANNEL, 0, BIG } },
		{ LINK_STDIN_EOF, { SIDE_CHANNEL, 0, 0 } },
		{ LINK_SIGNAL, { SIDE_CHANNEL, 4, 4 } },
		{ LINK_RESIZE, { SIDE_CHANNEL, 4, 4 } },
		{ LINK_CLOSE, { SIDE_CHANNEL, 0, 0 } },
		{ LINK_STARTED, { SIDE_CHANNEL, 4, 4 } },
		{ LINK_STDOUT, { SIDE_CHANNEL, 0, BIG } },
		{ LINK_STDERR, { SIDE_CHANNEL, 0, BIG } },
		{ LINK_EXIT, { SIDE_CHANNEL, EXIT_SIZE, EXIT_SIZE } },
		{ LINK_CREDIT, { SIDE_CHANNEL, 4, 4 } },
		{ LINK_DETACH, { SIDE_ANY, 0, 0 } },
		{ LINK_NOTICE, { SIDE_ANY, 1, 1 + LINK_TEXT_MAX } },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rules[i].type == type) {
			*ret = rules[i].rule;
			return 0;
		}
	}
	return -EBADMSG;
}

int link_parse(struct slice *in, struct link_frame *ret, size_t *ret_need)
{
	struct slice rest = *in, payload;
	struct link_rule rule;
	uint32_t len, channel;
	uint8_t type;

	if (slice_u32(&rest, &len) < 0 || slice_u8(&rest, &type) < 0 ||
	    slice_u32(&rest, &channel) < 0) {
		if (ret_need)
			*ret_need = LINK_HEADER;
		return -EAGAIN;
	}
	if (len < 5 || len - 5 > LINK_PAYLOAD_MAX)
		return -EBADMSG;
	len -= 5;
	if (link_rule(type, &rule) < 0 || len < rule.min || len > rule.max)
		return -EBADMSG;
	if (rule.side != SIDE_ANY &&
	    (channel == 0) != (rule.side == SIDE_SANDBOX))
		return -EBADMSG;
	if (slice_take(&rest, len, &payload) < 0) {
		if (ret_need)
			*ret_need = LINK_HEADER + len;
		return -EAGAIN;
	}

	*ret = (struct link_frame){
		.type = (enum link_type)type,
		.channel = channel,
		.payload = payload,
	};
	*in = rest;
	return 0;
}

/* ---- encoders: a cursor through reserved memory ---- */

static void wr_u8(uint8_t **p, uint8_t v)
{
	*(*p)++ = v;
}

static void wr_u16(uint8_t **p, uint16_t v)
{
	wr_u8(p, (uint8_t)(v >> 8));
	wr_u8(p, (uint8_t)v);
}

static void wr_u32(uint8_t **p, uint32_t v)
{
	wr_u16(p, (uint16_t)(v >> 16));
	wr_u16(p, (uint16_t)v);
}

static void wr_u64(uint8_t **p, uint64_t v)
{
	wr_u32(p, (uint32_t)(v >> 32));
	wr_u32(p, (uint32_t)v);
}

static void wr_bytes(uint8_t **p, const void *ptr, size_t len)
{
	if (len > 0)
		memcpy(*p, ptr, len);
	*p += len;
}

static void wr_lstr(uint8_t **p, const char *s)
{
	size_t len = strlen(s);

	wr_u32(p, (uint32_t)len);
	wr_bytes(p, s, len);
}

static void wr_vec(uint8_t **p, const char *const *v, size_t n)
{
	size_t i;

	wr_u16(p, (uint16_t)n);
	for (i = 0; i < n; i++)
		wr_lstr(p, v[i]);
}

void link_put_header(uint8_t out[LINK_HEADER], enum link_type type,
		     uint32_t channel, size_t len)
{
	uint8_t *p = out;

	wr_u32(&p, (uint32_t)(5 + len));
	wr_u8(&p, (uint8_t)type);
	wr_u32(&p, channel);
}

/* Reserves a frame and writes its header; *@p is the place of the payload. */
static int frame_begin(struct buf *out, enum link_type type, uint32_t channel,
		       size_t len, uint8_t **p)
{
	uint8_t *mem;

	if (len > LINK_PAYLOAD_MAX)
		return -EMSGSIZE;
	mem = buf_reserve(out, LINK_HEADER + len);
	if (!mem)
		return -ENOBUFS;
	link_put_header(mem, type, channel, len);
	*p = mem + LINK_HEADER;
	return 0;
}

static void frame_end(struct buf *out, size_t len)
{
	buf_commit(out, LINK_HEADER + len);
}

int link_put(struct buf *out, enum link_type type, uint32_t channel,
	     const void *payload, size_t len)
{
	uint8_t *p;
	int rc = frame_begin(out, type, channel, len, &p);

	if (rc < 0)
		return rc;
	wr_bytes(&p, payload, len);
	frame_end(out, len);
	return 0;
}

int link_put_hello(struct buf *out, uint32_t features)
{
	uint8_t payload[6], *p = payload;

	wr_u16(&p, LINK_VERSION);
	wr_u32(&p, features);
	return link_put(out, LINK_HELLO, 0, payload, sizeof(payload));
}

int link_put_u32(struct buf *out, enum link_type type, uint32_t channel,
		 uint32_t value)
{
	uint8_t payload[4], *p = payload;

	wr_u32(&p, value);
	return link_put(out, type, channel, payload, sizeof(payload));
}

int link_put_text(struct buf *out, enum link_type type, uint32_t channel,
		  uint8_t level, const char *text)
{
	size_t len = strnlen(text, LINK_TEXT_MAX);
	uint8_t *p;
	int rc = frame_begin(out, type, channel, 1 + len, &p);

	if (rc < 0)
		return rc;
	wr_u8(&p, level);
	wr_bytes(&p, text, len);
	frame_end(out, 1 + len);
	return 0;
}

int link_put_audit(struct buf *out, struct slice line)
{
	const struct link_frame f = { .type = LINK_AUDIT, .payload = line };
	struct slice text;

	if (line.len == 0 || line.len > LINK_TEXT_MAX ||
	    link_get_audit(&f, &text) < 0)
		return -EINVAL;
	return link_put(out, LINK_AUDIT, 0, line.ptr, line.len);
}

int link_put_resize(struct buf *out, uint32_t channel, uint16_t rows,
		    uint16_t cols)
{
	uint8_t payload[4], *p = payload;

	wr_u16(&p, rows);
	wr_u16(&p, cols);
	return link_put(out, LINK_RESIZE, channel, payload, sizeof(payload));
}

/* Adds the encoded size of @v to *@total and its length to *@ret_n. */
static int vec_size(const char *const *v, size_t *ret_n, size_t *total)
{
	size_t n;

	for (n = 0; v && v[n]; n++) {
		if (n == LINK_ARGS_MAX)
			return -EMSGSIZE;
		*total += 4 + strlen(v[n]);
	}
	*total += 2;
	*ret_n = n;
	return 0;
}

int link_put_exec(struct buf *out, uint32_t channel, const struct link_exec *x)
{
	const char *cwd = x->cwd ? x->cwd : "";
	size_t argc, envc, len = 8 + 4 + strlen(cwd);
	uint8_t *p;
	int rc;

	if (strlen(cwd) > LINK_TEXT_MAX || vec_size(x->argv, &argc, &len) < 0 ||
	    vec_size(x->env, &envc, &len) < 0)
		return -EMSGSIZE;
	rc = frame_begin(out, LINK_EXEC, channel, len, &p);
	if (rc < 0)
		return rc;
	wr_u32(&p, x->flags);
	wr_u16(&p, x->rows);
	wr_u16(&p, x->cols);
	wr_lstr(&p, cwd);
	wr_vec(&p, x->argv, argc);
	wr_vec(&p, x->env, envc);
	frame_end(out, len);
	return 0;
}

int link_put_prepare(struct buf *out, const struct link_prepare *a)
{
	const char *ca = a->ca ? a->ca : "";
	size_t len = 4 + strlen(ca) + 4;
	uint8_t *p;
	int rc;

	if (strlen(ca) > LINK_CA_MAX)
		return -EMSGSIZE;
	rc = frame_begin(out, LINK_PREPARE, 0, len, &p);
	if (rc < 0)
		return rc;
	wr_lstr(&p, ca);
	wr_u32(&p, a->flags);
	frame_end(out, len);
	return 0;
}

int link_put_assign(struct buf *out, const struct link_assign *a)
{
	const char *ca = a->ca ? a->ca : "";
	size_t envc, len = 4 + strlen(a->name) + 8 + 4 + a->vault_len + 4 +
			   strlen(ca);
	uint8_t *p;
	int rc;

	if (strlen(a->name) > LINK_NAME_MAX || a->vault_len > LINK_VAULT_MAX ||
	    strlen(ca) > LINK_OWN_CA_MAX || vec_size(a->env, &envc, &len) < 0)
		return -EMSGSIZE;
	rc = frame_begin(out, LINK_ASSIGN, 0, len, &p);
	if (rc < 0)
		return rc;
	wr_lstr(&p, a->name);
	wr_vec(&p, a->env, envc);
	wr_u32(&p, a->nproc);
	wr_u32(&p, a->nofile);
	wr_u32(&p, (uint32_t)a->vault_len);
	wr_bytes(&p, a->vault, a->vault_len);
	wr_lstr(&p, ca);
	frame_end(out, len);
	return 0;
}

int link_put_ready(struct buf *out, const char *const *checks)
{
	size_t n, i, len = 0;
	uint8_t *p;
	int rc = vec_size(checks, &n, &len);

	for (i = 0; rc == 0 && i < n; i++) {
		if (strlen(checks[i]) > LINK_CHECK_MAX)
			rc = -EMSGSIZE;
	}
	if (rc == 0 && n > LINK_CHECKS_MAX)
		rc = -EMSGSIZE;
	if (rc == 0)
		rc = frame_begin(out, LINK_READY, 0, len, &p);
	if (rc != 0)
		return rc;
	wr_vec(&p, checks, n);
	frame_end(out, len);
	return 0;
}

int link_put_exit(struct buf *out, uint32_t channel, const struct link_exit *x)
{
	uint8_t payload[EXIT_SIZE], *p = payload;

	wr_u8(&p, (uint8_t)x->kind);
	wr_u32(&p, x->value);
	wr_u64(&p, x->wall_ns);
	wr_u64(&p, x->user_us);
	wr_u64(&p, x->system_us);
	return link_put(out, LINK_EXIT, channel, payload, sizeof(payload));
}

int link_exit_code(const struct link_exit *x)
{
	switch (x->kind) {
	case LINK_EXITED:
		return (int)(x->value & 255);
	case LINK_SIGNALED:
		return 128 + (int)(x->value & 127);
	case LINK_NOEXEC:
		return x->value == ENOENT || x->value == ENOTDIR ? 127 : 126;
	case LINK_NOCWD: /* never 127: the command may well exist */
		return 126;
	case LINK_TIMEOUT:
	case LINK_LIMIT:
		return 124;
	case LINK_OOM:
		return 137;
	case LINK_LOST:
		break;
	}
	return 125;
}
