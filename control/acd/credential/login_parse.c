/* SPDX-License-Identifier: Apache-2.0 */
/*
 * login_parse.c - reads logins: the files of clients, answers of token endpoints
 *
 * Theory of operation: a table lists the members that matter of each object, by
 * which one function reads them all. OpenAI's tokens are JWTs whose claims tell
 * when they end and whose they are; they are taken as a hint, unverified, and a
 * token that is none has no claims.
 */
#include "control/acd/credential/login_parse.h"

#include <sodium.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "lib/jsonr.h"

#define MEMBERS_MAX 64u /* of an object that matters */
#define CLAIMS_MAX VSTORE_VALUE_MAX /* bytes of a JWT's claims */

struct member {
	const char *name;
	/* Takes the value. NULL: a text, for the @size bytes at @at. */
	int (*read)(struct jsonr *j, void *to);
	size_t at, size;
};

/* ---- objects ---- */

/* Null is as if there were none. */
static int take_text(struct jsonr *j, char *out, size_t size)
{
	struct slice raw;
	ssize_t n;

	if (jsonr_peek(j) == JSONR_NULL)
		return jsonr_skip(j);
	if (jsonr_string(j, &raw) < 0)
		return -EBADMSG;
	n = jsonr_unescape(raw, out, size - 1);
	if (n < 0 || memchr(out, '\0', (size_t)n))
		return -EBADMSG;
	out[n] = '\0';
	return vstore_token_ok(out, size - 1) ? 0 : -EBADMSG;
}

static const struct member *member_of(const struct member *m, size_t n,
				      struct slice key)
{
	for (size_t i = 0; i < n; i++)
		if (jsonr_is(key, m[i].name))
			return &m[i];
	return NULL;
}

/* Reads an object by the table @m of @n, at most 32, members. */
static int take_object(struct jsonr *j, const struct member *m, size_t n,
		       void *to)
{
	unsigned seen = 0, all = 0;
	struct slice key;
	int rc = jsonr_open(j, '{'), next = 0;

	while (rc == 0 && (next = jsonr_next(j, &key)) == 1) {
		const struct member *is = member_of(m, n, key);
		unsigned bit = is ? 1u << (is - m) : 0;

		if (++all > MEMBERS_MAX || seen & bit)
			return -EBADMSG;
		seen |= bit;
		if (!is)
			rc = jsonr_skip(j);
		else if (is->read)
			rc = is->read(j, to);
		else
			rc = take_text(j, (char *)to + is->at, is->size);
	}
	return rc < 0 || next < 0 ? -EBADMSG : 0;
}

static int read_object(struct slice text, const struct member *m, size_t n,
		       void *to)
{
	struct jsonr j;
	int rc;

	jsonr_init(&j, text);
	rc = take_object(&j, m, n, to);
	return rc == 0 ? jsonr_end(&j) : rc;
}

/* ---- the claims of a JWT ---- */

struct claims {
	uint64_t exp, iat;
	char account[128], plan[32];
};

static int claim_exp(struct jsonr *j, void *to)
{
	return jsonr_u64(j, &((struct claims *)to)->exp);
}

static int claim_iat(struct jsonr *j, void *to)
{
	return jsonr_u64(j, &((struct claims *)to)->iat);
}

static int claim_openai(struct jsonr *j, void *to)
{
	static const struct member members[] = {
		{ "chatgpt_account_id", NULL, offsetof(struct claims, account),
		  sizeof(((struct claims *)0)->account) },
		{ "chatgpt_plan_type", NULL, offsetof(struct claims, plan),
		  sizeof(((struct claims *)0)->plan) },
	};

	return take_object(j, members, ARRAY_SIZE(members), to);
}

static const struct member claim_members[] = {
	{ .name = "exp", .read = claim_exp },
	{ .name = "iat", .read = claim_iat },
	{ .name = "https://api.openai.com/auth", .read = claim_openai },
};

/* Reads the claims of @jwt; those of what is no JWT are zero. */
static void claims_read(const char *jwt, struct claims *ret)
{
	const char *from = strchr(jwt, '.');
	const char *to = from ? strchr(from + 1, '.') : NULL;
	char plain[CLAIMS_MAX];
	size_t len = 0;

	*ret = (struct claims){ 0 };
	if (!to || strchr(to + 1, '.') ||
	    sodium_base642bin((uint8_t *)plain, sizeof(plain), from + 1,
			      (size_t)(to - from - 1), NULL, &len, NULL,
			      sodium_base64_VARIANT_URLSAFE_NO_PADDING) < 0)
		return;
	if (read_object(slice_of(plain, len), claim_members,
			ARRAY_SIZE(claim_members), ret) < 0)
		*ret = (struct claims){ 0 };
	sodium_memzero(plain, sizeof(plain));
}

/* ---- what both have ---- */

struct reading {
	char access[VSTORE_VALUE_MAX + 1], id[VSTORE_VALUE_MAX + 1];
	char refresh[VSTORE_REFRESH_MAX + 1], account[128];
	char type[32], word[LOGIN_WORD_MAX + 1];
	uint64_t life, ends_ms; /* 0: unknown */
	bool has_life;
};

#define TEXT(key, field)                                      \
	{                                                     \
		(key), NULL, offsetof(struct reading, field), \
			sizeof(((struct reading *)0)->field)  \
	}

static void claims_use(const struct claims *c, struct vstore_login *l)
{
	if (!*l->account)
		memcpy(l->account, c->account, sizeof(l->account));
	if (!*l->plan)
		memcpy(l->plan, c->plan, sizeof(l->plan));
}

/* Moves what was read to @t. Fails with -EBADMSG without an access token. */
static int tokens_set(enum secret_kind kind, const struct reading *r,
		      uint64_t now, struct login_tokens *t)
{
	struct claims c = { 0 }, id = { 0 };
	struct vstore_login *l = &t->login;

	if (strlen(r->access) < 8)
		return -EBADMSG;
	memcpy(t->access, r->access, sizeof(t->access));
	memcpy(l->refresh, r->refresh, sizeof(l->refresh));
	memcpy(l->account, r->account, sizeof(l->account));
	if (kind == SECRET_OPENAI_LOGIN) {
		claims_read(r->access, &c);
		claims_read(r->id, &id);
		claims_use(&c, l);
		claims_use(&id, l);
		l->since = c.iat <= now ? c.iat : 0;
	}
	if (r->has_life)
		l->ends = now +
			  (r->life < LOGIN_LIFE_MAX ? r->life : LOGIN_LIFE_MAX);
	else
		l->ends = r->ends_ms ? r->ends_ms / 1000 : c.exp;
	if (l->ends == 0)
		l->ends = now + LOGIN_LIFE_DEFAULT;
	if (l->ends > now + LOGIN_LIFE_MAX)
		l->ends = now + LOGIN_LIFE_MAX;
	return 0;
}

/* ---- files ---- */

static int file_openai(struct jsonr *j, void *to)
{
	static const struct member members[] = {
		TEXT("access_token", access),
		TEXT("id_token", id),
		TEXT("refresh_token", refresh),
		TEXT("account_id", account),
	};

	if (jsonr_peek(j) == JSONR_NULL)
		return jsonr_skip(j);
	return take_object(j, members, ARRAY_SIZE(members), to);
}

static int file_ends(struct jsonr *j, void *to)
{
	return jsonr_u64(j, &((struct reading *)to)->ends_ms);
}

static const struct member openai_members[] = {
	{ .name = "tokens", .read = file_openai },
};
static const struct member google_members[] = {
	TEXT("access_token", access),
	TEXT("refresh_token", refresh),
	TEXT("token_type", type),
	{ .name = "expiry_date", .read = file_ends },
};

static int file_read(enum secret_kind kind, struct slice text,
		     struct reading *r)
{
	if (kind == SECRET_OPENAI_LOGIN)
		return read_object(text, openai_members,
				   ARRAY_SIZE(openai_members), r);
	return read_object(text, google_members, ARRAY_SIZE(google_members), r);
}

int login_file_read(enum secret_kind kind, struct slice text, uint64_t now,
		    struct login_tokens *ret, struct err *err)
{
	const char *file = kind == SECRET_OPENAI_LOGIN ?
				   "~/.codex/auth.json" :
				   "~/.gemini/oauth_creds.json";
	struct reading r = { .has_life = false };
	int rc = text.len > LOGIN_FILE_MAX ? -EBADMSG :
					     file_read(kind, text, &r);

	*ret = (struct login_tokens){ 0 };
	if (rc < 0)
		rc = err_set(err, -EINVAL,
			     "that is not what %s has in it: take it with "
			     "--from-file %s",
			     file, file);
	else if (!*r.refresh || tokens_set(kind, &r, now, ret) < 0)
		rc = err_set(err, -EINVAL,
			     "there is no access token with a refresh token in "
			     "it: log in again, with a subscription and not "
			     "with a key; the login is in %s then",
			     file);
	sodium_memzero(&r, sizeof(r));
	return rc;
}

/* ---- answers ---- */

static int answer_life(struct jsonr *j, void *to)
{
	struct reading *r = to;
	int rc = jsonr_u64(j, &r->life);

	r->has_life = rc == 0;
	return rc;
}

static bool is_word(const char *s)
{
	return s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-.")] == '\0';
}

/* A text as RFC 6749 has it, or OpenAI's object with a code. Text that is no
 * word is dropped. */
static int answer_error(struct jsonr *j, void *to)
{
	static const struct member members[] = { TEXT("code", word) };
	struct reading *r = to;
	struct slice raw;
	ssize_t n = -1;

	if (jsonr_peek(j) == JSONR_OBJECT)
		return take_object(j, members, ARRAY_SIZE(members), to);
	if (jsonr_peek(j) != JSONR_STRING)
		return jsonr_skip(j);
	if (jsonr_string(j, &raw) < 0)
		return -EBADMSG;
	n = jsonr_unescape(raw, r->word, sizeof(r->word) - 1);
	r->word[n < 0 ? 0 : n] = '\0';
	return 0;
}

static const struct member answer_members[] = {
	TEXT("access_token", access),
	TEXT("refresh_token", refresh),
	TEXT("id_token", id),
	TEXT("token_type", type),
	{ .name = "expires_in", .read = answer_life },
};
static const struct member error_members[] = {
	{ .name = "error", .read = answer_error },
};

/* Words after which only a new login helps. */
static bool is_over(const char *word)
{
	static const char *const words[] = {
		"invalid_grant",
		"refresh_token_expired",
		"refresh_token_invalidated",
		"refresh_token_reused",
		"refresh_token_revoked",
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(word, words[i]) == 0)
			return true;
	return false;
}

static enum login_verdict judge_error(long status, struct slice body,
				      struct reading *r)
{
	bool read = read_object(body, error_members, ARRAY_SIZE(error_members),
				r) == 0;

	if (!read || !is_word(r->word))
		r->word[0] = '\0';
	if (is_over(r->word))
		return LOGIN_OVER;
	return status == 408 || status == 429 ? LOGIN_AGAIN : LOGIN_REFUSED;
}

static enum login_verdict judge(enum secret_kind kind, long status,
				struct slice body, uint64_t now,
				struct reading *r, struct login_tokens *t)
{
	if (body.len > LOGIN_ANSWER_MAX)
		return LOGIN_AGAIN;
	if (status >= 400 && status < 500)
		return judge_error(status, body, r);
	if (status != 200 ||
	    read_object(body, answer_members, ARRAY_SIZE(answer_members), r) <
		    0 ||
	    (*r->type && strcasecmp(r->type, "bearer") != 0))
		return LOGIN_AGAIN;
	return tokens_set(kind, r, now, t) < 0 ? LOGIN_AGAIN : LOGIN_NEW;
}

void login_answer_read(enum secret_kind kind, long status, struct slice body,
		       uint64_t now, struct login_answer *ret)
{
	struct reading r = { .has_life = false };

	*ret = (struct login_answer){ 0 };
	ret->verdict = judge(kind, status, body, now, &r, &ret->t);
	memcpy(ret->word, r.word, sizeof(ret->word));
	if (ret->verdict != LOGIN_NEW)
		sodium_memzero(&ret->t, sizeof(ret->t));
	sodium_memzero(&r, sizeof(r));
}
