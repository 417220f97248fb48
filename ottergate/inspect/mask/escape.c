/* SPDX-License-Identifier: Apache-2.0 */
/*
 * escape.c - decodes JSON escapes, HTML entities and percents byte by byte
 *
 * What may follow the beginning of an escape never begins another one. So the
 * bytes of a failed escape come out unchanged and only the last byte is read
 * again.
 */
#include "ottergate/inspect/mask/escape.h"

#include <string.h>

#include "lib/attr.h"

enum kind {
	IDLE,
	BACKSLASH, /* \ */
	HEX, /* \u or \x, then `want` digits */
	HEX_SHORT,
	AMPERSAND, /* & and letters */
	HASH, /* &# */
	HASH_X, /* &#x */
	DECIMAL, /* &#1 */
	HEXADECIMAL, /* &#x1 */
	PERCENT,
};

#define CODE_MAX 0x110000u /* the first value that is no code point */
#define NAME_MAX_LEN 12u /* of an entity */

static int hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static enum escape_did begin(struct escape *e, uint8_t c)
{
	e->kind = c == '\\' ? BACKSLASH : c == '&' ? AMPERSAND : PERCENT;
	e->raw[0] = c;
	e->n_raw = 1;
	e->value = 0;
	return ESCAPE_BEGUN;
}

static enum escape_did more(struct escape *e, uint8_t c, enum kind next)
{
	e->raw[e->n_raw++] = c;
	e->kind = (uint8_t)next;
	return ESCAPE_MORE;
}

static enum escape_did failed(struct escape *e)
{
	e->kind = IDLE;
	return ESCAPE_FAILED;
}

static enum escape_did done(struct escape *e, uint32_t code,
			    enum escape_did how)
{
	uint8_t *o = e->out;

	e->kind = IDLE;
	if (code >= CODE_MAX || (code >= 0xd800 && code < 0xe000))
		code = 0xfffd;
	if (code < 0x80) {
		o[0] = (uint8_t)code;
		e->n_out = 1;
	} else if (code < 0x800) {
		o[0] = (uint8_t)(0xc0 | code >> 6);
		o[1] = (uint8_t)(0x80 | (code & 0x3f));
		e->n_out = 2;
	} else if (code < 0x10000) {
		o[0] = (uint8_t)(0xe0 | code >> 12);
		o[1] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
		o[2] = (uint8_t)(0x80 | (code & 0x3f));
		e->n_out = 3;
	} else {
		o[0] = (uint8_t)(0xf0 | code >> 18);
		o[1] = (uint8_t)(0x80 | (code >> 12 & 0x3f));
		o[2] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
		o[3] = (uint8_t)(0x80 | (code & 0x3f));
		e->n_out = 4;
	}
	return how;
}

/* The result is a byte, of any value. */
static enum escape_did done_byte(struct escape *e)
{
	e->kind = IDLE;
	e->out[0] = (uint8_t)e->value;
	e->n_out = 1;
	return ESCAPE_DONE;
}

static enum escape_did backslash(struct escape *e, uint8_t c)
{
	static const char from[] = "\"\\/'bfnrt", to[] = "\"\\/'\b\f\n\r\t";
	const char *at = c ? strchr(from, c) : NULL;

	if (c == 'u')
		return more(e, c, HEX);
	if (c == 'x')
		return more(e, c, HEX_SHORT);
	return at ? done(e, (uint8_t)to[at - from], ESCAPE_DONE) : failed(e);
}

/* Digits of \uXXXX, \xXX and %XX, up to @len bytes in all. */
static enum escape_did digits(struct escape *e, uint8_t c, unsigned len)
{
	int d = hex_digit(c);

	if (d < 0)
		return failed(e);
	e->value = e->value << 4 | (unsigned)d;
	if (e->n_raw + 1u < len)
		return more(e, c, e->kind);
	return e->kind == PERCENT ? done_byte(e) :
				    done(e, e->value, ESCAPE_DONE);
}

static const struct {
	const char *name;
	uint8_t c;
} names[] = {
	{ "amp", '&' },    { "AMP", '&' },      { "lt", '<' },
	{ "LT", '<' },     { "gt", '>' },       { "GT", '>' },
	{ "quot", '"' },   { "QUOT", '"' },     { "apos", '\'' },
	{ "Tab", '\t' },   { "NewLine", '\n' }, { "excl", '!' },
	{ "num", '#' },    { "dollar", '$' },   { "percnt", '%' },
	{ "lpar", '(' },   { "rpar", ')' },     { "ast", '*' },
	{ "midast", '*' }, { "plus", '+' },     { "comma", ',' },
	{ "period", '.' }, { "sol", '/' },      { "colon", ':' },
	{ "semi", ';' },   { "equals", '=' },   { "quest", '?' },
	{ "commat", '@' }, { "lsqb", '[' },     { "lbrack", '[' },
	{ "bsol", '\\' },  { "rsqb", ']' },     { "rbrack", ']' },
	{ "Hat", '^' },    { "lowbar", '_' },   { "UnderBar", '_' },
	{ "grave", '`' },  { "lcub", '{' },     { "lbrace", '{' },
	{ "verbar", '|' }, { "vert", '|' },     { "VerticalLine", '|' },
	{ "rcub", '}' },   { "rbrace", '}' },   { "DiacriticalGrave", '`' },
};

static bool is_alnum(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9');
}

static enum escape_did ampersand(struct escape *e, uint8_t c)
{
	size_t len = e->n_raw - 1u;

	if (c == '#' && len == 0)
		return more(e, c, HASH);
	if (c == ';' && len > 0) {
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			if (strlen(names[i].name) == len &&
			    memcmp(names[i].name, e->raw + 1, len) == 0)
				return done(e, names[i].c, ESCAPE_DONE);
		return failed(e);
	}
	if (!is_alnum(c) || len >= NAME_MAX_LEN)
		return failed(e);
	return more(e, c, AMPERSAND);
}

/* &#, &#x: the first digit. */
static enum escape_did first_digit(struct escape *e, uint8_t c)
{
	int d = hex_digit(c);

	if (e->kind == HASH && (c | 0x20) == 'x')
		return more(e, c, HASH_X);
	if (d < 0 || (e->kind == HASH && d > 9))
		return failed(e);
	e->kind = e->kind == HASH ? DECIMAL : HEXADECIMAL;
	e->value = (unsigned)d;
	return ESCAPE_MORE;
}

static enum escape_did number(struct escape *e, uint8_t c)
{
	unsigned base = e->kind == DECIMAL ? 10 : 16;
	int d = hex_digit(c);

	if (c == ';')
		return done(e, e->value, ESCAPE_DONE);
	if (d < 0 || (unsigned)d >= base)
		return done(e, e->value, ESCAPE_DONE_BEFORE);
	if (e->value < CODE_MAX)
		e->value = e->value * base + (unsigned)d;
	return ESCAPE_MORE;
}

enum escape_did escape_feed(struct escape *e, uint8_t c)
{
	switch ((enum kind)e->kind) {
	case IDLE:
		return escape_begins(c) ? begin(e, c) : ESCAPE_NONE;
	case BACKSLASH:
		return backslash(e, c);
	case HEX:
		return digits(e, c, 6);
	case HEX_SHORT:
		return digits(e, c, 4);
	case PERCENT:
		return digits(e, c, 3);
	case AMPERSAND:
		return ampersand(e, c);
	case HASH:
	case HASH_X:
		return first_digit(e, c);
	case DECIMAL:
	case HEXADECIMAL:
		break;
	}
	return number(e, c);
}

enum escape_did escape_end(struct escape *e)
{
	switch ((enum kind)e->kind) {
	case IDLE:
		return ESCAPE_NONE;
	case DECIMAL:
	case HEXADECIMAL:
		return done(e, e->value, ESCAPE_DONE_BEFORE);
	default:
		return failed(e);
	}
}
