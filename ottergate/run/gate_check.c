/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_check.c - `check`: what would be said to a request, without making it
 *
 * The decision is the one function that connections ask, so the answer is the
 * same. What only a connection can show is not in it: the addresses that the
 * name resolves to, a request's fields and body, and what is left of the limits.
 */
#include "ottergate/run/gate_impl.h"

#include <string.h>
#include <time.h>

#include "lib/loop.h"
#include "ottergate/policy/ipath.h"
#include "ottergate/inspect/judge/ireq_impl.h"
#include "ottergate/policy/load.h"

/* What an inspect rule says of the request itself. */
static int check_request(const struct check_target *t, struct verdict *v,
			 struct err *err)
{
	struct ipath *p = malloc(sizeof(*p));
	struct http_verdict http;
	struct slice path, all;
	int r;

	if (!p)
		return err_nomem(err);
	r = ipath_canon(slice_str(t->target), p);
	v->reason = r == -E2BIG ? REASON_PATH_LONG : REASON_PATH;
	if (r == 0) {
		path = slice_of(p->s, p->path_len);
		all = slice_of(p->s, p->len);
		http = decide_http(v->rule, slice_str(t->method), path);
		v->reason = http.reason;
		/* git's question before a push is answered as the push. */
		if (v->reason == REASON_ALLOWED)
			v->reason = ireq_git_judge(v->rule, all, path);
		if (v->reason == REASON_ALLOWED && http.restricted &&
		    ireq_has_method_param(all))
			v->reason = REASON_METHOD;
	}
	v->allow = v->reason == REASON_ALLOWED;
	free(p);
	return 0;
}

static int check(const struct agent_policy *a, const char *url,
		 struct check_target *t, struct verdict *v, struct err *err)
{
	struct request rq;
	int r = check_target_parse(url, t, err);

	if (r < 0)
		return r;
	rq = (struct request){
		.path = t->path,
		.name = &t->name,
		.addr = t->addr,
		.port = t->port,
		.method = slice_str(t->method),
		.target = slice_str(t->target),
	};
	*v = decide(a, &rq);
	if (agent_policy_left(a, (uint64_t)time(NULL) * 1000, clock_ms()) ==
	    0) {
		v->allow = false;
		v->reason = REASON_EXPIRED;
	}
	return v->allow && v->use == RULE_INSPECT ? check_request(t, v, err) :
						    0;
}

/* @servers NULL: of the name alone. */
static int answer(const struct agent_policy *a, const char *url,
		  const struct strv *servers, struct buf *out, struct err *err)
{
	struct check_target t;
	struct verdict v;
	int r = check(a, url, &t, &v, err);

	if (r < 0)
		return r;
	/* A name that is denied is not looked up. */
	r = servers && v.allow ? gate_places(a, &t, servers, &v, out) :
				 verdict_json(a, &t, &v, out);
	if (r < 0)
		return err_set(err, r, "%s", err_text(r));
	return v.allow;
}

int gate_check(const struct agent_policy *a, const char *url, struct buf *out,
	       struct err *err)
{
	return answer(a, url, NULL, out, err);
}

int gate_check_places(const struct agent_policy *a, const char *url,
		      const struct strv *servers, struct buf *out,
		      struct err *err)
{
	return answer(a, url, servers, out, err);
}
