/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide_http.c - may this method and path pass, for a name that is allowed?
 *
 * The second half of the decision, for inspect rules alone: rule-local denials
 * first, then the list of what is allowed, where there is one. What the entries
 * demand of the body is added up, so that a wide entry never undoes what a
 * narrow one was written for.
 */
#include "ottergate/policy/policy_impl.h"

#include <string.h>

static bool is_word(struct slice s, const char *word)
{
	return slice_eq(s, slice_str(word));
}

static bool method_matches(const struct http_match *m, struct slice method)
{
	for (uint32_t i = 0; i < m->n_methods; i++) {
		if (strcmp(m->methods[i], "*") == 0 ||
		    is_word(method, m->methods[i]))
			return true;
	}
	return m->n_methods == 0;
}

static bool path_matches(const struct http_match *m,
			 const struct ipath_hits *hits, size_t item)
{
	return m->n_paths == 0 || ipath_hit(hits, item);
}

static void refuse(struct http_verdict *v, int status)
{
	v->reason = REASON_METHOD;
	v->status = status;
}

struct found { /* what of a rule the path matches */
	struct ipath_hits exact, alike;
};

/* Adds what @m says of a GraphQL body. Fails with -E2BIG. */
static int add_graphql(struct http_verdict *v, const struct http_match *m)
{
	if (!m->graphql)
		return 0;
	if (v->n_graphql == HTTP_GRAPHQL_MAX)
		return -E2BIG;
	v->graphql[v->n_graphql++] = m->graphql;
	return 0;
}

/* Returns true if any entry allows it. Adds what the entries say of the body,
 * also where a server alone may take the path for theirs. */
static bool is_allowed(const struct http_rules *h, struct slice method,
		       const struct found *f, struct http_verdict *v)
{
	bool allowed = h->n_allow == 0;

	for (uint32_t i = 0; i < h->n_allow; i++) {
		const struct http_match *m = &h->allow[i];

		if (!path_matches(m, &f->alike, h->n_deny + i) ||
		    !method_matches(m, method))
			continue;
		allowed |= path_matches(m, &f->exact, i);
		if (add_graphql(v, m) < 0)
			return false;
		if (m->body_max < v->body_max)
			v->body_max = m->body_max;
		v->judge_forms |= m->judge_forms;
	}
	return allowed;
}

/* Returns true if it is within what the rule is limited to. */
static bool is_within(const struct http_rules *h, struct slice method,
		      const struct found *f)
{
	for (uint32_t i = 0; i < h->n_within; i++) {
		if (path_matches(&h->within[i], &f->exact, h->n_allow + i) &&
		    method_matches(&h->within[i], method))
			return true;
	}
	return h->n_within == 0;
}

static bool is_denied(const struct http_rules *h, struct slice method,
		      const struct found *f, struct http_verdict *v)
{
	bool denied = false;

	for (uint32_t i = 0; i < h->n_deny; i++) {
		const struct http_match *m = &h->deny[i];

		if (!path_matches(m, &f->alike, i) ||
		    !method_matches(m, method))
			continue;
		/* Nothing lifts one that is not `push`. */
		v->push = m->push;
		denied = true;
		if (!m->push)
			break;
	}
	return denied;
}

/* What fits @path. -ENOMEM; -E2BIG: to find it is too much work. */
static int found_of(const struct http_rules *h, struct slice path,
		    struct found *f)
{
	int rc = ipath_set_match(h->exact, path, &f->exact);

	f->alike.work = f->exact.work;
	return rc < 0 ? rc : ipath_set_like(h->alike, path, &f->alike);
}

struct http_verdict decide_http(const struct rule *rule, struct slice method,
				struct slice path)
{
	const struct http_rules *h = rule->http;
	struct found f = { 0 };
	int rc;
	struct http_verdict v = {
		.reason = REASON_ALLOWED,
		.body_max = UINT64_MAX,
		.response_max = UINT64_MAX,
	};

	/* TRACE answers with what was injected; CONNECT would be a tunnel. */
	if (is_word(method, "TRACE") || is_word(method, "CONNECT")) {
		refuse(&v, 405);
		return v;
	}
	if (!h)
		return v;
	v.exclusive = h->exclusive;
	v.as = h->auth_as;
	v.body_max = h->upload_max;
	v.response_max = h->response_max;
	v.requests_min = h->requests_min;
	v.restricted = h->restricted;
	rc = found_of(h, path, &f);
	v.work = f.alike.work;
	if (rc < 0) {
		v.reason = rc == -E2BIG ? REASON_PATH_LONG : REASON_NO_MEMORY;
		v.status = rc == -E2BIG ? 414 : 503;
		return v;
	}
	if (!is_within(h, method, &f) || is_denied(h, method, &f, &v) ||
	    !is_allowed(h, method, &f, &v))
		refuse(&v, 403);
	/* A body where none belongs is an upload that no server looks for (H9). */
	if (v.restricted && (is_word(method, "GET") || is_word(method, "HEAD")))
		v.body_max = 0;
	return v;
}
