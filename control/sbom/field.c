/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field.c - files of paragraphs of fields "Name: text"
 */
#include "control/sbom/field.h"

#include <errno.h>
#include <strings.h>

bool field_line(struct slice *in, struct slice *ret)
{
	if (in->len == 0)
		return false;
	*ret = slice_line(in);
	if (ret->len > 0 && ret->ptr[ret->len - 1] == '\r')
		ret->len--;
	return true;
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

/* Takes the lines that begin with a blank and have more than blanks. */
static struct slice take_rest(struct slice *in)
{
	struct slice rest = slice_of(in->ptr, 0);
	struct slice ahead = *in, line;

	while (ahead.len > 0 && is_blank(ahead.ptr[0]) &&
	       field_line(&ahead, &line) && slice_trim(line).len > 0) {
		rest.len = (size_t)(ahead.ptr - rest.ptr);
		*in = ahead;
	}
	return rest;
}

int field_next(struct slice *in, struct field *ret)
{
	struct slice line;
	const uint8_t *colon;

	*ret = (struct field){ 0 };
	if (!field_line(in, &line))
		return 0;
	if (slice_trim(line).len == 0) {
		struct slice ahead = *in;

		while (field_line(&ahead, &line) && slice_trim(line).len == 0)
			*in = ahead;
		return 1;
	}
	colon = memchr(line.ptr, ':', line.len);
	if (!colon || colon == line.ptr || is_blank(line.ptr[0]))
		return -EBADMSG;
	ret->name = slice_of(line.ptr, (size_t)(colon - line.ptr));
	ret->text =
		slice_trim(slice_of(colon + 1, line.len - ret->name.len - 1));
	ret->rest = take_rest(in);
	return 1;
}

bool field_is(const struct field *f, const char *name)
{
	return f->name.len == strlen(name) &&
	       strncasecmp((const char *)f->name.ptr, name, f->name.len) == 0;
}

char *field_copy(char *out, size_t size, struct slice s)
{
	size_t len = s.len < size - 1 ? s.len : size - 1;

	if (len > 0)
		memcpy(out, s.ptr, len);
	out[len] = '\0';
	return out;
}
