/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ireq_head.c - fields of inspected messages: which pass, and what they say
 */
#include "ottergate/inspect/judge/ireq_impl.h"

#include <string.h>
#include <strings.h>

#include "ottergate/policy/request/path.h"

/* Hop-by-hop fields (RFC 9110 §7.6.1), claims about the client (H15), and
 * fields that name another path than the one that was judged (H9). */
static const char *const request_drop[] = {
	"connection",
	"keep-alive",
	"proxy-connection",
	"proxy-authenticate",
	"proxy-authorization",
	"transfer-encoding",
	"upgrade",
	"http2-settings",
	"host",
	"forwarded",
	"via",
	"x-real-ip",
	"x-client-ip",
	"client-ip",
	"true-client-ip",
	"cf-connecting-ip",
	"x-cluster-client-ip",
	"x-original-url",
	"x-rewrite-url",
	"x-original-host",
	"x-host",
	"alt-used",
	"early-data",
};

static const char *const override_drop[] = {
	"x-http-method-override",
	"x-http-method",
	"x-method-override",
	"x-method",
};

static const char *const answer_drop[] = {
	"connection",
	"keep-alive",
	"proxy-connection",
	"proxy-authenticate",
	"proxy-authentication-info",
	"transfer-encoding",
	"upgrade",
	"http2-settings",
	"alt-svc",
	"alternates",
	"alternate-protocol",
};

/* Removes these fields, and those that some server takes for one of them. */
static void drop_all(struct ihead *h, const char *const *names, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->n_fields; i++) {
		size_t k = 0;

		while (k < n && !ihead_is_like(h->fields[i].name, names[k]))
			k++;
		if (k == n)
			h->fields[kept++] = h->fields[i];
	}
	h->n_fields = kept;
}

static void drop_prefix(struct ihead *h, const char *prefix)
{
	size_t n = 0, len = strlen(prefix);

	for (size_t i = 0; i < h->n_fields; i++) {
		struct slice name = h->fields[i].name;

		if (name.len > len)
			name.len = len;
		if (!ihead_is_like(name, prefix))
			h->fields[n++] = h->fields[i];
	}
	h->n_fields = n;
}

int ireq_put(struct ihead *h, const char *name, const char *value)
{
	ihead_drop(h, name);
	return ihead_add_str(h, name, value);
}

/* Keeps "TE: trailers", which gRPC needs; we choose the codings. */
static void te_strip(struct ihead *h)
{
	bool trailers = false;

	for (size_t i = 0; i < h->n_fields; i++) {
		const struct ifield *f = &h->fields[i];

		if (slice_eq(f->name, slice_str("te")))
			trailers |= memmem(f->value.ptr, f->value.len,
					   "trailers", 8) != NULL;
	}
	ihead_drop(h, "te");
	/* There is room: a field was removed before. */
	if (trailers && ihead_add_str(h, "te", "trailers") < 0)
		ihead_drop(h, "te");
}

void ireq_strip_request(struct ihead *h, bool restricted)
{
	drop_all(h, request_drop, ARRAY_SIZE(request_drop));
	drop_prefix(h, "x-forwarded-");
	if (restricted)
		drop_all(h, override_drop, ARRAY_SIZE(override_drop));
	te_strip(h);
}

void ireq_strip_answer(struct ihead *h)
{
	drop_all(h, answer_drop, ARRAY_SIZE(answer_drop));
}

/* --- bodies -------------------------------------------------------------- */

static bool is_word(struct slice s, const char *word)
{
	return s.len == strlen(word) &&
	       strncasecmp((const char *)s.ptr, word, s.len) == 0;
}

static bool is_plain(struct ihead *h, const char *field)
{
	const struct ifield *f = ihead_find(h, field, 0);

	return !f || (ihead_count(h, field) == 1 &&
		      (f->value.len == 0 || is_word(f->value, "identity")));
}

bool ireq_is_identity(struct ihead *h)
{
	return is_plain(h, "content-encoding");
}

void ireq_ask_plain(struct ihead *h)
{
	static const char *const list[] = {
		"sec-websocket-extensions", "grpc-accept-encoding",
		"connect-accept-encoding",  "a-im", /* RFC 3229 */
		"accept-charset",
	};

	drop_all(h, list, ARRAY_SIZE(list));
}

bool ireq_is_plain(struct ihead *h)
{
	return ireq_is_identity(h) && is_plain(h, "grpc-encoding") &&
	       is_plain(h, "connect-content-encoding") &&
	       !ihead_find(h, "im", 0);
}

/* In another charset a string may end elsewhere, so only UTF-8 is accepted. */
bool ireq_is_utf8_param(struct slice s)
{
	while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t')) {
		s.ptr++;
		s.len--;
	}
	return s.len == 0 || is_word(s, "charset=utf-8") ||
	       is_word(s, "charset=\"utf-8\"");
}

bool ireq_body_is_json(struct ihead *h)
{
	const struct ifield *f = ihead_find(h, "content-type", 0);
	const uint8_t *end;
	struct slice type;

	if (!f || ihead_count(h, "content-type") != 1 || !ireq_is_identity(h))
		return false;
	type = f->value;
	end = type.len ? memchr(type.ptr, ';', type.len) : NULL;
	if (end) {
		size_t len = (size_t)(end - type.ptr);

		if (!ireq_is_utf8_param(slice_of(end + 1, type.len - len - 1)))
			return false;
		type.len = len;
	}
	while (type.len && type.ptr[type.len - 1] == ' ')
		type.len--;
	return is_word(type, "application/json");
}

/* --- GraphQL in a query -------------------------------------------------- */

static enum igraphql_verdict judge_document(struct slice value,
					    const struct igraphql_rule *rule)
{
	char *text = malloc(value.len + 1);
	enum igraphql_verdict v;
	size_t n;

	if (!text)
		return IGRAPHQL_REFUSED;
	/* A plus is a blank, unless it was encoded. */
	for (n = 0; n < value.len; n++)
		text[n] = value.ptr[n] == '+' ? ' ' : (char)value.ptr[n];
	/* In place: decoding never makes it longer. */
	n = ipath_decode(slice_of(text, value.len), text, value.len);
	v = igraphql_document(slice_of(text, n), rule);
	free(text);
	return v;
}

static enum igraphql_verdict
judge_param(struct slice param, const struct igraphql_rule *rule, bool *seen)
{
	const uint8_t *eq = param.len ? memchr(param.ptr, '=', param.len) :
					NULL;
	struct slice name = param;

	if (eq)
		name.len = (size_t)(eq - param.ptr);
	if (is_word(name, "operationName") || is_word(name, "variables"))
		return IGRAPHQL_PASSES;
	if (!eq || !is_word(name, "query") || *seen)
		return IGRAPHQL_REFUSED;
	*seen = true;
	return judge_document(slice_of(eq + 1, param.len - name.len - 1), rule);
}

enum igraphql_verdict ireq_query_judge(struct slice path,
				       const struct igraphql_rule *rule)
{
	const uint8_t *q = path.len ? memchr(path.ptr, '?', path.len) : NULL;
	enum igraphql_verdict v, all = IGRAPHQL_PASSES;
	bool seen = false;
	struct slice rest;

	if (!q)
		return IGRAPHQL_PASSES;
	rest = slice_of(q + 1, path.len - (size_t)(q - path.ptr) - 1);
	/* Some servers end a parameter at a semicolon. */
	if (rest.len && memchr(rest.ptr, ';', rest.len))
		return IGRAPHQL_REFUSED;
	while (rest.len) {
		const uint8_t *amp = memchr(rest.ptr, '&', rest.len);
		size_t n = amp ? (size_t)(amp - rest.ptr) : rest.len;

		v = judge_param(slice_of(rest.ptr, n), rule, &seen);
		if (v == IGRAPHQL_REFUSED)
			return v;
		if (v == IGRAPHQL_PUSH)
			all = v;
		n += amp ? 1 : 0;
		rest.ptr += n;
		rest.len -= n;
	}
	return all;
}
