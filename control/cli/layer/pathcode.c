/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pathcode.c - paths of any bytes as ASCII, for files of JSON
 */
#include "control/cli/layer/pathcode.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "control/shared/json.h"
#include "lib/str.h"

char *pathcode_put(const char *path)
{
	static const char hex[] = "0123456789abcdef";
	char *text = malloc(3 * strlen(path) + 1), *out = text;

	for (; text && *path; path++) {
		unsigned char c = (unsigned char)*path;

		if (c > ' ' && c < 0x7f && c != '%') {
			*out++ = *path;
		} else {
			*out++ = '%';
			*out++ = hex[c >> 4];
			*out++ = hex[c & 15];
		}
	}
	if (text)
		*out = '\0';
	return text;
}

char *pathcode_get(const char *text)
{
	char *path = malloc(strlen(text) + 1), *out = path;

	for (; path && *text; text++) {
		int high, low;

		if (*text != '%') {
			*out++ = *text;
			continue;
		}
		high = str_hex_digit((unsigned char)text[1]);
		low = high < 0 ? -1 : str_hex_digit((unsigned char)text[2]);
		if (low < 0 || (high == 0 && low == 0)) {
			free(path);
			return NULL;
		}
		*out++ = (char)(high << 4 | low);
		text += 2;
	}
	if (path)
		*out = '\0';
	return path;
}

int pathcode_line(FILE *out, json_t *value)
{
	SCOPED_JSON line = value;

	if (!line)
		return -ENOMEM;
	if (json_dumpf(line, out, JSON_COMPACT) < 0 || fputc('\n', out) == EOF)
		return errno ? -errno : -EIO;
	return 0;
}

int pathcode_read(FILE *in, json_t **ret)
{
	SCOPED_STR line = NULL;
	size_t size = 0;
	ssize_t len;

	errno = 0;
	len = getline(&line, &size, in);
	*ret = NULL;
	if (len < 0)
		return ferror(in) ? -(errno ? errno : EIO) : 0;
	return jsonx_parse(line, (size_t)len, ret, NULL) < 0 ? -EBADMSG : 0;
}
