/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reveal_views.h - encoders, and a slow search that decodes whole documents
 *
 * What reveal.c does byte by byte, said once more as simply as it can be: for a
 * document in one piece, without any state.
 */
#ifndef TESTS_UNIT_OTTERGATE_INSPECT_MASK_REVEAL_VIEWS_H
#define TESTS_UNIT_OTTERGATE_INSPECT_MASK_REVEAL_VIEWS_H

#include <stdlib.h>
#include <string.h>

#include "ottergate/inspect/mask/escape.h"
#include "ottergate/inspect/mask/mask.h"
#include "ottergate/inspect/mask/reveal.h"

struct doc { /* heap */
	uint8_t *p;
	size_t len;
};

static inline struct doc doc_new(size_t room)
{
	struct doc d = { malloc(room + 1), 0 };

	if (!d.p)
		abort();
	return d;
}

static inline struct doc doc_unescape(struct slice in)
{
	struct doc d = doc_new(in.len + ESCAPE_RAW_MAX);
	struct escape e = { 0 };

	for (size_t i = 0; i <= in.len;) {
		enum escape_did did = i < in.len ? escape_feed(&e, in.ptr[i]) :
						   escape_end(&e);
		bool out = did == ESCAPE_DONE || did == ESCAPE_DONE_BEFORE;

		if (did == ESCAPE_NONE && i < in.len)
			d.p[d.len++] = in.ptr[i];
		if (out)
			memcpy(d.p + d.len, e.out, e.n_out);
		else if (did == ESCAPE_FAILED)
			memcpy(d.p + d.len, e.raw, e.n_raw);
		d.len += out ? e.n_out : did == ESCAPE_FAILED ? e.n_raw : 0;
		i += did != ESCAPE_DONE_BEFORE && did != ESCAPE_FAILED;
	}
	return d;
}

static inline int doc_digit(uint8_t c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmno"
				     "pqrstuvwxyz0123456789+/-_";
	const char *at = c ? strchr(digits, c) : NULL;
	int d = at ? (int)(at - digits) : -1;

	return d > 63 ? d - 2 : d;
}

static inline bool doc_blank(uint8_t c)
{
	return c && strchr(" \t\r\n\f\v", c);
}

/* The next run of digits from *@i on, as bytes of @phase; *@digits: how many
 * there are. *@i is behind it then. Fewer than @line_min before a blank end it. */
static inline struct doc doc_base64(struct slice in, size_t *i, unsigned phase,
				    size_t line_min, size_t *digits)
{
	struct doc d = doc_new(in.len);
	unsigned bits = 0, have = 0;
	size_t line = 0;

	*digits = 0;
	for (; *i < in.len; ++*i) {
		int v = doc_digit(in.ptr[*i]);

		if (v < 0 &&
		    (!doc_blank(in.ptr[*i]) || (line > 0 && line < line_min)))
			break;
		line = v < 0 ? 0 : line + 1;
		if (v < 0 || (*digits)++ < phase)
			continue;
		bits = bits << 6 | (unsigned)v;
		have += 6;
		if (have >= 8) {
			have -= 8;
			d.p[d.len++] = (uint8_t)(bits >> have);
		}
	}
	return d;
}

static inline bool doc_has(struct slice in, struct slice value)
{
	return in.len >= value.len && value.len > 0 &&
	       memmem(in.ptr, in.len, value.ptr, value.len);
}

/*
 * Is @value in a view of @in, decoded @layers times at most? Of Base64 there are
 * two layers, and the inner one has nothing but the value in it: @base64 is how
 * many are left. Runs shorter than @run are not decoded further.
 */
static inline bool doc_shows(struct slice in, struct slice value,
			     unsigned layers, unsigned base64, size_t run)
{
	struct doc d = { 0 };
	bool shows = false;

	if (layers == 0)
		return false;
	d = doc_unescape(in);
	shows = doc_has(slice_of(d.p, d.len), value) ||
		doc_shows(slice_of(d.p, d.len), value, layers - 1, base64, run);
	free(d.p);
	for (unsigned phase = 0; phase < 4; phase++) {
		for (size_t i = 0; i < in.len && !shows; i++) {
			size_t n;

			d = doc_base64(in, &i, phase, 0, &n);
			shows = doc_has(slice_of(d.p, d.len), value);
			free(d.p);
		}
		for (size_t i = 0; i < in.len && !shows && base64 > 1; i++) {
			size_t n;

			d = doc_base64(in, &i, phase, REVEAL_LINE_MIN, &n);
			shows = n >= run &&
				doc_shows(slice_of(d.p, d.len), value,
					  layers - 1, base64 - 1, run);
			free(d.p);
		}
	}
	return shows;
}

/* --- encoders ------------------------------------------------------------- */

enum way {
	WAY_JSON,
	WAY_JSON_UPPER,
	WAY_JS,
	WAY_DECIMAL,
	WAY_HEX,
	WAY_BARE, /* no semicolon */
	WAY_NAMED, /* what has a name, else as it is */
	WAY_PERCENT,
	WAY_BASE64,
	WAY_BASE64_URL,
	WAY_BASE64_LINES, /* of 76, with CRLF */
	WAYS,
};

/* @every: each character, else the one at @at alone. */
static inline struct doc doc_escape(struct slice in, enum way way, bool every,
				    size_t at)
{
	struct doc d = doc_new(in.len * 12);

	for (size_t i = 0; i < in.len; i++) {
		uint8_t c = in.ptr[i];
		char *to = (char *)d.p + d.len;

		enum way here = every || i == at ? way : WAYS; /* plain */

		if (here == WAY_JSON)
			d.len += (size_t)sprintf(to, "\\u%04x", c);
		else if (here == WAY_JSON_UPPER)
			d.len += (size_t)sprintf(to, "\\u%04X", c);
		else if (here == WAY_JS)
			d.len += (size_t)sprintf(to, "\\x%02x", c);
		else if (here == WAY_DECIMAL)
			d.len += (size_t)sprintf(to, "&#%05u;", c);
		else if (here == WAY_HEX)
			d.len += (size_t)sprintf(to, "&#x%X;", c);
		else if (here == WAY_BARE)
			d.len += (size_t)sprintf(to, "&#%u", c);
		else if (here == WAY_NAMED && c == '_')
			d.len += (size_t)sprintf(to, "&lowbar;");
		else if (here == WAY_PERCENT)
			d.len += (size_t)sprintf(to, "%%%02X", c);
		else
			d.len += (size_t)sprintf(to, "%c", c);
	}
	return d;
}

static inline struct doc doc_to_base64(struct slice in, enum way way)
{
	static const char std[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqr"
				  "stuvwxyz0123456789+/";
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopq"
				   "rstuvwxyz0123456789-_";
	const char *set = way == WAY_BASE64_URL ? safe : std;
	struct doc d = doc_new(in.len * 2 + 8);
	size_t n = 0;

	for (size_t bit = 0; bit < in.len * 8; bit += 6) {
		unsigned two = (unsigned)in.ptr[bit / 8] << 8;

		if (bit / 8 + 1 < in.len)
			two |= in.ptr[bit / 8 + 1];
		if (way == WAY_BASE64_LINES && n > 0 && n % 76 == 0) {
			d.p[d.len++] = '\r';
			d.p[d.len++] = '\n';
		}
		d.p[d.len++] = (uint8_t)set[two >> (10 - bit % 8) & 0x3f];
		n++;
	}
	for (; way != WAY_BASE64_URL && n % 4; n++)
		d.p[d.len++] = '=';
	return d;
}

static inline struct doc doc_encode(struct slice in, enum way way, bool every,
				    size_t at)
{
	return way >= WAY_BASE64 ? doc_to_base64(in, way) :
				   doc_escape(in, way, every, at);
}

#endif
