/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print_text.c - the words, texts and amounts of a printed blueprint
 */
#include "control/acd/blueprint/print_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ottergate/yaml.h"

static void line_end(struct printer *p)
{
	struct print_lines *l = p->lines;

	if (!l || p->rc < 0)
		return;
	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 64;
		void *v = reallocarray(l->v, room, sizeof(*l->v));

		if (!v) {
			p->rc = -ENOMEM;
			return;
		}
		l->v = v;
		l->room = room;
	}
	l->v[l->n++] = p->now;
}

void print_put(struct printer *p, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0)
		text = NULL;
	if (p->rc == 0)
		p->rc = text ? buf_append(p->out, text, (size_t)len) : -ENOMEM;
	for (const char *at = text; at && (at = strchr(at, '\n')); at++)
		line_end(p);
	free(text);
}

/* What follows is from where the value @key is. */
void print_from(struct printer *p, const char *key)
{
	p->now = (struct print_line){ sources_find(&p->bp->sources, key), true,
				      false };
}

/* The same for the value @name in the map or list @map. */
void print_from_item(struct printer *p, const char *map, const char *name)
{
	SCOPED_STR key = str_printf("%s.%s", map, name);

	if (key)
		print_from(p, key);
	else if (p->rc == 0)
		p->rc = -ENOMEM;
}

/* A line that has no value, such as the key of a map. */
void print_from_none(struct printer *p)
{
	p->now = (struct print_line){ 0 };
}

/* ---- words and texts ---- */

/* Returns the code point at @s, which is UTF-8, and its bytes. */
static uint32_t code_point(const char *s, size_t *ret_len)
{
	const uint8_t *u = (const uint8_t *)s;
	size_t len = *u < 0x80 ? 1 : *u < 0xe0 ? 2 : *u < 0xf0 ? 3 : 4;
	uint32_t c = len == 1 ? *u : *u & (0x7fu >> len);

	for (size_t i = 1; i < len && (u[i] & 0xc0) == 0x80; i++)
		c = c << 6 | (u[i] & 0x3f);
	*ret_len = strnlen(s, len);
	return c;
}

/* Returns true if it cannot be in a text as it is (YAML 1.2, 5.1), or ends a
 * line there. */
static bool must_escape(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 ||
	       c == 0x2029 || c == 0xfeff || c == 0xfffe || c == 0xffff;
}

/* Puts the text within quotes; @json: is JSON already, with its own. */
void print_escaped(struct printer *p, const char *s, bool json)
{
	for (size_t len; *s; s += len) {
		uint32_t c = code_point(s, &len);

		if (json && c == '\n') {
			print_put(p, "\n      ");
			p->now.inside = true;
		} else if (must_escape(c)) {
			print_put(p, "\\u%04x", c);
		} else if (!json && (c == '"' || c == '\\')) {
			print_put(p, "\\%c", (char)c);
		} else {
			print_put(p, "%.*s", (int)len, s);
		}
	}
}

static bool is_plain(const char *s)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	const struct yaml_node n = { .text = s };
	size_t dashes = strspn(s, "-"); /* of an option */

	if (*s != '/' && *s != '_' &&
	    (dashes > 2 || strspn(s + dashes, letters) == 0))
		return false;
	while (*s && (strchr(letters, *s) || strchr("0123456789_./-", *s)))
		s++;
	return *s == '\0' && !yaml_word_is_ambiguous(&n) &&
	       !yaml_word_is_number(&n);
}

void print_word(struct printer *p, const char *s)
{
	if (is_plain(s)) {
		print_put(p, "%s", s);
		return;
	}
	print_put(p, "\"");
	print_escaped(p, s, false);
	print_put(p, "\"");
}

void print_words(struct printer *p, const struct strv *sv)
{
	print_put(p, "[");
	for (size_t i = 0; i < sv->n; i++) {
		print_put(p, "%s", i ? ", " : "");
		print_word(p, sv->v[i]);
	}
	print_put(p, "]");
}

/* Returns true if it can be a block: lines, of which the first is not
 * indented. */
static bool is_block(const char *s)
{
	const char *end = strrchr(s, '\n');

	if (!end || strchr(" \t\n", *s) || (end[1] == '\0' && end[-1] == '\n'))
		return false;
	for (size_t len; *s; s += len) {
		uint32_t c = code_point(s, &len);

		if (c != '\n' && c != '\t' && must_escape(c))
			return false;
	}
	return true;
}

/* Puts a text that may have lines, below a key that is indented by less than
 * @indent. */
void print_text(struct printer *p, const char *s, int indent)
{
	if (!is_block(s)) {
		print_word(p, s);
		return;
	}
	print_put(p, s[strlen(s) - 1] == '\n' ? "|" : "|-");
	while (*s) {
		int len = (int)strcspn(s, "\n");

		print_put(p, "\n%*s%.*s", len ? indent : 0, "", len, s);
		p->now.inside = true;
		s += len;
		s += *s == '\n';
	}
}

/* ---- amounts ---- */

void print_amount(struct printer *p, uint64_t v, const struct unit *u)
{
	if (v == 0) {
		print_put(p, "none");
		return;
	}
	while (v % u->is != 0)
		u++;
	print_put(p, "%llu%s", (unsigned long long)(v / u->is), u->name);
}
