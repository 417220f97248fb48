/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_query.c - credentials among the parameters of a query
 *
 * Names are compared as some server may read them (ipath_param()), and ';'
 * separates like '&', as it does for some servers. The query is written again
 * only if something in it is replaced.
 */
#include "ottergate/inspect/judge/inject_impl.h"

#include <sodium.h>
#include <string.h>

#include "ottergate/policy/request/path.h"

#define NAME_MAX_BYTES 64u
#define VALUE_MAX_BYTES 512u

/* In the form that ipath_param() writes. The second part has credentials that
 * cannot be surrogates: signatures, and header fields that Google's servers
 * take from a query. */
static const char *const params[] = {
	"key",
	"api_key",
	"apikey",
	"access_token",
	"private_token",
	"job_token",
	"auth_token",
	"oauth_token",
	"bearer_token",
	"api_token",
	"personal_access_token",
	"feed_token",
	"rss_token",
	"token",
	"authorization",
	"password",
	"x_api_key",
	"x_auth_token",
	"x_goog_api_key",
	"client_secret",
	"_auth",
	"_authtoken",
	"x_amz_signature",
	"x_amz_credential",
	"awsaccesskeyid",
	"x_amz_security_token",
	"x_goog_signature",
	"x_goog_credential",
	"googleaccessid",
	"signature",
	"sig",
	"httpheaders",
};

struct query {
	struct injection *in;
	struct buf out; /* the new path and query */
	bool changed, moved; /* moved: the value goes in a field */
	bool first;
};

static bool is_credential(const struct injection *in, struct slice name)
{
	char plain[NAME_MAX_BYTES + 1], own[NAME_MAX_BYTES + 1];
	const char *as = inject_as(in, "query-");

	ipath_param(name, plain, sizeof(plain));
	for (size_t i = 0; i < ARRAY_SIZE(params); i++) {
		if (strcmp(plain, params[i]) == 0)
			return true;
	}
	if (!as)
		return false;
	ipath_param(slice_str(as), own, sizeof(own));
	return strcmp(plain, own) == 0;
}

static int put_encoded(struct buf *out, struct slice s)
{
	int rc = 0;

	for (size_t i = 0; i < s.len && rc >= 0; i++) {
		uint8_t c = s.ptr[i];

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		    (c >= '0' && c <= '9') || (c && strchr("-._~", c)))
			rc = buf_append(out, &c, 1);
		else
			rc = buf_printf(out, "%%%02X", c);
	}
	return rc;
}

/* Judges a value. One that is too long to be decoded is no surrogate. */
static enum word judge(struct injection *in, struct slice value)
{
	char plain[VALUE_MAX_BYTES];
	size_t n = ipath_decode(value, plain, sizeof(plain));

	return value.len ? inject_judge(in, slice_of(plain, n)) : WORD_OTHER;
}

static int put_param(struct query *q, struct slice param, char separator)
{
	int rc;

	if (q->first)
		separator = '?';
	q->first = false;
	rc = buf_append(&q->out, &separator, 1);
	return rc < 0 ? rc : buf_append(&q->out, param.ptr, param.len);
}

/* Copies a parameter that stays; a surrogate in it is refused. */
static int param_keep(struct query *q, struct slice param, char separator)
{
	struct injection *in = q->in;

	if (in->out.status == 0 &&
	    surrogate_seen_of(in->ask->set, param, in->ask->now_s, &in->checks))
		inject_refuse(in, REASON_CANARY, 403);
	return put_param(q, param, separator);
}

/* Copies one "name=value", replacing a surrogate; @separator precedes it. */
static int param_copy(struct query *q, struct slice param, char separator)
{
	const uint8_t *eq = param.len ? memchr(param.ptr, '=', param.len) :
					NULL;
	struct injection *in = q->in;
	struct slice name = param, value = slice_of(NULL, 0);
	int rc;

	if (eq) {
		name.len = (size_t)(eq - param.ptr);
		value = slice_of(eq + 1, param.len - name.len - 1);
	}
	if (!is_credential(in, name) || judge(in, value) != WORD_OURS ||
	    !inject_belongs(in, PLACE_PARAM, name))
		return param_keep(q, param, separator);
	q->changed = true;
	if (in->ask->secret->kind == SECRET_GEMINI) {
		q->moved = true;
		return 0;
	}
	rc = put_param(q, slice_of(param.ptr, name.len + 1), separator);
	return rc < 0 ? rc : put_encoded(&q->out, inject_value(in));
}

static int query_copy(struct query *q, struct slice rest)
{
	char separator = '?';
	int rc = 0;

	while (rc >= 0) {
		size_t n = 0;

		while (n < rest.len && rest.ptr[n] != '&' && rest.ptr[n] != ';')
			n++;
		rc = param_copy(q, slice_of(rest.ptr, n), separator);
		if (n == rest.len)
			return rc;
		separator = (char)rest.ptr[n];
		rest.ptr += n + 1;
		rest.len -= n + 1;
	}
	return rc;
}

static int query_end(struct query *q)
{
	struct injection *in = q->in;
	struct ihead *h = in->h;
	struct ifield *f;

	if (!q->changed || in->out.status)
		return 0;
	h->path = ihead_keep(h, buf_slice(&q->out));
	if (!h->path.ptr)
		return -ENOMEM;
	in->out.injected = true;
	if (!q->moved) {
		h->path_sensitive = true;
		return 0;
	}
	ihead_drop(h, "x-goog-api-key");
	if (ihead_add(h, slice_str("x-goog-api-key"), inject_value(in)) < 0)
		return -ENOMEM;
	f = ihead_find(h, "x-goog-api-key", 0);
	if (f)
		f->sensitive = f->injected = true;
	return 0;
}

void inject_query(struct injection *in)
{
	struct slice path = in->h->path;
	const uint8_t *mark = path.len ? memchr(path.ptr, '?', path.len) : NULL;
	struct query q = { .in = in, .first = true };
	size_t len, room = path.len + 1;
	int rc;

	if (!mark)
		return;
	len = (size_t)(mark - path.ptr);
	buf_init(&q.out, IPATH_MAX + 3 * SECRET_VALUE_MAX);
	/* Reserved at once: a buffer that grows leaves copies behind. */
	if (in->ask->secret)
		room += 3 * in->ask->secret->value_len;
	rc = buf_reserve(&q.out, room) ? buf_append(&q.out, path.ptr, len) :
					 -ENOMEM;
	if (rc >= 0)
		rc = query_copy(&q, slice_of(mark + 1, path.len - len - 1));
	if (rc >= 0)
		rc = query_end(&q);
	if (rc < 0)
		inject_refuse(in, REASON_NO_MEMORY, 431);
	if (q.out.mem)
		sodium_memzero(q.out.mem, q.out.cap);
	buf_done(&q.out);
}
