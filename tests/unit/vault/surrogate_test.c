/* SPDX-License-Identifier: Apache-2.0 */
/*
 * surrogate_test.c - shapes, lives and forgeries of surrogates; the grant
 */
#include "tests/unit/tap.h"

#include <sodium.h>

#include "control/cli/core/vault_kind.h"
#include "vault/grant.h"
#include "vault/surrogate.h"

#define NOW UINT64_C(1700000123)

static const uint8_t master[SURROGATE_KEY_LEN] = { 1, 2, 3 };
static const uint8_t nonce[SURROGATE_NONCE] = { 0xff, 0x34, 0x56, 0x78, 0x9a };

static struct surrogate_key key_of(const char *sandbox)
{
	struct surrogate_key key;

	surrogate_key_derive(master, sandbox, &key);
	return key;
}

static bool is_word(const char *s)
{
	return s[strspn(s, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			   "abcdefghijklmnopqrstuvwxyz")] == '\0';
}

static void test_shapes(void)
{
	static const struct {
		enum secret_kind kind;
		const char *name, *prefix;
		size_t rest;
	} rows[] = {
		{ SECRET_GENERIC, "generic", "", 43 },
		{ SECRET_GITHUB, "github", "ghp_", 36 },
		{ SECRET_GITLAB, "gitlab", "glpat-", 20 },
		{ SECRET_NPM, "npm", "npm_", 36 },
		{ SECRET_PYPI, "pypi", "pypi-", 80 },
		{ SECRET_ANTHROPIC, "anthropic", "sk-ant-api03-", 95 },
		{ SECRET_OPENAI, "openai", "sk-proj-", 48 },
		{ SECRET_GEMINI, "gemini", "AIza", 35 },
		{ SECRET_AWS, "aws", "", 40 },
		{ SECRET_ANTHROPIC_LOGIN, "anthropic-login", "sk-ant-oat01-",
		  95 },
		{ SECRET_OPENAI_LOGIN, "openai-login",
		  "eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjQxMDI0NDQ4MDB9.", 43 },
		{ SECRET_GOOGLE_LOGIN, "google-login", "ya29.", 80 },
	};
	const struct surrogate_key key = key_of("otter-1#1");
	size_t i;

	is_int(ARRAY_SIZE(rows), SECRET_KINDS, "a row for each kind");
	is_int(VAULT_KINDS, SECRET_KINDS, "ac knows as many");
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const enum secret_kind k = rows[i].kind;
		const size_t prefix = strlen(rows[i].prefix);
		enum secret_kind parsed = SECRET_KINDS;
		char text[SURROGATE_MAX];

		is_str(secret_kind_name(k), rows[i].name, "its name");
		ok(vault_kind_known(rows[i].name), "which ac knows");
		ok(secret_kind_parse(rows[i].name, &parsed) == 0 && parsed == k,
		   "%s: and back", rows[i].name);
		is_int(surrogate_length(k), prefix + rows[i].rest,
		       "its length");
		is_int(surrogate_mint(&key, "a", k, SURROGATE_EPOCH, NOW, nonce,
				      text),
		       0, "%s: minted", rows[i].name);
		ok(strncmp(text, rows[i].prefix, prefix) == 0 &&
			   strlen(text) == prefix + rows[i].rest &&
			   is_word(text + prefix),
		   "%s: %s", rows[i].name, text);
		is_int(surrogate_check(&key, "a", k, slice_str(text), NOW), 0,
		       "%s: good", rows[i].name);
		is_int(surrogate_find(k, slice_str(text), 0), 0, "%s: found",
		       rows[i].name);
	}
	ok(secret_kind_parse("gitea", &(enum secret_kind){ 0 }) == -ENOENT,
	   "an unknown kind");
}

static void test_life(void)
{
	static const struct {
		int64_t later;
		int want;
	} rows[] = {
		{ 0, 0 },
		{ 300, 0 },
		{ 576, 0 }, /* the last second of the second step */
		{ 577, -ETIME },
		{ 3 * 3600 - 300 - 1, -ETIME },
		{ 3 * 3600 + 300, -EACCES }, /* not told apart any more */
		{ -124, -EACCES }, /* a time to come */
	};
	const struct surrogate_key key = key_of("otter-1#1");
	char text[SURROGATE_MAX], session[SURROGATE_MAX];
	size_t i;

	ok(surrogate_mint(&key, "a", SECRET_GITHUB, SURROGATE_EPOCH, NOW, nonce,
			  text) == 0 &&
		   surrogate_mint(&key, "a", SECRET_GITHUB, SURROGATE_RUN, NOW,
				  nonce, session) == 0,
	   "one with a time, one without");
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const uint64_t then = NOW + (uint64_t)rows[i].later;

		is_int(surrogate_check(&key, "a", SECRET_GITHUB,
				       slice_str(text), then),
		       rows[i].want, "%lld s later", (long long)rows[i].later);
		is_int(surrogate_check(&key, "a", SECRET_GITHUB,
				       slice_str(session), then),
		       0, "that of the session is good");
	}
	ok(strcmp(text, session) != 0, "they differ");
}

static void test_forgery(void)
{
	const struct surrogate_key key = key_of("otter-1#1"),
				   other = key_of("otter-1#2");
	char text[SURROGATE_MAX], bad[SURROGATE_MAX + 1];
	size_t i, refused = 0, len;

	if (!ok(surrogate_mint(&key, "a", SECRET_GITLAB, SURROGATE_EPOCH, NOW,
			       nonce, text) == 0,
		"minted"))
		return;
	len = strlen(text);
	ok(surrogate_check(&other, "a", SECRET_GITLAB, slice_str(text), NOW) ==
		   -EACCES,
	   "of another sandbox");
	ok(surrogate_check(&key, "b", SECRET_GITLAB, slice_str(text), NOW) ==
		   -EACCES,
	   "of another secret");
	ok(surrogate_check(&key, "a", SECRET_GITHUB, slice_str(text), NOW) ==
		   -EACCES,
	   "of another kind");
	ok(surrogate_check(&key, "", SECRET_GITLAB, slice_str(text), NOW) ==
		   -EACCES,
	   "of no secret");
	for (i = 0; i < len; i++) {
		memcpy(bad, text, sizeof(text));
		bad[i] = bad[i] == 'x' ? 'y' : 'x';
		refused += surrogate_check(&key, "a", SECRET_GITLAB,
					   slice_str(bad), NOW) == -EACCES;
	}
	is_int(refused, len, "with any letter changed");
	ok(surrogate_check(&key, "a", SECRET_GITLAB, slice_of(text, len - 1),
			   NOW) == -EACCES,
	   "too short");
	ok(surrogate_check(&key, "a", SECRET_GITLAB, slice_of(NULL, 0), NOW) ==
		   -EACCES,
	   "nothing");
	(void)snprintf(bad, sizeof(bad), "%s0", text);
	ok(surrogate_check(&key, "a", SECRET_GITLAB, slice_str(bad), NOW) ==
		   -EACCES,
	   "too long");
	(void)snprintf(bad, sizeof(bad), "glpat-zzzzzzzzzzzzzzzzzzzz");
	ok(surrogate_check(&key, "a", SECRET_GITLAB, slice_str(bad), NOW) ==
		   -EACCES,
	   "a number past what the bytes hold");
	memcpy(bad, text, len + 1);
	bad[10] = '\0';
	ok(surrogate_check(&key, "a", SECRET_GITLAB, slice_of(bad, len), NOW) ==
		   -EACCES,
	   "with a NUL in it");
	ok(surrogate_mint(&key, "", SECRET_GITLAB, SURROGATE_EPOCH, NOW, nonce,
			  bad) == -EINVAL,
	   "none for no secret");
	memset(bad, 'i', 64);
	bad[64] = '\0';
	ok(surrogate_mint(&key, bad, SECRET_GITLAB, SURROGATE_EPOCH, NOW, nonce,
			  text) == -EINVAL,
	   "none for a name that is too long");
}

static void test_find(void)
{
	static const struct {
		const char *text;
		size_t from;
		enum secret_kind kind;
		int want;
	} rows[] = {
		{ "", 0, SECRET_GITHUB, -1 },
		{ "ghp_", 0, SECRET_GITHUB, -1 },
		{ "ghp_short", 0, SECRET_GITHUB, -1 },
		{ "x ghp_ghp_0123456789012345678901234567890123456", //
		  0, SECRET_GITHUB, 6 },
		{ "ghp_012345678901234567890123456789012345", //
		  0, SECRET_GITHUB, 0 },
		{ "ghp_012345678901234567890123456789012345", //
		  1, SECRET_GITHUB, -1 },
		{ "aghp_012345678901234567890123456789012345zz", //
		  0, SECRET_GITHUB, 1 },
		{ "0123456789012345678901234567890123456789", //
		  0, SECRET_AWS, 0 },
		{ "=0123456789012345678901234567890123456789&", //
		  0, SECRET_AWS, 1 },
		{ "01234567890123456789012345678901234567890", //
		  0, SECRET_AWS, -1 },
		{ "01234567890123456789012345678901234567890", //
		  1, SECRET_AWS, -1 },
		{ "aa 0123456789012345678901234567890123456789", //
		  1, SECRET_AWS, 3 },
		{ "a", 9, SECRET_AWS, -1 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		is_int(surrogate_find(rows[i].kind, slice_str(rows[i].text),
				      rows[i].from),
		       rows[i].want, "in \"%s\" from %zu", rows[i].text,
		       rows[i].from);
}

/* ---- the grant ---- */

static struct grant_secret secrets[] = {
	{ .kind = SECRET_GITHUB,
	  .uses = GRANT_GIT | GRANT_GH,
	  .id = "gh",
	  .user = "x-access-token",
	  .n_hosts = 2,
	  .hosts = { "github.com", "api.github.com" } },
	{ .kind = SECRET_GENERIC, .id = "other" },
};

static bool same_secret(const struct grant_secret *a,
			const struct grant_secret *b)
{
	uint16_t i;

	for (i = 0; i < a->n_hosts && i < b->n_hosts; i++) {
		if (strcmp(a->hosts[i], b->hosts[i]) != 0)
			return false;
	}
	return a->kind == b->kind && a->uses == b->uses &&
	       a->n_hosts == b->n_hosts && strcmp(a->id, b->id) == 0 &&
	       strcmp(a->user, b->user) == 0;
}

static void test_grant(void)
{
	struct grant g = { .key = key_of("s"), .n = 2, .v = secrets };
	struct grant got = { 0 };
	struct buf b;
	size_t cut, refused = 0;

	buf_init(&b, GRANT_MAX);
	is_int(grant_put(&b, &g), 0, "written");
	is_int(grant_get(buf_slice(&b), &got), 0, "read");
	ok(got.n == 2 && memcmp(&got.key, &g.key, sizeof(g.key)) == 0 &&
		   same_secret(&got.v[0], &secrets[0]) &&
		   same_secret(&got.v[1], &secrets[1]),
	   "the same");
	grant_done(&got);
	for (cut = 0; cut < buf_len(&b); cut++)
		refused += grant_get(slice_of(buf_slice(&b).ptr, cut), &got) ==
			   -EBADMSG;
	is_int(refused, buf_len(&b), "cut anywhere: refused");
	ok(buf_put_u8(&b, 0) == 0 && grant_get(buf_slice(&b), &got) == -EBADMSG,
	   "with a byte behind: refused");
	buf_done(&b);
	grant_done(&got);
	g.n = 0;
	buf_init(&b, GRANT_MAX);
	ok(grant_put(&b, &g) == 0 && grant_get(buf_slice(&b), &got) == 0 &&
		   got.n == 0,
	   "of no secret");
	buf_done(&b);
	grant_done(&got);
}

static void test_grant_hostile(void)
{
	static const struct grant_secret rows[] = {
		{ .kind = SECRET_KINDS, .id = "kind" },
		{ .uses = 8, .id = "use" },
		{ .id = "host", .n_hosts = 1, .hosts = { "GitHub.com" } },
		{ .id = "host", .n_hosts = 1, .hosts = { "" } },
		{ .id = "host", .n_hosts = 1, .hosts = { "a\"]\nb" } },
		{ .id = "host", .n_hosts = 1, .hosts = { "a..b" } },
		{ .id = "host", .n_hosts = 1, .hosts = { "a.b." } },
		{ .id = "host", .n_hosts = 1, .hosts = { "-a.b" } },
		{ .id = "user", .user = "a\nb" },
		{ .id = "user", .user = "a:b" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct grant_secret s = rows[i];
		struct grant g = { .n = 1, .v = &s }, got = { 0 };
		struct buf b;

		buf_init(&b, GRANT_MAX);
		ok(grant_put(&b, &g) == 0 &&
			   grant_get(buf_slice(&b), &got) == -EBADMSG,
		   "row %zu, a wrong %s: refused", i, s.id);
		buf_done(&b);
	}
}

int main(void)
{
	if (sodium_init() < 0)
		return 1;
	test_shapes();
	test_life();
	test_forgery();
	test_find();
	test_grant();
	test_grant_hostile();
	return done_testing();
}
