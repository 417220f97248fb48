/* SPDX-License-Identifier: Apache-2.0 */
/*
 * igraphql.c - may a request to a GraphQL endpoint pass?
 *
 * Only the top of a document is understood: what a definition begins with, and
 * where its braces end. Within braces and parentheses all that matters is which
 * brackets are text: strings, block strings and comments hide them. Bytes on
 * which lexers might not agree are refused wherever they stand. Names of
 * mutations are looked for wherever a name may stand: what is an alias, a field
 * of a fragment or of a deeper level need not be told apart.
 */
#include "ottergate/igraphql.h"

#include <string.h>

#include "ottergate/jsonr.h"

struct lexer {
	struct slice s;
	char open[IGRAPHQL_DEPTH_MAX];
	unsigned depth;
	bool in_definition; /* behind its keyword, before its braces end */
	unsigned operations;
	enum igraphql_rule rule;
};

/* Mutations that make, move or delete commits or refs, or make repositories:
 * GitHub's, GitLab's. */
static const char *const git_writes[] = {
	"createCommitOnBranch",
	"createRef",
	"updateRef",
	"updateRefs",
	"deleteRef",
	"mergeBranch",
	"mergePullRequest",
	"enablePullRequestAutoMerge",
	"enqueuePullRequest",
	"revertPullRequest",
	"updatePullRequestBranch",
	"createLinkedBranch",
	"createRepository",
	"cloneTemplateRepository",
	"commitCreate",
	"createBranch",
	"branchDelete",
	"tagCreate",
	"tagDelete",
	"mergeRequestAccept",
	"projectSyncFork",
};

static bool is_git_write(struct slice name)
{
	for (size_t i = 0; i < ARRAY_SIZE(git_writes); i++) {
		if (slice_eq(name, slice_str(git_writes[i])))
			return true;
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

/* A word at the top: what a definition begins with, or part of its head. */
static bool word(struct lexer *l)
{
	struct slice s = name(l);

	if (l->rule == IGRAPHQL_NO_GIT_WRITES && is_git_write(s))
		return false;
	if (l->depth || l->in_definition)
		return true;
	l->in_definition = true;
	if (slice_eq(s, slice_str("fragment")))
		return true;
	l->operations++;
	return slice_eq(s, slice_str("query")) ||
	       (l->rule == IGRAPHQL_NO_GIT_WRITES &&
		slice_eq(s, slice_str("mutation")));
}

static bool bracket_open(struct lexer *l, char c)
{
	if (l->depth == IGRAPHQL_DEPTH_MAX)
		return false;
	if (l->depth == 0 && !l->in_definition) {
		if (c != '{') /* "{ … }" alone is a query */
			return false;
		l->in_definition = true;
		l->operations++;
	}
	if (l->depth == 0 && c == '[')
		return false;
	l->open[l->depth++] = (char)(c == '(' ? ')' : c == '[' ? ']' : '}');
	return true;
}

static bool bracket_close(struct lexer *l, char c)
{
	if (l->depth == 0 || l->open[--l->depth] != c)
		return false;
	if (l->depth == 0 && c == '}')
		l->in_definition = false;
	return true;
}

/* What else may stand anywhere but at the top, outside of a definition. */
static bool other(struct lexer *l, uint8_t c)
{
	bool inside = l->depth > 0;

	advance(l, 1);
	if (c == '@')
		return inside || l->in_definition;
	return inside && (is_digit(c) || strchr("!$&.:=|-+", c));
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
		return l->depth > 0 && string(l);
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

bool igraphql_document_passes(struct slice text, enum igraphql_rule rule)
{
	struct lexer l = { .s = text, .rule = rule };

	if (rule == IGRAPHQL_ANY)
		return true;
	while (l.s.len) {
		if (!token(&l))
			return false;
	}
	return l.depth == 0 && !l.in_definition && l.operations > 0;
}

/* --- the body ------------------------------------------------------------ */

static bool document(struct jsonr *j, enum igraphql_rule rule)
{
	struct slice raw;
	ssize_t n;
	char *text;
	bool good;

	if (jsonr_string(j, &raw) < 0)
		return false;
	text = malloc(raw.len + 1);
	if (!text)
		return false;
	n = jsonr_unescape(raw, text, raw.len);
	good = n > 0 &&
	       igraphql_document_passes(slice_of(text, (size_t)n), rule);
	free(text);
	return good;
}

/* An object without "persistedQuery", or null. */
static bool extensions(struct jsonr *j)
{
	struct slice key;
	int kind = jsonr_peek(j), r;

	if (kind == JSONR_NULL)
		return jsonr_skip(j) == 0;
	if (jsonr_open(j, '{') < 0)
		return false;
	while ((r = jsonr_next(j, &key)) == 1) {
		if (jsonr_is(key, "persistedQuery") || jsonr_skip(j) < 0)
			return false;
	}
	return r == 0;
}

static bool member(struct jsonr *j, struct slice key, enum igraphql_rule rule,
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
		return document(j, rule);
	return i == 3 ? extensions(j) : jsonr_skip(j) == 0;
}

static bool request(struct jsonr *j, enum igraphql_rule rule)
{
	struct slice key;
	unsigned seen = 0;
	int r;

	if (jsonr_open(j, '{') < 0)
		return false;
	while ((r = jsonr_next(j, &key)) == 1) {
		if (!member(j, key, rule, &seen))
			return false;
	}
	return r == 0 && seen & 1u;
}

bool igraphql_body_passes(struct slice json, enum igraphql_rule rule)
{
	struct jsonr j;
	unsigned n = 0;
	int r;

	if (rule == IGRAPHQL_ANY)
		return true;
	jsonr_init(&j, json);
	if (jsonr_peek(&j) != JSONR_ARRAY)
		return request(&j, rule) && jsonr_end(&j) == 0;
	if (jsonr_open(&j, '[') < 0)
		return false;
	while ((r = jsonr_next(&j, NULL)) == 1) {
		if (++n > IGRAPHQL_BATCH_MAX || !request(&j, rule))
			return false;
	}
	return r == 0 && n > 0 && jsonr_end(&j) == 0;
}
