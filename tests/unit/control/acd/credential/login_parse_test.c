/* SPDX-License-Identifier: Apache-2.0 */
/*
 * login_parse_test.c - files of clients, answers of token endpoints
 */
#include "control/acd/credential/login_parse.h"

#include <stdlib.h>

#include "lib/str.h"
#include "tests/unit/tap.h"

#define NOW 1800000000u
#define DAY 86400u
/* {"exp":1800864000,"iat":1799999000,"https://api.openai.com/auth":
 *  {"chatgpt_account_id":"acc-1","chatgpt_plan_type":"plus"}} */
#define JWT                                                                    \
	"eyJhbGciOiJSUzI1NiJ9."                                                \
	"eyJleHAiOjE4MDA4NjQwMDAsImlhdCI6MTc5OTk5OTAwMCwiaHR0cHM6Ly9hcGkub3Bl" \
	"bmFpLmNvbS9hdXRoIjp7ImNoYXRncHRfYWNjb3VudF9pZCI6ImFjYy0xIiwiY2hhdGdw" \
	"dF9wbGFuX3R5cGUiOiJwbHVzIn19.c2ln"
#define OPENAI(access, more)                                              \
	"{\"OPENAI_API_KEY\":null,\"tokens\":{\"access_token\":\"" access \
	"\",\"refresh_token\":\"rt-0123\"" more "},\"last_refresh\":\"x\"}"
#define GOOGLE(more)                                                    \
	"{\"access_token\":\"ya29.0123456789\",\"refresh_token\":\"1//" \
	"r\"" more "}"
#define ANSWER(more) "{\"access_token\":\"access-2-0123\"" more "}"

static const struct {
	enum secret_kind kind;
	const char *text;
	const char *why; /* NULL: it is read */
	uint64_t ends;
	const char *account, *plan;
} files[] = {
	{ SECRET_OPENAI_LOGIN, OPENAI(JWT, ""), NULL, 1800864000, "acc-1",
	  "plus" },
	{ SECRET_OPENAI_LOGIN,
	  OPENAI("opaque-0123", ",\"id_token\":\"" JWT "\""), NULL, NOW + 3600,
	  "acc-1", "plus" },
	{ SECRET_OPENAI_LOGIN, OPENAI(JWT, ",\"account_id\":\"acc-2\""), NULL,
	  1800864000, "acc-2", "plus" },
	/* What is no JWT has no claims. */
	{ SECRET_OPENAI_LOGIN, OPENAI("a.b.c.d-0123", ""), NULL, NOW + 3600, "",
	  "" },
	{ SECRET_OPENAI_LOGIN, OPENAI("aaaa.!!!!.cccc", ""), NULL, NOW + 3600,
	  "", "" },
	{ SECRET_GOOGLE_LOGIN, GOOGLE(",\"expiry_date\":1800000060000"), NULL,
	  NOW + 60, "", "" },
	{ SECRET_GOOGLE_LOGIN, GOOGLE(""), NULL, NOW + 3600, "", "" },
	{ SECRET_GOOGLE_LOGIN, GOOGLE(",\"expiry_date\":18446744073709551615"),
	  NULL, NOW + LOGIN_LIFE_MAX, "", "" },
	{ SECRET_GOOGLE_LOGIN, GOOGLE(",\"scope\":[\"a b\",{}]"), NULL,
	  NOW + 3600, "", "" },
	/* refused */
	{ SECRET_GOOGLE_LOGIN, "", "--from-file ~/.gemini", 0, NULL, NULL },
	{ SECRET_OPENAI_LOGIN, "sk-proj-1", "--from-file ~/.codex", 0, NULL,
	  NULL },
	{ SECRET_OPENAI_LOGIN, "[]", "--from-file", 0, NULL, NULL },
	{ SECRET_OPENAI_LOGIN, "{\"tokens\":null}", "log in again", 0, NULL,
	  NULL },
	{ SECRET_OPENAI_LOGIN, "{\"OPENAI_API_KEY\":\"sk-1\"}", "with a key", 0,
	  NULL, NULL },
	{ SECRET_OPENAI_LOGIN, "{\"tokens\":{},\"tokens\":{}}", "--from-file",
	  0, NULL, NULL },
	{ SECRET_OPENAI_LOGIN, OPENAI("a b-0123456", ""), "--from-file", 0,
	  NULL, NULL },
	{ SECRET_OPENAI_LOGIN, OPENAI("a\\\"b-0123456", ""), "--from-file", 0,
	  NULL, NULL },
	{ SECRET_OPENAI_LOGIN, OPENAI("a\\u0000b-0123456", ""), "--from-file",
	  0, NULL, NULL },
	{ SECRET_OPENAI_LOGIN, OPENAI("short", ""), "log in again", 0, NULL,
	  NULL },
	{ SECRET_OPENAI_LOGIN, OPENAI(JWT, ",\"account_id\":7"), "--from-file",
	  0, NULL, NULL },
	{ SECRET_GOOGLE_LOGIN, "{\"access_token\":\"ya29.0123456789\"}",
	  "no access token with a refresh", 0, NULL, NULL },
	{ SECRET_GOOGLE_LOGIN, GOOGLE(",\"expiry_date\":-1"), "--from-file", 0,
	  NULL, NULL },
	{ SECRET_GOOGLE_LOGIN, GOOGLE("") " x", "--from-file", 0, NULL, NULL },
};

static void test_files(void)
{
	static struct login_tokens t;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct err err = { 0 };
		int rc = login_file_read(
			files[i].kind, slice_str(files[i].text), NOW, &t, &err);

		if (files[i].why) {
			ok(rc == -EINVAL && strstr(err.msg, files[i].why),
			   "file %zu: %s", i, err.msg);
			continue;
		}
		if (!is_int(rc, 0, "file %zu: %s", i, err.msg))
			continue;
		is_int((long long)t.login.ends, (long long)files[i].ends,
		       "its end");
		is_str(t.login.account, files[i].account, "its account");
		is_str(t.login.plan, files[i].plan, "its plan");
	}
}

static void test_long_file(void)
{
	static struct login_tokens t;
	char *text = calloc(1, LOGIN_FILE_MAX + 2);
	struct err err = { 0 };

	if (!text)
		return;
	snprintf(text, LOGIN_FILE_MAX, "%s", GOOGLE(""));
	memset(text + strlen(text), ' ', LOGIN_FILE_MAX + 1 - strlen(text));
	is_int(login_file_read(SECRET_GOOGLE_LOGIN,
			       slice_of(text, LOGIN_FILE_MAX), NOW, &t, &err),
	       0, "the longest: %s", err.msg);
	is_int(login_file_read(SECRET_GOOGLE_LOGIN,
			       slice_of(text, LOGIN_FILE_MAX + 1), NOW, &t,
			       &err),
	       -EINVAL, "a longer one");
	free(text);
}

static const struct {
	long status;
	const char *body;
	enum login_verdict want;
	const char *word, *refresh;
	uint64_t ends;
} answers[] = {
	{ 200, ANSWER(",\"expires_in\":600,\"token_type\":\"bearer\""),
	  LOGIN_NEW, "", "", NOW + 600 },
	{ 200, ANSWER(",\"refresh_token\":\"rt-2\""), LOGIN_NEW, "", "rt-2",
	  NOW + 3600 },
	{ 200, "{\"access_token\":\"" JWT "\"}", LOGIN_NEW, "", "",
	  1800864000 },
	{ 200, ANSWER(",\"expires_in\":0"), LOGIN_NEW, "", "", NOW },
	{ 200, ANSWER(",\"expires_in\":99999999999"), LOGIN_NEW, "", "",
	  NOW + LOGIN_LIFE_MAX },
	/* nothing usable */
	{ 200, "", LOGIN_AGAIN, "", "", 0 },
	{ 200, "{}", LOGIN_AGAIN, "", "", 0 },
	{ 200, "<html>", LOGIN_AGAIN, "", "", 0 },
	{ 200, ANSWER(",\"expires_in\":\"600\""), LOGIN_AGAIN, "", "", 0 },
	{ 200, ANSWER(",\"expires_in\":1.5"), LOGIN_AGAIN, "", "", 0 },
	{ 200, ANSWER(",\"token_type\":\"mac\""), LOGIN_AGAIN, "", "", 0 },
	{ 200, ANSWER(",\"access_token\":\"access-3-0123\""), LOGIN_AGAIN, "",
	  "", 0 },
	{ 200, ANSWER(",\"refresh_token\":\"a b\""), LOGIN_AGAIN, "", "", 0 },
	{ 200, "{\"access_token\":\"line\\nHost: evil\"}", LOGIN_AGAIN, "", "",
	  0 },
	{ 302, ANSWER(""), LOGIN_AGAIN, "", "", 0 },
	{ 500, ANSWER(""), LOGIN_AGAIN, "", "", 0 },
	{ 503, "{\"error\":\"invalid_grant\"}", LOGIN_AGAIN, "", "", 0 },
	{ 429, "{\"error\":\"slow_down\"}", LOGIN_AGAIN, "slow_down", "", 0 },
	/* over */
	{ 400, "{\"error\":\"invalid_grant\",\"error_description\":\"x\"}",
	  LOGIN_OVER, "invalid_grant", "", 0 },
	{ 401, "{\"error\":{\"code\":\"refresh_token_reused\",\"message\":{}}}",
	  LOGIN_OVER, "refresh_token_reused", "", 0 },
	/* refused otherwise: a login is not over for that */
	{ 400, "{\"error\":\"invalid_client\"}", LOGIN_REFUSED,
	  "invalid_client", "", 0 },
	{ 401, "", LOGIN_REFUSED, "", "", 0 },
	{ 403, "{\"error\":\"\\u001b[31mred\"}", LOGIN_REFUSED, "", "", 0 },
	{ 400, "{\"error\":[[\"invalid_grant\"]]}", LOGIN_REFUSED, "", "", 0 },
	{ 400, "{\"error\":\"invalid_grant\",\"error\":\"x\"}", LOGIN_REFUSED,
	  "", "", 0 },
	{ 404, "not found", LOGIN_REFUSED, "", "", 0 },
};

static void test_answers(void)
{
	static struct login_answer a;

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		login_answer_read(SECRET_OPENAI_LOGIN, answers[i].status,
				  slice_str(answers[i].body), NOW, &a);
		if (!is_int(a.verdict, answers[i].want, "answer %zu", i))
			continue;
		is_str(a.word, answers[i].word, "its word");
		is_str(a.t.login.refresh, answers[i].refresh,
		       "its refresh token");
		is_int((long long)a.t.login.ends, (long long)answers[i].ends,
		       "its end");
	}
}

int main(void)
{
	test_files();
	test_long_file();
	test_answers();
	return done_testing();
}
