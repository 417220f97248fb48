/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graphql.c - may a request to a GraphQL endpoint pass?
 *
 * Theory of operation: a document is read once, by tokens. Bytes on which lexers
 * might not agree are refused wherever they stand. What is within parentheses
 * and within the selections of a field matters only for where it ends, and for
 * the names that no document may have.
 *
 * A selection set is a root where its fields are mutations: that of a mutation,
 * and of an inline fragment in a root. Whether a named fragment is spread in a
 * root is known only at the end, and so is which fragments that one spreads. So
 * the sets of all fragments are judged as roots, too, and that counts if the
 * root of a mutation spreads any.
 */
#include "ottergate/policy/request/graphql.h"

#include <stdlib.h>
#include <string.h>

#include "lib/jsonr.h"

enum definition { DEF_NONE, DEF_QUERY, DEF_MUTATION, DEF_FRAGMENT };

/* What was read last in a root, but for blanks and comments. */
enum last {
	LAST_OTHER,
	LAST_NAME, /* a field, or its alias: lexer.field */
	LAST_AT, /* a directive's name is next */
	LAST_SPREAD, /* "..." */
	LAST_ON, /* "... on" */
};

struct lexer {
	struct slice s;
	char open[IGRAPHQL_DEPTH_MAX];
	bool root[IGRAPHQL_DEPTH_MAX]; /* is what is open there a root? */
	unsigned depth;
	enum definition in; /* behind its keyword, before its braces end */
	enum last last;
	struct slice field;
	bool is_inline; /* the next brace is that of an inline fragment */
	bool spread; /* a mutation's root has a named fragment */
	bool mutation; /* there is one */
	enum igraphql_verdict fields, fragments; /* of roots; of fragments */
	unsigned operations;
	const struct igraphql_rule *rule;
};

static enum igraphql_verdict worse(enum igraphql_verdict a,
				   enum igraphql_verdict b)
{
	if (a == IGRAPHQL_REFUSED || b == IGRAPHQL_REFUSED)
		return IGRAPHQL_REFUSED;
	return a == IGRAPHQL_PUSH ? a : b;
}

static bool has_name(const struct igraphql_names *names, struct slice s)
{
	size_t low = 0, high = names->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strncmp((const char *)s.ptr, names->v[mid], s.len);

		if (order == 0 && names->v[mid][s.len] == '\0')
			return true;
		if (order > 0)
			low = mid + 1;
		else
			high = mid;
	}
	return false;
}

static void advance(struct lexer *l, size_t n)
{
	l->s.ptr += n;
	l->s.len -= n;
}

static bool is_letter(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

/* Other bytes are in comments only to fool somebody's idea of a line. */
static bool comment(struct lexer *l)
{
	while (l->s.len && l->s.ptr[0] != '\n' && l->s.ptr[0] != '\r') {
		if ((l->s.ptr[0] < 0x20 && l->s.ptr[0] != '\t') ||
		    l->s.ptr[0] >= 0x7f)
			return false;
		advance(l, 1);
	}
	return true;
}

static bool block_string(struct lexer *l)
{
	advance(l, 3);
	while (l->s.len >= 3) {
		if (memcmp(l->s.ptr, "\"\"\"", 3) == 0) {
			advance(l, 3);
			return true;
		}
		if (l->s.ptr[0] == 0)
			return false;
		advance(l,
			l->s.len >= 4 && memcmp(l->s.ptr, "\\\"\"\"", 4) == 0 ?
				4 :
				1);
	}
	return false;
}

static bool string(struct lexer *l)
{
	if (l->s.len >= 3 && memcmp(l->s.ptr, "\"\"\"", 3) == 0)
		return block_string(l);
	advance(l, 1);
	while (l->s.len) {
		uint8_t c = l->s.ptr[0];

		if (c < 0x20 && c != '\t')
			return false;
		if (c == '\\' && l->s.len < 2)
			return false;
		if (c == '\\' && (l->s.ptr[1] < 0x20 || l->s.ptr[1] >= 0x7f))
			return false;
		advance(l, c == '\\' ? 2 : 1);
		if (c == '"')
			return true;
	}
	return false;
}

static struct slice name(struct lexer *l)
{
	size_t n = 0;
	struct slice s;

	while (n < l->s.len &&
	       (is_letter(l->s.ptr[n]) || is_digit(l->s.ptr[n])))
		n++;
	s = slice_of(l->s.ptr, n);
	advance(l, n);
	return s;
}

/* Judges the field of a root that was read last. */
static void field_end(struct lexer *l)
{
	enum igraphql_verdict v = IGRAPHQL_REFUSED;
	enum igraphql_verdict *sum = l->in == DEF_FRAGMENT ? &l->fragments :
							     &l->fields;

	if (l->last != LAST_NAME)
		return;
	if (has_name(&l->rule->mutations, l->field))
		v = IGRAPHQL_PASSES;
	else if (has_name(&l->rule->push, l->field))
		v = IGRAPHQL_PUSH;
	*sum = worse(*sum, v);
	l->last = LAST_OTHER;
}

/* Takes the name @s in a root. */
static void root_name(struct lexer *l, struct slice s)
{
	enum last was = l->last;

	if (was == LAST_SPREAD && slice_eq(s, slice_str("on"))) {
		l->last = LAST_ON;
		return;
	}
	if (was == LAST_AT || was == LAST_ON) { /* a directive's, a type's */
		l->last = LAST_OTHER;
		return;
	}
	field_end(l);
	l->is_inline = false;
	l->last = was == LAST_SPREAD ? LAST_OTHER : LAST_NAME;
	l->field = s;
	l->spread |= was == LAST_SPREAD && l->in == DEF_MUTATION;
}

/* What a definition begins with. */
static bool keyword(struct lexer *l, struct slice s)
{
	if (slice_eq(s, slice_str("fragment"))) {
		l->in = DEF_FRAGMENT;
		return true;
	}
	l->operations++;
	if (slice_eq(s, slice_str("query"))) {
		l->in = DEF_QUERY;
		return true;
	}
	l->in = DEF_MUTATION;
	l->mutation = true;
	return slice_eq(s, slice_str("mutation"));
}

static bool in_root(const struct lexer *l)
{
	return l->depth > 0 && l->root[l->depth - 1];
}

static bool word(struct lexer *l)
{
	struct slice s = name(l);

	if (has_name(&l->rule->without, s))
		return false;
	if (l->depth == 0 && l->in == DEF_NONE)
		return keyword(l, s);
	if (in_root(l))
		root_name(l, s);
	return true;
}

/* Returns true if the brace that was read begins a root. */
static bool opens_root(struct lexer *l)
{
	bool was = l->is_inline;

	if (l->depth == 0)
		return l->in == DEF_MUTATION || l->in == DEF_FRAGMENT;
	if (!in_root(l)) /* of an argument, or of a field's selections */
		return false;
	l->is_inline = false;
	return was;
}

static bool bracket_open(struct lexer *l, char c)
{
	bool root;

	if (l->depth == IGRAPHQL_DEPTH_MAX)
		return false;
	if (l->depth == 0 && l->in == DEF_NONE) {
		if (c != '{') /* "{ ... }" alone is a query */
			return false;
		l->in = DEF_QUERY;
		l->operations++;
	}
	if (c == '[' && (l->depth == 0 || in_root(l)))
		return false;
	root = c == '{' && opens_root(l);
	if (root || in_root(l))
		field_end(l);
	if (root)
		l->last = LAST_OTHER;
	l->root[l->depth] = root;
	l->open[l->depth++] = (char)(c == '(' ? ')' : c == '[' ? ']' : '}');
	return true;
}

static bool bracket_close(struct lexer *l, char c)
{
	if (in_root(l))
		field_end(l);
	if (l->depth == 0 || l->open[--l->depth] != c)
		return false;
	if (l->depth == 0 && c == '}')
		l->in = DEF_NONE;
	if (in_root(l))
		l->last = LAST_OTHER;
	return true;
}

/* What else may stand in a root: ':', '@' and "...". */
static bool root_other(struct lexer *l, uint8_t c)
{
	if (c == ':') {
		bool alias = l->last == LAST_NAME;

		l->last = LAST_OTHER;
		return alias;
	}
	field_end(l);
	if (c == '@') {
		l->last = LAST_AT;
		return true;
	}
	if (c != '.' || l->s.len < 2 || memcmp(l->s.ptr, "..", 2) != 0)
		return false;
	advance(l, 2);
	l->last = LAST_SPREAD;
	l->is_inline = true;
	return true;
}

/* What else may stand anywhere but at the top, outside of a definition. */
static bool other(struct lexer *l, uint8_t c)
{
	advance(l, 1);
	if (in_root(l))
		return root_other(l, c);
	if (c == '@')
		return l->depth > 0 || l->in != DEF_NONE;
	return l->depth > 0 && (is_digit(c) || strchr("!$&.:=|-+", c));
}

static bool token(struct lexer *l)
{
	uint8_t c = l->s.ptr[0];

	switch (c) {
	case ' ':
	case '\t':
	case '\n':
	case '\r':
	case ',':
		advance(l, 1);
		return true;
	case '#':
		return comment(l);
	case '"':
		return l->depth > 0 && !in_root(l) && string(l);
	case '(':
	case '[':
	case '{':
		advance(l, 1);
		return bracket_open(l, (char)c);
	case ')':
	case ']':
	case '}':
		advance(l, 1);
		return bracket_close(l, (char)c);
	default:
		if (is_letter(c))
			return word(l);
		return c && other(l, c);
	}
}

bool igraphql_is_name(const char *s)
{
	struct lexer l = { .s = slice_str(s) };

	return is_letter((uint8_t)s[0]) && name(&l).len == strlen(s);
}

enum igraphql_verdict igraphql_document(struct slice text,
					const struct igraphql_rule *rule)
{
	struct lexer l = { .s = text, .rule = rule };

	while (l.s.len) {
		if (!token(&l))
			return IGRAPHQL_REFUSED;
	}
	if (l.depth || l.in != DEF_NONE || l.operations == 0)
		return IGRAPHQL_REFUSED;
	if (l.mutation && rule->mutations.n + rule->push.n == 0)
		return IGRAPHQL_REFUSED;
	return l.spread ? worse(l.fields, l.fragments) : l.fields;
}

/* --- the body ------------------------------------------------------------ */

struct body {
	const struct igraphql_rule *rule;
	enum igraphql_verdict verdict; /* of the documents so far */
};

static bool document(struct jsonr *j, struct body *b)
{
	enum igraphql_verdict v = IGRAPHQL_REFUSED;
	struct slice raw;
	ssize_t n;
	char *text;

	if (jsonr_string(j, &raw) < 0)
		return false;
	text = malloc(raw.len + 1);
	if (!text)
		return false;
	n = jsonr_unescape(raw, text, raw.len);
	if (n > 0)
		v = igraphql_document(slice_of(text, (size_t)n), b->rule);
	free(text);
	b->verdict = worse(b->verdict, v);
	return v != IGRAPHQL_REFUSED;
}

/* An object without "persistedQuery", or null. */
static bool extensions(struct jsonr *j)
{
	struct slice key;
	int kind = jsonr_peek(j), rc;

	if (kind == JSONR_NULL)
		return jsonr_skip(j) == 0;
	if (jsonr_open(j, '{') < 0)
		return false;
	while ((rc = jsonr_next(j, &key)) == 1) {
		if (jsonr_is(key, "persistedQuery") || jsonr_skip(j) < 0)
			return false;
	}
	return rc == 0;
}

static bool member(struct jsonr *j, struct slice key, struct body *b,
		   unsigned *seen)
{
	static const char *const names[] = { "query", "operationName",
					     "variables", "extensions" };
	unsigned i = 0;

	while (i < ARRAY_SIZE(names) && !jsonr_is(key, names[i]))
		i++;
	if (i == ARRAY_SIZE(names) || *seen & 1u << i)
		return false;
	*seen |= 1u << i;
	if (i == 0)
		return document(j, b);
	return i == 3 ? extensions(j) : jsonr_skip(j) == 0;
}

static bool request(struct jsonr *j, struct body *b)
{
	struct slice key;
	unsigned seen = 0;
	int rc;

	if (jsonr_open(j, '{') < 0)
		return false;
	while ((rc = jsonr_next(j, &key)) == 1) {
		if (!member(j, key, b, &seen))
			return false;
	}
	return rc == 0 && seen & 1u;
}

static bool requests(struct jsonr *j, struct body *b)
{
	unsigned n = 0;
	int rc;

	if (jsonr_peek(j) != JSONR_ARRAY)
		return request(j, b) && jsonr_end(j) == 0;
	if (jsonr_open(j, '[') < 0)
		return false;
	while ((rc = jsonr_next(j, NULL)) == 1) {
		if (++n > IGRAPHQL_BATCH_MAX || !request(j, b))
			return false;
	}
	return rc == 0 && n > 0 && jsonr_end(j) == 0;
}

enum igraphql_verdict igraphql_body(struct slice json,
				    const struct igraphql_rule *rule)
{
	struct body b = { .rule = rule };
	struct jsonr j;

	jsonr_init(&j, json);
	return requests(&j, &b) ? b.verdict : IGRAPHQL_REFUSED;
}
