/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide_http.c - may this method and path pass, for a name that is allowed?
 *
 * The second half of the decision, for inspect rules alone: rule-local denials
 * first, then the list of what is allowed, where there is one. What the entries
 * demand of the body is added up, so that a wide entry never undoes what a
 * narrow one was written for.
 */
#include "ottergate/policy_impl.h"

#include <string.h>

#include "ottergate/ipath.h"

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

static bool path_matches(const struct http_match *m, struct slice path,
			 bool deny)
{
	for (uint32_t i = 0; i < m->n_paths; i++) {
		if (deny ? ipath_match_deny(m->paths[i], path) :
			   ipath_match(m->paths[i], path))
			return true;
	}
	return m->n_paths == 0;
}

static bool is_restricted(const struct http_match *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < v[i].n_methods; k++) {
			if (strcmp(v[i].methods[k], "*") != 0)
				return true;
		}
	}
	return false;
}

static void refuse(struct http_verdict *v, int status)
{
	v->reason = REASON_METHOD;
	v->status = status;
}

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
		       struct slice path, struct http_verdict *v)
{
	bool allowed = h->n_allow == 0;

	for (uint32_t i = 0; i < h->n_allow; i++) {
		const struct http_match *m = &h->allow[i];

		if (!method_matches(m, method) || !path_matches(m, path, true))
			continue;
		allowed |= path_matches(m, path, false);
		if (add_graphql(v, m) < 0)
			return false;
		if (m->body_max < v->body_max)
			v->body_max = m->body_max;
	}
	return allowed;
}

/* Returns true if it is within what the rule is limited to. */
static bool is_within(const struct http_rules *h, struct slice method,
		      struct slice path)
{
	for (uint32_t i = 0; i < h->n_within; i++) {
		if (method_matches(&h->within[i], method) &&
		    path_matches(&h->within[i], path, false))
			return true;
	}
	return h->n_within == 0;
}

static bool is_denied(const struct http_rules *h, struct slice method,
		      struct slice path, struct http_verdict *v)
{
	bool denied = false;

	for (uint32_t i = 0; i < h->n_deny; i++) {
		const struct http_match *m = &h->deny[i];

		if (!method_matches(m, method) || !path_matches(m, path, true))
			continue;
		/* Nothing lifts one that is not `push`. */
		v->push = m->push;
		denied = true;
		if (!m->push)
			break;
	}
	return denied;
}

struct http_verdict decide_http(const struct rule *r, struct slice method,
				struct slice path)
{
	const struct http_rules *h = r->http;
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
	v.restricted = is_restricted(h->within, h->n_within) ||
		       is_restricted(h->allow, h->n_allow) ||
		       is_restricted(h->deny, h->n_deny);
	if (!is_within(h, method, path) || is_denied(h, method, path, &v) ||
	    !is_allowed(h, method, path, &v))
		refuse(&v, 403);
	/* A body where none belongs is an upload that nobody looks for (H9). */
	if (v.restricted && (is_word(method, "GET") || is_word(method, "HEAD")))
		v.body_max = 0;
	return v;
}
