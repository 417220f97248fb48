/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reveal_test.c - a token that only who decodes an answer can read
 */
#include "ottergate/inspect/mask/reveal.h"

#include <sodium.h>

#include "tests/unit/ottergate/inspect/mask/reveal_views.h"
#include "tests/unit/tap.h"

static char value[] = "ghp_0123456789abcdefXYZ/+tail";

static struct mask *make(char *text)
{
	struct secret s = { .value = text, .value_len = strlen(text) };
	struct mask *m = NULL;

	return mask_new(&s, &m) < 0 ? NULL : m;
}

struct fed {
	int rc; /* of the last call */
	struct buf out;
};

/* @text in pieces of @step bytes. */
static struct fed feed(const struct mask *m, struct slice in, size_t step)
{
	struct mask_stream s;
	struct slice piece;
	struct fed f = { 0 };

	buf_init(&f.out, 1 << 20);
	f.rc = mask_begin(&s, m);
	while (f.rc == 0 && in.len > 0 &&
	       slice_take(&in, in.len < step ? in.len : step, &piece) == 0)
		f.rc = mask_feed(&s, piece, false, &f.out);
	if (f.rc == 0)
		f.rc = mask_feed(&s, slice_of(NULL, 0), true, &f.out);
	mask_end(&s);
	return f;
}

static bool shows(struct slice in)
{
	return doc_shows(in, slice_str(value), REVEAL_DEPTH, 2, 24);
}

/* Alarms at each cut. */
static bool alarms(const struct mask *m, struct slice in)
{
	const size_t steps[] = { 1, 2, 3, 5, 7, 16, in.len };
	bool good = true;

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		struct fed f = feed(m, in, steps[i]);

		/* A form that mask.c knows is not there any more. */
		good &= f.rc == MASK_ALARM ||
			(f.rc == 0 && buf_len(&f.out) == in.len &&
			 !shows(buf_slice(&f.out)));
		buf_done(&f.out);
	}
	return good && shows(in);
}

static bool passes(const struct mask *m, struct slice in)
{
	bool good = true;

	for (size_t step = 1; step < 8; step++) {
		struct fed f = feed(m, in, step);

		good &= f.rc == 0 && slice_eq(buf_slice(&f.out), in);
		buf_done(&f.out);
	}
	return good;
}

/* In two pieces, whichever they are. */
static bool alarms_cut(const struct mask *m, const struct doc *d)
{
	bool good = true;

	for (size_t cut = 0; cut <= d->len; cut++) {
		struct mask_stream s;
		struct buf out;
		int rc;

		buf_init(&out, 1 << 20);
		rc = mask_begin(&s, m);
		if (rc == 0)
			rc = mask_feed(&s, slice_of(d->p, cut), false, &out);
		if (rc == 0)
			rc = mask_feed(&s, slice_of(d->p + cut, d->len - cut),
				       true, &out);
		good &= rc == MASK_ALARM;
		mask_end(&s);
		buf_done(&out);
	}
	return good;
}

/* As in a page: words before and behind it. */
static struct doc wrap(struct slice in)
{
	static const char before[] = "{\"a\": \"x\\ny\", \"t\": \"";
	static const char after[] = "\", \"b\": 1}\n";
	struct doc d = doc_new(in.len + 64);

	memcpy(d.p, before, sizeof(before) - 1);
	memcpy(d.p + sizeof(before) - 1, in.ptr, in.len);
	d.len = sizeof(before) - 1 + in.len;
	memcpy(d.p + d.len, after, sizeof(after) - 1);
	d.len += sizeof(after) - 1;
	return d;
}

static bool wrapped_alarms(const struct mask *m, struct doc in)
{
	struct doc d = wrap(slice_of(in.p, in.len));
	bool good = alarms(m, slice_of(d.p, d.len));

	free(d.p);
	return good;
}

static const char *const names[] = {
	[WAY_JSON] = "\\u00xx",
	[WAY_JSON_UPPER] = "\\u00XX",
	[WAY_JS] = "\\xXX",
	[WAY_DECIMAL] = "&#N;",
	[WAY_HEX] = "&#xN;",
	[WAY_BARE] = "&#N",
	[WAY_NAMED] = "names",
	[WAY_PERCENT] = "percents",
	[WAY_BASE64] = "Base64",
	[WAY_BASE64_URL] = "Base64 for URLs",
	[WAY_BASE64_LINES] = "Base64 in lines",
};

static void test_escapes(const struct mask *m)
{
	struct slice v = slice_str(value);

	for (enum way w = WAY_JSON; w < WAY_BASE64; w++) {
		struct doc all = doc_encode(v, w, true, 0);
		bool one = true;

		/* All in percents is a form that is masked. */
		if (w != WAY_PERCENT)
			ok(wrapped_alarms(m, all), "all as %s", names[w]);
		free(all.p);
		for (size_t i = 0; i < v.len && w != WAY_NAMED; i++) {
			struct doc d = doc_encode(v, w, false, i);
			bool other = w == WAY_BARE && i + 1 < v.len &&
				     v.ptr[i + 1] <= '9';

			/* With a digit behind it, it is another number. */
			one &= other || wrapped_alarms(m, d);
			free(d.p);
		}
		ok(one, "one character as %s", names[w]);
	}
}

/* Base64 of @before, the value and more, with @blank after each @every. */
static struct doc spaced(const char *before, enum way w, size_t every,
			 const char *blank)
{
	char plain[256];
	struct doc d, out;

	snprintf(plain, sizeof(plain), "%s%s, and more of it", before, value);
	d = doc_encode(slice_str(plain), w, true, 0);
	out = doc_new(d.len * (1 + strlen(blank)));
	for (size_t i = 0; i < d.len; i++) {
		out.p[out.len++] = d.p[i];
		if ((i + 1) % every)
			continue;
		memcpy(out.p + out.len, blank, strlen(blank));
		out.len += strlen(blank);
	}
	free(d.p);
	return out;
}

static void test_base64(const struct mask *m)
{
	static const char *const before[] = { "", "a", "ab", "user:" };
	static const char *const blanks[] = { "\n",     "\r\n",  " ",  "\\n",
					      "\\r\\n", "&#10;", "%0A" };

	for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(blanks); k++) {
			struct doc a =
				spaced(before[i], WAY_BASE64, 19, blanks[k]);
			struct doc b =
				spaced(before[i], WAY_BASE64_URL, 1, blanks[k]);

			ok(wrapped_alarms(m, a) && wrapped_alarms(m, b),
			   "Base64 of '%s…' with blank %zu", before[i], k);
			free(a.p);
			free(b.p);
		}
	}
}

/* Each layer in each other, and each of these in each third. */
static void test_layers(const struct mask *m)
{
	static const char long_before[] = "{\"some\": \"text before it\"} ";
	char plain[256];

	snprintf(plain, sizeof(plain), "%s%s", long_before, value);
	for (unsigned i = 0; i < WAYS * WAYS * WAYS; i++) {
		enum way w[3] = { i % WAYS, i / WAYS % WAYS, i / WAYS / WAYS };
		unsigned base64 = 0;
		struct doc d = doc_encode(slice_str(plain), w[0], false,
					  strlen(long_before) + 22);
		bool want, got = true;

		for (unsigned k = 0; k < 3; k++)
			base64 += w[k] >= WAY_BASE64;
		for (unsigned k = 1; k < 3; k++) {
			struct doc in = d;

			d = doc_encode(slice_of(in.p, in.len), w[k], true, 0);
			free(in.p);
		}
		/* The inner one of two has the value as it is. */
		want = base64 < 2 || (base64 == 2 && w[0] >= WAY_BASE64);
		if (want)
			got = alarms(m, slice_of(d.p, d.len));
		free(d.p);
		if (!got)
			ok(false, "%s in %s in %s", names[w[0]], names[w[1]],
			   names[w[2]]);
	}
	ok(true, "three layers");
}

static void test_passes(const struct mask *m)
{
	static const char *const good[] = {
		"{\"a\":\"\\u0067hp_0123\",\"b\":\"%67%68&amp;\\\\\"}\n",
		"&#103;hp_0123456789abcdefXYZ/+tai",
		"&#103;hp_0123456789abcdefXYZ/+tais",
		"\\u00 %6 %zz & &amp &#; &#x; \\q \\",
		"Z2hwXzAxMjM0NTY3\nODlhYmNkZWZYWVov",
		"the quick brown fox jumps over the lazy dog without a stop",
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		ok(passes(m, slice_str(good[i])), "passes: %s", good[i]);
}

/* Writers that escape some characters only, and text of which much has to be
 * skipped around it. */
static void test_mixtures(const struct mask *m)
{
	static const char *const seen[] = {
		/* Base64 in JSON, a query and a page. */
		"{\"d\":\"Z2hwXzAxMjM0NTY3ODlhYmNkZWZYWVov\\u004b3RhaWw=\"}",
		"d=Z2hwXzAxMjM0NTY3ODlhYmNkZWZYWVov%4b3RhaWw%3D",
		"{\"d\":\"Z2hwXzAxMjM0NTY3\\r\\nODlhYmNkZWZYWVovK3RhaWw=\"}",
		"{\"d\":\"Z2hwXzAxMjM0NTY3\\u000aODlhYmNkZWZYWVovK3RhaWw=\"}",
		"d=Z2hwXzAxMjM0NTY3%0D%0AODlhYmNkZWZYWVovK3RhaWw%3D",
		"<p>Z2hwXzAxMjM0NTY3&#13;&NewLine;ODlhYmNkZWZYWVovK3RhaWw&"
		"equals;",
		/* One in another, and several side by side. */
		"{\"u\":\"?t=%67hp_0123456789abcdefXYZ\\/%2Btail\"}",
		"{\"u\":\"?t=\\u002567hp_0123456789abcdefXYZ\\u002f+tail\"}",
		"{\"h\":\"&amp;#103;hp_0123456789abcdefXYZ\\/+tail\"}",
		"{\"j\":\"{\\\"t\\\":\\\"\\\\u0067hp_0123456789abcdefXYZ/"
		"+tail\"}",
		"&am%70;#x67;hp_0123456789abcdefXYZ/+tail",
		"&&&%&\\&#103hp_0123456789abcdefXYZ&#47+t&#97;i&#x06C",
		"a \\n\\\"b\\t& \\u00e9%20\\u0067hp_0123456789abcdefXYZ/+tail",
		"caf\\u00e9 \\ud83d\\ude00 ghp_0123456789\\u0061bcdefXYZ/+tail",
	};

	for (size_t i = 0; i < ARRAY_SIZE(seen); i++) {
		struct doc d = wrap(slice_str(seen[i]));

		ok(alarms(m, slice_of(d.p, d.len)) && alarms_cut(m, &d),
		   "seen: %s", seen[i]);
		free(d.p);
	}
}

/* What is masked as it is does not alarm, also among escapes. */
static void test_masked(const struct mask *m)
{
	static const char *const around[][2] = {
		{ "", "" },       { "x\\n", "\\n" }, { "&amp;", "&lt;" },
		{ "%20", "%20" }, { "Z2h\\n", "=" },
	};
	char text[256], want[256], stars[sizeof(value)];

	memset(stars, '*', sizeof(stars) - 1);
	stars[sizeof(stars) - 1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(around); i++) {
		bool good = true;

		snprintf(text, sizeof(text), "%s%s%s", around[i][0], value,
			 around[i][1]);
		snprintf(want, sizeof(want), "%s%s%s", around[i][0], stars,
			 around[i][1]);
		for (size_t step = 1; step <= strlen(text); step++) {
			struct fed f = feed(m, slice_str(text), step);

			good &= f.rc == 0 &&
				slice_eq(buf_slice(&f.out), slice_str(want));
			buf_done(&f.out);
		}
		ok(good, "masked, no alarm: %s", text);
	}
}

/* What has gone when the alarm comes. */
static void test_left(const struct mask *m)
{
	for (enum way w = WAY_JSON; w < WAYS; w++) {
		struct doc d = w < WAY_BASE64 ? doc_encode(slice_str(value), w,
							   true, 0) :
						spaced("", w, 1, "\n");
		struct fed f = feed(m, slice_of(d.p, d.len), 1);
		struct doc left = doc_unescape(buf_slice(&f.out));
		size_t n = 0;

		while (n < left.len && left.p[n] == (uint8_t)value[n])
			n++;
		if (f.rc == MASK_ALARM)
			ok(n <= MASK_BEGIN && buf_len(&f.out) <= 4 * 8,
			   "%s, byte by byte: %zu characters have gone",
			   names[w], n);
		free(left.p);
		free(d.p);
		buf_done(&f.out);
	}
}

static void test_after(const struct mask *m)
{
	struct mask_stream s;
	struct buf out;

	buf_init(&out, 4096);
	ok(mask_begin(&s, m) == 0 &&
		   mask_feed(&s, slice_str("first "), false, &out) == 0 &&
		   buf_len(&out) == 6,
	   "a stream");
	is_int(mask_feed(&s, slice_str("&#103;hp_0123456789abcdefXYZ/+tail."),
			 false, &out),
	       MASK_ALARM, "alarms");
	is_int(mask_feed(&s, slice_str("more"), false, &out), MASK_ALARM,
	       "and goes on no more");
	ok(buf_len(&out) == 6, "nothing of it came out");
	mask_end(&s);
	buf_done(&out);
}

static void test_field(const struct mask *m)
{
	char good[] = "https://x.example/?q=%67hp_01234", plain[64], bad[128];
	uint64_t hits = 0;

	is_int(mask_bytes(m, (uint8_t *)good, strlen(good), &hits), 0,
	       "a field");
	snprintf(plain, sizeof(plain), "t=%s", value);
	is_int(mask_bytes(m, (uint8_t *)plain, strlen(plain), &hits), 0,
	       "one with the value");
	ok(hits == 1 && !strstr(plain, "ghp_"), "is masked");
	snprintf(bad, sizeof(bad), "https://x.example/?q=%%67%s", value + 1);
	is_int(mask_bytes(m, (uint8_t *)bad, strlen(bad), &hits), MASK_ALARM,
	       "one with a percent in it alarms");
	snprintf(bad, sizeof(bad), "%.*s&#108", (int)strlen(value) - 1, value);
	is_int(mask_bytes(m, (uint8_t *)bad, strlen(bad), &hits), MASK_ALARM,
	       "one that only its end completes, too");
}

static bool is_alarm(const struct mask *m, const struct doc *d)
{
	struct fed f = feed(m, slice_of(d->p, d->len), 3);

	buf_done(&f.out);
	return f.rc == MASK_ALARM;
}

/* Digits that are no letters are escaped by many. */
static void test_slashes(void)
{
	static char slashes[] = "a?\?\?>~~~bcdefgh";
	static const char *const seen[] = {
		"{\"d\":\"YT8\\/Pz5+fn5iY2RlZmdo\"}",
		"{\"d\":\"YT8/Pz5\\u002bfn5iY2RlZmdo\"}",
		"{\"d\":\"YT8\\/Pz5\\u002bfn5iY2RlZmdo\"}",
		"?d=YT8%2FPz5%2bfn5iY2RlZmdo",
		"<p>YT8&sol;Pz5&plus;fn5iY2RlZmdo",
		"<p>YT8&#47;Pz5&#x2B;fn5iY2RlZmdo",
	};
	struct mask *m = make(slashes);

	for (size_t i = 0; i < ARRAY_SIZE(seen); i++) {
		struct doc d = wrap(slice_str(seen[i]));

		ok(is_alarm(m, &d) && alarms_cut(m, &d), "seen: %s", seen[i]);
		free(d.p);
	}
	mask_unref(m);
}

/* A value that looks encoded itself. */
static void test_odd(void)
{
	static char odd[] = "pass%41word&amp;\\n x";
	struct mask *m = make(odd);
	bool good = true;

	for (enum way w = WAY_JSON; w <= WAY_BARE; w++) {
		struct doc d = doc_encode(slice_str(odd), w, true, 0);

		good &= is_alarm(m, &d);
		free(d.p);
		d = doc_encode(slice_str(odd), w, false, 1);
		good &= is_alarm(m, &d);
		free(d.p);
	}
	ok(good, "a value with escapes in it");
	ok(passes(m, slice_str("passAword& x")), "not what it would mean");
	mask_unref(m);
}

int main(void)
{
	struct mask *m;

	if (sodium_init() < 0)
		return 1;
	m = make(value);
	if (!ok(m != NULL, "made"))
		return done_testing();
	test_escapes(m);
	test_base64(m);
	test_layers(m);
	test_mixtures(m);
	test_passes(m);
	test_masked(m);
	test_left(m);
	test_after(m);
	test_field(m);
	mask_unref(m);
	test_slashes();
	test_odd();
	return done_testing();
}
