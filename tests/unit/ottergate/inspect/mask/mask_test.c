/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mask_test.c - every form of a secret, however the bytes come
 */
#include "ottergate/inspect/mask/mask.h"

#include <sodium.h>

#include "tests/unit/ottergate/inspect/mask/reveal_views.h"
#include "tests/unit/tap.h"

static char value[] = "ghp_abc/def+\"q\\ & 0123456789?x=<y>";

static const char *const forms[] = {
	"ghp_abc/def+\"q\\ & 0123456789?x=<y>",
	/* percent: what must be, a form's blanks, everything */
	"ghp_abc%2Fdef%2B%22q%5C%20%26%200123456789%3Fx%3D%3Cy%3E",
	"ghp_abc%2fdef%2b%22q%5c%20%26%200123456789%3fx%3d%3cy%3e",
	"ghp_abc%2Fdef%2B%22q%5C+%26+0123456789%3Fx%3D%3Cy%3E",
	"%67%68%70%5F%61%62%63%2F%64%65%66%2B%22%71%5C%20%26%20%30%31%32%33"
	"%34%35%36%37%38%39%3F%78%3D%3C%79%3E",
	"%67%68%70%5f%61%62%63%2f%64%65%66%2b%22%71%5c%20%26%20%30%31%32%33"
	"%34%35%36%37%38%39%3f%78%3d%3c%79%3e",
	/* JSON */
	"ghp_abc/def+\\\"q\\\\ & 0123456789?x=<y>",
	"ghp_abc\\/def+\\\"q\\\\ & 0123456789?x=<y>",
	"ghp_abc/def+\\u0022q\\u005c \\u0026 0123456789?x=\\u003cy\\u003e",
	"ghp_abc/def+\\u0022q\\u005C \\u0026 0123456789?x=\\u003Cy\\u003E",
	/* HTML */
	"ghp_abc/def+&quot;q\\ &amp; 0123456789?x=&lt;y&gt;",
	"ghp_abc/def+\"q\\ &amp; 0123456789?x=&lt;y&gt;",
	"ghp_abc/def&#43;&#34;q\\ &amp; 0123456789?x=&lt;y&gt;",
	"ghp_abc&#x2F;def+&quot;q\\ &amp; 0123456789?x&#x3D;&lt;y&gt;",
	"ghp_abc&#47;def&#43;&#34;q\\ &#38; 0123456789?x&#61;&#60;y&#62;",
	"ghp_abc&#x2f;def&#x2b;&#x22;q\\ &#x26; 0123456789?x&#x3d;&#x3c;y"
	"&#x3e;",
	"ghp_abc&#x2F;def&#x2B;&#x22;q\\ &#x26; 0123456789?x&#x3D;&#x3C;y"
	"&#x3E;",
	/* hex */
	"6768705f6162632f6465662b22715c20262030313233343536373839"
	"3f783d3c793e",
	"6768705F6162632F6465662B22715C20262030313233343536373839"
	"3F783D3C793E",
};

static struct mask *make(char *text)
{
	struct secret s = { .value = text, .value_len = strlen(text) };
	struct mask *m = NULL;

	if (mask_new(&s, &m) < 0)
		return NULL;
	return m;
}

/* What comes out of @text, fed in two pieces. */
static struct slice feed(const struct mask *m, const char *text, size_t len,
			 size_t split, struct buf *out)
{
	struct mask_stream s;

	buf_init(out, 1 << 20);
	if (mask_begin(&s, m) < 0 ||
	    mask_feed(&s, slice_of(text, split), false, out) < 0 ||
	    mask_feed(&s, slice_of(text + split, len - split), true, out) < 0)
		return slice_of(NULL, 0);
	mask_end(&s);
	return buf_slice(out);
}

/* Masked from @at on, @n bytes, and all else as it was. */
static bool is_masked(struct slice got, const char *text, size_t len, size_t at,
		      size_t n)
{
	for (size_t i = 0; i < len && got.len == len; i++) {
		uint8_t want = i >= at && i < at + n ? '*' : (uint8_t)text[i];

		if (got.ptr[i] != want)
			return false;
	}
	return got.len == len;
}

static bool check_splits(const struct mask *m, const char *before,
			 const char *form, size_t form_len, const char *after,
			 size_t skip, size_t tail)
{
	char text[1024];
	size_t a = strlen(before), len = a + form_len + strlen(after);
	bool good = true;
	struct buf out;

	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes */
	memcpy(text, before, a);
	memcpy(text + a, form, form_len);
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes */
	memcpy(text + a + form_len, after, strlen(after));
	for (size_t split = 0; split <= len; split++) {
		struct slice got = feed(m, text, len, split, &out);

		good &= is_masked(got, text, len, a + skip,
				  form_len - skip - tail);
		buf_done(&out);
	}
	return good;
}

static void test_forms(const struct mask *m)
{
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		ok(check_splits(m, "{\"a\":\"", forms[i], strlen(forms[i]),
				"\"}\n", 0, 0),
		   "form %zu at every split", i);
		ok(check_splits(m, "ghp_gh%67", forms[i], strlen(forms[i]), "",
				0, 0),
		   "behind a false beginning, at the end, form %zu", i);
	}
}

/* "user:value" and the like: what is made of the value's bits alone. */
static void test_base64(const struct mask *m, int variant)
{
	static const char *const users[] = {
		"", "u", "us", "x-access-token:", "oauth2:", "a:b"
	};

	for (size_t i = 0; i < ARRAY_SIZE(users); i++) {
		char plain[128], text[256];
		size_t n = (size_t)snprintf(plain, sizeof(plain), "%s%s",
					    users[i], value);
		size_t user = strlen(users[i]) * 8, skip = (user + 5) / 6;
		size_t all = n * 8 / 6, len;

		sodium_bin2base64(text, sizeof(text), (uint8_t *)plain, n,
				  variant);
		len = strlen(text);
		ok(check_splits(m, "\"", text, len, "\"", skip, len - all),
		   "base64 %d behind '%s'", variant, users[i]);
	}
}

/* How much of @text comes at once, with nothing behind it yet. */
static size_t at_once(const struct mask *m, const char *text, size_t len)
{
	struct mask_stream s;
	struct buf out;
	size_t n = SIZE_MAX;

	buf_init(&out, 4096);
	if (mask_begin(&s, m) == 0 &&
	    mask_feed(&s, slice_of(text, len), false, &out) == 0)
		n = buf_len(&out);
	mask_end(&s);
	buf_done(&out);
	return n;
}

/* No form, but another encoding: ottergate/inspect/mask/reveal_test.c has
 * these. */
static bool is_alarm(const char *text)
{
	struct doc d = doc_unescape(slice_str(text));
	char blanks[] = "ghp_abc/def+\"q\\+&+0123456789?x=<y>";
	bool shows = doc_has(slice_of(d.p, d.len), slice_str(value)) ||
		     doc_has(slice_of(d.p, d.len), slice_str(blanks));

	free(d.p);
	return shows;
}

/* A client that sees where pieces end learns nothing of what it guesses. */
static void test_oracle(const struct mask *m, const char *form, unsigned nr)
{
	size_t len = strlen(form);
	bool good = true;
	char text[1024];

	for (size_t n = MASK_BEGIN; n + 1 < len; n++) {
		for (unsigned c = 0x20; c < 0x7f; c++) {
			size_t all = (size_t)snprintf(text, sizeof(text),
						      "x %.*s%c", (int)n, form,
						      (int)c);
			size_t got = at_once(m, text, all);

			good &= got == 2 || (got == SIZE_MAX && is_alarm(text));
		}
	}
	ok(good, "form %u: a right guess is held as a wrong one", nr);
	snprintf(text, sizeof(text), "x %.*sQ\n", (int)len - 1, form);
	ok(at_once(m, text, strlen(text)) ==
		   (is_alarm(text) ? SIZE_MAX : strlen(text)),
	   "form %u: a line's end lets it go", nr);
}

static void test_stream(const struct mask *m)
{
	static const char event[] = "data: {\"x\":1}\n\n";
	struct mask_stream s;
	struct buf out;

	buf_init(&out, 4096);
	ok(mask_begin(&s, m) == 0, "begin");
	ok(mask_feed(&s, slice_str(event), false, &out) == 0 &&
		   buf_len(&out) == strlen(event),
	   "an event is not held back");
	ok(mask_feed(&s, slice_str("a ghp_ab"), false, &out) == 0 &&
		   buf_len(&out) == strlen(event) + 2 && s.n_held == 6,
	   "what may be a beginning is");
	ok(mask_feed(&s, slice_str("x"), false, &out) == 0 && s.n_held == 7,
	   "also when it is none");
	ok(mask_feed(&s, slice_str("\n"), false, &out) == 0 &&
		   buf_len(&out) == strlen(event) + 10 && s.n_held == 0,
	   "until the line ends");
	ok(mask_feed(&s, slice_str("ghq"), false, &out) == 0 && s.n_held == 0,
	   "few bytes that are none go at once");
	ok(mask_feed(&s, slice_str(value), false, &out) == 0 && s.n_held == 0 &&
		   s.hits > 0,
	   "a whole match is not held either");
	is_int(mask_feed(&s, slice_of(event, 0), true, &out), 0, "no bytes");
	mask_end(&s);
	buf_done(&out);

	buf_init(&out, 4);
	ok(mask_begin(&s, m) == 0 &&
		   mask_feed(&s, slice_str("12345"), false, &out) == -ENOBUFS,
	   "no room");
	mask_end(&s);
	mask_end(&s);
	buf_done(&out);
}

/* Does @in make exactly @want come out? */
static bool comes(struct mask_stream *s, const char *in, const char *want)
{
	struct buf out;
	bool good;

	buf_init(&out, 4096);
	good = (in ? mask_feed(s, slice_str(in), false, &out) :
		     mask_rest(s, &out)) == 0 &&
	       slice_eq(buf_slice(&out), slice_str(want));
	buf_done(&out);
	return good;
}

/* The end of a message is not held for ever, and nothing is lost by that. */
static void test_rest(const struct mask *m)
{
	char stars[sizeof(value) - 3] = "";
	struct mask_stream s;

	memset(stars, '*', sizeof(stars) - 1);
	ok(mask_begin(&s, m) == 0 && !mask_waits(&s), "nothing waits");
	ok(comes(&s, "to gh", "to ") && mask_waits(&s), "two bytes wait");
	ok(comes(&s, NULL, "gh") && !mask_waits(&s), "and go after a rest");
	ok(comes(&s, NULL, ""), "once");
	ok(comes(&s, "o", "o") && !mask_waits(&s), "they were no beginning");
	ok(comes(&s, "g", "") && comes(&s, NULL, "g") && comes(&s, "h", "") &&
		   mask_waits(&s) && comes(&s, NULL, "h"),
	   "a byte, a rest, a byte, a rest");
	ok(comes(&s, "p_ab", "") && !mask_waits(&s) && comes(&s, NULL, ""),
	   "more of the beginning is held behind them");
	ok(comes(&s, "X", "") && comes(&s, "\n", "p_abX\n"),
	   "a wrong guess as well, up to the end of the line");
	ok(comes(&s, "ghp", "") && comes(&s, NULL, "ghp") &&
		   comes(&s, value + 3, stars) && s.hits == 1,
	   "a value is masked, but for what went before the rest");
	ok(comes(&s, "ghghp_", "gh") && s.n_held == 4 && s.n_gone == 0,
	   "what goes by itself is not counted");
	mask_end(&s);
	ok(mask_begin(&s, m) == 0 && comes(&s, "gh", "") &&
		   comes(&s, NULL, "gh") && comes(&s, "gh", "") &&
		   comes(&s, "p", "") && comes(&s, NULL, "ghp") &&
		   comes(&s, "gg\n", "gg\n"),
	   "begun anew within what has gone");
	mask_end(&s);
}

/* A token's beginning that everybody knows holds up to the end of the word. */
static void test_word(void)
{
	static char token[] = "sk-proj-0123456789abcdefXYZ";
	static const char ends[] = "\"', }<>)]\x81\xff\n";
	struct mask *m = make(token);
	struct mask_stream s;
	bool same = true;
	char text[64];

	if (!ok(m != NULL && mask_begin(&s, m) == 0, "a token"))
		return;
	for (size_t i = 0; ends[i]; i++) {
		snprintf(text, sizeof(text), "{\"a\":\"sk-proj-Q%c", ends[i]);
		ok(comes(&s, text, text), "byte %02x ends it",
		   (unsigned)(uint8_t)ends[i]);
	}
	ok(comes(&s, "a sk-proj-Q.~%&;", "a "), "others do not");
	mask_end(&s);
	for (unsigned c = 0x20; c < 0x7f; c++) {
		char wrong[64];

		snprintf(text, sizeof(text), "x sk-proj-0%c", (int)c);
		snprintf(wrong, sizeof(wrong), "x sk-proj-9%c", (int)c);
		same &= at_once(m, text, strlen(text)) ==
			at_once(m, wrong, strlen(wrong));
	}
	ok(same, "which bytes it has is not told");
	ok(check_splits(m, "{\"k\":\"", token, strlen(token), "\"}", 0, 0),
	   "and it is found at every split");
	mask_unref(m);
}

static void test_twice(const struct mask *m)
{
	char text[256];
	size_t n = strlen(value);
	uint64_t hits = 0;

	snprintf(text, sizeof(text), "%s%s-%.*s", value, value, 10, value);
	is_int(mask_bytes(m, (uint8_t *)text, strlen(text), &hits), 0, "well");
	is_int((int)hits, 2, "two");
	ok(text[0] == '*' && text[2 * n - 1] == '*' && text[2 * n] == '-' &&
		   strncmp(text + 2 * n + 1, value, 10) == 0,
	   "and a beginning stays");
}

/* A value that begins again within itself. */
static void test_self(void)
{
	static char again[] = "abababababac";
	struct mask *m = make(again);

	if (!ok(m != NULL, "a value with itself in it"))
		return;
	ok(check_splits(m, "abab", again, strlen(again), "abab", 0, 0),
	   "found behind its own beginning");
	mask_unref(mask_ref(m));
	mask_unref(m);
}

/* An apostrophe has no name of old, so there are many numbers. */
static void test_apostrophe(void)
{
	static char quoted[] = "it's-a-token";
	static const char *const ways[] = { "it&#39;s-a-token",
					    "it&#039;s-a-token",
					    "it&#x27;s-a-token" };
	struct mask *m = make(quoted);

	if (!ok(m != NULL, "a value with an apostrophe"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		ok(check_splits(m, "<p>", ways[i], strlen(ways[i]), "</p>", 0,
				0),
		   "%s", ways[i]);
	mask_unref(m);
}

static void test_bad(void)
{
	static char big[SECRET_VALUE_MAX + 2];
	struct secret s = { .value = value, .value_len = MASK_VALUE_MIN - 1 };
	struct mask *m = NULL;

	is_int(mask_new(&s, &m), -EINVAL, "too short");
	memset(big, '/', sizeof(big) - 1);
	s = (struct secret){ .value = big, .value_len = sizeof(big) - 1 };
	is_int(mask_new(&s, &m), -EINVAL, "too long");
	s.value_len = SECRET_VALUE_MAX;
	is_int(mask_new(&s, &m), 0, "just as long as may be");
	mask_unref(m);
	mask_unref(NULL);
}

int main(void)
{
	struct mask *m;

	if (sodium_init() < 0)
		return 1;
	m = make(value);
	if (!ok(m != NULL, "made"))
		return done_testing();
	test_forms(m);
	test_base64(m, sodium_base64_VARIANT_ORIGINAL);
	test_base64(m, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	for (unsigned i = 0; i < ARRAY_SIZE(forms); i++)
		test_oracle(m, forms[i], i);
	test_stream(m);
	test_rest(m);
	test_twice(m);
	mask_unref(m);
	test_self();
	test_apostrophe();
	test_word();
	test_bad();
	return done_testing();
}
