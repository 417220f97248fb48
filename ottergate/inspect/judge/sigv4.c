/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sigv4.c - AWS Signature Version 4: signs a client's request with the real key
 *
 *	canonical request = method, path, query, fields, names, hash of body
 *	text to sign      = algorithm, date, scope, hash of that
 *	key               = HMACs of date, region, service, "aws4_request"
 */
#include "ottergate/inspect/judge/sigv4.h"

#include <sodium.h>
#include <string.h>

#include "ottergate/policy/request/path.h"

#define ALGORITHM "AWS4-HMAC-SHA256"
#define CANONICAL_MAX (256u * 1024)
#define HASH_FIELD "x-amz-content-sha256"

/* --- the client's signature ---------------------------------------------- */

/* Takes what is before @stop, and @stop itself. Returns -EBADMSG without it. */
static int take_until(struct slice *s, char stop, struct slice *ret)
{
	const uint8_t *at = s->len ? memchr(s->ptr, stop, s->len) : NULL;
	struct slice taken;

	if (!at || at == s->ptr || slice_take(s, at - s->ptr, ret) < 0)
		return -EBADMSG;
	return slice_take(s, 1, &taken);
}

/* Returns true if no byte could end a line or a field of what is signed. */
static bool is_words(struct slice s, const char *more)
{
	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      (c >= '0' && c <= '9') || (c && strchr(more, c))))
			return false;
	}
	return s.len > 0;
}

int sigv4_parse(struct slice value, struct sigv4_auth *ret)
{
	struct sigv4_auth a;

	if (!slice_skip(&value, ALGORITHM " Credential=") ||
	    take_until(&value, '/', &a.id) < 0 ||
	    take_until(&value, '/', &a.date) < 0 ||
	    take_until(&value, '/', &a.region) < 0 ||
	    take_until(&value, '/', &a.service) < 0 ||
	    !slice_skip(&value, "aws4_request,"))
		return -EBADMSG;
	while (slice_skip(&value, " "))
		continue;
	if (!slice_skip(&value, "SignedHeaders=") ||
	    take_until(&value, ',', &a.headers) < 0)
		return -EBADMSG;
	while (slice_skip(&value, " "))
		continue;
	if (!slice_skip(&value, "Signature="))
		return -EBADMSG;
	a.signature = value;
	if (!is_words(a.id, "") || a.date.len != 8 || !is_words(a.date, "") ||
	    !is_words(a.region, "-") || !is_words(a.service, "-") ||
	    !is_words(a.headers, "-;_.") || !is_words(a.signature, ""))
		return -EBADMSG;
	*ret = a;
	return 0;
}

bool sigv4_needs_body(struct ihead *h)
{
	return h->has_body && !ihead_find(h, HASH_FIELD, 0);
}

/* --- the canonical request ----------------------------------------------- */

/* Encodes by AWS's rule: all but unreserved characters. @plain is decoded. */
static int put_encoded(struct buf *b, struct slice plain, bool slashes)
{
	int rc = 0;

	for (size_t i = 0; i < plain.len && rc >= 0; i++) {
		struct slice c = slice_of(plain.ptr + i, 1);

		if (is_words(c, "-._~") || (slashes && c.ptr[0] == '/'))
			rc = buf_append(b, c.ptr, 1);
		else
			rc = buf_printf(b, "%%%02X", c.ptr[0]);
	}
	return rc;
}

/* Encodes @in, which is percent-encoded once, in AWS's way. */
static int put_recoded(struct buf *b, struct slice in, bool slashes)
{
	char *plain = malloc(in.len + 1);
	int rc = -ENOMEM;

	if (plain)
		rc = put_encoded(
			b, slice_of(plain, ipath_decode(in, plain, in.len)),
			slashes);
	free(plain);
	return rc;
}

/* S3 takes the path as it is; other services encode it a second time. */
static int put_path(struct buf *b, struct slice path, bool s3)
{
	return s3 ? put_recoded(b, path, true) : put_encoded(b, path, true);
}

struct param { /* of the query, encoded; offsets in a buf */
	const struct buf *b;
	size_t name, value, end;
};

static int slice_cmp(struct slice a, struct slice b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int c = n ? memcmp(a.ptr, b.ptr, n) : 0;

	return c ? c : (a.len > b.len) - (a.len < b.len);
}

static struct slice part(const struct buf *b, size_t from, size_t to)
{
	return slice_of(buf_slice(b).ptr + from, to - from);
}

static int param_cmp(const void *x, const void *y)
{
	const struct param *p = x, *q = y;
	int c = slice_cmp(part(p->b, p->name, p->value),
			  part(q->b, q->name, q->value));

	return c ? c :
		   slice_cmp(part(p->b, p->value, p->end),
			     part(q->b, q->value, q->end));
}

static int params_read(struct buf *b, struct slice query, struct param *v,
		       size_t *ret_n)
{
	size_t n = 0;

	while (query.len) {
		const uint8_t *amp = memchr(query.ptr, '&', query.len);
		size_t len = amp ? (size_t)(amp - query.ptr) : query.len;
		const uint8_t *eq = len ? memchr(query.ptr, '=', len) : NULL;
		size_t name = eq ? (size_t)(eq - query.ptr) : len;
		size_t skip = name + (eq ? 1 : 0);
		struct slice value = slice_of(query.ptr + skip, len - skip);

		if (len > 0) {
			if (n == SIGV4_PARAMS_MAX)
				return -E2BIG;
			v[n].b = b;
			v[n].name = buf_len(b);
			if (put_recoded(b, slice_of(query.ptr, name), false) <
			    0)
				return -ENOMEM;
			v[n].value = buf_len(b);
			if (put_recoded(b, value, false) < 0)
				return -ENOMEM;
			v[n++].end = buf_len(b);
		}
		len += amp ? 1 : 0;
		query.ptr += len;
		query.len -= len;
	}
	*ret_n = n;
	return 0;
}

static int put_query(struct buf *b, struct slice query)
{
	struct param v[SIGV4_PARAMS_MAX];
	struct buf words;
	size_t n = 0;
	int rc;

	buf_init(&words, CANONICAL_MAX);
	rc = params_read(&words, query, v, &n);
	if (rc == 0 && n)
		qsort(v, n, sizeof(*v), param_cmp);
	for (size_t i = 0; i < n && rc >= 0; i++) {
		struct slice name = part(&words, v[i].name, v[i].value);
		struct slice value = part(&words, v[i].value, v[i].end);

		rc = buf_printf(b, "%s%.*s=%.*s", i ? "&" : "", (int)name.len,
				(const char *)name.ptr, (int)value.len,
				(const char *)value.ptr);
	}
	buf_done(&words);
	return rc;
}

static int name_cmp(const void *x, const void *y)
{
	return slice_cmp(*(const struct slice *)x, *(const struct slice *)y);
}

static bool has_name(const struct slice *v, size_t n, struct slice name)
{
	for (size_t i = 0; i < n; i++) {
		if (slice_eq(v[i], name))
			return true;
	}
	return false;
}

static bool is_signed(const struct sigv4_auth *a, struct slice name)
{
	struct slice rest = a->headers, word;

	while (rest.len) {
		if (take_until(&rest, ';', &word) < 0) {
			word = rest;
			rest.len = 0;
		}
		if (slice_eq(word, name))
			return true;
	}
	return name.len > 6 && memcmp(name.ptr, "x-amz-", 6) == 0;
}

/* Lists the signed fields that are still there, sorted, once each. */
static size_t names_of(const struct ihead *h, const struct sigv4_auth *a,
		       struct slice v[IHEAD_FIELDS_MAX + 1])
{
	size_t n = 0;

	v[n++] = slice_str("host");
	for (size_t i = 0; i < h->n_fields; i++) {
		struct slice name = h->fields[i].name;

		if (is_signed(a, name) && !has_name(v, n, name) &&
		    !slice_eq(name, slice_str("authorization")))
			v[n++] = name;
	}
	qsort(v, n, sizeof(*v), name_cmp);
	return n;
}

/* Appends a value without outer blanks, and with runs of blanks as one. */
static int put_value(struct buf *b, struct slice v)
{
	bool blank = false, any = false;
	int rc = 0;

	for (size_t i = 0; i < v.len && rc >= 0; i++) {
		if (v.ptr[i] == ' ' || v.ptr[i] == '\t') {
			blank = any;
			continue;
		}
		if (blank)
			rc = buf_append(b, " ", 1);
		if (rc >= 0)
			rc = buf_append(b, v.ptr + i, 1);
		blank = false;
		any = true;
	}
	return rc;
}

static int put_field(struct buf *b, const struct ihead *h, struct slice name)
{
	bool first = true;
	int rc = buf_append(b, name.ptr, name.len);

	if (rc >= 0)
		rc = buf_append(b, ":", 1);
	if (rc >= 0 && slice_eq(name, slice_str("host"))) {
		rc = buf_append(b, h->authority.ptr, h->authority.len);
		return rc < 0 ? rc : buf_append(b, "\n", 1);
	}
	for (size_t i = 0; i < h->n_fields && rc >= 0; i++) {
		if (!slice_eq(h->fields[i].name, name))
			continue;
		if (!first)
			rc = buf_append(b, ",", 1);
		if (rc >= 0)
			rc = put_value(b, h->fields[i].value);
		first = false;
	}
	return rc < 0 ? rc : buf_append(b, "\n", 1);
}

/* "a;b" */
static int put_names(struct buf *b, const struct slice *v, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && rc >= 0; i++) {
		if (i)
			rc = buf_append(b, ";", 1);
		if (rc >= 0)
			rc = buf_append(b, v[i].ptr, v[i].len);
	}
	return rc;
}

static int put_hex(struct buf *b, const uint8_t hash[SIGV4_HASH])
{
	char hex[2 * SIGV4_HASH + 1];

	sodium_bin2hex(hex, sizeof(hex), hash, SIGV4_HASH);
	return buf_append(b, hex, sizeof(hex) - 1);
}

static bool slice_is(struct slice s, const char *text)
{
	return slice_eq(s, slice_str(text));
}

/* Appends the field with the hash if there is one, else the hash of the body or
 * of no bytes. */
static int put_payload(struct buf *b, struct ihead *h, const uint8_t *body)
{
	const struct ifield *f = ihead_find(h, HASH_FIELD, 0);
	uint8_t none[SIGV4_HASH];

	if (f) {
		if (!(f->value.len == 2 * SIGV4_HASH &&
		      is_words(f->value, "")) &&
		    !slice_is(f->value, "UNSIGNED-PAYLOAD") &&
		    !slice_is(f->value, "STREAMING-UNSIGNED-PAYLOAD-TRAILER"))
			return -EBADMSG;
		return buf_append(b, f->value.ptr, f->value.len);
	}
	if (body)
		return put_hex(b, body);
	if (h->has_body)
		return -EBADMSG;
	crypto_hash_sha256(none, NULL, 0);
	return put_hex(b, none);
}

static int put_request(struct buf *b, struct ihead *h,
		       const struct sigv4_auth *a, const struct slice *names,
		       size_t n, const uint8_t *body)
{
	const uint8_t *q = memchr(h->path.ptr, '?', h->path.len);
	size_t path_len = q ? (size_t)(q - h->path.ptr) : h->path.len;
	struct slice query = slice_of(NULL, 0);
	int rc;

	if (q)
		query = slice_of(q + 1, h->path.len - path_len - 1);
	rc = buf_append(b, h->method.ptr, h->method.len);
	if (rc >= 0)
		rc = buf_append(b, "\n", 1);
	if (rc >= 0)
		rc = put_path(b, slice_of(h->path.ptr, path_len),
			      slice_is(a->service, "s3"));
	if (rc >= 0)
		rc = buf_append(b, "\n", 1);
	if (rc >= 0)
		rc = put_query(b, query);
	if (rc >= 0)
		rc = buf_append(b, "\n", 1);
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = put_field(b, h, names[i]);
	if (rc >= 0)
		rc = buf_append(b, "\n", 1);
	if (rc >= 0)
		rc = put_names(b, names, n);
	if (rc >= 0)
		rc = buf_append(b, "\n", 1);
	return rc < 0 ? rc : put_payload(b, h, body);
}

/* --- the signature ------------------------------------------------------- */

static void hmac(const void *key, size_t key_len, struct slice text,
		 uint8_t ret[SIGV4_HASH])
{
	crypto_auth_hmacsha256_state st;

	crypto_auth_hmacsha256_init(&st, key, key_len);
	crypto_auth_hmacsha256_update(&st, text.ptr, text.len);
	crypto_auth_hmacsha256_final(&st, ret);
	sodium_memzero(&st, sizeof(st));
}

static int sign(const struct sigv4_auth *a, struct slice date,
		struct slice request, struct slice secret,
		uint8_t ret[SIGV4_HASH])
{
	static const char prefix[4] = { 'A', 'W', 'S', '4' };
	uint8_t hash[SIGV4_HASH], key[SIGV4_HASH];
	char *first = malloc(secret.len + 4);
	struct buf text;
	int rc;

	if (!first)
		return -ENOMEM;
	crypto_hash_sha256(hash, request.ptr, request.len);
	buf_init(&text, 4096);
	rc = buf_printf(&text,
			ALGORITHM "\n%.*s\n%.*s/%.*s/%.*s/aws4_request\n",
			(int)date.len, (const char *)date.ptr, (int)a->date.len,
			(const char *)a->date.ptr, (int)a->region.len,
			(const char *)a->region.ptr, (int)a->service.len,
			(const char *)a->service.ptr);
	if (rc >= 0)
		rc = put_hex(&text, hash);
	memcpy(first, prefix, sizeof(prefix));
	memcpy(first + sizeof(prefix), secret.ptr, secret.len);
	hmac(first, secret.len + 4, a->date, key);
	hmac(key, sizeof(key), a->region, key);
	hmac(key, sizeof(key), a->service, key);
	hmac(key, sizeof(key), slice_str("aws4_request"), key);
	if (rc >= 0)
		hmac(key, sizeof(key), buf_slice(&text), ret);
	sodium_memzero(first, secret.len + 4);
	sodium_memzero(key, sizeof(key));
	free(first);
	buf_done(&text);
	return rc < 0 ? rc : 0;
}

/* Reads "20150830T123600Z", which must be on the scope's day. */
static int date_of(struct ihead *h, const struct sigv4_auth *a,
		   struct slice *ret)
{
	const struct ifield *f = ihead_find(h, "x-amz-date", 0);

	if (!f || f->value.len != 16 || !is_words(f->value, "") ||
	    memcmp(f->value.ptr, a->date.ptr, 8) != 0)
		return -EBADMSG;
	*ret = f->value;
	return 0;
}

static int put_auth(struct buf *b, const struct sigv4_auth *a,
		    const char *access_key, const struct slice *names, size_t n,
		    const uint8_t signature[SIGV4_HASH])
{
	int rc = buf_printf(b,
			    ALGORITHM " Credential=%s/%.*s/%.*s/%.*s/"
				      "aws4_request, SignedHeaders=",
			    access_key, (int)a->date.len,
			    (const char *)a->date.ptr, (int)a->region.len,
			    (const char *)a->region.ptr, (int)a->service.len,
			    (const char *)a->service.ptr);

	if (rc >= 0)
		rc = put_names(b, names, n);
	if (rc >= 0)
		rc = buf_printf(b, ", Signature=");
	return rc < 0 ? rc : put_hex(b, signature);
}

int sigv4_sign(struct ihead *h, const char *access_key, struct slice secret,
	       const uint8_t *body)
{
	struct ifield *f = ihead_find(h, "authorization", 0);
	struct slice names[IHEAD_FIELDS_MAX + 1], date;
	uint8_t signature[SIGV4_HASH];
	struct sigv4_auth a;
	struct buf b;
	size_t n;
	int rc;

	if (!f || ihead_count(h, "authorization") != 1 ||
	    ihead_count(h, HASH_FIELD) > 1 || sigv4_parse(f->value, &a) < 0 ||
	    date_of(h, &a, &date) < 0 || h->path.len == 0)
		return -EBADMSG;
	n = names_of(h, &a, names);
	buf_init(&b, CANONICAL_MAX);
	rc = put_request(&b, h, &a, names, n, body);
	if (rc >= 0)
		rc = sign(&a, date, buf_slice(&b), secret, signature);
	buf_done(&b);
	if (rc >= 0)
		rc = put_auth(&b, &a, access_key, names, n, signature);
	if (rc >= 0)
		rc = ihead_set(h, f, buf_slice(&b));
	f->sensitive = true;
	buf_done(&b);
	return rc == -ENOBUFS ? -E2BIG : rc;
}
