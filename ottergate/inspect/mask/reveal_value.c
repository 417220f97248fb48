/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reveal_value.c - the patterns of reveal.c: a value, and its Base64 digits
 */
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "lib/str.h"
#include "ottergate/inspect/mask/escape.h"
#include "ottergate/inspect/mask/mask.h"
#include "ottergate/inspect/mask/reveal_impl.h"

/* Bytes to hold for each byte of the value: three usual layers make as many. */
#define HOLD_EACH 64u
#define HOLD_MAX (48u * 1024)

static uint8_t digit_class(uint8_t c)
{
	static const char blanks[] = " \t\r\n\f\v";
	int v = str_base64_value(c);

	if (v >= 0)
		return (uint8_t)v;
	if (c == '-') /* these two are of the alphabet for URLs */
		return 62;
	if (c == '_')
		return 63;
	return c && strchr(blanks, c) ? BLANK : OTHER;
}

/* Adds the digits that consist of bits of @v, at one of three alignments. */
static void digits_add(struct reveal *r, const uint8_t *v, size_t len,
		       unsigned shift, uint8_t *tmp)
{
	size_t bit = shift == 0 ? 0 : shift == 1 ? 4 : 2, n = 0;

	for (; bit + 6 <= len * 8; bit += 6) {
		size_t i = bit / 8;
		unsigned two = (unsigned)v[i] << 8;

		if (i + 1 < len)
			two |= v[i + 1];
		tmp[n++] = two >> (10 - bit % 8) & 0x3f;
	}
	trie_add(&r->digits, tmp, n);
}

static void value_add(struct reveal *r, const uint8_t *v, size_t len,
		      uint8_t *tmp)
{
	if (len < MASK_VALUE_MIN)
		return;
	trie_add(&r->words, v, len);
	for (unsigned shift = 0; shift < 3; shift++)
		digits_add(r, v, len, shift, tmp);
}

/* Decodes the escapes of @v[0..len) in place. Returns the new length, which is
 * never larger. */
static size_t unescape(uint8_t *v, size_t len)
{
	struct escape e = { 0 };
	size_t n = 0, i = 0;

	while (i <= len) {
		enum escape_did did = i < len ? escape_feed(&e, v[i]) :
						escape_end(&e);

		if (did == ESCAPE_NONE && i < len)
			v[n++] = v[i];
		if (did == ESCAPE_DONE || did == ESCAPE_DONE_BEFORE) {
			memcpy(v + n, e.out, e.n_out);
			n += e.n_out;
		} else if (did == ESCAPE_FAILED) {
			memcpy(v + n, e.raw, e.n_raw);
			n += e.n_raw;
		}
		i += did != ESCAPE_DONE_BEFORE && did != ESCAPE_FAILED;
	}
	return n;
}

/* Adds the value, the value with '+' for blanks, and a value that looks encoded
 * in decoded form. Changes @v. */
static void values_add(struct reveal *r, uint8_t *v, size_t len, uint8_t *tmp)
{
	value_add(r, v, len, tmp);
	for (unsigned i = 0; i < REVEAL_DEPTH; i++) {
		size_t n = unescape(v, len);

		if (n == len)
			break;
		len = n;
		value_add(r, v, len, tmp);
	}
	for (size_t i = 0; i < len; i++)
		if (v[i] == ' ')
			v[i] = '+';
	value_add(r, v, len, tmp);
}

/* Sets @bit for each byte that is the second of a pattern. */
static void seconds_add(const struct trie *t, uint8_t bit,
			uint8_t follows[static 256])
{
	for (unsigned c = 0; c < 256; c++) {
		uint32_t i = t->first[c] ? t->nodes[t->first[c]].child : 0;

		for (; i; i = t->nodes[i].sibling)
			follows[t->nodes[i].byte] |= bit;
	}
}

static bool is_hex(uint8_t c)
{
	return (c >= '0' && c <= '9') ||
	       ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static bool is_alnum(uint8_t c)
{
	return (c >= '0' && c <= '9') ||
	       ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* @words, @digits: results of seconds_add() for bytes and for digits. */
static void class_make(struct reveal *r, uint8_t c,
		       const uint8_t words[static 256],
		       const uint8_t digits[static 256])
{
	uint8_t d = digit_class(c), begins = 0, follows = 0;

	begins |= c == '\\' ? BEGINS_BACKSLASH : 0;
	begins |= c == '&' ? BEGINS_ENTITY : 0;
	begins |= c == '%' ? BEGINS_PERCENT : 0;
	begins |= r->words.first[c] ? BEGINS_WORD : 0;
	begins |= d < BLANK && r->digits.first[d] ? BEGINS_DIGITS : 0;
	/* An escape may yield any second byte. */
	if (escape_begins(c))
		follows = UINT8_MAX;
	follows |= c && strchr("\"\\/'bfnrtux", c) ? BEGINS_BACKSLASH : 0;
	follows |= c == '#' || is_alnum(c) ? BEGINS_ENTITY : 0;
	follows |= is_hex(c) ? BEGINS_PERCENT : 0;
	follows |= words[c] | (d < BLANK ? digits[d] : 0);
	r->begins[c] = begins;
	r->follows[c] = follows;
	r->class[c] = (uint8_t)(d | (begins ? INTERESTING : 0));
}

static void classes_make(struct reveal *r)
{
	uint8_t words[256] = { 0 }, digits[256] = { 0 };

	seconds_add(&r->words, BEGINS_WORD, words);
	seconds_add(&r->digits, BEGINS_DIGITS, digits);
	for (unsigned c = 0; c < 256; c++)
		class_make(r, (uint8_t)c, words, digits);
	for (unsigned two = 0; two < 64 * 64; two++)
		if (r->begins[two >> 4] || r->begins[two >> 2 & 0xff] ||
		    r->begins[two & 0xff])
			r->pairs[two >> 6] |= UINT64_C(1) << (two & 0x3f);
}

int reveal_new(struct slice value, struct reveal **ret)
{
	size_t room = value.len * (REVEAL_DEPTH + 2);
	struct reveal *r = sodium_malloc(sizeof(*r));
	uint8_t *tmp = sodium_malloc(value.len * 3);
	int e = -ENOMEM;

	if (r)
		memset(r, 0, sizeof(*r));
	if (r && tmp && trie_begin(&r->words, room) == 0 &&
	    trie_begin(&r->digits, room * 4) == 0) {
		r->plain = true;
		for (size_t i = 0; i < value.len; i++)
			r->plain &= mask_is_word(value.ptr[i]);
		memcpy(tmp, value.ptr, value.len);
		values_add(r, tmp, value.len, tmp + value.len);
		e = trie_end(&r->words);
		if (e == 0)
			e = trie_end(&r->digits);
		classes_make(r);
		r->run_min = (uint32_t)((value.len + 1) * 8 / 6);
		if (r->run_min > REVEAL_RUN_MAX)
			r->run_min = REVEAL_RUN_MAX;
		r->hold_max = value.len * HOLD_EACH;
		if (r->hold_max > HOLD_MAX)
			r->hold_max = HOLD_MAX;
	}
	sodium_free(tmp);
	if (e < 0)
		reveal_free(r);
	else
		*ret = r;
	return e;
}

void reveal_free(struct reveal *r)
{
	if (!r)
		return;
	trie_done(&r->words);
	trie_done(&r->digits);
	sodium_free(r);
}

size_t reveal_holds_max(const struct reveal *r)
{
	return r->hold_max;
}
