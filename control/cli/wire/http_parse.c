/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_parse.c - parses answers of HTTP/1.1: head and framing of the body
 */
#include "control/cli/wire/http_parse.h"

#include <string.h>
#include <strings.h>

#include "control/shared/names.h"
#include "lib/str.h"

#define FRAMING_MAX HTTP_HEAD_MAX /* bytes between two chunks, or at the end */
#define DIGITS_MAX 15u /* so that a size cannot overflow */

/* Takes a line without its CR LF. Returns -EAGAIN without an end of line. */
static int take_line(struct slice *in, struct slice *ret)
{
	const uint8_t *lf = in->len ? memchr(in->ptr, '\n', in->len) : NULL;
	struct slice line;
	size_t len, i;

	if (!lf)
		return -EAGAIN;
	len = (size_t)(lf - in->ptr) + 1;
	if (slice_take(in, len, &line) < 0)
		return -EBADMSG;
	if (len < 2 || line.ptr[len - 2] != '\r')
		return -EBADMSG;
	line.len = len - 2;
	for (i = 0; i < line.len; i++)
		if (line.ptr[i] < ' ' && line.ptr[i] != '\t')
			return -EBADMSG;
	*ret = line;
	return 0;
}

static int parse_digits(struct slice s, uint64_t *ret)
{
	uint64_t value = 0;
	size_t i;

	if (s.len == 0 || s.len > DIGITS_MAX)
		return -EBADMSG;
	for (i = 0; i < s.len; i++) {
		if (s.ptr[i] < '0' || s.ptr[i] > '9')
			return -EBADMSG;
		value = value * 10 + (uint64_t)(s.ptr[i] - '0');
	}
	*ret = value;
	return 0;
}

static int parse_status(struct slice line, struct http_head *ret)
{
	static const char version[] = "HTTP/1.1 ";
	struct slice word;
	uint64_t status;

	if (slice_take(&line, sizeof(version) - 1, &word) < 0 ||
	    memcmp(word.ptr, version, word.len) != 0 ||
	    slice_take(&line, 3, &word) < 0 ||
	    parse_digits(word, &status) < 0 || status < 100 || status > 599)
		return -EBADMSG;
	if (line.len > 0 && line.ptr[0] != ' ')
		return -EBADMSG;
	ret->status = (int)status;
	return 0;
}

static bool is_word(struct slice s, const char *word)
{
	return s.len == strlen(word) &&
	       strncasecmp((const char *)s.ptr, word, s.len) == 0;
}

static bool is_space(uint8_t c)
{
	return c == ' ' || c == '\t';
}

static struct slice trim(struct slice s)
{
	struct slice skip;

	while (s.len > 0 && is_space(s.ptr[0]))
		if (slice_take(&s, 1, &skip) < 0)
			break;
	while (s.len > 0 && is_space(s.ptr[s.len - 1]))
		s.len--;
	return s;
}

/* Returns true if @word is in the comma-separated @list. */
static bool has_word(struct slice list, const char *word)
{
	while (list.len > 0) {
		const uint8_t *comma = memchr(list.ptr, ',', list.len);
		size_t len = comma ? (size_t)(comma - list.ptr) : list.len;
		struct slice item, skip;

		if (slice_take(&list, len, &item) < 0)
			return false;
		if (is_word(trim(item), word))
			return true;
		if (comma && slice_take(&list, 1, &skip) < 0)
			return false;
	}
	return false;
}

static int parse_value(struct slice name, struct slice value,
		       struct http_head *ret)
{
	if (is_word(name, "Upgrade")) {
		ret->link |= is_word(value, "ac-link/1");
	} else if (is_word(name, "Connection")) {
		ret->close |= has_word(value, "close");
	} else if (is_word(name, "Transfer-Encoding")) {
		if (ret->chunked || !is_word(value, "chunked"))
			return -EBADMSG;
		ret->chunked = true;
	} else if (is_word(name, "Content-Length")) {
		if (ret->has_length || parse_digits(value, &ret->length) < 0)
			return -EBADMSG;
		ret->has_length = true;
	} else if (is_word(name, API_INSTANCE_HEADER)) {
		ret->instance = value;
	}
	return 0;
}

static int parse_field(struct slice line, struct http_head *ret)
{
	const uint8_t *colon = memchr(line.ptr, ':', line.len);
	struct slice name, skip;
	size_t i;

	if (!colon ||
	    slice_take(&line, (size_t)(colon - line.ptr), &name) < 0 ||
	    name.len == 0 || slice_take(&line, 1, &skip) < 0)
		return -EBADMSG;
	/* RFC 9112 5.1, 5.2: no space before the colon, no folded lines. */
	for (i = 0; i < name.len; i++)
		if (name.ptr[i] <= ' ')
			return -EBADMSG;
	return parse_value(name, trim(line), ret);
}

int http_head_parse(struct slice in, struct http_head *ret)
{
	struct http_head head = { .status = 0 };
	struct slice all = in, line;
	int rc;

	if (in.len > HTTP_HEAD_MAX)
		in.len = HTTP_HEAD_MAX;
	rc = take_line(&in, &line);
	if (rc == 0)
		rc = parse_status(line, &head);
	while (rc == 0) {
		rc = take_line(&in, &line);
		if (rc < 0 || line.len == 0)
			break;
		rc = parse_field(line, &head);
	}
	if (rc == -EAGAIN && all.len >= HTTP_HEAD_MAX)
		return -EBADMSG; /* too long */
	if (rc < 0)
		return rc;
	if (head.chunked && head.has_length)
		return -EBADMSG; /* RFC 9112 6.3: two ends of one body */
	head.size = (size_t)(in.ptr - all.ptr);
	*ret = head;
	return 0;
}

enum state {
	END,
	LENGTH, /* left bytes */
	CLOSE, /* until the end of the connection */
	SIZE, /* of a chunk, in hexadecimal */
	EXTENSION,
	SIZE_LF,
	DATA, /* left bytes of a chunk */
	DATA_CR,
	DATA_LF,
	TRAILER, /* at the beginning of a line after the last chunk */
	TRAILER_TEXT,
	TRAILER_LF,
	LAST_LF,
};

void http_body_init(struct http_body *b, const struct http_head *head)
{
	*b = (struct http_body){ .state = CLOSE };
	if (head->status < 200 || head->status == 204 || head->status == 304) {
		b->state = END;
	} else if (head->chunked) {
		b->state = SIZE;
	} else if (head->has_length) {
		b->left = head->length;
		b->state = b->left ? LENGTH : END;
	}
}

bool http_body_may_end(const struct http_body *b)
{
	return b->state == CLOSE || b->state == END;
}

static int size_byte(struct http_body *b, uint8_t c)
{
	int digit = str_hex_digit(c);

	if (digit >= 0) {
		if (b->digits++ == DIGITS_MAX)
			return -EBADMSG;
		b->left = b->left * 16 + (uint64_t)digit;
		return SIZE;
	}
	if (b->digits == 0)
		return -EBADMSG;
	if (c == '\r')
		return SIZE_LF;
	return c == ';' || is_space(c) ? EXTENSION : -EBADMSG;
}

/* Takes a byte of framing. Returns the next state or -EBADMSG. */
static int framing_byte(struct http_body *b, uint8_t c)
{
	switch (b->state) {
	case SIZE:
		return size_byte(b, c);
	case EXTENSION:
		return c == '\n' ? -EBADMSG : c == '\r' ? SIZE_LF : EXTENSION;
	case SIZE_LF:
		b->digits = 0;
		return c != '\n' ? -EBADMSG : b->left > 0 ? DATA : TRAILER;
	case DATA_CR:
		return c == '\r' ? DATA_LF : -EBADMSG;
	case DATA_LF:
		return c == '\n' ? SIZE : -EBADMSG;
	case TRAILER:
		if (c == '\r')
			return LAST_LF;
		return c == '\n' ? -EBADMSG : TRAILER_TEXT;
	case TRAILER_TEXT:
		return c == '\n' ? -EBADMSG :
		       c == '\r' ? TRAILER_LF :
				   TRAILER_TEXT;
	case TRAILER_LF:
		return c == '\n' ? TRAILER : -EBADMSG;
	case LAST_LF:
		return c == '\n' ? END : -EBADMSG;
	default:
		return -EBADMSG;
	}
}

static int take_data(struct http_body *b, struct slice *in, struct slice *ret)
{
	size_t len = in->len;

	if (b->state != CLOSE && b->left < len)
		len = (size_t)b->left;
	if (slice_take(in, len, ret) < 0)
		return -EBADMSG;
	if (b->state == CLOSE)
		return 0;
	b->left -= len;
	if (b->left == 0)
		b->state = b->state == DATA ? DATA_CR : END;
	return 0;
}

int http_body_next(struct http_body *b, struct slice *in, struct slice *ret)
{
	uint8_t c;
	int next;

	for (;;) {
		if (b->state == END)
			return 1;
		if (in->len == 0)
			return -EAGAIN;
		if (b->state == LENGTH || b->state == CLOSE ||
		    b->state == DATA) {
			b->framing = 0;
			return take_data(b, in, ret);
		}
		if (slice_u8(in, &c) < 0 || ++b->framing > FRAMING_MAX)
			return -EBADMSG;
		next = framing_byte(b, c);
		if (next < 0)
			return next;
		b->state = next;
	}
}
