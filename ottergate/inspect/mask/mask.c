/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mask.c - masks injected credentials in what a server answers
 *
 * Theory of operation: a trie has all forms of the value (trie.h). Its state
 * tells how many of the last bytes may begin a form. These are held back; the
 * bytes before them can no longer be part of a match. Where a form ends, its
 * bytes are overwritten: all of them are still held, since the state was at
 * least that deep.
 *
 * What is held back must not show how much of a guess is right. A client that
 * makes a server send its text, and sees where pieces end, could find the value
 * byte by byte. So the first MASK_BEGIN bytes of a form hold back whatever
 * follows, for as long as it could be a form at all: up to a byte that no value
 * has or, if the value is made of bytes of tokens, that no token has. The bytes
 * of this value do not matter, so they stay unknown.
 *
 * Fewer bytes than that may be the end of a message whose receiver must answer
 * before more comes (WebSocket, gRPC). After MASK_REST_MS they pass, but are
 * kept: a form that they begin is still found, and its other bytes are held
 * back and masked.
 *
 * Base64 of a longer text around the value ("user:value") has in its middle the
 * value's digits, at one of three alignments. The digits that consist of bits
 * of the value alone are a form.
 *
 * What is no form, but would be decoded to the value (reveal.h), cannot be
 * overwritten: it ends the stream.
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
	struct reveal *views; /* finds encoded forms */
	bool plain; /* every form is made of mask_is_word() alone */
};

/* --- making -------------------------------------------------------------- */

/* Bytes of tokens, and of their encoded forms. */
bool mask_is_word(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr("-._~+/=%&#;\\", c));
}

/* Adds a form; a short one would match by chance. */
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
	bool html; /* HTML changes the value */
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
	/* The first bit of a digit that consists of the value's bits. */
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

/* Percent-encodes all bytes, those that RFC 3986 demands, or as forms do. */
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

/* Characters that writers of HTML replace. */
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

/* Replaces the characters of @named by names, those of @what by numbers. */
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

/* What libraries do in text, in attributes and, if careful, everywhere. */
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

/* Returns the bytes of all HTML forms; 0 for most tokens, which HTML does not
 * change. */
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
		/* Some writers of JSON escape what is special in HTML. */
		forms_json(k, "\"\\<>&'", true, hex);
		forms_json(k, "\"\\/<>&'=+", true, hex);
	}
	forms_json(k, "\"\\", false, hex_lower);
	forms_json(k, "\"\\/", false, hex_lower);
	for (size_t i = 0; i < ARRAY_SIZE(html_ways) && k->html; i++)
		forms_html(k, html_ways[i].named, html_ways[i].what,
			   html_ways[i].how);
}

/* Bytes of all other forms: the value, six of base64 (2 each), three of
 * percents in two ways (3 each), two of 2, two ways of \u00XX (6 each) twice,
 * and two of short escapes (2 each). */
#define FORMS_ROOM(len) ((len) * (1 + 6 * 2 + 6 * 3 + 2 * 2 + 4 * 6 + 2 * 2))

int mask_new(const struct secret *s, struct mask **ret)
{
	struct mask *m;
	struct maker k = { .v = (const uint8_t *)s->value,
			   .len = s->value_len };
	size_t html = html_room(s);
	int rc;

	if (s->value_len < MASK_VALUE_MIN || s->value_len > SECRET_VALUE_MAX)
		return -EINVAL;
	m = sodium_malloc(sizeof(*m));
	if (!m)
		return -ENOMEM;
	memset(m, 0, sizeof(*m));
	atomic_init(&m->refs, 1);
	m->plain = true;
	rc = trie_begin(&m->t, FORMS_ROOM(s->value_len) + html);
	k.tmp = sodium_malloc(s->value_len * FORM_MAX);
	if (rc == 0 && k.tmp) {
		k.m = m;
		k.html = html > 0;
		forms_all(&k);
		rc = trie_end(&m->t);
	}
	if (rc == 0)
		rc = k.tmp ? reveal_new(slice_of(s->value, s->value_len),
					&m->views) :
			     -ENOMEM;
	sodium_free(k.tmp);
	if (rc < 0)
		mask_unref(m);
	else
		*ret = m;
	return rc;
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

/* Runs over p[from..len) and masks matches, which may begin before @from.
 * Returns true if one ends with the last byte. */
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
	/* A leaf state goes on nowhere; its suffix may. */
	while (at && !t->nodes[at].child)
		at = t->nodes[at].fail;
	*state = at;
	return match > 0;
}

/* The same, and searches for encoded forms. Returns 0, -ENOMEM or
 * MASK_ALARM. */
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
		/* A masked form looks like a find of the decoder, too. */
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
	int rc;

	if (len < MASK_VALUE_MIN)
		return 0;
	rc = reveal_begin(m->views, &views);
	if (rc == 0)
		rc = search(m, views, &state, p, 0, len, hits);
	if (rc == 0 && reveal_end(views))
		rc = MASK_ALARM;
	reveal_stream_free(views);
	return rc;
}

int mask_begin(struct mask_stream *m, const struct mask *mask)
{
	*m = (struct mask_stream){ .mask = mask };
	return reveal_begin(mask->views, &m->views);
}

/* Returns true if the MASK_BEGIN bytes at @p begin a form. */
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

/* Returns true if a form of a value like this one may have this byte
 * (secrets.c). */
static bool goes_on(const struct mask *m, uint8_t byte)
{
	return m->plain ? mask_is_word(byte) : byte >= 0x20 && byte != 0x7f;
}

/* Returns how many of the last bytes must be held back: from the first
 * beginning of a form on that is in reach of one, if no byte follows that a
 * form cannot have. */
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

/* Returns how many of the @len bytes at @p, after run(), must be held back. */
static uint32_t keep_length(const struct mask_stream *m, const uint8_t *p,
			    size_t len)
{
	uint32_t depth = m->mask->t.nodes[m->state].depth;
	uint32_t open = open_length(m->mask, p, len);
	size_t view = reveal_holds(m->views);

	/* Its beginning may have passed before that was known. */
	if (view > len)
		view = len;
	if (open < depth)
		open = depth;
	return open > view ? open : (uint32_t)view;
}

/* Keeps the @n bytes at @p in m->held. */
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

/* Drops what was fed and held, and makes @r the result from now on. */
static int give_up(struct mask_stream *m, struct buf *out, uint8_t *p,
		   size_t len, int rc)
{
	sodium_memzero(p, len);
	buf_commit(out, 0);
	m->failed = rc;
	return rc;
}

int mask_feed(struct mask_stream *m, struct slice in, bool end, struct buf *out)
{
	size_t len = m->n_held + in.len, go, gone = m->n_gone;
	uint32_t keep;
	uint8_t *p;
	int rc;

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
	rc = search(m->mask, m->views, &m->state, p, m->n_held, len, &m->hits);
	if (rc == 0 && end && in.len > 0 && reveal_end(m->views))
		rc = MASK_ALARM;
	if (rc < 0)
		return give_up(m, out, p, len, rc);
	keep = end ? 0 : keep_length(m, p, len);
	rc = hold(m, p + len - keep, keep);
	if (rc < 0)
		return give_up(m, out, p, len, rc);
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
	int rc = 0;

	if (mask_waits(m))
		rc = buf_append(out, m->held + m->n_gone,
				m->n_held - m->n_gone);
	if (rc == 0 && mask_waits(m))
		m->n_gone = m->n_held;
	return rc;
}

void mask_end(struct mask_stream *m)
{
	sodium_free(m->held);
	reveal_stream_free(m->views);
	*m = (struct mask_stream){ 0 };
}
