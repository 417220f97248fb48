/* SPDX-License-Identifier: Apache-2.0 */
/*
 * surrogate.c - surrogates of real tokens, worthless outside one sandbox
 *
 * Theory of operation: the bytes of a body are read as one big-endian number
 * and written in base 62, with leading zeros up to the length of the shape. A
 * number too large for the bytes is refused, so each surrogate has one
 * spelling. vault/PROTOCOL, 1.
 */
#include "vault/surrogate.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#define MAC_MAX crypto_generichash_BYTES_MAX
#define BODY_MAX (SURROGATE_NONCE + MAC_MAX)
#define LIFE_BIT 0x80u /* in the first byte of a nonce: SURROGATE_RUN */
#define NO_EPOCH UINT64_MAX /* the epoch of those without a time */
/* Up to three hours back, an expired surrogate is told from a forged one. */
#define EPOCHS_PAST 36u

static_assert(SURROGATE_KEY_LEN >= crypto_generichash_KEYBYTES_MIN &&
		      SURROGATE_KEY_LEN <= crypto_generichash_KEYBYTES_MAX,
	      "a key of ours is one of BLAKE2b");

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "abcdefghijklmnopqrstuvwxyz";

struct shape {
	const char *name, *prefix;
	uint8_t chars; /* after the prefix */
	uint8_t bytes; /* bytes that fit into @chars, at most BODY_MAX */
};

/* {"alg":"HS256"}.{"exp":4102444800}. : the first second of 2100 */
#define JWT                     \
	"eyJhbGciOiJIUzI1NiJ9." \
	"eyJleHAiOjQxMDI0NDQ4MDB9."

/* bytes: chars * log2(62) / 8, rounded down. */
static const struct shape shapes[SECRET_KINDS] = {
	[SECRET_GENERIC] = { "generic", "", 43, 32 },
	[SECRET_GITHUB] = { "github", "ghp_", 36, 26 },
	[SECRET_GITLAB] = { "gitlab", "glpat-", 20, 14 },
	[SECRET_NPM] = { "npm", "npm_", 36, 26 },
	[SECRET_PYPI] = { "pypi", "pypi-", 80, 59 },
	[SECRET_ANTHROPIC] = { "anthropic", "sk-ant-api03-", 95, 69 },
	[SECRET_OPENAI] = { "openai", "sk-proj-", 48, 35 },
	[SECRET_GEMINI] = { "gemini", "AIza", 35, 26 },
	[SECRET_AWS] = { "aws", "", 40, 29 },
	[SECRET_ANTHROPIC_LOGIN] = { "anthropic-login", "sk-ant-oat01-", 95,
				     69 },
	[SECRET_OPENAI_LOGIN] = { "openai-login", JWT, 43, 32 },
	[SECRET_GOOGLE_LOGIN] = { "google-login", "ya29.", 80, 59 },
};

static const struct shape *shape_of(enum secret_kind k)
{
	return (unsigned int)k < SECRET_KINDS ? &shapes[k] :
						&shapes[SECRET_GENERIC];
}

const char *secret_kind_name(enum secret_kind k)
{
	return shape_of(k)->name;
}

int secret_kind_parse(const char *name, enum secret_kind *ret)
{
	unsigned int k;

	for (k = 0; k < SECRET_KINDS; k++) {
		if (strcmp(shapes[k].name, name) != 0)
			continue;
		*ret = (enum secret_kind)k;
		return 0;
	}
	return -ENOENT;
}

size_t surrogate_length(enum secret_kind k)
{
	return strlen(shape_of(k)->prefix) + shape_of(k)->chars;
}

void surrogate_key_derive(const uint8_t master[SURROGATE_KEY_LEN],
			  const char *sandbox, struct surrogate_key *ret)
{
	static const uint8_t label[] = "ac surrogate key"; /* with its NUL */
	crypto_generichash_state st;

	(void)crypto_generichash_init(&st, master, SURROGATE_KEY_LEN,
				      sizeof(ret->k));
	(void)crypto_generichash_update(&st, label, sizeof(label));
	(void)crypto_generichash_update(&st, (const uint8_t *)sandbox,
					strlen(sandbox));
	(void)crypto_generichash_final(&st, ret->k, sizeof(ret->k));
	sodium_memzero(&st, sizeof(st));
}

/* ---- base 62 ---- */

/* Does the same work for every input of a length: shifts each digit into the
 * whole number. */
static int base62_get(const uint8_t *in, size_t chars, uint8_t *out,
		      size_t bytes)
{
	size_t i, j;
	int bad = 0;

	memset(out, 0, bytes);
	for (i = 0; i < chars; i++) {
		const char *at = in[i] ? strchr(digits, in[i]) : NULL;
		unsigned int carry = at ? (unsigned int)(at - digits) : 0;

		bad |= !at;
		for (j = bytes; j-- > 0;) {
			carry += out[j] * 62u;
			out[j] = (uint8_t)carry;
			carry >>= 8;
		}
		bad |= carry != 0;
	}
	return bad ? -EBADMSG : 0;
}

/* Destroys @in. */
static void base62_put(uint8_t *in, size_t bytes, char *out, size_t chars)
{
	size_t j;

	while (chars-- > 0) {
		unsigned int rest = 0;

		for (j = 0; j < bytes; j++) {
			rest = rest << 8 | in[j];
			in[j] = (uint8_t)(rest / 62u);
			rest %= 62u;
		}
		out[chars] = digits[rest];
	}
}

/* ---- the MAC ---- */

static void mac_make(const struct surrogate_key *key, const char *id,
		     uint64_t epoch, const uint8_t nonce[SURROGATE_NONCE],
		     uint8_t *ret, size_t len)
{
	crypto_generichash_state st;
	uint8_t full[MAC_MAX], time[8];
	size_t i;

	for (i = 0; i < sizeof(time); i++)
		time[i] = (uint8_t)(epoch >> (8 * (sizeof(time) - 1 - i)));
	(void)crypto_generichash_init(&st, key->k, sizeof(key->k),
				      sizeof(full));
	(void)crypto_generichash_update(&st, (const uint8_t *)id,
					strlen(id) + 1);
	(void)crypto_generichash_update(&st, time, sizeof(time));
	(void)crypto_generichash_update(&st, nonce, SURROGATE_NONCE);
	(void)crypto_generichash_final(&st, full, sizeof(full));
	memcpy(ret, full, len);
	sodium_memzero(&st, sizeof(st));
	sodium_memzero(full, sizeof(full));
}

static bool id_valid(const char *id)
{
	return id[0] && strnlen(id, SURROGATE_ID_MAX + 1) <= SURROGATE_ID_MAX;
}

int surrogate_mint(const struct surrogate_key *key, const char *id,
		   enum secret_kind kind, enum surrogate_life life,
		   uint64_t now, const uint8_t nonce[SURROGATE_NONCE],
		   char ret[SURROGATE_MAX])
{
	const struct shape *s = shape_of(kind);
	const size_t prefix = strlen(s->prefix);
	uint64_t epoch = now / SURROGATE_STEP;
	uint8_t body[BODY_MAX];

	if (!id_valid(id))
		return -EINVAL;
	memcpy(body, nonce, SURROGATE_NONCE);
	body[0] &= (uint8_t)~LIFE_BIT;
	if (life == SURROGATE_RUN) {
		body[0] |= LIFE_BIT;
		epoch = NO_EPOCH;
	}
	mac_make(key, id, epoch, body, body + SURROGATE_NONCE,
		 s->bytes - SURROGATE_NONCE);
	memcpy(ret, s->prefix, prefix);
	base62_put(body, s->bytes, ret + prefix, s->chars);
	ret[prefix + s->chars] = '\0';
	return 0;
}

static bool body_is_of(const struct surrogate_key *key, const char *id,
		       uint64_t epoch, const uint8_t *body, size_t len)
{
	uint8_t mac[MAC_MAX];

	len -= SURROGATE_NONCE;
	mac_make(key, id, epoch, body, mac, len);
	return sodium_memcmp(mac, body + SURROGATE_NONCE, len) == 0;
}

int surrogate_check(const struct surrogate_key *key, const char *id,
		    enum secret_kind kind, struct slice text, uint64_t now)
{
	const struct shape *s = shape_of(kind);
	const size_t prefix = strlen(s->prefix);
	const uint64_t epoch = now / SURROGATE_STEP;
	uint8_t body[BODY_MAX];
	bool live, past = false;
	uint64_t ago;

	if (!id_valid(id) || text.len != prefix + s->chars ||
	    memcmp(text.ptr, s->prefix, prefix) != 0 ||
	    base62_get(text.ptr + prefix, s->chars, body, s->bytes) < 0)
		return -EACCES;
	if (body[0] & LIFE_BIT)
		return body_is_of(key, id, NO_EPOCH, body, s->bytes) ? 0 :
								       -EACCES;
	live = body_is_of(key, id, epoch, body, s->bytes);
	if (epoch > 0)
		live |= body_is_of(key, id, epoch - 1, body, s->bytes);
	if (live)
		return 0;
	for (ago = 2; ago < EPOCHS_PAST && ago <= epoch; ago++)
		past |= body_is_of(key, id, epoch - ago, body, s->bytes);
	return past ? -ETIME : -EACCES;
}

/* ---- finding them ---- */

static bool is_digit(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z');
}

static size_t run_length(struct slice text, size_t at, size_t max)
{
	size_t n = 0;

	while (n < max && at + n < text.len && is_digit(text.ptr[at + n]))
		n++;
	return n;
}

static ssize_t find_run(struct slice text, size_t at, size_t want)
{
	/* within a run that began before @at: skip the run */
	if (at > 0 && at <= text.len && is_digit(text.ptr[at - 1]))
		at += run_length(text, at, text.len);
	while (at < text.len) {
		size_t n = run_length(text, at, text.len);

		if (n == want)
			return (ssize_t)at;
		at += n + 1;
	}
	return -1;
}

ssize_t surrogate_find(enum secret_kind kind, struct slice text, size_t from)
{
	const struct shape *s = shape_of(kind);
	const size_t prefix = strlen(s->prefix);
	const uint8_t *at;

	if (prefix == 0)
		return find_run(text, from, s->chars);
	/* What follows is ignored: otherwise more letters would hide it. */
	while (from < text.len) {
		at = memmem(text.ptr + from, text.len - from, s->prefix,
			    prefix);
		if (!at)
			break;
		from = (size_t)(at - text.ptr);
		if (run_length(text, from + prefix, s->chars) == s->chars)
			return (ssize_t)from;
		from++;
	}
	return -1;
}
