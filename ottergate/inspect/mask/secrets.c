/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secrets.c - the real tokens of one sandbox, in locked memory
 *
 * What is read comes from acd, but is held to the header's form: a fault here
 * would be a credential that goes where nobody wanted it. Messages name the
 * secret and the member, never a value.
 */
#include "ottergate/inspect/mask/secrets.h"

#include <sodium.h>
#include <stdatomic.h>
#include <string.h>

#include "ottergate/policy/ipath.h"
#include "lib/jsonr.h"
#include "ottergate/inspect/mask/mask.h"

static void secret_done(struct secret *s)
{
	sodium_free(s->value);
	mask_unref(s->mask);
	free((void *)(uintptr_t)s->revoked);
}

struct secret_set *secret_set_ref(struct secret_set *s)
{
	if (s)
		atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void secret_set_unref(struct secret_set *s)
{
	if (!s ||
	    atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; i < s->n; i++)
		secret_done(&s->v[i]);
	sodium_free(s->key);
	free(s->v);
	free(s);
}

const struct secret *secret_set_find(const struct secret_set *s, const char *id)
{
	for (size_t i = 0; s && i < s->n; i++) {
		if (strcmp(s->v[i].id, id) == 0)
			return &s->v[i];
	}
	return NULL;
}

void secret_revoke(const struct secret *s)
{
	atomic_store(s->revoked, true);
}

bool secret_is_revoked(const struct secret *s)
{
	return atomic_load_explicit(s->revoked, memory_order_relaxed);
}

void secret_set_inherit(const struct secret_set *from,
			const struct secret_set *to)
{
	for (size_t i = 0; from && i < from->n; i++) {
		const struct secret *s = secret_set_find(to, from->v[i].id);

		if (s && secret_is_revoked(&from->v[i]))
			secret_revoke(s);
	}
}

bool secret_has_host(const struct secret *s, const struct name *host)
{
	for (size_t i = 0; i < s->n_hosts; i++) {
		if (strcmp(s->hosts[i].s, host->s) == 0)
			return true;
	}
	return false;
}

/* --- reading ------------------------------------------------------------- */

struct reading {
	struct jsonr j;
	struct secret_set *set;
	struct secret *s; /* the one that is read */
	struct err *err;
	unsigned seen; /* members of it, one bit each */
};

static int bad(struct reading *rd, const char *what)
{
	if (rd->s && rd->s->id[0])
		return err_set(rd->err, -EINVAL, "secret '%s': %s", rd->s->id,
			       what);
	return err_set(rd->err, -EINVAL, "secrets: %s", what);
}

/* Printable ASCII without quotes, so that it can go into a header. */
static int read_text(struct reading *rd, char *out, size_t size)
{
	struct slice raw;
	ssize_t n;

	if (jsonr_string(&rd->j, &raw) < 0)
		return bad(rd, "a string is wanted");
	n = jsonr_unescape(raw, out, size - 1);
	if (n < 0)
		return bad(rd, "a string is too long");
	out[n] = '\0';
	for (ssize_t i = 0; i < n; i++) {
		if (out[i] <= 0x20 || out[i] >= 0x7f || out[i] == '"' ||
		    out[i] == ':')
			return bad(rd, "a string has a character in it that "
				       "it may not");
	}
	return 0;
}

static int read_id(struct reading *rd)
{
	int r = read_text(rd, rd->s->id, sizeof(rd->s->id));

	if (r == 0 && !rd->s->id[0])
		return bad(rd, "an id is empty");
	return r;
}

static int read_user(struct reading *rd)
{
	return read_text(rd, rd->s->user, sizeof(rd->s->user));
}

static int read_access_key(struct reading *rd)
{
	return read_text(rd, rd->s->access_key, sizeof(rd->s->access_key));
}

static int read_region(struct reading *rd)
{
	return read_text(rd, rd->s->region, sizeof(rd->s->region));
}

static int read_service(struct reading *rd)
{
	return read_text(rd, rd->s->service, sizeof(rd->s->service));
}

static int read_kind(struct reading *rd)
{
	char word[32];
	int r = read_text(rd, word, sizeof(word));

	if (r < 0)
		return r;
	if (secret_kind_parse(word, &rd->s->kind) < 0)
		return bad(rd, "its kind is none");
	return 0;
}

static int read_expires(struct reading *rd)
{
	if (jsonr_u64(&rd->j, &rd->s->expires) < 0)
		return bad(rd, "`expires` is no number");
	return 0;
}

static int read_hosts(struct reading *rd)
{
	struct secret *s = rd->s;
	char host[NAME_LEN_MAX + 2];
	int r;

	if (jsonr_open(&rd->j, '[') < 0)
		return bad(rd, "`hosts` is no list");
	while ((r = jsonr_next(&rd->j, NULL)) == 1) {
		if (s->n_hosts == SECRET_HOSTS_MAX)
			return bad(rd, "it has too many hosts");
		if (read_text(rd, host, sizeof(host)) < 0)
			return -EINVAL;
		if (name_canon(slice_str(host), &s->hosts[s->n_hosts]) < 0)
			return bad(rd, "one of its hosts is no host name");
		s->n_hosts++;
	}
	return r < 0 ? bad(rd, "`hosts` is no list") : 0;
}

/* Base64 straight into locked memory; one byte more, for a NUL. */
static int read_bytes(struct reading *rd, size_t max, char **ret, size_t *len)
{
	struct slice raw;
	char *out;

	/* No escape is any use in base64, so the text stands as it is. */
	if (jsonr_string(&rd->j, &raw) < 0 || raw.len > max * 4 / 3 + 4)
		return bad(rd, "a value is no base64, or too long");
	out = sodium_malloc(max + 1);
	if (!out)
		return err_nomem(rd->err);
	if (sodium_base642bin((uint8_t *)out, max, (const char *)raw.ptr,
			      raw.len, NULL, len, NULL,
			      sodium_base64_VARIANT_ORIGINAL) < 0) {
		sodium_free(out);
		return bad(rd, "a value is no base64, or too long");
	}
	out[*len] = '\0';
	*ret = out;
	return 0;
}

/* It will stand in a header: what would end that, or it, is refused. */
static bool is_header_text(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if ((uint8_t)s[i] < 0x20 || (uint8_t)s[i] == 0x7f)
			return false;
	}
	return len == 0 || (s[0] != ' ' && s[len - 1] != ' ');
}

static int read_value(struct reading *rd)
{
	struct secret *s = rd->s;
	char *value = NULL;
	int r = read_bytes(rd, SECRET_VALUE_MAX, &value, &s->value_len);

	if (!value)
		return r;
	s->value = value;
	if (!is_header_text(value, s->value_len))
		return bad(rd, "its value cannot stand in a header");
	if (s->value_len < MASK_VALUE_MIN)
		return bad(rd, "its value is too short to be told from other "
			       "text");
	return 0;
}

struct member {
	const char *name;
	int (*read)(struct reading *rd);
	bool needed;
};

static const struct member members[] = {
	{ "id", read_id, true },
	{ "kind", read_kind, true },
	{ "value", read_value, true },
	{ "hosts", read_hosts, true },
	{ "user", read_user, false },
	{ "expires", read_expires, false },
	{ "access_key", read_access_key, false },
	{ "region", read_region, false },
	{ "service", read_service, false },
};

static int read_member(struct reading *rd, struct slice key)
{
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		if (!jsonr_is(key, members[i].name))
			continue;
		if (rd->seen & 1u << i)
			return bad(rd, "a member is there twice");
		rd->seen |= 1u << i;
		return members[i].read(rd);
	}
	return bad(rd, "a member is none that is known");
}

static int secret_end(struct reading *rd)
{
	struct secret *s = rd->s;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		if (members[i].needed && !(rd->seen & 1u << i))
			return bad(rd, "a member is missing");
	}
	if (s->kind == SECRET_AWS && !s->access_key[0])
		return bad(rd, "`access_key` is missing");
	for (const struct secret *o = rd->set->v; o < s; o++) {
		if (strcmp(o->id, s->id) == 0)
			return bad(rd, "it is there twice");
	}
	s->revoked = calloc(1, sizeof(*s->revoked));
	r = s->revoked ? mask_new(s, &s->mask) : -ENOMEM;
	return r < 0 ? err_nomem(rd->err) : 0;
}

static int read_secret(struct reading *rd)
{
	struct secret_set *set = rd->set;
	struct slice key;
	int r, next;

	if (set->n == SECRETS_MAX)
		return bad(rd, "there are too many");
	if (jsonr_open(&rd->j, '{') < 0)
		return bad(rd, "a secret is no object");
	rd->s = &set->v[set->n++];
	rd->seen = 0;
	while ((next = jsonr_next(&rd->j, &key)) == 1) {
		r = read_member(rd, key);
		if (r < 0)
			return r;
	}
	if (next < 0)
		return bad(rd, "this is no JSON");
	r = secret_end(rd);
	rd->s = NULL;
	return r;
}

static int read_key(struct reading *rd)
{
	char *bytes = NULL;
	size_t len = 0;
	int r = read_bytes(rd, SURROGATE_KEY_LEN, &bytes, &len);

	if (!bytes)
		return r;
	if (len != SURROGATE_KEY_LEN || rd->set->key)
		r = bad(rd, "the key is no key");
	else if (!(rd->set->key = sodium_malloc(sizeof(*rd->set->key))))
		r = err_nomem(rd->err);
	else
		memcpy(rd->set->key->k, bytes, len);
	sodium_free(bytes);
	return r;
}

static int read_secrets(struct reading *rd)
{
	int r, next;

	if (rd->set->n || jsonr_open(&rd->j, '[') < 0)
		return bad(rd, "`secrets` is no list");
	while ((next = jsonr_next(&rd->j, NULL)) == 1) {
		r = read_secret(rd);
		if (r < 0)
			return r;
	}
	return next < 0 ? bad(rd, "`secrets` is no list") : 0;
}

static int read_all(struct reading *rd)
{
	struct slice key;
	int r = 0, next;

	if (jsonr_open(&rd->j, '{') < 0)
		return bad(rd, "this is no JSON object");
	while ((next = jsonr_next(&rd->j, &key)) == 1) {
		if (jsonr_is(key, "key"))
			r = read_key(rd);
		else if (jsonr_is(key, "secrets"))
			r = read_secrets(rd);
		else
			r = bad(rd, "a member is none that is known");
		if (r < 0)
			return r;
	}
	if (next < 0 || jsonr_end(&rd->j) < 0)
		return bad(rd, "this is no JSON");
	return rd->set->key ? 0 : bad(rd, "the key is missing");
}

int secret_set_read(struct slice json, struct secret_set **ret, struct err *err)
{
	struct reading rd = { .err = err };
	int r;

	if (sodium_init() < 0)
		return err_set(err, -EIO, "libsodium does not start");
	rd.set = calloc(1, sizeof(*rd.set));
	if (!rd.set)
		return err_nomem(err);
	atomic_init(&rd.set->refs, 1);
	rd.set->v = calloc(SECRETS_MAX, sizeof(*rd.set->v));
	jsonr_init(&rd.j, json);
	r = rd.set->v ? read_all(&rd) : err_nomem(err);
	if (r < 0) {
		secret_set_unref(rd.set);
		return r;
	}
	*ret = rd.set;
	return 0;
}

/* --- canaries ------------------------------------------------------------ */

static bool seen_plain(const struct secret_set *set, struct slice text,
		       uint64_t now_s, unsigned *checks)
{
	for (size_t i = 0; i < set->n; i++) {
		const struct secret *s = &set->v[i];
		size_t len = surrogate_length(s->kind);
		ssize_t at = -1;

		while ((at = surrogate_find(s->kind, text, (size_t)(at + 1))) >=
		       0) {
			struct slice word = slice_of(text.ptr + at, len);

			if (*checks == 0 ||
			    surrogate_check(set->key, s->id, s->kind, word,
					    now_s) != -EACCES)
				return true;
			--*checks;
		}
	}
	return false;
}

bool surrogate_seen_of(const struct secret_set *s, struct slice text,
		       uint64_t now_s, unsigned *checks)
{
	bool seen;
	char *plain;
	size_t n;

	if (!s || s->n == 0 || text.len == 0)
		return false;
	if (seen_plain(s, text, now_s, checks))
		return true;
	if (!memchr(text.ptr, '%', text.len))
		return false;
	plain = malloc(text.len);
	if (!plain)
		return true; /* what cannot be looked at does not pass */
	n = ipath_decode(text, plain, text.len);
	seen = seen_plain(s, slice_of(plain, n), now_s, checks);
	free(plain);
	return seen;
}

bool surrogate_seen(const struct secret_set *s, struct slice text,
		    uint64_t now_s)
{
	unsigned checks = SURROGATE_CHECKS_MAX;

	return surrogate_seen_of(s, text, now_s, &checks);
}
