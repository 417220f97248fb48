/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secrets.c - the real values of one sandbox's credentials, in locked memory
 *
 * What is read comes from acd, but must have the header's form: a mistake could
 * send a credential to the wrong host. Messages name the credential and the
 * member, never a value.
 */
#include "ottergate/inspect/mask/secrets.h"

#include <sodium.h>
#include <stdatomic.h>
#include <string.h>

#include "ottergate/policy/request/path.h"
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

bool secret_has_host(const struct secret *s, const struct name *host,
		     uint16_t port)
{
	for (size_t i = 0; i < s->n_hosts; i++) {
		if (strcmp(s->hosts[i].s, host->s) == 0 &&
		    (s->ports[i] == 0 || s->ports[i] == port))
			return true;
	}
	return false;
}

/* --- reading ------------------------------------------------------------- */

struct reading {
	struct jsonr j;
	struct secret_set *set;
	struct secret *s; /* being read */
	struct err *err;
	unsigned seen; /* its members so far, one bit each */
};

static int bad(struct reading *rd, const char *what)
{
	if (rd->s && rd->s->id[0])
		return err_set(rd->err, -EINVAL, "secret '%s': %s", rd->s->id,
			       what);
	return err_set(rd->err, -EINVAL, "secrets: %s", what);
}

/* Reads printable ASCII without quotes and @not, a character. */
static int read_word(struct reading *rd, char not, char *out, size_t size)
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
		    out[i] == not )
			return bad(rd, "a string has a character that is not "
				       "allowed");
	}
	return 0;
}

/* The same, which is safe in a header. */
static int read_text(struct reading *rd, char *out, size_t size)
{
	return read_word(rd, ':', out, size);
}

static int read_id(struct reading *rd)
{
	int rc = read_text(rd, rd->s->id, sizeof(rd->s->id));

	if (rc == 0 && !rd->s->id[0])
		return bad(rd, "an id is empty");
	return rc;
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
	int rc = read_text(rd, word, sizeof(word));

	if (rc < 0)
		return rc;
	if (secret_kind_parse(word, &rd->s->kind) < 0)
		return bad(rd, "its kind is unknown");
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
	char host[NAME_LEN_MAX + 8];
	struct addr addr;
	uint16_t port;
	int rc;

	if (jsonr_open(&rd->j, '[') < 0)
		return bad(rd, "`hosts` is no list");
	while ((rc = jsonr_next(&rd->j, NULL)) == 1) {
		if (s->n_hosts == SECRET_HOSTS_MAX)
			return bad(rd, "it has too many hosts");
		if (read_word(rd, '/', host, sizeof(host)) < 0)
			return -EINVAL;
		if (name_authority(slice_str(host), 0, &s->hosts[s->n_hosts],
				   &addr, &port) < 0 ||
		    s->hosts[s->n_hosts].len == 0)
			return bad(rd, "one of its hosts is no host name");
		s->ports[s->n_hosts++] = port;
	}
	return rc < 0 ? bad(rd, "`hosts` is no list") : 0;
}

/* Decodes base64 straight into locked memory, with a NUL behind. */
static int read_bytes(struct reading *rd, size_t max, char **ret, size_t *len)
{
	struct slice raw;
	char *out;

	/* Base64 has no escapes, so the text can be used as it is. */
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

/* Returns true for text that is safe as the value of a header field. */
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
	int rc = read_bytes(rd, SECRET_VALUE_MAX, &value, &s->value_len);

	if (!value)
		return rc;
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
	return bad(rd, "a member is unknown");
}

static int secret_end(struct reading *rd)
{
	struct secret *s = rd->s;
	int rc;

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
	rc = s->revoked ? mask_new(s, &s->mask) : -ENOMEM;
	return rc < 0 ? err_nomem(rd->err) : 0;
}

static int read_secret(struct reading *rd)
{
	struct secret_set *set = rd->set;
	struct slice key;
	int rc, next;

	if (set->n == SECRETS_MAX)
		return bad(rd, "there are too many");
	if (jsonr_open(&rd->j, '{') < 0)
		return bad(rd, "a secret is not an object");
	rd->s = &set->v[set->n++];
	rd->seen = 0;
	while ((next = jsonr_next(&rd->j, &key)) == 1) {
		rc = read_member(rd, key);
		if (rc < 0)
			return rc;
	}
	if (next < 0)
		return bad(rd, "this is not JSON");
	rc = secret_end(rd);
	rd->s = NULL;
	return rc;
}

static int read_key(struct reading *rd)
{
	char *bytes = NULL;
	size_t len = 0;
	int rc = read_bytes(rd, SURROGATE_KEY_LEN, &bytes, &len);

	if (!bytes)
		return rc;
	if (len != SURROGATE_KEY_LEN || rd->set->key)
		rc = bad(rd, "the key is not 32 bytes, or is there twice");
	else if (!(rd->set->key = sodium_malloc(sizeof(*rd->set->key))))
		rc = err_nomem(rd->err);
	else
		memcpy(rd->set->key->k, bytes, len);
	sodium_free(bytes);
	return rc;
}

static int read_secrets(struct reading *rd)
{
	int rc, next;

	if (rd->set->n || jsonr_open(&rd->j, '[') < 0)
		return bad(rd, "`secrets` is no list");
	while ((next = jsonr_next(&rd->j, NULL)) == 1) {
		rc = read_secret(rd);
		if (rc < 0)
			return rc;
	}
	return next < 0 ? bad(rd, "`secrets` is no list") : 0;
}

static int read_all(struct reading *rd)
{
	struct slice key;
	int rc = 0, next;

	if (jsonr_open(&rd->j, '{') < 0)
		return bad(rd, "this is not a JSON object");
	while ((next = jsonr_next(&rd->j, &key)) == 1) {
		if (jsonr_is(key, "key"))
			rc = read_key(rd);
		else if (jsonr_is(key, "secrets"))
			rc = read_secrets(rd);
		else
			rc = bad(rd, "a member is unknown");
		if (rc < 0)
			return rc;
	}
	if (next < 0 || jsonr_end(&rd->j) < 0)
		return bad(rd, "this is not JSON");
	return rd->set->key ? 0 : bad(rd, "the key is missing");
}

int secret_set_read(struct slice json, struct secret_set **ret, struct err *err)
{
	struct reading rd = { .err = err };
	int rc;

	if (sodium_init() < 0)
		return err_set(err, -EIO, "libsodium does not start");
	rd.set = calloc(1, sizeof(*rd.set));
	if (!rd.set)
		return err_nomem(err);
	atomic_init(&rd.set->refs, 1);
	rd.set->v = calloc(SECRETS_MAX, sizeof(*rd.set->v));
	jsonr_init(&rd.j, json);
	rc = rd.set->v ? read_all(&rd) : err_nomem(err);
	if (rc < 0) {
		secret_set_unref(rd.set);
		return rc;
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
		return true; /* what cannot be searched does not pass */
	n = ipath_decode(text, plain, text.len);
	seen = seen_plain(s, slice_of(plain, n), now_s, checks);
	free(plain);
	return seen;
}
