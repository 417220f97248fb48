/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_test.c - what may be kept in the vault
 */
#include "vault/token.h"

#include "tests/unit/tap.h"

static void test_guess(void)
{
	static const struct {
		const char *value;
		int kind; /* -1: none */
	} rows[] = {
		{ "github_pat_11AAA", SECRET_GITHUB },
		{ "ghs_abc", SECRET_GITHUB },
		{ "ghp_abc", SECRET_GITHUB },
		{ "glpat-abc", SECRET_GITLAB },
		{ "npm_abc", SECRET_NPM },
		{ "pypi-abc", SECRET_PYPI },
		{ "sk-ant-api03-abc", SECRET_ANTHROPIC },
		{ "sk-ant-oat01-abc", SECRET_ANTHROPIC_LOGIN },
		{ "sk-proj-abc", SECRET_OPENAI },
		{ "AIzaabc", SECRET_GEMINI },
		{ "hunter2", -1 },
		{ "", -1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum secret_kind kind = SECRET_KINDS;
		int rc = token_guess(slice_str(rows[i].value), &kind);

		is_int(rc == 0 ? (int)kind : -1, rows[i].kind, "'%s'",
		       rows[i].value);
	}
}

static void test_check(void)
{
	static const struct {
		enum secret_kind kind;
		const char *value;
		bool allow;
		int want;
	} rows[] = {
		{ SECRET_GITHUB, "github_pat_11AAA", false, 0 },
		{ SECRET_GITHUB, "ghs_abcd", false, 0 },
		{ SECRET_GITHUB, "ghu_abcd", false, 0 },
		{ SECRET_GITHUB, "ghp_abcd", false, -EACCES },
		{ SECRET_GITHUB, "gho_abcd", false, -EACCES },
		{ SECRET_GITHUB, "ghp_abcd", true, 0 },
		{ SECRET_GITHUB, "0123456789abcdef", false, 0 },
		{ SECRET_GITLAB, "github_pat_1", false, -EINVAL },
		{ SECRET_ANTHROPIC, "sk-anyone", false, 0 },
		{ SECRET_OPENAI, "sk-ant-abc", false, -EINVAL },
		{ SECRET_ANTHROPIC_LOGIN, "sk-ant-oat01-abc", false, 0 },
		{ SECRET_ANTHROPIC_LOGIN, "sk-ant-api03-abc", false, -EINVAL },
		{ SECRET_ANTHROPIC, "sk-ant-oat01-abc", false, -EINVAL },
		{ SECRET_GENERIC, "glpat-abc", false, 0 },
		{ SECRET_GENERIC, "two words", false, 0 },
		{ SECRET_GENERIC, "ghp_abcd", false, -EACCES },
		{ SECRET_GENERIC, "ghp_abcd", true, 0 },
		{ SECRET_GITLAB, "gho_abcd", false, -EACCES },
		{ SECRET_GITLAB, "gho_abcd", true, -EINVAL },
		{ SECRET_GENERIC, "1234567", false, -EINVAL },
		{ SECRET_GENERIC, "12345678", false, 0 },
		{ SECRET_GENERIC, "", false, -EINVAL },
		{ SECRET_GENERIC, " abcdefgh", false, -EINVAL },
		{ SECRET_GENERIC, "abcdefgh ", false, -EINVAL },
		{ SECRET_GENERIC, "abcd\nefgh", false, -EINVAL },
		{ SECRET_GENERIC, "abcd\tefgh", false, -EINVAL },
		{ SECRET_GENERIC, "abcdefgh\x7f", false, -EINVAL },
		{ SECRET_GENERIC, "-----BEGIN OPENSSH PRIVATE KEY-----", true,
		  -EINVAL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };
		bool classic;

		is_int(token_check(rows[i].kind, slice_str(rows[i].value),
				   rows[i].allow, &classic, &err),
		       rows[i].want, "row %zu as %d: %s", i, rows[i].kind,
		       err.msg);
		ok(err.code == 0 || strlen(rows[i].value) < 4 ||
			   !strstr(err.msg, rows[i].value),
		   "its message does not tell it");
	}
}

static void test_trim(void)
{
	static const char *const rows[][2] = {
		{ "a\n", "a" },     { "a\r\n", "a" }, { "a", "a" },
		{ "a\n\n", "a\n" }, { "\n", "" },     { "", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		ok(slice_eq(token_trim(slice_str(rows[i][0])),
			    slice_str(rows[i][1])),
		   "row %zu", i);
}

int main(void)
{
	test_guess();
	test_check();
	test_trim();
	return done_testing();
}
