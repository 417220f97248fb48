/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credential_world.h - requests with a credential, judged as the gateway does:
 * by the rules that acd writes, the gateway's loader and its ireq.h
 */
#ifndef TESTS_UNIT_BLUEPRINTS_CREDENTIAL_WORLD_H
#define TESTS_UNIT_BLUEPRINTS_CREDENTIAL_WORLD_H

#include "control/acd/credential/rules.h"

#include <string.h>

#include "lib/str.h"
#include "ottergate/inspect/judge/ireq.h"
#include "ottergate/policy/load.h"

#define WORLD_FILES "blueprints/credentials"

struct judge {
	struct policy *policy;
	struct agent_policy *agent;
};

static inline const char *const *world_hosts(enum secret_kind kind)
{
	static const char *const github[] = { "github.com", "api.github.com",
					      "uploads.github.com", NULL };
	static const char *const gitlab[] = { "gitlab.com", NULL };
	static const char *const npm[] = { "registry.test", NULL };
	static const char *const other[] = { "api.test", NULL };

	return kind == SECRET_GITHUB ? github :
	       kind == SECRET_GITLAB ? gitlab :
	       kind == SECRET_NPM    ? npm :
				       other;
}

static inline int world_rules(const struct credential_kinds *kinds,
			      enum secret_kind kind, enum git_push push,
			      const char *path, struct buf *out,
			      struct err *err)
{
	struct vstore_entry *e = vstore_entry_new();
	struct credential c = { 0 };
	int rc = e ? 0 : -ENOMEM;

	for (const char *const *h = world_hosts(kind); rc == 0 && *h; h++)
		rc = strv_push(&e->hosts, *h);
	if (rc == 0 && path)
		rc = strv_push(&c.paths, path);
	if (rc == 0)
		rc = buf_printf(out, "version: 1\nagents:\n  - id: one\n"
				     "    match: { address: 172.20.1.7 }\n"
				     "    allow:\n");
	if (rc == 0) {
		snprintf(e->name, sizeof(e->name), "it");
		e->kind = kind;
		rc = credential_rules(kinds, e, &c, push, 1, out, err);
	}
	strv_done(&c.paths);
	vstore_entry_free(e);
	return rc;
}

/* @path: what a blueprint says, NULL: nothing. Fails with a finding, too. */
static inline int judge_begin(struct judge *j,
			      const struct credential_kinds *kinds,
			      enum secret_kind kind, enum git_push push,
			      const char *path, struct err *err)
{
	static const char *const none[] = { NULL };
	struct lint lint = { 0 };
	struct buf out;
	struct slice s;
	int rc;

	*j = (struct judge){ 0 };
	buf_init(&out, 1 << 17);
	rc = world_rules(kinds, kind, push, path, &out, err);
	if (rc >= 0)
		rc = policy_load(none, &j->policy, &lint, err);
	s = buf_slice(&out);
	if (rc >= 0)
		rc = policy_load_agent(j->policy, (const char *)s.ptr, s.len,
				       "one", &j->agent, &lint, err);
	if (rc >= 0 && lint.n > 0)
		rc = err_set(err, -EINVAL, "%s", lint.v[0].text);
	lint_done(&lint);
	buf_done(&out);
	return rc < 0 ? rc : 0;
}

static inline void judge_end(struct judge *j)
{
	agent_policy_unref(j->agent);
	policy_unref(j->policy);
}

/* Does "METHOD host/path" pass, with the @body of this @type if there is one?
 * @denial: the text that its client gets, NULL: not wanted. */
static inline bool judge_passes_as(const struct judge *j, const char *method,
				   const char *url, const char *type,
				   const char *body, char *denial, size_t size)
{
	size_t len = strcspn(url, "/");
	struct ireq_ctx ctx = { .policy = j->agent, .port = 443, .now_s = 1 };
	struct ihead h;
	struct name name;
	struct ireq r;
	int status;

	if (name_canon(slice_of((const uint8_t *)url, len), &name) < 0)
		return false;
	ihead_init(&h);
	ctx.name = &name;
	h.method = ihead_keep(&h, slice_str(method));
	h.path = ihead_keep(&h, slice_str(url + len));
	h.authority = ihead_keep(&h, slice_str(name.s));
	h.length = body ? strlen(body) : IHEAD_NO_LENGTH;
	h.has_body = body != NULL;
	if (ihead_add_str(&h, "content-type", type) != 0)
		return false;
	status = ireq_begin(&r, &ctx, &h);
	if (status == 0 && body)
		status = ireq_body(&r, slice_str(body));
	if (status == 0 && body)
		status = ireq_body_end(&r);
	if (denial && size > 0)
		denial[0] = '\0';
	if (denial && status)
		ireq_denial(&r, "one", denial, size);
	ireq_end(&r);
	ihead_done(&h);
	return status == 0;
}

/* The same with a body of JSON. */
static inline bool judge_passes(const struct judge *j, const char *method,
				const char *url, const char *body, char *denial,
				size_t size)
{
	return judge_passes_as(j, method, url, "application/json", body, denial,
			       size);
}

#endif
