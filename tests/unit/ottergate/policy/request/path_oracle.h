/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_oracle.h - one pattern and one path, by trying: what path_set.c must
 * find in its one walk
 */
#ifndef TESTS_UNIT_OTTERGATE_POLICY_REQUEST_PATH_ORACLE_H
#define TESTS_UNIT_OTTERGATE_POLICY_REQUEST_PATH_ORACLE_H

#include <string.h>

#include "lib/str.h"
#include "ottergate/policy/request/path.h"

static inline int oracle_hex(char c)
{
	return str_hex_digit((unsigned char)c);
}

static inline bool is_unreserved(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
	       c == '~';
}

static inline bool is_at(const char *s, size_t len, const char *what)
{
	return len >= strlen(what) && memcmp(s, what, strlen(what)) == 0;
}

/* Where the segment at the front of @s ends; *ret_next: where the next one
 * begins. An encoded slash ends it too if @encoded. */
static inline size_t segment_end(const char *s, size_t len, bool encoded,
				 size_t *ret_next)
{
	for (size_t i = 0; i < len; i++) {
		bool is_encoded = encoded && is_at(s + i, len - i, "%2F");

		if (s[i] == '/' || is_encoded) {
			*ret_next = i + (is_encoded ? 3 : 1);
			return i;
		}
	}
	*ret_next = len;
	return len;
}

/* @loose: of either case. */
static inline bool same_char(const char *a, const char *b, size_t at,
			     bool loose)
{
	/* The digits of "%2f" in a pattern may be of either case. */
	bool hex = (at > 0 && a[-1] == '%') || (at > 1 && a[-2] == '%');

	if (loose && (*a | 0x20) == (*b | 0x20) && is_unreserved((uint8_t)*a) &&
	    is_unreserved((uint8_t)*b) && (*a | 0x20) >= 'a')
		return true;
	return *a == *b || (hex && str_hex_digit((unsigned char)*a) >= 0 &&
			    str_hex_digit((unsigned char)*a) ==
				    str_hex_digit((unsigned char)*b));
}

/* "*" stands for any run, "#" for one of digits. @at[k]: what was taken of the
 * pattern fits the first k bytes of @s. */
static inline bool segment_glob(const char *p, size_t plen, const char *s,
				size_t len, bool loose)
{
	bool at[IPATH_MAX + 2] = { true };

	for (size_t i = 0; i < plen; i++) {
		bool first = p[i] == '*' && at[0], before = at[0];

		at[0] = first;
		for (size_t k = 0; k < len; k++) {
			bool here = at[k + 1], fits = before;

			if (p[i] == '*')
				fits = here || at[k];
			else if (p[i] == '#')
				fits = s[k] >= '0' && s[k] <= '9' &&
				       (before || at[k]);
			else
				fits = before &&
				       same_char(p + i, s + k, i, loose);
			at[k + 1] = fits;
			before = here;
		}
	}
	return at[len];
}

static inline bool has_slash(const char *s, size_t len)
{
	for (size_t i = 0; i + 3 <= len; i++) {
		if (s[i] == '%' && s[i + 1] == '2' && (s[i + 2] | 0x20) == 'f')
			return true;
	}
	return false;
}

static inline bool segment_match(const char *p, size_t plen, const char *s,
				 size_t len, bool loose)
{
	if (has_slash(s, len) && !has_slash(p, plen))
		return false;
	return segment_glob(p, plen, s, len, loose);
}

static inline bool is_any(const char *p, size_t plen)
{
	return plen == 2 && p[0] == '*' && p[1] == '*';
}

struct cursor {
	const char *s;
	size_t len; /* left */
	bool done; /* behind the last segment */
};

static inline size_t cursor_segment(const struct cursor *c, bool encoded,
				    size_t *ret_next)
{
	return segment_end(c->s, c->len, encoded, ret_next);
}

static inline void cursor_step(struct cursor *c, size_t n, size_t next)
{
	c->done = n == c->len; /* a slash at the end: one more, empty */
	c->s += next;
	c->len -= next;
}

/* By segments as segment_glob() is by characters. */
static inline bool match(const char *pattern, struct slice path, bool encoded,
			 bool loose)
{
	struct cursor p = { pattern + 1, strlen(pattern) - 1, false };
	struct cursor s = { (const char *)path.ptr + 1, path.len - 1, false };
	struct cursor any = { 0 }, from = { 0 };
	size_t pn, sn, pnext, snext;

	while (!s.done) {
		pn = cursor_segment(&p, false, &pnext);
		sn = cursor_segment(&s, encoded, &snext);
		if (!p.done && is_any(p.s, pn)) {
			cursor_step(&p, pn, pnext);
			any = p;
			from = s;
		} else if (!p.done && segment_match(p.s, pn, s.s, sn, loose)) {
			cursor_step(&p, pn, pnext);
			cursor_step(&s, sn, snext);
		} else if (any.s) {
			sn = cursor_segment(&from, encoded, &snext);
			cursor_step(&from, sn, snext);
			p = any;
			s = from;
		} else {
			return false;
		}
	}
	while (!p.done) {
		pn = cursor_segment(&p, false, &pnext);
		if (!is_any(p.s, pn))
			return false;
		cursor_step(&p, pn, pnext);
	}
	return true;
}

static inline bool is_matchable(const char *pattern, struct slice path)
{
	return pattern[0] == '/' && path.len > 0 && path.ptr[0] == '/';
}

static inline bool oracle_match(const char *pattern, struct slice path)
{
	return is_matchable(pattern, path) &&
	       match(pattern, path, false, false);
}

static inline size_t last_segment(const char *s, size_t len, bool encoded)
{
	size_t at = 0, next;

	for (size_t i = 0; i < len; i += next) {
		size_t n = segment_end(s + i, len - i, encoded, &next);

		at = n < len - i ? i + next : i;
	}
	return at;
}

/* Also without what follows a dot of the last segment. */
static inline bool match_ends(const char *pattern, struct slice path,
			      bool encoded)
{
	const char *s = (const char *)path.ptr;
	size_t last = last_segment(s, path.len, encoded);

	if (match(pattern, path, encoded, true))
		return true;
	for (size_t i = last + 1; i < path.len; i++)
		if (s[i] == '.' &&
		    match(pattern, slice_of(s, i), encoded, true))
			return true;
	return false;
}

static inline bool match_loose(const char *pattern, struct slice path)
{
	return match_ends(pattern, path, false) ||
	       match_ends(pattern, path, true);
}

static inline bool oracle_match_deny(const char *pattern, struct slice path)
{
	char plain[IPATH_MAX + 1];
	size_t n;

	if (!is_matchable(pattern, path) || path.len > IPATH_MAX)
		return false;
	if (match_loose(pattern, path))
		return true;
	n = ipath_plain(path, plain);
	return n != path.len && match_loose(pattern, slice_of(plain, n));
}

#endif
