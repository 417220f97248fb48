/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject.c - replaces surrogates in a request by the real credential
 *
 * Theory of operation: every place in which an API may take a credential is
 * checked, and its content judged as one word. Afterwards all that was not
 * replaced is searched for surrogates. One that is left stands where none
 * belongs, which is a sign of an attack. The order matters: a replaced field
 * holds the real value and is not searched.
 */
#include "ottergate/inspect/judge/inject.h"

#include <ctype.h>
#include <sodium.h>
#include <string.h>

#include "ottergate/inspect/judge/inject_impl.h"
#include "ottergate/inspect/judge/sigv4.h"

#define BASIC_MAX 4096u /* bytes of user and password as they come */
#define USER_MAX 64u
#define AS_MAX 256u /* bytes of the name in `as: header-NAME` */

enum word inject_refuse(struct injection *in, enum reason why, int status)
{
	if (in->out.status == 0) {
		in->out.reason = why;
		in->out.status = status;
	}
	return WORD_REFUSED;
}

struct slice inject_value(const struct injection *in)
{
	return slice_of(in->ask->secret->value, in->ask->secret->value_len);
}

const char *inject_as(const struct injection *in, const char *prefix)
{
	const char *as = in->ask->as;
	size_t n = strlen(prefix);

	return as && strncmp(as, prefix, n) == 0 && as[n] ? as + n : NULL;
}

static enum word judge_ours(struct injection *in)
{
	const struct inject_ask *a = in->ask;

	if (!secret_has_host(a->secret, a->host, a->port))
		return inject_refuse(in, REASON_CANARY, 403);
	/* A signing key is never sent: in a field, the readers of the server's
	 * log could see it. */
	if (a->secret->kind == SECRET_AWS && !in->signing)
		return inject_refuse(in, REASON_CANARY, 403);
	if (a->secret->expires && a->secret->expires <= a->now_s)
		return inject_refuse(in, REASON_NO_SECRET, 403);
	return WORD_OURS;
}

enum word inject_judge(struct injection *in, struct slice word)
{
	const struct inject_ask *a = in->ask;
	int rc = -EACCES;

	if (a->secret)
		rc = surrogate_check(a->set->key, a->secret->id,
				     a->secret->kind, word, a->now_s);
	if (rc == 0)
		return judge_ours(in);
	if (rc == -ETIME)
		return inject_refuse(in, REASON_NO_SECRET, 403);
	if (surrogate_seen_of(a->set, word, a->now_s, &in->checks))
		return inject_refuse(in, REASON_CANARY, 403);
	if (!a->exclusive)
		return WORD_OTHER;
	return inject_refuse(in,
			     a->wanted && !a->secret ? REASON_NO_SECRET :
						       REASON_CREDENTIAL,
			     403);
}

/* Sets the field to @text, which has the real value in it. */
static void field_put(struct injection *in, struct ifield *f, const void *text,
		      size_t len)
{
	if (ihead_set(in->h, f, slice_of(text, len)) < 0)
		inject_refuse(in, REASON_NO_MEMORY, 431);
	f->sensitive = f->injected = true;
	in->out.injected = true;
}

/* Sets the field to @before and the value of the credential. */
static void field_replace(struct injection *in, struct ifield *f,
			  struct slice before)
{
	struct slice value = inject_value(in);
	uint8_t *text = malloc(before.len + value.len);

	if (!text) {
		inject_refuse(in, REASON_NO_MEMORY, 503);
		return;
	}
	if (before.len)
		memcpy(text, before.ptr, before.len);
	memcpy(text + before.len, value.ptr, value.len);
	field_put(in, f, text, before.len + value.len);
	sodium_memzero(text, before.len + value.len);
	free(text);
}

/* --- Basic --------------------------------------------------------------- */

/* Returns the user that servers of this kind expect next to a token, or
 * NULL. */
static const char *user_of(const struct injection *in)
{
	const struct secret *s = in->ask->secret;
	const char *as = inject_as(in, "basic-");

	if (as)
		return as;
	if (s->user[0])
		return s->user;
	switch (s->kind) {
	case SECRET_GITHUB:
		return "x-access-token";
	case SECRET_GITLAB:
		return "oauth2";
	case SECRET_PYPI:
		return "__token__";
	default:
		return NULL;
	}
}

static void basic_put(struct injection *in, struct ifield *f, struct slice user,
		      struct slice password)
{
	size_t len = user.len + 1 + password.len;
	size_t room =
		sodium_base64_ENCODED_LEN(len, sodium_base64_VARIANT_ORIGINAL);
	char *plain = malloc(len), *text = malloc(6 + room);

	if (plain && text) {
		memcpy(plain, user.ptr, user.len);
		plain[user.len] = ':';
		if (password.len)
			memcpy(plain + user.len + 1, password.ptr,
			       password.len);
		snprintf(text, 7, "Basic ");
		sodium_bin2base64(text + 6, room, (uint8_t *)plain, len,
				  sodium_base64_VARIANT_ORIGINAL);
		field_put(in, f, text, strlen(text));
		sodium_memzero(plain, len);
		sodium_memzero(text, 6 + room);
	} else {
		inject_refuse(in, REASON_NO_MEMORY, 503);
	}
	free(plain);
	free(text);
}

/* Returns true for a plain name; a user that is kept stands next to the real
 * value. */
static bool is_user(struct slice s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] <= 0x20 || s.ptr[i] >= 0x7f)
			return false;
	}
	return s.len <= USER_MAX;
}

static bool is_no_password(struct slice s)
{
	return s.len == 0 || slice_eq(s, slice_str("x-oauth-basic"));
}

static bool is_live(const struct injection *in, struct slice word)
{
	const struct inject_ask *a = in->ask;

	return a->secret &&
	       surrogate_check(a->set->key, a->secret->id, a->secret->kind,
			       word, a->now_s) == 0;
}

/* Returns true if the client's user may stay, for a server without a user name
 * of its own: it is text from the client and may be another credential. */
static bool may_keep(const struct injection *in, struct slice user)
{
	return is_user(user) && (user.len == 0 || !in->ask->exclusive);
}

/* Judges Basic: the surrogate is the password or, without one, the user. */
static void basic_judge(struct injection *in, struct ifield *f,
			struct slice user, struct slice password)
{
	const char *name;

	if (is_no_password(password) && is_live(in, user)) {
		if (inject_judge(in, user) == WORD_OURS &&
		    inject_belongs(in, PLACE_BASIC, user))
			basic_put(in, f, inject_value(in), password);
		return;
	}
	if (inject_judge(in, is_no_password(password) ? user : password) !=
		    WORD_OURS ||
	    !inject_belongs(in, PLACE_BASIC, user))
		return;
	name = user_of(in);
	if (!name && !may_keep(in, user)) {
		inject_refuse(in, REASON_CREDENTIAL, 403);
		return;
	}
	if (name)
		user = slice_str(name);
	basic_put(in, f, user, inject_value(in));
}

static void basic(struct injection *in, struct ifield *f, struct slice word)
{
	char plain[BASIC_MAX];
	size_t n = 0;
	int rc = sodium_base642bin((uint8_t *)plain, sizeof(plain),
				   (const char *)word.ptr, word.len, NULL, &n,
				   NULL, sodium_base64_VARIANT_ORIGINAL);
	char *colon = rc == 0 && n ? memchr(plain, ':', n) : NULL;

	if (!colon) {
		/* Unreadable: passes unless the rule is exclusive. */
		if (in->ask->exclusive)
			inject_refuse(in, REASON_CREDENTIAL, 403);
		return;
	}
	basic_judge(in, f, slice_of(plain, colon - plain),
		    slice_of(colon + 1, plain + n - colon - 1));
}

/* --- other fields -------------------------------------------------------- */

/* Takes "bearer " or the like, in any case, off the front of @s. */
static bool take_scheme(struct slice *s, const char *scheme)
{
	size_t n = strlen(scheme);
	struct slice taken;

	if (s->len <= n || s->ptr[n] != ' ' ||
	    strncasecmp((const char *)s->ptr, scheme, n) != 0 ||
	    slice_take(s, n, &taken) < 0)
		return false;
	while (s->len && s->ptr[0] == ' ') {
		if (slice_take(s, 1, &taken) < 0)
			return false;
	}
	return true;
}

static void signature(struct injection *in, const struct sigv4_auth *a)
{
	const struct secret *s = in->ask->secret;

	in->signing = true;
	if (inject_judge(in, a->id) != WORD_OURS)
		return;
	in->signing = false;
	/* A key for one region or service must not be used for another, nor for
	 * sts, which answers with other keys. */
	if (s->kind != SECRET_AWS || slice_eq(a->service, slice_str("sts")) ||
	    (s->region[0] && !slice_eq(a->region, slice_str(s->region))) ||
	    (s->service[0] && !slice_eq(a->service, slice_str(s->service))))
		inject_refuse(in, REASON_CREDENTIAL, 403);
	in->out.sign = true;
	in->out.injected = true;
}

/* Written with one blank, whatever the client wrote: the client must not choose
 * the offset of the real value in the field. */
static const char *const schemes[] = {
	[PLACE_BEARER] = "Bearer ",
	[PLACE_TOKEN] = "token ",
	[PLACE_BARE] = "",
};

static void authorization(struct injection *in, struct ifield *f)
{
	struct slice rest = f->value;
	enum place place = PLACE_BARE;
	struct sigv4_auth a;

	if (sigv4_parse(f->value, &a) == 0) {
		signature(in, &a);
		if (in->out.sign)
			f->sensitive = f->injected = true;
		return;
	}
	if (take_scheme(&rest, "Basic")) {
		basic(in, f, rest);
		return;
	}
	if (take_scheme(&rest, "Bearer"))
		place = PLACE_BEARER;
	else if (take_scheme(&rest, "token"))
		place = PLACE_TOKEN;
	if (inject_judge(in, rest) == WORD_OURS &&
	    inject_belongs(in, place, f->name))
		field_replace(in, f, slice_str(schemes[place]));
}

/* Fields that are a credential as a whole. */
static const char *const token_fields[] = {
	"private-token",
	"job-token",
	"deploy-token",
	"x-api-key",
	"api-key",
	"apikey",
	"x-goog-api-key",
	"x-auth-token",
	"x-access-token",
	"x-amz-security-token",
	"x-vault-token",
	"x-gitlab-token",
	"x-github-token",
	"x-auth-key",
	"x-goog-iam-authorization-token",
};

static bool is_token_field(const struct injection *in, const struct ifield *f)
{
	const char *as = inject_as(in, "header-");
	char own[AS_MAX + 1];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(token_fields); i++) {
		if (ihead_is_like(f->name, token_fields[i]))
			return true;
	}
	for (; as && as[n] && n < AS_MAX; n++)
		own[n] = as[n] == '_' ? '-' : (char)tolower((uint8_t)as[n]);
	own[n] = '\0';
	return n && ihead_is_like(f->name, own);
}

static void field(struct injection *in, struct ifield *f)
{
	if (f->value.len == 0)
		return;
	if (slice_eq(f->name, slice_str("authorization")))
		authorization(in, f);
	else if (is_token_field(in, f) &&
		 inject_judge(in, f->value) == WORD_OURS &&
		 inject_belongs(in, PLACE_FIELD, f->name))
		field_replace(in, f, slice_of(NULL, 0));
}

/* Browsers cannot set fields, so OpenAI takes a key as a subprotocol. */
static void subprotocols(struct injection *in)
{
	static const char key[] = "insecure-api-key";
	struct ifield *f = ihead_find(in->h, "sec-websocket-protocol", 0);

	if (f && in->ask->exclusive &&
	    memmem(f->value.ptr, f->value.len, key, sizeof(key) - 1) &&
	    !surrogate_seen_of(in->ask->set, f->value, in->ask->now_s,
			       &in->checks))
		inject_refuse(in, REASON_CREDENTIAL, 403);
}

/* --- canaries ------------------------------------------------------------ */

/* Refuses surrogates that are left over; inject_query() checks the query. */
static void leftovers(struct injection *in)
{
	const struct inject_ask *a = in->ask;
	struct ihead *h = in->h;
	const uint8_t *mark =
		h->path.len ? memchr(h->path.ptr, '?', h->path.len) : NULL;
	size_t len = mark ? (size_t)(mark - h->path.ptr) : h->path.len;
	bool seen = surrogate_seen_of(a->set, slice_of(h->path.ptr, len),
				      a->now_s, &in->checks);

	for (size_t i = 0; i < h->n_fields && !seen; i++) {
		const struct ifield *f = &h->fields[i];

		seen = !f->injected &&
		       (surrogate_seen_of(a->set, f->value, a->now_s,
					  &in->checks) ||
			surrogate_seen_of(a->set, f->name, a->now_s,
					  &in->checks));
	}
	if (seen)
		inject_refuse(in, REASON_CANARY, 403);
}

struct inject_answer inject_credentials(struct ihead *h,
					const struct inject_ask *ask)
{
	struct injection in = {
		.h = h,
		.ask = ask,
		.out = { .reason = REASON_ALLOWED },
		.checks = SURROGATE_CHECKS_MAX,
	};

	ihead_drop(h, "proxy-authorization");
	if (ask->exclusive)
		ihead_drop(h, "cookie");
	/* Which of several counts would be the server's guess. */
	if (ihead_count(h, "authorization") > 1)
		inject_refuse(&in, REASON_BAD_HTTP, 400);
	for (size_t i = 0; i < h->n_fields && in.out.status == 0; i++)
		field(&in, &h->fields[i]);
	if (in.out.status == 0)
		subprotocols(&in);
	if (in.out.status == 0)
		inject_query(&in);
	if (in.out.status == 0)
		leftovers(&in);
	return in.out;
}
