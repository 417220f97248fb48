/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_test.c - credentials: whose, where, in which form (T, H11, H13,
 * H14; sandbox-security 17-20, 34)
 *
 * In the rows, {NAME} is a live surrogate of that secret, {NAME!} one that has
 * expired, and {b:…} the Base64 of what follows, with the same in it.
 */
#include "tests/unit/ottergate/inspect/judge/ireq_world.h"

/* Puts the surrogates in. */
static void fill(const struct world *w, const char *text, char *out,
		 size_t size)
{
	char token[SURROGATE_MAX], id[32];
	size_t n = 0;

	while (*text && n + SURROGATE_MAX < size) {
		const char *end = *text == '{' ? strchr(text, '}') : NULL;
		bool old = end && end[-1] == '!';

		if (!end) {
			out[n++] = *text++;
			continue;
		}
		snprintf(id, sizeof(id), "%.*s", (int)(end - text - 1 - old),
			 text + 1);
		surrogate_of(w->secrets, id,
			     old ? SURROGATE_EPOCH : SURROGATE_RUN,
			     old ? 1300 : 0, token);
		n += (size_t)snprintf(out + n, size - n, "%s", token);
		text = end + 1;
	}
	out[n] = '\0';
}

static void expand(const struct world *w, const char *text, char *out,
		   size_t size)
{
	const char *b = strstr(text, "<<");
	char plain[512];
	size_t n;

	if (!b) {
		fill(w, text, out, size);
		return;
	}
	fill(w, b + 2, plain, sizeof(plain));
	n = (size_t)snprintf(out, size, "%.*s", (int)(b - text), text);
	sodium_bin2base64(out + n, size - n, (uint8_t *)plain, strlen(plain),
			  sodium_base64_VARIANT_ORIGINAL);
}

struct row {
	const char *host, *path, *field, *value;
	int status; /* 0: it passes */
	enum reason reason; /* or */
	const char *want, *want_path; /* the field and the path then */
};

static const struct row rows[] = {
	/* each form */
	{ "api.github.com", "/user", "authorization", "Bearer {github}", 0, 0,
	  "Bearer " REAL_GITHUB, "/user" },
	{ "api.github.com", "/user", "authorization", "tOKEN {github}", 0, 0,
	  "token " REAL_GITHUB, "/user" },
	{ "api.github.com", "/user", "authorization", "bEARER    {github}", 0,
	  0, "Bearer " REAL_GITHUB, "/user" },
	{ "gitlab.test", "/", "private-token", "{gitlab}", 0, 0, REAL_GITLAB,
	  "/" },
	{ "gitlab.test", "/", "authorization", "Bearer {gitlab}", 0, 0,
	  "Bearer " REAL_GITLAB, "/" },
	{ "gitlab.test", "/", "authorization", "Basic <<me:{gitlab}", 0, 0,
	  "Basic <<oauth2:" REAL_GITLAB, "/" },
	{ "github.com", "/a.git/info/refs", "authorization",
	  "Basic <<me:{github}", 0, 0, "Basic <<x-access-token:" REAL_GITHUB,
	  "/a.git/info/refs" },
	{ "github.com", "/", "authorization", "basic <<{github}:", 0, 0,
	  "Basic <<" REAL_GITHUB ":", "/" },
	{ "github.com", "/", "authorization", "Basic <<{github}:x-oauth-basic",
	  0, 0, "Basic <<" REAL_GITHUB ":x-oauth-basic", "/" },
	{ "query.test", "/?a=b&tok={query}&c", "x", "y", 0, 0, "y",
	  "/?a=b&tok=" REAL_QUERY "&c" },
	{ "gemini.test", "/v1/models?key={gemini}", "x", "y", 0, 0, "y",
	  "/v1/models" },
	{ "gemini.test", "/v1/models?key={gemini}&a=b", "x-goog-api-key",
	  "{gemini}", 0, 0, REAL_GEMINI, "/v1/models?a=b" },
	{ "gemini.test", "/v1/models", "x-goog-api-key", "{gemini}", 0, 0,
	  REAL_GEMINI, "/v1/models" },
	{ "loose.test", "/", "x-own", "{own}", 0, 0, REAL_OWN, "/" },
	{ "plain.test", "/", "authorization", "Bearer  {plain}", 0, 0,
	  "Bearer " REAL_PLAIN, "/" },
	{ "plain.test", "/", "authorization", "Basic <<:{plain}", 0, 0,
	  "Basic <<:" REAL_PLAIN, "/" },
	{ "named.test", "/", "authorization", "Basic <<foreign:{named}", 0, 0,
	  "Basic <<bob:" REAL_NAMED, "/" },
	{ "login.test", "/", "authorization", "Bearer {login}", 0, 0,
	  "Bearer " REAL_LOGIN, "/" },
	/* places that the kind does not have */
	{ "login.test", "/", "x-api-key", "{login}", 403, REASON_CANARY, NULL,
	  NULL },
	{ "login.test", "/?token={login}", "x", "y", 403, REASON_CANARY, NULL,
	  NULL },
	{ "api.github.com", "/user", "authorization", "{github}", 403,
	  REASON_CANARY, NULL, NULL },
	{ "api.github.com", "/user", "private-token", "{github}", 403,
	  REASON_CANARY, NULL, NULL },
	{ "api.github.com", "/user", "x-api-key", "{github}", 403,
	  REASON_CANARY, NULL, NULL },
	{ "github.com", "/?access_token={github}", "x", "y", 403, REASON_CANARY,
	  NULL, NULL },
	{ "gitlab.test", "/?private_token={gitlab}", "x", "y", 403,
	  REASON_CANARY, NULL, NULL },
	{ "gitlab.test", "/", "private_token", "{gitlab}", 403, REASON_CANARY,
	  NULL, NULL },
	{ "gitlab.test", "/", "authorization", "token {gitlab}", 403,
	  REASON_CANARY, NULL, NULL },
	{ "gemini.test", "/", "authorization", "Bearer {gemini}", 403,
	  REASON_CANARY, NULL, NULL },
	{ "gemini.test", "/?[key]={gemini}", "x", "y", 403, REASON_CANARY, NULL,
	  NULL },
	{ "loose.test", "/", "authorization", "Bearer {own}", 403,
	  REASON_CANARY, NULL, NULL },
	{ "query.test", "/?key={query}", "x", "y", 403, REASON_CANARY, NULL,
	  NULL },
	{ "named.test", "/", "authorization", "Bearer {named}", 403,
	  REASON_CANARY, NULL, NULL },
	{ "plain.test", "/", "x-api-key", "{plain}", 403, REASON_CANARY, NULL,
	  NULL },
	/* the user of Basic may be a credential, too */
	{ "plain.test", "/", "authorization", "Basic <<foreign:{plain}", 403,
	  REASON_CREDENTIAL, NULL, NULL },
	/* none is shown: none is put in */
	{ "api.github.com", "/user", "authorization", "", 0, 0, "", "/user" },
	{ "github.com", "/?key=", "x", "y", 0, 0, "y", "/?key=" },
	/* H11: somebody else's */
	{ "api.github.com", "/user", "authorization", "Bearer ghp_foreign", 403,
	  REASON_CREDENTIAL, NULL, NULL },
	{ "api.github.com", "/user", "authorization",
	  "token ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 403,
	  REASON_CREDENTIAL, NULL, NULL },
	{ "api.github.com", "/user", "authorization", "Basic <<a:b", 403,
	  REASON_CREDENTIAL, NULL, NULL },
	{ "api.github.com", "/user", "authorization",
	  "Basic <<ghp_foreign:", 403, REASON_CREDENTIAL, NULL, NULL },
	{ "api.github.com", "/user", "authorization", "Basic %%%", 403,
	  REASON_CREDENTIAL, NULL, NULL },
	{ "api.github.com", "/user", "authorization",
	  "Basic <<{github}:ghp_foreign", 403, REASON_CREDENTIAL, NULL, NULL },
	{ "api.github.com", "/user", "authorization", "Digest a=b", 403,
	  REASON_CREDENTIAL, NULL, NULL },
	{ "api.github.com", "/user", "x-auth-token", "a", 403,
	  REASON_CREDENTIAL, NULL, NULL },
	{ "api.github.com", "/user", "authorization", "Bearer {github}x", 403,
	  REASON_CANARY, NULL, NULL },
	{ "api.github.com", "/user", "authorization",
	  "Bearer ghp_a, token {github}", 403, REASON_CANARY, NULL, NULL },
	{ "github.com", "/?access_token=foreign", "x", "y", 403,
	  REASON_CREDENTIAL, NULL, NULL },
	{ "github.com", "/?a=b;%61ccess_token=foreign", "x", "y", 403,
	  REASON_CREDENTIAL, NULL, NULL },
	{ "github.com", "/?X-Amz-Signature=foreign", "x", "y", 403,
	  REASON_CREDENTIAL, NULL, NULL },
	{ "github.com", "/", "sec-websocket-protocol",
	  "realtime, openai-insecure-api-key.sk-foreign", 403,
	  REASON_CREDENTIAL, NULL, NULL },
	/* 34: another time; a secret that is not there, or not any longer */
	{ "api.github.com", "/user", "authorization", "Bearer {github!}", 403,
	  REASON_NO_SECRET, NULL, NULL },
	{ "away.test", "/", "authorization", "Bearer x", 403, REASON_NO_SECRET,
	  NULL, NULL },
	{ "away.test", "/", "x", "y", 0, 0, "y", "/" },
	{ "past.test", "/", "authorization", "Bearer {past}", 403,
	  REASON_NO_SECRET, NULL, NULL },
	/* H14: where it has no business */
	{ "api.github.com", "/user", "authorization", "Bearer {own}", 403,
	  REASON_CANARY, NULL, NULL },
	{ "elsewhere.test", "/", "authorization", "Bearer {own}", 403,
	  REASON_CANARY, NULL, NULL },
	{ "open.test", "/", "authorization", "Bearer {github}", 403,
	  REASON_CANARY, NULL, NULL },
	{ "open.test", "/", "x-note", "a {github!} b", 403, REASON_CANARY, NULL,
	  NULL },
	{ "open.test", "/{github}/x", "x", "y", 403, REASON_CANARY, NULL,
	  NULL },
	{ "open.test", "/?a=%67hp_{github}&b={own}", "x", "y", 403,
	  REASON_CANARY, NULL, NULL },
	{ "github.com", "/?key={github}&b={gemini}", "x", "y", 403,
	  REASON_CANARY, NULL, NULL },
	{ "api.github.com", "/user", "user-agent", "git/{github}", 403,
	  REASON_CANARY, NULL, NULL },
	{ "open.test", "/", "cookie", "a={own}", 403, REASON_CANARY, NULL,
	  NULL },
	/* not exclusive, or no credential of ours: the client's own passes */
	{ "loose.test", "/", "authorization", "Bearer mine", 0, 0,
	  "Bearer mine", "/" },
	{ "loose.test", "/?key=mine", "authorization", "Basic <<a:b", 0, 0,
	  "Basic <<a:b", "/?key=mine" },
	{ "loose.test", "/", "authorization", "Basic ~", 0, 0, "Basic ~", "/" },
	{ "open.test", "/?token=mine", "authorization", "Bearer mine", 0, 0,
	  "Bearer mine", "/?token=mine" },
	/* a key that signs is never sent */
	{ "s3.test", "/b?key={aws}", "x", "y", 403, REASON_CANARY, NULL, NULL },
	{ "s3.test", "/b", "authorization", "Bearer {aws}", 403, REASON_CANARY,
	  NULL, NULL },
	{ "s3.test", "/b", "authorization", "Basic <<u:{aws}", 403,
	  REASON_CANARY, NULL, NULL },
	{ "s3.test", "/b", "x-amz-security-token", "{aws}", 403, REASON_CANARY,
	  NULL, NULL },
	/* H11: names that only some server takes for those of credentials */
	{ "api.github.com", "/user", "private_token", "foreign", 403,
	  REASON_CREDENTIAL, NULL, NULL },
	{ "api.github.com", "/user", "x-api_key", "foreign", 403,
	  REASON_CREDENTIAL, NULL, NULL },
	{ "github.com", "/?[access_token]=foreign", "x", "y", 403,
	  REASON_CREDENTIAL, NULL, NULL },
	{ "github.com", "/?a&Access+token=foreign", "x", "y", 403,
	  REASON_CREDENTIAL, NULL, NULL },
	{ "github.com", "/?%20access.token[]=foreign", "x", "y", 403,
	  REASON_CREDENTIAL, NULL, NULL },
	{ "github.com", "/?bearer_token=foreign", "x", "y", 403,
	  REASON_CREDENTIAL, NULL, NULL },
	{ "gemini.test", "/?$httpHeaders=x-goog-api-key:foreign", "x", "y", 403,
	  REASON_CREDENTIAL, NULL, NULL },
	{ "gemini.test", "/?$key=foreign", "x", "y", 403, REASON_CREDENTIAL,
	  NULL, NULL },
	{ "github.com", "/?keys=a&tokens=b&monkey=c", "x", "y", 0, 0, "y",
	  "/?keys=a&tokens=b&monkey=c" },
	/* T2, H15: cookies are credentials, too */
	{ "api.github.com", "/user", "cookie", "session=foreign", 0, 0, NULL,
	  "/user" },
	{ "api.github.com", "/user", "proxy-authorization", "Basic x", 0, 0,
	  NULL, "/user" },
	{ "loose.test", "/", "cookie", "a=b", 0, 0, "a=b", "/" },
};

static void check_row(const struct world *w, size_t i)
{
	const struct row *row = &rows[i];
	char value[1024], path[1024], want[1024];
	struct asked a;
	int status;

	expand(w, row->value, value, sizeof(value));
	fill(w, row->path, path, sizeof(path));
	asked_head(&a, row->host, "GET", path);
	asked_field(&a, row->field, value);
	status = asked_begin(&a, w);
	is_int(status, row->status, "row %zu: %s %s", i, row->host, row->value);
	if (row->status) {
		is_str(reason_code(a.r.verdict.reason),
		       reason_code(row->reason), "row %zu: why", i);
		ok(!a.r.verdict.allow &&
			   a.r.canary == (row->reason == REASON_CANARY),
		   "row %zu: the canary", i);
	} else {
		if (row->want)
			expand(w, row->want, want, sizeof(want));
		is_str(asked_value(&a, row->field), row->want ? want : NULL,
		       "row %zu: %s", i, row->field);
		is_str(asked_path(&a), row->want_path, "row %zu: path", i);
		ok(a.r.verdict.allow, "row %zu: allowed", i);
	}
	asked_done(&a);
}

static void test_marks(const struct world *w)
{
	char token[SURROGATE_MAX], text[256];
	const struct ifield *f;
	struct asked a;

	surrogate_of(w->secrets, "github", SURROGATE_EPOCH, 299, token);
	snprintf(text, sizeof(text), "Bearer %s", token);
	asked_head(&a, "api.github.com", "GET", "/user");
	asked_field(&a, "authorization", text);
	asked_field(&a, "accept-encoding", "gzip, br");
	asked_field(&a, "range", "bytes=0-1");
	is_int(asked_begin(&a, w), 0, "one of the last epoch");
	f = ihead_find(&a.h, "authorization", 0);
	ok(f && f->sensitive, "is marked");
	is_str(asked_value(&a, "accept-encoding"), "identity",
	       "the answer is to be readable");
	ok(!ihead_find(&a.h, "range", 0),
	   "nor can it be asked for in pieces that show no secret");
	ok(a.r.secret && a.r.mask, "secret and mask");
	is_str(a.r.credential, "github", "its id, for the audit");
	asked_done(&a);

	surrogate_of(w->secrets, "query", SURROGATE_EPOCH, 299, token);
	snprintf(text, sizeof(text), "/?tok=%s", token);
	asked_head(&a, "query.test", "GET", text);
	ok(asked_begin(&a, w) == 0 && a.h.path_sensitive,
	   "so is a path with one");
	asked_done(&a);

	asked_head(&a, "open.test", "GET", "/");
	asked_field(&a, "x-note", token);
	a.h.fields[0].sensitive = true;
	ok(asked_begin(&a, w) == 403 && a.r.canary,
	   "a client's own mark (HPACK, never indexed) hides nothing");
	asked_done(&a);

	asked_head(&a, "github.com", "GET", "/");
	asked_field(&a, "authorization", "Bearer a");
	asked_field(&a, "authorization", "Bearer b");
	is_int(asked_begin(&a, w), 400, "19: two of them");
	asked_done(&a);
}

/* Words in that shape without end: the work is bounded. */
static void test_flood(const struct world *w)
{
	static char big[SURROGATE_CHECKS_MAX * 42];
	struct asked a;
	size_t n = 0;

	while (n + 41 < sizeof(big)) {
		/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes */
		memcpy(big + n, "ghp_", 4);
		memset(big + n + 4, 'a', 36);
		big[n + 40] = ' ';
		n += 41;
	}
	asked_head(&a, "open.test", "GET", "/");
	asked_field(&a, "x", big);
	is_int(asked_begin(&a, w), 403, "too many words to look at");
	asked_done(&a);
}

static void test_sigv4(const struct world *w)
{
	char token[SURROGATE_MAX], text[512];
	struct asked a;

	surrogate_of(w->secrets, "aws", SURROGATE_RUN, 0, token);
	for (unsigned i = 0; i < 5; i++) {
		snprintf(text, sizeof(text),
			 "AWS4-HMAC-SHA256 Credential=%s/20150830/%s/%s/"
			 "aws4_request, SignedHeaders=host;x-amz-date, "
			 "Signature=00",
			 i == 1 ? "AKIAFOREIGN" : token,
			 i == 2 ? "us-east-1" : "eu-west-1",
			 i == 4 ? "sts" : "s3");
		asked_head(&a, "s3.test", i == 3 ? "PUT" : "GET", "/b/k");
		asked_field(&a, "authorization", text);
		asked_field(&a, "x-amz-date", "20150830T123600Z");
		a.h.has_body = i == 3;
		is_int(asked_begin(&a, w), i == 1 || i == 2 || i == 4 ? 403 : 0,
		       "SigV4 %u", i);
		if (i == 0)
			ok(strstr(asked_value(&a, "authorization"),
				  "Credential=AKIAREAL/20150830/eu-west-1/"),
			   "signed by the real key");
		if (i == 1 || i == 2 || i == 4)
			is_int(a.r.verdict.reason, REASON_CREDENTIAL, "why");
		if (i == 3) {
			ok(a.r.hold && ireq_body(&a.r, slice_str("x")) == 0,
			   "with a body: held");
			is_int(ireq_body_end(&a.r), 0, "and signed");
			ok(strstr(asked_value(&a, "authorization"), "AKIAREAL"),
			   "when all of it is there");
		}
		asked_done(&a);
	}
}

int main(void)
{
	struct world w;

	if (world_init(&w)) {
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
			check_row(&w, i);
		test_marks(&w);
		test_flood(&w);
		test_sigv4(&w);
	}
	world_done(&w);
	return done_testing();
}
