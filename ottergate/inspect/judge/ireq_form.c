/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ireq_form.c - forms that name another method than the one that was judged
 *
 * Rack, Rails and frameworks like them treat a POST as the method that the
 * field "_method" of its form names. They tell a form by its Content-Type, each
 * in its own way: up to the first ';' or ',', in any case; and no Content-Type
 * means a form. So a body that may be "a=b&c=d" is read, and one that may be
 * another kind of form is refused.
 */
#include "ottergate/inspect/judge/ireq_impl.h"

#include <string.h>
#include <strings.h>

#include "ottergate/policy/request/path.h"

static bool is_method_name(struct slice name)
{
	static const char *const names[] = {
		"_method",       "httpmethod",        "http_method",
		"x_http_method", "x_method_override", "x_http_method_override"
	};
	char plain[32];

	ipath_param(name, plain, sizeof(plain));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(plain, names[i]) == 0)
			return true;
	}
	return false;
}

/* Returns where the first of @ends is, from @at on, or the length. */
static size_t find_end(struct slice s, size_t at, const char *ends)
{
	while (at < s.len && !(s.ptr[at] && strchr(ends, s.ptr[at])))
		at++;
	return at;
}

bool ireq_names_method(struct slice fields)
{
	for (size_t at = 0; at < fields.len;) {
		size_t end = find_end(fields, at, "&;=");

		if (is_method_name(slice_of(fields.ptr + at, end - at)))
			return true;
		at = find_end(fields, end, "&;") + 1;
	}
	return false;
}

/* --- Content-Type --------------------------------------------------------- */

static bool has_text(struct slice s, const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i + len <= s.len; i++)
		if (strncasecmp((const char *)s.ptr + i, text, len) == 0)
			return true;
	return false;
}

static struct slice trim(struct slice s)
{
	while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
		s = slice_of(s.ptr + 1, s.len - 1);
	while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
		s.len--;
	return s;
}

/* "type/subtype" of plain letters, a subset of RFC 9110 §8.3.1. */
static bool is_type(struct slice s)
{
	static const char known[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789!#$&^_.+-";
	size_t slash = find_end(s, 0, "/");

	for (size_t i = 0; i < s.len; i++)
		if (i != slash && !(s.ptr[i] && strchr(known, s.ptr[i])))
			return false;
	return slash > 0 && slash + 1 < s.len;
}

static enum ireq_form form_of_type(struct slice value)
{
	static const char fields[] = "application/x-www-form-urlencoded";
	size_t end = find_end(value, 0, ";");
	struct slice type = trim(slice_of(value.ptr, end));
	struct slice param = slice_of(value.ptr + end, value.len - end);

	if (param.len)
		param = trim(slice_of(param.ptr + 1, param.len - 1));
	if (type.len == strlen(fields) && has_text(type, fields))
		return ireq_is_utf8_param(param) ? IREQ_FORM_FIELDS :
						   IREQ_FORM_UNREAD;
	if (!is_type(type) || memchr(value.ptr, ',', value.len) ||
	    has_text(value, "multipart") || has_text(value, "form-data") ||
	    has_text(value, "urlencoded") || has_text(value, "url-encoded"))
		return IREQ_FORM_UNREAD;
	return IREQ_FORM_NONE;
}

enum ireq_form ireq_form_of(struct ihead *h)
{
	struct slice value = slice_of(NULL, 0);
	enum ireq_form form;
	size_t seen = 0;

	for (size_t i = 0; i < h->n_fields; i++) {
		const struct ifield *f = &h->fields[i];

		if (!ihead_is_like(f->name, "content-type"))
			continue;
		/* A server may read "content_type" as this, or ignore it. */
		if (seen++ || !slice_eq(f->name, slice_str("content-type")))
			return IREQ_FORM_UNREAD;
		value = trim(f->value);
	}
	form = value.len ? form_of_type(value) : IREQ_FORM_FIELDS;
	return form == IREQ_FORM_FIELDS && !ireq_is_identity(h) ?
		       IREQ_FORM_UNREAD :
		       form;
}
