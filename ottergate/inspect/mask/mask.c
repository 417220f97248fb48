/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mask.c - takes injected secrets out of what a server answers
 *
 * Theory of operation: a trie of all forms of the value (trie.h), whose state
 * tells how many of the last bytes may be the beginning of a form. These are held back: all that is
 * before them can no longer be part of a match. Where a form ends, its bytes
 * are overwritten; they are still there, for the state was at least so deep.
 *
 * What is held back must not tell how much of a guess is right: a client that
 * has a server send its own words, and sees where pieces end, would find the
 * value byte by byte. So the first few bytes of a form, once they are there,
 * hold back whatever follows them for as long as it could be a form at all: up
 * to a byte that no value has, or, where the value is made of what tokens are
 * made of, that no token has. Which bytes this one is made of stays untold.
 *
 * Fewer bytes than that may be the end of a message whose receiver must answer
 * before more comes (WebSocket, gRPC). After a rest they are let go, but kept:
 * a form that they were the beginning of is still found, held back and masked
 * but for them.
 *
 * Base64 of a longer text that has the value in it ("user:value") has, in the
 * middle, the digits of the value at one of three alignments: those digits
 * that are made of bits of the value alone are a form.
 *
 * What is none of the forms and would still be decoded to the value
 * (reveal.h) cannot be overwritten: it ends the stream.
 */
#include "ottergate/inspect/mask/mask.h"

#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "ottergate/inspect/mask/reveal.h"
#include "ottergate/inspect/mask/trie.h"

struct mask {
	_Atomic unsigned refs;
	struct trie t; /* of all forms */
	struct reveal *views; /* what else it could be shown as */
	bool plain; /* every form is made of mask_is_word() alone */
};

/* --- making -------------------------------------------------------------- */

/* What tokens are made of, and the forms of these. */
bool mask_is_word(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr("-._~+/=%&#;\\", c));
}

/* Too short a form would be found everywhere. */
static void form_add(struct mask *m, const uint8_t *p, size_t len)
{
	if (len < MASK_VALUE_MIN)
		return;
	trie_add(&m->t, p, len);
	for (size_t i = 0; i < len; i++)
		m->plain &= mask_is_word(p[i]);
}

#define FORM_MAX 6u /* times the value: "\\u00XX", "&quot;" */

struct maker {
	struct mask *m;
	bool html; /* it has forms of its own there */
	const uint8_t *v; /* the value */
	size_t len;
	uint8_t *tmp; /* locked; room for any form */
};

static const char hex_lower[] = "0123456789abcdef";
static const char hex_upper[] = "0123456789ABCDEF";

static void forms_base64(struct maker *k, unsigned shift, bool url)
{
	static const char std[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqr"
				  "stuvwxyz0123456789+/";
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopq"
				   "rstuvwxyz0123456789-_";
	/* The first bit of a digit that has only bits of the value. */
	size_t bit = shift == 0 ? 0 : shift == 1 ? 4 : 2, n = 0;

	for (; bit + 6 <= k->len * 8; bit += 6) {
		size_t i = bit / 8, used = bit % 8;
		unsigned two = (unsigned)k->v[i] << 8;

		if (i + 1 < k->len)
			two |= k->v[i + 1];
		two = two >> (10 - used) & 0x3f;
		k->tmp[n++] = (uint8_t)(url ? safe : std)[two];
	}
	form_add(k->m, k->tmp, n);
}

static bool is_unreserved(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr("-._~", c));
}

/* Percent-encoded: all of it, what RFC 3986 demands, or a form's way. */
enum percent { PERCENT_ALL, PERCENT_RESERVED, PERCENT_FORM };

static void forms_percent(struct maker *k, enum percent how, const char *hex)
{
	size_t n = 0;

	for (size_t i = 0; i < k->len; i++) {
		uint8_t c = k->v[i];

		if (how == PERCENT_FORM && c == ' ') {
			k->tmp[n++] = '+';
		} else if (how != PERCENT_ALL && is_unreserved(c)) {
			k->tmp[n++] = c;
		} else {
			k->tmp[n++] = '%';
			k->tmp[n++] = (uint8_t)hex[c >> 4];
			k->tmp[n++] = (uint8_t)hex[c & 0xf];
		}
	}
	form_add(k->m, k->tmp, n);
}

static void forms_hex(struct maker *k, const char *hex)
{
	for (size_t i = 0; i < k->len; i++) {
		k->tmp[2 * i] = (uint8_t)hex[k->v[i] >> 4];
		k->tmp[2 * i + 1] = (uint8_t)hex[k->v[i] & 0xf];
	}
	form_add(k->m, k->tmp, 2 * k->len);
}

/* Escapes the characters of @what; with \u00XX if @unicode. */
static void forms_json(struct maker *k, const char *what, bool unicode,
		       const char *hex)
{
	size_t n = 0;

	for (size_t i = 0; i < k->len; i++) {
		uint8_t c = k->v[i];

		if (!c || !strchr(what, c)) {
			k->tmp[n++] = c;
			continue;
		}
		k->tmp[n++] = '\\';
		if (!unicode) {
			k->tmp[n++] = c;
			continue;
		}
		memcpy(k->tmp + n, "u00", 3);
		k->tmp[n + 3] = (uint8_t)hex[c >> 4];
		k->tmp[n + 4] = (uint8_t)hex[c & 0xf];
		n += 5;
	}
	form_add(k->m, k->tmp, n);
}

/* Characters that writers of HTML do not leave as they are. */
static const char html_all[] = "&<>\"'+/=`";

enum entity { ENTITY_DECIMAL, ENTITY_DECIMAL_3, ENTITY_HEX, ENTITY_HEX_UPPER };

static size_t entity_put(uint8_t *out, uint8_t c, enum entity how)
{
	char text[8];
	int n = 0;

	switch (how) {
	case ENTITY_DECIMAL:
		n = snprintf(text, sizeof(text), "&#%u;", (unsigned)c);
		break;
	case ENTITY_DECIMAL_3:
		n = snprintf(text, sizeof(text), "&#%03u;", (unsigned)c);
		break;
	case ENTITY_HEX:
		n = snprintf(text, sizeof(text), "&#x%x;", (unsigned)c);
		break;
	case ENTITY_HEX_UPPER:
		n = snprintf(text, sizeof(text), "&#x%X;", (unsigned)c);
		break;
	}
	memcpy(out, text, (size_t)n);
	return (size_t)n;
}

static size_t named_put(uint8_t *out, uint8_t c)
{
	const char *name = c == '&' ? "&amp;" :
			   c == '<' ? "&lt;" :
			   c == '>' ? "&gt;" :
				      "&quot;";

	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes */
	memcpy(out, name, strlen(name));
	return strlen(name);
}

/* The characters of @named by their names, those of @what by their numbers. */
static void forms_html(struct maker *k, const char *named, const char *what,
		       enum entity how)
{
	size_t n = 0;

	for (size_t i = 0; i < k->len; i++) {
		uint8_t c = k->v[i];

		if (c && strchr(named, c))
			n += named_put(k->tmp + n, c);
		else if (c && strchr(what, c))
			n += entity_put(k->tmp + n, c, how);
		else
			k->tmp[n++] = c;
	}
	form_add(k->m, k->tmp, n);
}

/* As libraries do it, in text, in attributes, and careful ones everywhere. */
static const struct {
	const char *named, *what;
	enum entity how;
} html_ways[] = {
	{ "&<>", "", ENTITY_DECIMAL },
	{ "&<>\"", "", ENTITY_DECIMAL },
	{ "&<>\"", "'", ENTITY_DECIMAL },
	{ "&<>\"", "'", ENTITY_DECIMAL_3 },
	{ "&<>\"", "'", ENTITY_HEX },
	{ "&<>", "\"'", ENTITY_DECIMAL },
	{ "&<>", "\"'+", ENTITY_DECIMAL },
	{ "&<>\"", "'/=`", ENTITY_HEX_UPPER },
	{ "", html_all, ENTITY_DECIMAL },
	{ "", html_all, ENTITY_HEX },
	{ "", html_all, ENTITY_HEX_UPPER },
};

/* Bytes of the forms of HTML; most tokens have none but themselves. */
static size_t html_room(const struct secret *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->value_len; i++)
		n += s->value[i] && strchr(html_all, s->value[i]);
	return n == 0 ? 0 :
			ARRAY_SIZE(html_ways) *
				(s->value_len + n * (FORM_MAX - 1));
}

static void forms_all(struct maker *k)
{
	form_add(k->m, k->v, k->len);
	for (unsigned shift = 0; shift < 3; shift++) {
		forms_base64(k, shift, false);
		forms_base64(k, shift, true);
	}
	for (unsigned upper = 0; upper < 2; upper++) {
		const char *hex = upper ? hex_upper : hex_lower;

		forms_percent(k, PERCENT_RESERVED, hex);
		forms_percent(k, PERCENT_FORM, hex);
		forms_percent(k, PERCENT_ALL, hex);
		forms_hex(k, hex);
		/* What writers of JSON escape that is safe in HTML, too. */
		forms_json(k, "\"\\<>&'", true, hex);
		forms_json(k, "\"\\/<>&'=+", true, hex);
	}
	forms_json(k, "\"\\", false, hex_lower);
	forms_json(k, "\"\\/", false, hex_lower);
	for (size_t i = 0; i < ARRAY_SIZE(html_ways) && k->html; i++)
		forms_html(k, html_ways[i].named, html_ways[i].what,
			   html_ways[i].how);
}

/* Bytes of all other forms together: value, six of base64, two ways of three for
 * each byte and two of two, two of three where all is reserved, two ways of
 * six for escapes, two of two. */
#define FORMS_ROOM(len) ((len) * (1 + 6 * 2 + 6 * 3 + 2 * 2 + 4 * 6 + 2 * 2))

int mask_new(const struct secret *s, struct mask **ret)
{
	struct mask *m;
	struct maker k = { .v = (const uint8_t *)s->value,
			   .len = s->value_len };
	size_t html = html_room(s);
	int r;

	if (s->value_len < MASK_VALUE_MIN || s->value_len > SECRET_VALUE_MAX)
		return -EINVAL;
	m = sodium_malloc(sizeof(*m));
	if (!m)
		return -ENOMEM;
	memset(m, 0, sizeof(*m));
	atomic_init(&m->refs, 1);
	m->plain = true;
	r = trie_begin(&m->t, FORMS_ROOM(s->value_len) + html);
	k.tmp = sodium_malloc(s->value_len * FORM_MAX);
	if (r == 0 && k.tmp) {
		k.m = m;
		k.html = html > 0;
		forms_all(&k);
		r = trie_end(&m->t);
	}
	if (r == 0)
		r = k.tmp ? reveal_new(slice_of(s->value, s->value_len),
				       &m->views) :
			    -ENOMEM;
	sodium_free(k.tmp);
	if (r < 0)
		mask_unref(m);
	else
		*ret = m;
	return r;
}

struct mask *mask_ref(struct mask *m)
{
	atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
	return m;
}

void mask_unref(struct mask *m)
{
	if (!m ||
	    atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
		return;
	trie_done(&m->t);
	reveal_free(m->views);
	sodium_free(m);
}

/* --- looking ------------------------------------------------------------- */

/* Runs over p[from..len); what matches before @from is there, too. True: one
 * ends with the last byte. */
static bool run(const struct mask *m, uint32_t *state, uint8_t *p, size_t from,
		size_t len, uint64_t *hits)
{
	const struct trie *t = &m->t;
	uint32_t at = *state, match = 0;

	for (size_t i = from; i < len; i++) {
		/* Most bytes begin nothing. */
		while (at == 0 && !t->first[p[i]] && i + 1 < len)
			i++;
		at = trie_step(t, at, p[i]);
		match = t->nodes[at].match;
		if (match) {
			memset(p + i + 1 - match, '*', match);
			++*hits;
		}
	}
	/* Where nothing goes on, only the end of it may begin another. */
	while (at && !t->nodes[at].child)
		at = t->nodes[at].fail;
	*state = at;
	return match > 0;
}

/* The same, and looks for what would be the value when it is decoded. */
static int search(const struct mask *m, struct reveal_stream *views,
		  uint32_t *state, uint8_t *p, size_t from, size_t len,
		  uint64_t *hits)
{
	while (from < len) {
		bool found = false;
		ssize_t n = reveal_feed(views, slice_of(p + from, len - from),
					&found);

		if (n < 0)
			return (int)n;
		/* A form that is masked is that in another view as well. */
		if (!run(m, state, p, from, from + (size_t)n, hits) && found)
			return MASK_ALARM;
		from += (size_t)n;
	}
	return 0;
}

int mask_bytes(const struct mask *m, uint8_t *p, size_t len, uint64_t *hits)
{
	struct reveal_stream *views;
	uint32_t state = 0;
	int r;

	if (len < MASK_VALUE_MIN)
		return 0;
	r = reveal_begin(m->views, &views);
	if (r == 0)
		r = search(m, views, &state, p, 0, len, hits);
	if (r == 0 && reveal_end(views))
		r = MASK_ALARM;
	reveal_stream_free(views);
	return r;
}

int mask_begin(struct mask_stream *m, const struct mask *mask)
{
	*m = (struct mask_stream){ .mask = mask };
	return reveal_begin(mask->views, &m->views);
}

/* Do the bytes at @p begin as a form does? */
static bool begins(const struct mask *m, const uint8_t *p)
{
	uint32_t at = 0;

	for (size_t i = 0; i < MASK_BEGIN; i++) {
		at = trie_child(&m->t, at, p[i]);
		if (at == 0)
			return false;
	}
	return true;
}

/* May a form, of any value like this one, have this byte? (secrets.c) */
static bool goes_on(const struct mask *m, uint8_t byte)
{
	return m->plain ? mask_is_word(byte) : byte >= 0x20 && byte != 0x7f;
}

/* How many of the last bytes there are from the first such place on, with
 * nothing between that no form has, and in reach of one. */
static uint32_t open_length(const struct mask *m, const uint8_t *p, size_t len)
{
	size_t max = m->t.depth_max, min = len < max ? 0 : len - max + 1;
	size_t from = len;

	while (from > min && goes_on(m, p[from - 1]))
		from--;
	for (; len - from >= MASK_BEGIN; from++) {
		if (begins(m, p + from))
			return (uint32_t)(len - from);
	}
	return 0;
}

/* What is to be held of the @len bytes at @p, which were run over. */
static uint32_t keep_length(const struct mask_stream *m, const uint8_t *p,
			    size_t len)
{
	uint32_t depth = m->mask->t.nodes[m->state].depth;
	uint32_t open = open_length(m->mask, p, len);
	size_t view = reveal_holds(m->views);

	/* What it begins with may have gone before that was known. */
	if (view > len)
		view = len;
	if (open < depth)
		open = depth;
	return open > view ? open : (uint32_t)view;
}

/* Keeps the @n bytes at @p for later. */
static int hold(struct mask_stream *m, const uint8_t *p, uint32_t n)
{
	const struct mask *mask = m->mask;
	size_t view = reveal_holds_max(mask->views);

	m->n_held = 0;
	if (n == 0)
		return 0;
	if (!m->held)
		m->held = sodium_malloc(
			mask->t.depth_max > view ? mask->t.depth_max : view);
	if (!m->held)
		return -ENOMEM;
	memcpy(m->held, p, n);
	m->n_held = n;
	return 0;
}

/* Nothing of what was fed or held goes on. */
static int give_up(struct mask_stream *m, struct buf *out, uint8_t *p,
		   size_t len, int r)
{
	sodium_memzero(p, len);
	buf_commit(out, 0);
	m->failed = r;
	return r;
}

int mask_feed(struct mask_stream *m, struct slice in, bool end, struct buf *out)
{
	size_t len = m->n_held + in.len, go, gone = m->n_gone;
	uint32_t keep;
	uint8_t *p;
	int r;

	if (m->failed < 0)
		return m->failed;
	if (end && in.len == 0 && reveal_end(m->views))
		return m->failed = MASK_ALARM;
	if (len == 0)
		return 0;
	if (len > buf_room(out))
		return -ENOBUFS;
	p = buf_reserve(out, len);
	if (!p)
		return -ENOMEM;
	if (m->n_held)
		memcpy(p, m->held, m->n_held);
	if (in.len)
		memcpy(p + m->n_held, in.ptr, in.len);
	r = search(m->mask, m->views, &m->state, p, m->n_held, len, &m->hits);
	if (r == 0 && end && in.len > 0 && reveal_end(m->views))
		r = MASK_ALARM;
	if (r < 0)
		return give_up(m, out, p, len, r);
	keep = end ? 0 : keep_length(m, p, len);
	r = hold(m, p + len - keep, keep);
	if (r < 0)
		return give_up(m, out, p, len, r);
	sodium_memzero(p + len - keep, keep);
	go = len - keep > gone ? len - keep - gone : 0;
	memmove(p, p + gone, go);
	m->n_gone = (uint32_t)(go > 0 ? 0 : gone - (len - keep));
	buf_commit(out, go);
	return 0;
}

bool mask_waits(const struct mask_stream *m)
{
	return m->n_held > m->n_gone && m->n_held < MASK_BEGIN &&
	       reveal_holds(m->views) == 0;
}

int mask_rest(struct mask_stream *m, struct buf *out)
{
	int r = 0;

	if (mask_waits(m))
		r = buf_append(out, m->held + m->n_gone, m->n_held - m->n_gone);
	if (r == 0 && mask_waits(m))
		m->n_gone = m->n_held;
	return r;
}

void mask_end(struct mask_stream *m)
{
	sodium_free(m->held);
	reveal_stream_free(m->views);
	*m = (struct mask_stream){ 0 };
}
