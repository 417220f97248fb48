/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secrets_test.c - sets of secrets: what is read, and what is refused
 */
#include "ottergate/inspect/mask/secrets.h"

#include "lib/jsonr.h"
#include "ottergate/inspect/mask/mask.h"
#include "tests/unit/ottergate/known_secrets.h"
#include "tests/unit/tap.h"

#define KEY "\"key\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\""
#define ONE(id, more)                                       \
	"{\"id\":\"" id "\",\"kind\":\"github\",\"value\":" \
	"\"cmVhbC12YWx1ZS0wMQ==\",\"hosts\":[\"github.com\"]" more "}"

static const struct {
	const char *json, *why; /* NULL: taken */
} rows[] = {
	{ "{" KEY "}", NULL },
	{ "{" KEY ",\"secrets\":[]}", NULL },
	{ "{\"secrets\":[" ONE("a", "") "]," KEY "}", NULL },
	{ "{" KEY ",\"secrets\":[" ONE("a", "") "," ONE("b", "") "]}", NULL },
	{ "{" KEY
	  ",\"secrets\":[" ONE("a", ",\"expires\":0,\"user\":\"u\"") "]}",
	  NULL },
	{ "", "JSON" },
	{ "[]", "JSON" },
	{ "{}", "key" },
	{ "{" KEY "} x", "JSON" },
	{ "{" KEY "," KEY "}", "key" },
	{ "{\"key\":\"AAAA\"}", "key" },
	{ "{\"key\":\"%%%%\"}", "base64" },
	{ "{\"key\":7}", "base64" },
	{ "{" KEY ",\"other\":1}", "member" },
	{ "{" KEY ",\"secrets\":{}}", "list" },
	{ "{" KEY ",\"secrets\":[7]}", "object" },
	{ "{" KEY ",\"secrets\":[" ONE("a", "") "," ONE("a", "") "]}",
	  "'a': it is there twice" },
	{ "{" KEY ",\"secrets\":[" ONE("a", ",\"id\":\"b\"") "]}", "twice" },
	{ "{" KEY ",\"secrets\":[" ONE("a", ",\"x\":1") "]}", "known" },
	{ "{" KEY ",\"secrets\":[" ONE("", "") "]}", "empty" },
	{ "{" KEY ",\"secrets\":[" ONE("a b", "") "]}", "character" },
	{ "{" KEY ",\"secrets\":[" ONE("a", ",\"user\":\"a:b\"") "]}",
	  "character" },
	{ "{" KEY ",\"secrets\":[" ONE("a", ",\"expires\":-1") "]}",
	  "expires" },
	{ "{" KEY ",\"secrets\":[{\"id\":\"a\"}]}", "missing" },
	{ "{" KEY ",\"secrets\":[{\"id\":\"a\",\"kind\":\"none\"}]}", "kind" },
	{ "{" KEY ",\"secrets\":[{\"id\":\"a\",\"value\":\"c2hvcnQ=\"}]}",
	  "short" },
	{ "{" KEY
	  ",\"secrets\":[{\"id\":\"a\",\"value\":\"bGluZQ0KYnJlYWs=\"}]}",
	  "header" },
	{ "{" KEY ",\"secrets\":[{\"id\":\"a\",\"hosts\":[\"1.2.3.4\"]}]}",
	  "host name" },
	{ "{" KEY ",\"secrets\":[{\"id\":\"a\",\"hosts\":\"b.c\"}]}", "list" },
	{ "{" KEY ",\"secrets\":[{\"id\":\"a\",\"kind\":\"aws\",\"value\":"
	  "\"cmVhbC12YWx1ZS0wMQ==\",\"hosts\":[]}]}",
	  "access_key" },
};

static void test_rows(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct secret_set *s = NULL;
		struct err err = { 0 };
		int rc = secret_set_read(slice_str(rows[i].json), &s, &err);

		if (!rows[i].why) {
			ok(rc == 0 && s, "row %zu is taken: %s", i, err.msg);
			secret_set_unref(s);
			continue;
		}
		ok(rc == -EINVAL && !s && strstr(err.msg, rows[i].why),
		   "row %zu: %s", i, err.msg);
		ok(!strstr(err.msg, "real-value") && !strstr(err.msg, "cmVhbC"),
		   "row %zu: no value in the message", i);
	}
}

static void test_many(void)
{
	static char json[SECRETS_MAX * 160 + 400];
	struct secret_set *s = NULL;
	struct err err = { 0 };
	size_t n = 0;

	for (unsigned i = 0; i < SECRETS_MAX + 1; i++) {
		char id[16], one[256];

		snprintf(id, sizeof(id), "s%u", i);
		secret_json(one, sizeof(one), id, "github", "real-value", "",
			    "");
		if (i == SECRETS_MAX) {
			ok(secrets_of(json, &s, &err) == 0 &&
				   s->n == SECRETS_MAX,
			   "as many as may be: %s", err.msg);
			secret_set_unref(s);
		}
		n += (size_t)snprintf(json + n, sizeof(json) - n, "%s%s",
				      i ? "," : "", one);
	}
	is_int(secrets_of(json, &s, &err), -EINVAL, "one more: %s", err.msg);
}

static bool seen(const struct secret_set *s, struct slice text, uint64_t now_s)
{
	unsigned checks = SURROGATE_CHECKS_MAX;

	return surrogate_seen_of(s, text, now_s, &checks);
}

static void test_seen(const struct secret_set *s)
{
	char token[SURROGATE_MAX], text[512];
	unsigned checks = 2;

	surrogate_of(s, "a", SURROGATE_EPOCH, 0, token);
	ok(seen(s, slice_str(token), SECRETS_NOW), "live");
	ok(seen(s, slice_str(token), SECRETS_NOW + 1200), "expired");
	snprintf(text, sizeof(text), "x=%s&y", token);
	ok(seen(s, slice_str(text), SECRETS_NOW), "amid others");
	snprintf(text, sizeof(text), "%%67%%68p_%s", token + 4);
	ok(seen(s, slice_str(text), SECRETS_NOW), "encoded");
	token[10] = token[10] == 'a' ? 'b' : 'a';
	ok(!seen(s, slice_str(token), SECRETS_NOW), "another one");
	ok(!seen(NULL, slice_str(token), SECRETS_NOW), "no set");
	ok(!seen(s, slice_of(NULL, 0), SECRETS_NOW), "no text");
	snprintf(text, sizeof(text), "%s %s", token, token);
	ok(!surrogate_seen_of(s, slice_str(text), SECRETS_NOW, &checks) &&
		   checks == 0,
	   "checks are counted");
	ok(surrogate_seen_of(s, slice_str(token), SECRETS_NOW, &checks),
	   "and when there are none left it is refused");
	surrogate_of(s, "b", SURROGATE_RUN, 0, token);
	ok(seen(s, slice_str(token), SECRETS_NOW + 1000000),
	   "one of a session");
}

static void test_set(void)
{
	struct name host = { .len = 10, .s = "github.com" };
	struct name other = { .len = 8, .s = "evil.com" };
	struct name llm = { .len = 8, .s = "llm.test" };
	struct secret_set *s = NULL;
	struct err err = { 0 };
	const struct secret *a;
	char list[2][512], all[1024];

	secret_json(list[0], sizeof(list[0]), "a", "github", "real-value-1",
		    "\"GitHub.com\",\"llm.test:8080\"",
		    ",\"user\":\"me\",\"expires\":7");
	secret_json(list[1], sizeof(list[1]), "b", "aws", "real-value-2", "",
		    ",\"access_key\":\"AKIA1\",\"region\":\"eu-west-1\","
		    "\"service\":\"s3\"");
	snprintf(all, sizeof(all), "%s,%s", list[0], list[1]);
	if (!ok(secrets_of(all, &s, &err) == 0, "two: %s", err.msg))
		return;
	a = secret_set_find(s, "a");
	ok(a && a->kind == SECRET_GITHUB && a->expires == 7 &&
		   a->value_len == 12 && a->mask,
	   "one of them");
	is_str(a ? a->value : "", "real-value-1", "its value");
	is_str(a ? a->user : "", "me", "its user");
	ok(a && secret_has_host(a, &host, 443) &&
		   !secret_has_host(a, &other, 443),
	   "its hosts, canonical");
	ok(a && secret_has_host(a, &llm, 8080) &&
		   !secret_has_host(a, &llm, 8081),
	   "one at a port alone");
	a = secret_set_find(s, "b");
	is_str(a ? a->access_key : "", "AKIA1", "access key");
	ok(a && !secret_has_host(a, &host, 443), "no host");
	ok(!secret_set_find(s, "c") && !secret_set_find(NULL, "a"), "no other");
	test_seen(s);
	secret_set_unref(secret_set_ref(s));
	secret_set_unref(s);
	secret_set_unref(secret_set_ref(NULL));
}

/* --- jsonr --------------------------------------------------------------- */

static const struct {
	const char *json;
	bool good;
} texts[] = {
	{ "0", true },
	{ "-1.5e+10", true },
	{ "[]", true },
	{ "[1,[2,{\"a\":[]}],\"x\"]", true },
	{ "{\"a\":{\"b\":null}}", true },
	{ " true ", true },
	{ "\"\\u00e9\\ud83d\\ude00\\/\"", true },
	{ "", false },
	{ "01", false },
	{ "+1", false },
	{ "1.", false },
	{ ".5", false },
	{ "1e", false },
	{ "-", false },
	{ "[1,]", false },
	{ "[,1]", false },
	{ "[1 2]", false },
	{ "{\"a\"}", false },
	{ "{a:1}", false },
	{ "{\"a\":1,}", false },
	{ "{\"a\":1]", false },
	{ "[1}", false },
	{ "tru", false },
	{ "nul", false },
	{ "\"a", false },
	{ "\"\\x\"", false },
	{ "\"\\u12g4\"", false },
	{ "\"\\ud800\"", false },
	{ "\"\\udc00\"", false },
	{ "\"\\ud800\\u0041\"", false },
	{ "\"\n\"", false },
	{ "\"\\\"", false },
	{ "1 2", false },
	{ "[", false },
	{ "{\"a\":", false },
	{ "'a'", false },
	{ "// x\n1", false },
};

static void test_json(void)
{
	char deep[2 * JSONR_DEPTH_MAX + 4], out[16];
	struct slice raw = slice_str("a\\u00e9\\ud83d\\ude00\\n");
	struct jsonr j;
	uint64_t v = 0;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		jsonr_init(&j, slice_str(texts[i].json));
		is_int(jsonr_skip(&j) == 0 && jsonr_end(&j) == 0, texts[i].good,
		       "text %zu", i);
	}
	for (size_t n = JSONR_DEPTH_MAX; n <= JSONR_DEPTH_MAX + 1; n++) {
		memset(deep, '[', n);
		memset(deep + n, ']', n);
		jsonr_init(&j, slice_of(deep, 2 * n));
		is_int(jsonr_skip(&j), n > JSONR_DEPTH_MAX ? -EBADMSG : 0,
		       "%zu deep", n);
	}
	is_int(jsonr_unescape(raw, out, sizeof(out)), 8, "unescape");
	ok(memcmp(out, "a\xc3\xa9\xf0\x9f\x98\x80\n", 8) == 0, "to UTF-8");
	is_int(jsonr_unescape(raw, out, 7), -ENOBUFS, "no room");
	ok(jsonr_is(slice_str("\\u0061b"), "ab") &&
		   !jsonr_is(slice_str("ab"), "abc"),
	   "words");
	jsonr_init(&j, slice_str("18446744073709551615"));
	ok(jsonr_u64(&j, &v) == 0 && v == UINT64_MAX, "a number");
	jsonr_init(&j, slice_str("18446744073709551616"));
	is_int(jsonr_u64(&j, &v), -ERANGE, "too high");
	jsonr_init(&j, slice_str("1.0"));
	is_int(jsonr_u64(&j, &v), -EBADMSG, "not whole");
}

int main(void)
{
	if (sodium_init() < 0)
		return 1;
	test_rows();
	test_many();
	test_set();
	test_json();
	return done_testing();
}
