/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_check.c - `check`: the verdict on a request, without making it
 *
 * It calls the same decision function as connections do, so the answer is the
 * same. It cannot cover what only a connection shows: the addresses of the
 * name, a request's fields and body, and what is left of the limits.
 */
#include "ottergate/run/gate_impl.h"

#include <string.h>
#include <time.h>

#include "lib/loop.h"
#include "ottergate/policy/request/path.h"
#include "ottergate/inspect/judge/ireq_impl.h"
#include "ottergate/policy/load.h"

/* Applies what an inspect rule says about the request itself. */
static int check_request(const struct check_target *t, struct verdict *v,
			 struct err *err)
{
	struct ipath *p = malloc(sizeof(*p));
	struct http_verdict http;
	struct slice path, all;
	int rc;

	if (!p)
		return err_nomem(err);
	rc = ipath_canon(slice_str(t->target), p);
	v->reason = rc == -E2BIG ? REASON_PATH_LONG : REASON_PATH;
	if (rc == 0) {
		path = slice_of(p->s, p->path_len);
		all = slice_of(p->s, p->len);
		http = decide_http(v->rule, slice_str(t->method), path);
		v->reason = http.reason;
		/* git's query before a push is judged like the push. */
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
	int rc = check_target_parse(url, t, err);

	if (rc < 0)
		return rc;
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

/* @servers NULL: judge the name alone. */
static int answer(const struct agent_policy *a, const char *url,
		  const struct strv *servers, struct buf *out, struct err *err)
{
	struct check_target t;
	struct verdict v;
	int rc = check(a, url, &t, &v, err);

	if (rc < 0)
		return rc;
	/* a denied name is not resolved */
	rc = servers && v.allow ? gate_places(a, &t, servers, &v, out) :
				  verdict_json(a, &t, &v, out);
	if (rc < 0)
		return err_set(err, rc, "%s", err_text(rc));
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
