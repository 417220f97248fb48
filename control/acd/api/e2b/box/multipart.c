/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multipart.c - reads multipart/form-data (RFC 7578) as it comes
 *
 * Theory of operation: a delimiter begins with a line's end and has none besides,
 * so that one which was begun and does not go on cannot have another one's
 * beginning in it. What was held back of it is data then, and equal to the
 * delimiter's own bytes.
 */
#include "control/acd/api/e2b/box/multipart.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "lib/str.h"

/* RFC 2046, section 5.1.1; without the space. */
static bool is_boundary(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || (c && strchr("'()+_,-./:=?", c));
}

int multipart_init(struct multipart *m, const char *content_type)
{
	static const char kind[] = "multipart/form-data";
	const char *at;
	size_t len = 0;
	bool quoted;

	*m = (struct multipart){ .state = MULTIPART_BEGIN };
	if (!content_type ||
	    strncasecmp(content_type, kind, sizeof(kind) - 1) != 0)
		return -EINVAL;
	at = strcasestr(content_type + sizeof(kind) - 1, "boundary=");
	if (!at)
		return -EINVAL;
	at += strlen("boundary=");
	quoted = *at == '"';
	at += quoted;
	while (len <= MULTIPART_BOUNDARY_MAX && is_boundary((uint8_t)at[len]))
		len++;
	if (len == 0 || len > MULTIPART_BOUNDARY_MAX ||
	    (quoted ? at[len] != '"' : at[len] && at[len] != ';'))
		return -EINVAL;
	memcpy(m->delim, "\r\n--", 4);
	memcpy(m->delim + 4, at, len);
	m->delim_len = len + 4;
	m->matched = 2; /* the first one needs no line before it */
	return 0;
}

/* ---- the head of a part ---- */

/* Copies the quoted text at @at, and undoes what clients do to quotes and ends of
 * lines in it. Returns 0, or -EBADMSG. */
static int name_copy(struct slice at, char ret[MULTIPART_NAME_MAX + 1])
{
	static const struct {
		char text[4], is;
	} codes[] = { { "%22", '"' }, { "%0D", '\r' }, { "%0A", '\n' } };
	size_t n = 0;
	uint8_t c;

	while (slice_u8(&at, &c) == 0 && c != '"') {
		if (c == '\\' && at.len > 0 &&
		    (at.ptr[0] == '\\' || at.ptr[0] == '"') &&
		    slice_u8(&at, &c) < 0)
			break;
		for (size_t i = 0; c == '%' && i < ARRAY_SIZE(codes); i++) {
			if (!slice_skip(&at, codes[i].text + 1))
				continue;
			c = (uint8_t)codes[i].is;
		}
		if (n == MULTIPART_NAME_MAX || !c)
			return -EBADMSG;
		ret[n++] = (char)c;
	}
	ret[n] = '\0';
	return 0;
}

/* Reads a line of the head. */
static int head_line(struct multipart *m, struct slice line)
{
	static const char key[] = "content-disposition:";
	static const char name[] = "filename=\"";
	const uint8_t *at;

	if (line.len < sizeof(key) - 1 ||
	    strncasecmp((const char *)line.ptr, key, sizeof(key) - 1) != 0)
		return 0;
	at = memmem(line.ptr, line.len, name, sizeof(name) - 1);
	if (!at)
		return 0;
	at += sizeof(name) - 1;
	return name_copy(slice_of(at, (size_t)(line.ptr + line.len - at)),
			 m->name);
}

static int head_read(struct multipart *m)
{
	struct slice head = slice_of(m->head, m->head_len);
	int rc = 0;

	m->name[0] = '\0';
	while (rc == 0 && head.len > 0)
		rc = head_line(m, slice_line(&head));
	return rc;
}

/* ---- */

/* Collects the head up to its empty line. */
static int take_head(struct multipart *m, struct slice *in)
{
	uint8_t c;

	while (slice_u8(in, &c) == 0) {
		if (m->head_len == sizeof(m->head))
			return -EBADMSG;
		m->head[m->head_len++] = (char)c;
		if ((m->head_len == 2 && memcmp(m->head, "\r\n", 2) == 0) ||
		    (m->head_len >= 4 &&
		     memcmp(m->head + m->head_len - 4, "\r\n\r\n", 4) == 0)) {
			if (head_read(m) < 0)
				return -EBADMSG;
			m->state = MULTIPART_BODY;
			m->head_len = m->matched = 0;
			return MULTIPART_PART;
		}
	}
	return MULTIPART_MORE;
}

static int take_behind(struct multipart *m, struct slice *in)
{
	uint8_t c;

	while (m->head_len < 2) {
		if (slice_u8(in, &c) < 0)
			return MULTIPART_MORE;
		m->head[m->head_len++] = (char)c;
	}
	m->head_len = 0;
	if (memcmp(m->head, "--", 2) == 0) {
		m->state = MULTIPART_OVER;
		return MULTIPART_END;
	}
	if (memcmp(m->head, "\r\n", 2) != 0)
		return -EBADMSG;
	m->state = MULTIPART_HEAD;
	return take_head(m, in);
}

/* Gives what was held back. */
static int give_held(struct multipart *m, size_t max, struct slice *ret_data)
{
	size_t n = m->held - m->given;

	if (n > max)
		n = max;
	*ret_data = slice_of(m->delim + m->given, n);
	m->given += n;
	if (m->given == m->held)
		m->held = m->given = 0;
	return MULTIPART_DATA;
}

/* Returns how many bytes of @in come before a delimiter, or before what may be the
 * beginning of one. */
static size_t data_len(const struct multipart *m, struct slice in)
{
	const uint8_t *at = memmem(in.ptr, in.len, m->delim, m->delim_len);
	size_t n = in.len < m->delim_len ? in.len : m->delim_len - 1;

	if (at)
		return (size_t)(at - in.ptr);
	while (n > 0 && memcmp(in.ptr + in.len - n, m->delim, n) != 0)
		n--;
	return in.len - n;
}

static int take_body(struct multipart *m, struct slice *in, size_t max,
		     struct slice *ret_data)
{
	size_t n = 0;

	if (m->held > 0)
		return give_held(m, max, ret_data);
	if (m->matched == 0)
		n = data_len(m, *in);
	if (n > 0) {
		n = n < max ? n : max;
		*ret_data = slice_of(in->ptr, n);
		in->ptr += n;
		in->len -= n;
		return MULTIPART_DATA;
	}
	while (m->matched < m->delim_len && in->len > 0 &&
	       in->ptr[0] == (uint8_t)m->delim[m->matched]) {
		m->matched++;
		in->ptr++;
		in->len--;
	}
	if (m->matched == m->delim_len) {
		m->state = MULTIPART_BEHIND;
		return MULTIPART_PART_END;
	}
	if (in->len == 0)
		return MULTIPART_MORE;
	m->held = m->matched;
	m->matched = 0;
	return give_held(m, max, ret_data);
}

static int take_begin(struct multipart *m, struct slice *in)
{
	uint8_t c;

	while (m->matched < m->delim_len) {
		if (slice_u8(in, &c) < 0)
			return MULTIPART_MORE;
		if (c != (uint8_t)m->delim[m->matched])
			return -EBADMSG;
		m->matched++;
	}
	m->state = MULTIPART_BEHIND;
	return take_behind(m, in);
}

int multipart_next(struct multipart *m, struct slice *in, size_t max,
		   struct slice *ret_data)
{
	*ret_data = slice_of(NULL, 0);
	if (in->len == 0 && m->held == 0)
		return MULTIPART_MORE;
	switch (m->state) {
	case MULTIPART_BEGIN:
		return take_begin(m, in);
	case MULTIPART_BEHIND:
		return take_behind(m, in);
	case MULTIPART_HEAD:
		return take_head(m, in);
	case MULTIPART_BODY:
		return max > 0 ? take_body(m, in, max, ret_data) :
				 MULTIPART_MORE;
	default:
		*in = slice_of(NULL, 0);
		return MULTIPART_MORE;
	}
}
