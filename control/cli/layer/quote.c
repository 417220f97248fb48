/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quote.c - hostile names and texts for a terminal
 */
#include "control/cli/layer/quote.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/str.h"

#define LINE_MAX_BYTES 65536u /* of one call of str_escape_utf8() */

/* Returns true if a terminal shows @s as it is, without quotes. */
static bool is_plain(const char *s, char *scratch, size_t size)
{
	if (strpbrk(s, "\"\\"))
		return false;
	str_escape_utf8(scratch, size, s, strlen(s));
	return strcmp(scratch, s) == 0;
}

static char *put_octal(char *out, unsigned char c)
{
	*out++ = '\\';
	*out++ = (char)('0' + (c >> 6));
	*out++ = (char)('0' + (c >> 3 & 7));
	*out++ = (char)('0' + (c & 7));
	return out;
}

static char *put_quoted(char *out, const char *s)
{
	static const char plain[] = "\a\b\t\n\v\f\r\"\\";
	static const char letter[] = "abtnvfr\"\\";

	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		const char *at = strchr(plain, *s);

		if (at) {
			*out++ = '\\';
			*out++ = letter[at - plain];
		} else if (c < ' ' || c >= 0x7f) {
			out = put_octal(out, c);
		} else {
			*out++ = *s;
		}
	}
	return out;
}

char *quote_path(const char *prefix, const char *path)
{
	size_t len = strlen(path), size = strlen(prefix) + 4 * len + 3;
	char *text = malloc(size), *out;

	if (!text)
		return NULL;
	if (is_plain(path, text, size)) {
		snprintf(text, size, "%s%s", prefix, path);
		return text;
	}
	out = text;
	*out++ = '"';
	out = put_quoted(out, prefix);
	out = put_quoted(out, path);
	*out++ = '"';
	*out = '\0';
	return text;
}

/* Prints what has no tab and no backslash in it. */
static void put_piece(FILE *out, struct slice s)
{
	static char text[4 * LINE_MAX_BYTES + 1];

	while (s.len > 0) {
		size_t n = s.len < LINE_MAX_BYTES ? s.len : LINE_MAX_BYTES;

		/* Not within a character. */
		if (n < s.len)
			while (n > LINE_MAX_BYTES - 4 &&
			       (s.ptr[n] & 0xc0) == 0x80)
				n--;
		str_escape_utf8(text, sizeof(text), s.ptr, n);
		fputs(text, out);
		s = slice_of(s.ptr + n, s.len - n);
	}
}

void quote_line(FILE *out, struct slice line)
{
	while (line.len > 0) {
		size_t n = 0;

		/* str_escape_utf8() escapes these two, and here they are text. */
		while (n < line.len && line.ptr[n] != '\t' &&
		       line.ptr[n] != '\\')
			n++;
		put_piece(out, slice_of(line.ptr, n));
		if (n < line.len)
			fputc(line.ptr[n++], out);
		line = slice_of(line.ptr + n, line.len - n);
	}
}
