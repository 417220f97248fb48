/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ireq.c - one inspected request: judged and given its credential
 *
 * The order is that of the decision. Is it for this server; can its path be
 * read in one way only; does the policy allow name, method and path; may the
 * body pass? Only then is the client's credential examined, so a refused
 * request never comes near the real one. The head that is sent is made of what
 * was judged.
 */
#include "ottergate/inspect/judge/ireq.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "ottergate/inspect/judge/inject.h"
#include "ottergate/policy/request/path.h"
#include "ottergate/inspect/judge/ireq_impl.h"
#include "ottergate/inspect/judge/sigv4.h"
#include "ottergate/policy/tell/deny.h"

#define HTTP_PORT 80u
#define HTTPS_PORT 443u

int ireq_fail(struct ireq *r, enum reason why, int status)
{
	struct ireq_impl *im = r->impl;

	r->verdict.allow = false;
	r->verdict.reason = why;
	r->canary |= why == REASON_CANARY;
	r->hold = false;
	if (im)
		im->status = status;
	return status;
}

static bool is_method(struct slice m, const char *name)
{
	return slice_eq(m, slice_str(name));
}

/* --- which server, which path -------------------------------------------- */

/* Host = :authority = SNI (T2, H7): the credential is for that name alone. */
static int judge_authority(struct ireq *r, struct ihead *h)
{
	const uint16_t usual = r->ctx.plain ? HTTP_PORT : HTTPS_PORT;
	char text[NAME_LEN_MAX + 8];
	struct addr addr;
	struct name name;
	uint16_t port;
	int len;

	if (name_authority(h->authority, usual, &name, &addr, &port) < 0)
		return ireq_fail(r, REASON_BAD_HTTP, 400);
	if (name.len == 0 || strcmp(name.s, r->ctx.name->s) != 0 ||
	    port != r->ctx.port)
		return ireq_fail(r, REASON_HOST_MISMATCH, 421);
	len = port == usual ?
		      snprintf(text, sizeof(text), "%s", name.s) :
		      snprintf(text, sizeof(text), "%s:%u", name.s, port);
	h->authority = ihead_keep(h, slice_of(text, (size_t)len));
	return h->authority.ptr ? 0 : ireq_fail(r, REASON_NO_MEMORY, 431);
}

static int judge_path(struct ireq *r, struct ihead *h, struct slice *ret)
{
	struct ipath *p = malloc(sizeof(*p));
	int status = 0, e;

	if (!p)
		return ireq_fail(r, REASON_NO_MEMORY, 503);
	e = ipath_canon(h->path, p);
	if (e == -E2BIG) {
		status = ireq_fail(r, REASON_PATH_LONG, 414);
	} else if (e < 0 ||
		   (p->s[0] == '*' && !is_method(h->method, "OPTIONS"))) {
		status = ireq_fail(r, REASON_PATH, 400);
	} else {
		h->path = ihead_keep(h, slice_of(p->s, p->len));
		*ret = slice_of(h->path.ptr, p->path_len);
		snprintf(r->path_log, sizeof(r->path_log), "%.*s",
			 (int)p->path_len, p->s);
		if (!h->path.ptr)
			status = ireq_fail(r, REASON_NO_MEMORY, 431);
	}
	free(p);
	return status;
}

/* --- the policy ---------------------------------------------------------- */

bool ireq_has_method_param(struct slice path)
{
	const uint8_t *q = memchr(path.ptr, '?', path.len);
	size_t at = q ? (size_t)(q - path.ptr) + 1 : path.len;

	return ireq_names_method(slice_of(path.ptr + at, path.len - at));
}

/* Judges name, method and path by the policy of this moment. */
static int judge_policy(struct ireq *r, struct ihead *h, struct slice path,
			struct http_verdict *ret)
{
	struct request rq = {
		.path = r->ctx.plain ? PATH_HTTP : PATH_TLS,
		.name = r->ctx.name,
		.port = r->ctx.port,
		.method = h->method,
		.target = path,
	};
	struct verdict v = decide(r->ctx.policy, &rq);
	struct ireq_impl *im = r->impl;
	bool push = ireq_git_is_push(h->path, path);

	r->verdict = v;
	if (!v.allow)
		return ireq_fail(r, v.reason, 403);
	if (!v.rule || v.rule->use != RULE_INSPECT)
		return ireq_fail(r, REASON_POLICY_GONE, 403);
	*ret = decide_http(v.rule, h->method, path);
	r->requests_min = ret->requests_min;
	r->body_max = ret->body_max;
	r->answer_max = ret->response_max;
	if (ret->reason == REASON_ALLOWED && push) {
		ret->reason = ireq_git_judge(v.rule, h->path, path);
		ret->status = 403;
	}
	im->push = (push || ret->push) && ret->reason == REASON_METHOD;
	if (ret->reason != REASON_ALLOWED)
		return ireq_fail(r, ret->reason, ret->status);
	if (ret->restricted && ireq_has_method_param(h->path))
		return ireq_fail(r, REASON_METHOD, 403);
	if (h->websocket && !v.rule->websocket)
		return ireq_fail(r, REASON_WEBSOCKET, 403);
	r->verdict.allow = true;
	r->verdict.reason = REASON_ALLOWED;
	return 0;
}

/* Returns the worst of the rules' verdicts on @body, or on the query if @body
 * is NULL. */
static enum igraphql_verdict judge_graphql(const struct ireq_impl *im,
					   struct slice path,
					   const struct slice *body)
{
	enum igraphql_verdict v, all = IGRAPHQL_PASSES;

	for (uint32_t i = 0; i < im->http.n_graphql; i++) {
		const struct igraphql_rule *rule = im->http.graphql[i];

		v = body ? igraphql_body(*body, rule) :
			   ireq_query_judge(path, rule);
		if (v == IGRAPHQL_REFUSED)
			return v;
		if (v == IGRAPHQL_PUSH)
			all = v;
	}
	return all;
}

static int end_graphql(struct ireq *r, enum igraphql_verdict v)
{
	struct ireq_impl *im = r->impl;

	if (v == IGRAPHQL_PASSES)
		return 0;
	im->push = v == IGRAPHQL_PUSH;
	return ireq_fail(r, REASON_GRAPHQL, 403);
}

/* Judges a GraphQL request without a body. */
static int judge_query(struct ireq *r, struct ihead *h)
{
	bool get = is_method(h->method, "GET") ||
		   is_method(h->method, "HEAD") ||
		   is_method(h->method, "OPTIONS");

	if (!get)
		return ireq_fail(r, REASON_GRAPHQL, 403);
	return end_graphql(r, judge_graphql(r->impl, h->path, NULL));
}

/* Holds, or refuses, a POST whose form may name another method. */
static int judge_form(struct ireq *r, struct ihead *h)
{
	struct ireq_impl *im = r->impl;
	enum ireq_form form = is_method(h->method, "POST") ? ireq_form_of(h) :
							     IREQ_FORM_NONE;

	im->judge_form = form == IREQ_FORM_FIELDS;
	r->hold |= im->judge_form;
	if (form != IREQ_FORM_UNREAD)
		return 0;
	im->form = true;
	return ireq_fail(r, REASON_METHOD, 403);
}

static int judge_body(struct ireq *r, struct ihead *h,
		      const struct http_verdict *v)
{
	struct ireq_impl *im = r->impl;
	bool graphql = v->n_graphql > 0;

	im->http = *v;
	if (!h->has_body)
		return graphql ? judge_query(r, h) : 0;
	if (graphql) {
		im->unread = memchr(h->path.ptr, '?', h->path.len) ||
			     !ireq_body_is_json(h);
		if (im->unread)
			return ireq_fail(r, REASON_GRAPHQL, 403);
		im->judge_body = r->hold = true;
	}
	if (v->judge_forms && judge_form(r, h))
		return im->status;
	if (r->hold && r->body_max > IREQ_HOLD_MAX)
		r->body_max = IREQ_HOLD_MAX;
	if (r->body_max == 0 ||
	    (h->length != IHEAD_NO_LENGTH && h->length > r->body_max))
		return ireq_fail(r, REASON_BODY_LIMIT, 413);
	return 0;
}

/* --- the credential ------------------------------------------------------ */

static int sign_now(struct ireq *r, struct ihead *h, const uint8_t *body)
{
	struct slice value = slice_of(r->secret->value, r->secret->value_len);
	int e = sigv4_sign(h, r->secret->access_key, value, body);

	if (e == -ENOMEM)
		return ireq_fail(r, REASON_NO_MEMORY, 503);
	if (e < 0)
		return ireq_fail(r, REASON_CREDENTIAL, 403);
	return 0;
}

/* Sets up masking of responses; also if nothing was injected, since the server
 * may have got the credential with an earlier request. */
static int prepare_mask(struct ireq *r, struct ihead *h, const struct secret *s)
{
	int e = 0;

	if (s && s->mask && secret_has_host(s, r->ctx.name, r->ctx.port)) {
		r->mask = mask_ref(s->mask);
		r->guarded = s;
		ireq_ask_plain(h);
		/* A value that is fetched byte by byte would not be found. A
		 * server may always answer with the whole (RFC 9110 §14.2). A
		 * key of AWS is never sent, so it cannot come back. */
		if (s->kind != SECRET_AWS) {
			ihead_drop(h, "range");
			ihead_drop(h, "if-range");
		}
	}
	if (r->mask || r->usage)
		e = ireq_put(h, "accept-encoding", "identity");
	return e < 0 ? ireq_fail(r, REASON_NO_MEMORY, 431) : 0;
}

static int credentials(struct ireq *r, struct ihead *h,
		       const struct http_verdict *v)
{
	const char *id = r->verdict.rule->credential;
	const struct secret *s = id ? secret_set_find(r->ctx.secrets, id) :
				      NULL;
	struct inject_ask ask = {
		.set = r->ctx.secrets,
		.secret = s,
		.wanted = id != NULL,
		.exclusive = v->exclusive,
		.as = v->as,
		.host = r->ctx.name,
		.port = r->ctx.port,
		.now_s = r->ctx.now_s,
	};
	struct inject_answer a = inject_credentials(h, &ask);
	struct ireq_impl *im = r->impl;
	int status;

	if (a.status)
		return ireq_fail(r, a.reason, a.status);
	if (s && secret_is_revoked(s))
		return ireq_fail(r, REASON_REVOKED, 403);
	status = prepare_mask(r, h, s);
	if (status || !a.injected)
		return status;
	r->secret = s;
	snprintf(r->credential, sizeof(r->credential), "%s", s->id);
	im->injected = true;
	if (!a.sign)
		return 0;
	if (!sigv4_needs_body(h))
		return sign_now(r, h, NULL);
	im->sign = r->hold = true;
	if (h->length != IHEAD_NO_LENGTH && h->length > IREQ_HOLD_MAX)
		return ireq_fail(r, REASON_BODY_LIMIT, 413);
	if (r->body_max > IREQ_HOLD_MAX)
		r->body_max = IREQ_HOLD_MAX;
	return 0;
}

/* --- the calls ----------------------------------------------------------- */

static bool is_token(struct slice s)
{
	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.ptr[i];

		if (!((c >= 'A' && c <= 'Z') || c == '-' || c == '_'))
			return false;
	}
	return s.len > 0;
}

static int judge(struct ireq *r, struct ihead *h)
{
	struct ireq_impl *im = r->impl;
	struct http_verdict v = { .reason = REASON_ALLOWED };
	struct slice path = slice_of(NULL, 0);
	int status;

	/* What one server takes for no method may be GET to another. */
	if (!is_token(h->method) || h->method.len >= sizeof(im->method))
		return ireq_fail(r, REASON_BAD_HTTP, 501);
	memcpy(im->method, h->method.ptr, h->method.len);
	status = judge_authority(r, h);
	if (status == 0)
		status = judge_path(r, h, &path);
	if (status == 0)
		status = judge_policy(r, h, path, &v);
	if (status == 0)
		status = judge_body(r, h, &v);
	if (status)
		return status;
	ireq_strip_request(h, v.restricted);
	r->usage = llm_usage_new(h->method, path, r->ctx.now_ms);
	return credentials(r, h, &v);
}

int ireq_begin(struct ireq *r, const struct ireq_ctx *ctx, struct ihead *head)
{
	struct ireq_impl *im = calloc(1, sizeof(*im));

	*r = (struct ireq){
		.ctx = *ctx,
		.impl = im,
		.body_max = UINT64_MAX,
		.answer_max = UINT64_MAX,
	};
	r->verdict.port = ctx->port;
	buf_init(&r->held, IREQ_HOLD_MAX);
	if (!im)
		return ireq_fail(r, REASON_NO_MEMORY, 503);
	if (!ctx->policy)
		return ireq_fail(r, REASON_POLICY_GONE, 503);
	im->head = head;
	im->websocket = head->websocket;
	r->head_request = is_method(head->method, "HEAD");
	return judge(r, head);
}

int ireq_body(struct ireq *r, struct slice in)
{
	r->body_seen += in.len;
	if (r->body_seen > r->body_max)
		return ireq_fail(r, REASON_BODY_LIMIT, 413);
	if (r->usage)
		llm_usage_request(r->usage, in);
	if (!r->hold)
		return 0;
	switch (buf_append(&r->held, in.ptr, in.len)) {
	case 0:
		return 0;
	case -ENOBUFS:
		return ireq_fail(r, REASON_BODY_LIMIT, 413);
	default:
		return ireq_fail(r, REASON_NO_MEMORY, 503);
	}
}

int ireq_body_end(struct ireq *r)
{
	struct ireq_impl *im = r->impl;
	struct slice body = buf_slice(&r->held);
	uint8_t hash[SIGV4_HASH];

	if (!r->hold)
		return 0;
	if (im->judge_body) {
		int status = end_graphql(r, judge_graphql(im, body, &body));

		if (status)
			return status;
	}
	if (im->judge_form && ireq_names_method(body)) {
		im->form = true;
		return ireq_fail(r, REASON_METHOD, 403);
	}
	if (!im->sign)
		return 0;
	crypto_hash_sha256(hash, body.ptr, body.len);
	return sign_now(r, im->head, hash);
}

void ireq_end(struct ireq *r)
{
	mask_end(&r->down);
	mask_unref(r->mask);
	llm_usage_free(r->usage);
	buf_done(&r->held);
	free(r->impl);
	r->mask = NULL;
	r->usage = NULL;
	r->impl = NULL;
	r->secret = r->guarded = NULL;
}

size_t ireq_denial(const struct ireq *r, const char *agent, char *out,
		   size_t size)
{
	const struct ireq_impl *im = r->impl;
	size_t len = deny_text(out, size, im ? im->status : 503, agent,
			       r->ctx.name->s, r->ctx.port, &r->verdict);
	bool push = im && im->push && agent;
	int n;

	if (!im || !r->path_log[0] || len >= size)
		return len;
	n = snprintf(out + len, size - len, "the request was: %s %s\n%s%s%s",
		     im->method, r->path_log,
		     push       ? "let it push with: ac policy push " :
		     im->unread ? "GraphQL is judged when its body comes as "
				  "Content-Type: application/json, not "
				  "compressed, to a URL without a query\n" :
		     im->form   ? "it may be a form that names another method: "
				  "send it as Content-Type: "
				  "application/json\n" :
				  "",
		     push ? agent : "", push ? " allow\n" : "");
	if (n < 0)
		return len;
	return (size_t)n < size - len ? len + (size_t)n : size - 1;
}
