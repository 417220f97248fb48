/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reveal_fuzz.c - answers with a token in them that has to be decoded
 *
 * However the bytes are cut: what comes out has no view in which the value is;
 * an alarm means that what went in has one, but for
 * its first and last character; and without an alarm what comes out
 * is as long as what went in, and where it differs it is masked. Input: how to
 * cut; two bytes for each of three layers; a place; and the text around. Bit 7
 * of the first byte: the value is not put in.
 */
#include <sodium.h>

#include "tests/unit/ottergate/inspect/mask/reveal_views.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEAD 8u
#define HELD_MAX (64u * (sizeof(value) - 1))

static char value[] = "gh_4tok/+n9x";

static void must(bool holds)
{
	if (!holds)
		abort();
}

static bool shows(struct slice in, struct slice what)
{
	return doc_shows(in, what, REVEAL_DEPTH, 2,
			 (sizeof(value) - 1 + 1) * 8 / 6);
}

/* Of the first and the last character, Base64 has some bits in digits that
 * belong to their neighbours as well. */
static struct slice middle(void)
{
	return slice_of(value + 1, sizeof(value) - 3);
}

static struct doc insert(struct slice text, size_t at, const struct doc *what)
{
	struct doc d = doc_new(text.len + what->len);

	memcpy(d.p, text.ptr, at);
	memcpy(d.p + at, what->p, what->len);
	memcpy(d.p + at + what->len, text.ptr + at, text.len - at);
	d.len = text.len + what->len;
	return d;
}

/* The value, with text around and encoded, three times. */
static struct doc document(const uint8_t *data, struct slice text)
{
	struct doc d = doc_new(sizeof(value));

	d.len = data[0] & 0x80 ? 0 : sizeof(value) - 1;
	memcpy(d.p, value, d.len);
	for (unsigned i = 0; i < 3; i++) {
		unsigned way = data[1 + 2 * i], at = data[2 + 2 * i];
		struct doc in = d;

		if (way & 0x40) {
			d = insert(text, text.len ? at % text.len : 0, &in);
			free(in.p);
			in = d;
		}
		if (way % (WAYS + 1) == WAYS)
			continue;
		d = doc_encode(slice_of(in.p, in.len), way % (WAYS + 1),
			       way & 0x20, in.len ? at % in.len : 0);
		free(in.p);
	}
	return d;
}

static void check(const struct mask *m, struct slice in, size_t step)
{
	struct mask_stream s;
	struct slice piece, rest = in, out;
	struct buf b;
	int rc;

	buf_init(&b, 1 << 20);
	must(mask_begin(&s, m) == 0);
	do {
		must(slice_take(&rest, rest.len < step ? rest.len : step,
				&piece) == 0);
		rc = mask_feed(&s, piece, rest.len == 0, &b);
	} while (rc == 0 && rest.len > 0);
	out = buf_slice(&b);
	must(rc == 0 || rc == MASK_ALARM);
	/* Of what is longer than is held, a number whose end has not come may
	 * have gone: with it the value is whole. */
	must(!shows(out, slice_str(value)) || in.len > HELD_MAX);
	must(rc == 0 || shows(in, middle()));
	for (size_t i = 0; i < out.len; i++)
		must(out.ptr[i] == in.ptr[i] || out.ptr[i] == '*');
	must(rc != 0 || out.len == in.len);
	mask_end(&s);
	buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct mask *m;
	struct secret s = { .value = value, .value_len = sizeof(value) - 1 };
	struct doc d;

	if (size < HEAD || size > 512 || sodium_init() < 0)
		return 0;
	if (!m)
		must(mask_new(&s, &m) == 0);
	/* What is masked must not make a view of its own. */
	if (memchr(data + HEAD, '*', size - HEAD))
		return 0;
	d = document(data, slice_of(data + HEAD, size - HEAD));
	if (d.len < 16384) {
		check(m, slice_of(d.p, d.len), (data[0] & 0x7fu) + 1);
		check(m, slice_of(d.p, d.len), d.len + 1);
	}
	free(d.p);
	return 0;
}
