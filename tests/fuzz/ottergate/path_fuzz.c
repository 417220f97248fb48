/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_fuzz.c - request paths
 *
 * What is accepted is accepted again, as the same path; it has no segment that
 * some server would take away; and the walk over a set finds what trying does, if
 * it ends.
 * Input: a pattern, a line feed, a target.
 */
#include <stdlib.h>
#include <string.h>

#include "ottergate/policy/request/path.h"
#include "tests/unit/ottergate/policy/request/path_oracle.h"
#include "tests/unit/ottergate/policy/request/path_sets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check_path(const char *s, size_t len)
{
	char plain[IPATH_MAX + 1];

	len = ipath_decode(slice_of(s, len), plain, IPATH_MAX);
	plain[len] = '\0';
	must(strlen(plain) == len && !strchr(plain, '\\'));
	must(!strstr(plain, "//") && !strstr(plain, "/../") &&
	     !strstr(plain, "/./") && !strstr(plain, "/..;"));
	if (len >= 3)
		must(strcmp(plain + (len - 3), "/..") != 0);
}

/* What stands for no byte in a pattern is in no path. */
static bool is_well_formed(const char *s)
{
	for (; (s = strchr(s, '%')); s++)
		if (str_hex_digit((unsigned char)s[1]) < 0 ||
		    str_hex_digit((unsigned char)s[2]) < 0)
			return false;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ipath a, b;
	const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
	size_t n = line ? (size_t)(line - data) : 0;
	char *pattern;
	struct slice path;
	int exact, like;

	if (!line || memchr(data, 0, n) || n > 1024 ||
	    ipath_canon(slice_of(line + 1, size - n - 1), &a) < 0)
		return 0;
	must(ipath_canon(slice_of(a.s, a.len), &b) == 0 && a.len == b.len &&
	     a.path_len == b.path_len && strcmp(a.s, b.s) == 0);
	check_path(a.s, a.path_len);
	pattern = calloc(1, n + 2);
	if (!pattern)
		return 0;
	pattern[0] = '/';
	memcpy(pattern + 1, data, n);
	path = slice_of(a.s, a.path_len);
	exact = one_asks(pattern, path, false);
	like = one_asks(pattern, path, true);
	if (is_well_formed(pattern)) {
		must(exact < 0 || exact == oracle_match(pattern, path));
		must(like < 0 || like == oracle_match_deny(pattern, path));
	}
	must(exact <= 0 || like != 0);
	must(a.s[0] == '*' || one_matches("/**", path));
	free(pattern);
	return 0;
}
