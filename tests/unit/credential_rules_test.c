/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credential_rules_test.c - what a git host's token opens: no token, key, hook
 * or member besides, and no write to a repository by a way that is not `push`
 *
 * The rules are judged by the gateway's own loader and decision.
 */
#include "control/acd/credential_rules.h"

#include "lib/str.h"
#include "ottergate/policy_load.h"
#include "tests/unit/tap.h"

#define AGENT                                \
	"version: 1\nagents:\n  - id: one\n" \
	"    match: { address: 172.20.1.7 }\n    allow:\n"

struct judge {
	struct policy *policy;
	struct agent_policy *agent;
};

static const char *host_of(enum secret_kind kind)
{
	return kind == SECRET_GITHUB ? "api.github.com" : "lab.test";
}

static bool begin(struct judge *j, enum secret_kind kind, enum git_push push,
		  const char *path)
{
	static const char *const none[] = { NULL };
	struct vstore_entry *e = vstore_entry_new();
	struct credential c = { 0 };
	struct lint lint = { 0 };
	struct err err = { 0 };
	struct buf out;
	struct slice s;
	bool good;

	*j = (struct judge){ 0 };
	buf_init(&out, 1 << 16);
	good = e && strv_push(&e->hosts, host_of(kind)) == 0 &&
	       (!path || strv_push(&c.paths, path) == 0) &&
	       buf_printf(&out, AGENT) == 0;
	if (good) {
		snprintf(e->name, sizeof(e->name), "it");
		e->kind = kind;
		good = credential_rules(e, &c, push, 1, &out, &err) == 0 &&
		       policy_load(none, &j->policy, &lint, &err) == 0;
	}
	s = buf_slice(&out);
	good = good && policy_load_agent(j->policy, (const char *)s.ptr, s.len,
					 "one", &j->agent, &lint, &err) == 0;
	ok(good && lint.n == 0, "rules that the gateway takes %s", err.msg);
	lint_done(&lint);
	strv_done(&c.paths);
	buf_done(&out);
	vstore_entry_free(e);
	return good;
}

static void end(struct judge *j)
{
	agent_policy_unref(j->agent);
	policy_unref(j->policy);
}

static struct http_verdict judge(const struct judge *j, enum secret_kind kind,
				 const char *method, const char *path)
{
	struct http_verdict v = { .reason = REASON_NOT_ALLOWED };
	struct request rq = { .path = PATH_TLS, .port = 443 };
	struct verdict of;
	struct name n;

	rq.name = &n;
	if (name_canon(slice_str(host_of(kind)), &n) < 0)
		return v;
	of = decide(j->agent, &rq);
	return of.rule ? decide_http(of.rule, slice_str(method),
				     slice_str(path)) :
			 v;
}

static const struct row {
	const char *method, *path;
	enum secret_kind kind;
	char ask, allow; /* 'a' allowed, 'd' denied: by what `push` says */
} rows[] = {
	/* also where a repository's name is one of these words */
	{ "POST", "/repos/o/git/issues", SECRET_GITHUB, 'a', 'a' },
	{ "POST", "/repos/o/keys/issues", SECRET_GITHUB, 'a', 'a' },
	{ "POST", "/repos/o/r/git/refs", SECRET_GITHUB, 'd', 'a' },
	{ "PATCH", "/repositories/7/git/refs/a", SECRET_GITHUB, 'd', 'a' },
	{ "DELETE", "/repos/o/r/git/refs/heads/a", SECRET_GITHUB, 'd', 'a' },
	{ "PUT", "/repos/o/r/contents/a/b", SECRET_GITHUB, 'd', 'a' },
	{ "PUT", "/api/v3/repos/o/r/contents/a", SECRET_GITHUB, 'd', 'a' },
	{ "POST", "/repos/o/r/merges", SECRET_GITHUB, 'd', 'a' },
	{ "PUT", "/repos/o/r/pulls/7/merge", SECRET_GITHUB, 'd', 'a' },
	{ "PUT", "/repos/o/r/pulls/7/update-branch", SECRET_GITHUB, 'd', 'a' },
	{ "POST", "/repos/o/r/branches/a/rename", SECRET_GITHUB, 'd', 'a' },
	{ "POST", "/repos/o/r/pulls", SECRET_GITHUB, 'a', 'a' },
	{ "GET", "/repos/o/r/hooks", SECRET_GITHUB, 'a', 'a' },
	{ "POST", "/repos/o/r/hooks", SECRET_GITHUB, 'd', 'd' },
	{ "POST", "/Repos/o/r/hooks/", SECRET_GITHUB, 'd', 'd' },
	{ "PATCH", "/repos/o/r/hooks/1/config", SECRET_GITHUB, 'd', 'd' },
	{ "POST", "/orgs/o/hooks", SECRET_GITHUB, 'd', 'd' },
	{ "POST", "/hub", SECRET_GITHUB, 'd', 'd' },
	{ "PUT", "/repos/o/r/collaborators/evil", SECRET_GITHUB, 'd', 'd' },
	{ "PUT", "/repos/o/r/actions/secrets/A", SECRET_GITHUB, 'd', 'd' },
	{ "PUT", "/repos/o/r/dependabot/secrets/A", SECRET_GITHUB, 'd', 'd' },
	{ "PUT", "/repos/o/r/environments/e/secrets/A", SECRET_GITHUB, 'd',
	  'd' },
	{ "PUT", "/repositories/7/environments/e/secrets/A", SECRET_GITHUB, 'd',
	  'd' },
	{ "POST", "/repos/o/r/transfer", SECRET_GITHUB, 'd', 'd' },
	{ "POST", "/repos/o/r/keys", SECRET_GITHUB, 'd', 'd' },
	{ "POST", "/user/gpg_keys", SECRET_GITHUB, 'd', 'd' },
	{ "POST", "/user/ssh_signing_keys", SECRET_GITHUB, 'd', 'd' },
	{ "POST", "/authorizations", SECRET_GITHUB, 'd', 'd' },
	{ "POST", "/applications/1/token", SECRET_GITHUB, 'd', 'd' },
	{ "POST", "/user/keys", SECRET_GITHUB, 'd', 'd' },
	{ "POST", "/gists", SECRET_GITHUB, 'd', 'd' },
	{ "PATCH", "/gists/1", SECRET_GITHUB, 'd', 'd' },
	{ "POST", "/api/v3/gists", SECRET_GITHUB, 'd', 'd' },
	{ "PATCH", "/repos/o/r/actions/variables/A", SECRET_GITHUB, 'd', 'd' },
	{ "POST", "/repos/o/r/actions/variables", SECRET_GITHUB, 'd', 'd' },
	{ "POST", "/orgs/o/actions/variables", SECRET_GITHUB, 'd', 'd' },
	{ "POST", "/repos/o/r/environments/e/variables", SECRET_GITHUB, 'd',
	  'd' },
	{ "PUT", "/repos/o/r/environments/e", SECRET_GITHUB, 'd', 'd' },
	{ "PUT", "/repos/o/r/actions/permissions/workflow", SECRET_GITHUB, 'd',
	  'd' },
	{ "POST", "/repos/o/r/actions/runners/registration-token",
	  SECRET_GITHUB, 'd', 'd' },
	{ "POST", "/orgs/o/actions/runners/generate-jitconfig", SECRET_GITHUB,
	  'd', 'd' },
	{ "PATCH", "/repos/o/r", SECRET_GITHUB, 'd', 'd' },
	{ "DELETE", "/repos/o/r", SECRET_GITHUB, 'd', 'd' },
	{ "PATCH", "/api/v3/repos/o/r", SECRET_GITHUB, 'd', 'd' },
	{ "PATCH", "/repositories/7", SECRET_GITHUB, 'd', 'd' },
	{ "PATCH", "/orgs/o", SECRET_GITHUB, 'd', 'd' },
	{ "DELETE", "/repos/o/r/branches/main/protection", SECRET_GITHUB, 'd',
	  'd' },
	{ "POST", "/repos/o/r/rulesets", SECRET_GITHUB, 'd', 'd' },
	{ "POST", "/orgs/o/rulesets", SECRET_GITHUB, 'd', 'd' },
	{ "POST", "/repos/o/r/pages", SECRET_GITHUB, 'd', 'd' },
	{ "POST", "/user/codespaces", SECRET_GITHUB, 'd', 'd' },
	{ "POST", "/repos/o/r/codespaces", SECRET_GITHUB, 'd', 'd' },
	{ "POST", "/user/emails", SECRET_GITHUB, 'd', 'd' },
	{ "PATCH", "/user/repository_invitations/1", SECRET_GITHUB, 'd', 'd' },
	{ "PUT", "/orgs/o/teams/t/memberships/evil", SECRET_GITHUB, 'd', 'd' },
	{ "PUT", "/teams/1/members/evil", SECRET_GITHUB, 'd', 'd' },
	{ "POST", "/orgs/o/personal-access-token-requests/1", SECRET_GITHUB,
	  'd', 'd' },
	{ "POST", "/app/installations/1/access_tokens", SECRET_GITHUB, 'd',
	  'd' },
	{ "POST", "/api/v3/admin/users", SECRET_GITHUB, 'd', 'd' },
	{ "POST", "/orgs/o/migrations", SECRET_GITHUB, 'd', 'd' },
	{ "PATCH", "/repos/o/gists", SECRET_GITHUB, 'd', 'd' },
	{ "POST", "/repos/o/r/dispatches", SECRET_GITHUB, 'd', 'a' },
	{ "POST", "/repos/o/r/actions/workflows/ci.yml/dispatches",
	  SECRET_GITHUB, 'd', 'a' },
	{ "POST", "/repos/o/r/actions/workflows/1/dispatches/", SECRET_GITHUB,
	  'd', 'a' },
	{ "POST", "/repos/o/r/actions/runs/1/rerun", SECRET_GITHUB, 'd', 'a' },
	{ "POST", "/repos/o/r/actions/jobs/1/rerun", SECRET_GITHUB, 'd', 'a' },
	{ "POST", "/repos/o/r/releases", SECRET_GITHUB, 'd', 'a' },
	{ "PATCH", "/repos/o/r/releases/1", SECRET_GITHUB, 'd', 'a' },
	{ "POST", "/repos/o/r/releases/1/assets", SECRET_GITHUB, 'd', 'a' },
	{ "POST", "/repos/o/r/deployments", SECRET_GITHUB, 'd', 'a' },
	{ "POST", "/repos/o/gists/issues", SECRET_GITHUB, 'a', 'a' },
	{ "POST", "/repos/o/teams/pulls", SECRET_GITHUB, 'a', 'a' },
	{ "POST", "/repos/o/r/pulls/1/comments", SECRET_GITHUB, 'a', 'a' },
	{ "POST", "/repos/o/r/issues/1/labels", SECRET_GITHUB, 'a', 'a' },
	{ "POST", "/repos/o/r/forks", SECRET_GITHUB, 'a', 'a' },
	{ "GET", "/repos/o/r/actions/variables", SECRET_GITHUB, 'a', 'a' },
	{ "GET", "/gists", SECRET_GITHUB, 'a', 'a' },
	{ "GET", "/repos/o/r", SECRET_GITHUB, 'a', 'a' },
	{ "PUT", "/orgs/o/organization-roles/users/evil/1", SECRET_GITHUB, 'd',
	  'd' },
	{ "PUT", "/api/v3/orgs/o/organization-roles/teams/t/1", SECRET_GITHUB,
	  'd', 'd' },
	{ "POST", "/orgs/o/custom-repository-roles", SECRET_GITHUB, 'd', 'd' },
	{ "PUT", "/orgs/o/security-managers/teams/t", SECRET_GITHUB, 'd', 'd' },
	{ "PUT", "/user/installations/1/repositories/2", SECRET_GITHUB, 'd',
	  'd' },
	{ "PUT", "/api/v3/user/installations/1/repositories/2", SECRET_GITHUB,
	  'd', 'd' },
	{ "POST", "/orgs/o/code-security/configurations", SECRET_GITHUB, 'd',
	  'd' },
	{ "POST", "/orgs/o/code-security/configurations/1/attach",
	  SECRET_GITHUB, 'd', 'd' },
	{ "POST", "/orgs/o/private-registries", SECRET_GITHUB, 'd', 'd' },
	{ "GET", "/user/installations/1/repositories", SECRET_GITHUB, 'a',
	  'a' },
	{ "POST", "/repos/o/r/code-scanning/alerts/1/autofix/commits",
	  SECRET_GITHUB, 'd', 'a' },
	{ "POST", "/repositories/7/code-scanning/alerts/1/autofix/commits",
	  SECRET_GITHUB, 'd', 'a' },
	{ "POST", "/repos/o/r/code-scanning/alerts/1/autofix", SECRET_GITHUB,
	  'a', 'a' },
	{ "PUT", "/repos/o/r/import", SECRET_GITHUB, 'd', 'a' },
	{ "PATCH", "/repos/o/r/import/lfs", SECRET_GITHUB, 'd', 'a' },
	{ "POST", "/repos/o/import/issues", SECRET_GITHUB, 'a', 'a' },
	{ "POST", "/user/repos", SECRET_GITHUB, 'd', 'a' },
	{ "POST", "/api/v3/user/repos/", SECRET_GITHUB, 'd', 'a' },
	{ "POST", "/orgs/o/repos", SECRET_GITHUB, 'd', 'a' },
	{ "POST", "/api/v3/orgs/o/repos", SECRET_GITHUB, 'd', 'a' },
	{ "POST", "/repos/o/r/generate", SECRET_GITHUB, 'd', 'a' },
	{ "GET", "/user/repos", SECRET_GITHUB, 'a', 'a' },
	{ "POST", "/g/hooks/p.git/git-upload-pack", SECRET_GITLAB, 'a', 'a' },
	{ "POST", "/g/p.git/git-receive-pack", SECRET_GITLAB, 'd', 'a' },
	{ "POST", "/api/v4/projects/g%2Fp/issues", SECRET_GITLAB, 'a', 'a' },
	{ "GET", "/api/v4/projects/1/hooks", SECRET_GITLAB, 'a', 'a' },
	{ "POST", "/api/v4/projects/g%2Fp/hooks", SECRET_GITLAB, 'd', 'd' },
	{ "POST", "/api/v4/groups/1/members", SECRET_GITLAB, 'd', 'd' },
	{ "PUT", "/api/v4/projects/1/variables/A", SECRET_GITLAB, 'd', 'd' },
	{ "POST", "/api/v4/projects/1/remote_mirrors", SECRET_GITLAB, 'd',
	  'd' },
	{ "POST", "/api/v4/projects/1/pipeline_schedules", SECRET_GITLAB, 'd',
	  'd' },
	{ "POST", "/api/v4/projects/1/deploy_tokens", SECRET_GITLAB, 'd', 'd' },
	{ "POST", "/api/v4/projects/1/deploy_keys", SECRET_GITLAB, 'd', 'd' },
	{ "POST", "/api/v4/projects/1/access_tokens", SECRET_GITLAB, 'd', 'd' },
	{ "POST", "/api/v4/user/personal_access_tokens", SECRET_GITLAB, 'd',
	  'd' },
	{ "POST", "/api/v4/projects/1/cluster_agents/2/tokens", SECRET_GITLAB,
	  'd', 'd' },
	{ "POST", "/api/v4/projects/1/triggers", SECRET_GITLAB, 'd', 'd' },
	{ "POST", "/oauth/token", SECRET_GITLAB, 'd', 'd' },
	{ "POST", "/api/v4/projects/g%2Fp/repository/commits", SECRET_GITLAB,
	  'd', 'a' },
	{ "PUT", "/api/v4/projects/1/merge_requests/2/merge", SECRET_GITLAB,
	  'd', 'a' },
	{ "PUT", "/api/v4/suggestions/3/apply", SECRET_GITLAB, 'd', 'a' },
	{ "PUT", "/api/v4/projects/g%2Fp", SECRET_GITLAB, 'd', 'd' },
	{ "PUT", "/api/v4/projects/g%2Fh%2fp", SECRET_GITLAB, 'd', 'd' },
	{ "PUT", "/api/v4/groups/g%2Fh", SECRET_GITLAB, 'd', 'd' },
	{ "POST", "/api/v4/projects/g%2Fp/merge_requests", SECRET_GITLAB, 'a',
	  'a' },
	{ "DELETE", "/api/v4/projects/1", SECRET_GITLAB, 'd', 'd' },
	{ "PUT", "/api/v4/groups/g", SECRET_GITLAB, 'd', 'd' },
	{ "POST", "/api/v4/users", SECRET_GITLAB, 'd', 'd' },
	{ "POST", "/api/v4/projects/1/runners", SECRET_GITLAB, 'd', 'd' },
	{ "POST", "/api/v4/user/runners", SECRET_GITLAB, 'd', 'd' },
	{ "PUT", "/api/v4/runners/3", SECRET_GITLAB, 'd', 'd' },
	{ "POST", "/api/v4/projects/1/runners/reset_registration_token",
	  SECRET_GITLAB, 'd', 'd' },
	{ "PUT", "/api/v4/projects/1/integrations/slack", SECRET_GITLAB, 'd',
	  'd' },
	{ "PUT", "/api/v4/projects/1/services/slack", SECRET_GITLAB, 'd', 'd' },
	{ "POST", "/api/v4/projects/1/share", SECRET_GITLAB, 'd', 'd' },
	{ "PUT", "/api/v4/projects/1/transfer", SECRET_GITLAB, 'd', 'd' },
	{ "PATCH", "/api/v4/projects/1/job_token_scope", SECRET_GITLAB, 'd',
	  'd' },
	{ "POST", "/api/v4/projects/1/export", SECRET_GITLAB, 'd', 'd' },
	{ "POST", "/api/v4/snippets", SECRET_GITLAB, 'd', 'd' },
	{ "POST", "/api/v4/projects/1/snippets", SECRET_GITLAB, 'd', 'd' },
	{ "DELETE", "/api/v4/projects/1/protected_branches/main", SECRET_GITLAB,
	  'd', 'd' },
	{ "POST", "/api/v4/groups/1/service_accounts", SECRET_GITLAB, 'd',
	  'd' },
	{ "POST", "/api/v4/personal_access_tokens/self/rotate", SECRET_GITLAB,
	  'd', 'd' },
	{ "POST", "/api/v4/user/keys", SECRET_GITLAB, 'd', 'd' },
	{ "POST", "/api/v4/projects/1/secure_files", SECRET_GITLAB, 'd', 'd' },
	{ "PUT", "/api/v4/projects/1/access_requests/2/approve", SECRET_GITLAB,
	  'd', 'd' },
	{ "POST", "/api/v4/user/emails", SECRET_GITLAB, 'd', 'd' },
	{ "PUT", "/api/v4/projects/1/push_rule", SECRET_GITLAB, 'd', 'd' },
	{ "POST", "/api/v4/projects/1/pipeline", SECRET_GITLAB, 'd', 'a' },
	{ "POST", "/api/v4/projects/1/pipelines/2/retry", SECRET_GITLAB, 'd',
	  'a' },
	{ "POST", "/api/v4/projects/1/jobs/2/play", SECRET_GITLAB, 'd', 'a' },
	{ "POST", "/api/v4/projects/1/releases", SECRET_GITLAB, 'd', 'a' },
	{ "POST", "/api/v4/projects/1/merge_requests", SECRET_GITLAB, 'a',
	  'a' },
	{ "POST", "/api/v4/projects/1/merge_requests/2/notes", SECRET_GITLAB,
	  'a', 'a' },
	{ "GET", "/api/v4/projects/1/runners", SECRET_GITLAB, 'a', 'a' },
	{ "POST", "/api/v4/projects/1/fork", SECRET_GITLAB, 'a', 'a' },
	{ "POST", "/api/v4/groups/1/ssh_certificates", SECRET_GITLAB, 'd',
	  'd' },
	{ "POST", "/api/v4/projects/1/error_tracking/client_keys",
	  SECRET_GITLAB, 'd', 'd' },
	{ "POST", "/api/v4/projects/1/approvals", SECRET_GITLAB, 'd', 'd' },
	{ "POST", "/api/v4/projects/g%2Fp/merge_requests/2/approvals",
	  SECRET_GITLAB, 'd', 'd' },
	{ "PUT", "/api/v4/groups/1/merge_request_approval_setting",
	  SECRET_GITLAB, 'd', 'd' },
	{ "POST", "/api/v4/projects/1/merge_requests/2/approve", SECRET_GITLAB,
	  'a', 'a' },
	{ "POST", "/api/v4/projects/1/registry/protection/repository/rules",
	  SECRET_GITLAB, 'd', 'd' },
	{ "DELETE", "/api/v4/projects/1/registry/protection/tag/rules/2",
	  SECRET_GITLAB, 'd', 'd' },
	{ "POST", "/api/v4/projects/1/packages/protection/rules", SECRET_GITLAB,
	  'd', 'd' },
	{ "POST", "/api/v4/projects/1/external_status_checks", SECRET_GITLAB,
	  'd', 'd' },
	{ "PUT", "/api/v4/projects/1/mirror/pull", SECRET_GITLAB, 'd', 'a' },
	{ "POST", "/api/v4/projects/g%2Fp/mirror/pull", SECRET_GITLAB, 'd',
	  'a' },
	{ "POST", "/api/v4/bulk_imports", SECRET_GITLAB, 'd', 'a' },
	{ "POST", "/api/v4/import/github", SECRET_GITLAB, 'd', 'a' },
	{ "POST", "/api/v4/projects/import", SECRET_GITLAB, 'd', 'd' },
	{ "POST", "/api/v4/projects/1/wikis", SECRET_GITLAB, 'd', 'a' },
	{ "PUT", "/api/v4/groups/1/wikis/home", SECRET_GITLAB, 'd', 'a' },
	{ "POST", "/api/v4/projects", SECRET_GITLAB, 'd', 'a' },
	{ "POST", "/api/v4/projects/", SECRET_GITLAB, 'd', 'd' },
	{ "GET", "/api/v4/projects", SECRET_GITLAB, 'a', 'a' },
	{ "POST", "/-/npm/v1/tokens", SECRET_NPM, 'd', 'd' },
	{ "DELETE", "/-/npm/v1/tokens/token/a", SECRET_NPM, 'd', 'd' },
	{ "POST", "/-/npm/v1/user", SECRET_NPM, 'd', 'd' },
	{ "POST", "/-/npm/v1/hooks/hook", SECRET_NPM, 'd', 'd' },
	{ "PUT", "/-/user/org.couchdb.user:evil", SECRET_NPM, 'd', 'd' },
	{ "PUT", "/-/org/o/user", SECRET_NPM, 'd', 'd' },
	{ "PUT", "/-/team/o/t/user", SECRET_NPM, 'd', 'd' },
	{ "POST", "/-/package/@o%2Fp/access", SECRET_NPM, 'd', 'd' },
	{ "PUT", "/-/package/p/collaborators/evil", SECRET_NPM, 'd', 'd' },
	{ "POST", "/-/package/@o/p/trust/github", SECRET_NPM, 'd', 'd' },
	{ "PUT", "/p/-rev/1", SECRET_NPM, 'd', 'd' },
	{ "PUT", "/@o%2Fp/-rev/1-a", SECRET_NPM, 'd', 'd' },
	{ "PUT", "/p", SECRET_NPM, 'a', 'a' },
	{ "PUT", "/@o%2Fp", SECRET_NPM, 'a', 'a' },
	{ "PUT", "/-/package/p/dist-tags/next", SECRET_NPM, 'a', 'a' },
	/* who may publish may say what is the latest */
	{ "PUT", "/-/package/p/dist-tags/latest", SECRET_NPM, 'a', 'a' },
	{ "PUT", "/-/package/@o%2Fp/dist-tags/latest", SECRET_NPM, 'a', 'a' },
	{ "GET", "/-/npm/v1/tokens", SECRET_NPM, 'a', 'a' },
	{ "POST", "/-/npm/v1/security/advisories/bulk", SECRET_NPM, 'a', 'a' },
};

static void test_rows(enum secret_kind kind, enum git_push push)
{
	struct judge j;

	if (!begin(&j, kind, push, NULL))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		struct http_verdict v;

		if (r->kind != kind)
			continue;
		v = judge(&j, kind, r->method, r->path);
		is_int(v.reason == REASON_ALLOWED ? 'a' : 'd',
		       push == PUSH_ALLOW ? r->allow : r->ask, "push %s: %s %s",
		       git_push_name(push), r->method, r->path);
	}
	end(&j);
}

/* Are the mutations in a body there judged? */
static void test_graphql(enum secret_kind kind, const char *path)
{
	struct judge j;

	if (begin(&j, kind, PUSH_ASK, NULL)) {
		ok(judge(&j, kind, "POST", path).n_graphql > 0, "%s is judged",
		   path);
		ok(!judge(&j, kind, "POST", "/api/v4/x").n_graphql,
		   "nothing else is");
	}
	end(&j);
	if (begin(&j, kind, PUSH_ALLOW, NULL))
		ok(judge(&j, kind, "POST", path).n_graphql == 0,
		   "nor who may push");
	end(&j);
	if (begin(&j, kind, PUSH_DENY, "/**"))
		ok(judge(&j, kind, "POST", path).n_graphql > 0,
		   "whichever paths were named");
	end(&j);
	if (begin(&j, kind, PUSH_DENY, "/only"))
		ok(judge(&j, kind, "POST", path).reason == REASON_METHOD,
		   "and it opens none that was not");
	end(&j);
}

int main(void)
{
	test_rows(SECRET_GITHUB, PUSH_ASK);
	test_rows(SECRET_GITHUB, PUSH_DENY);
	test_rows(SECRET_GITHUB, PUSH_ALLOW);
	test_rows(SECRET_GITLAB, PUSH_ASK);
	test_rows(SECRET_GITLAB, PUSH_ALLOW);
	test_rows(SECRET_NPM, PUSH_ASK);
	test_graphql(SECRET_GITHUB, "/graphql");
	test_graphql(SECRET_GITHUB, "/GraphQL/");
	test_graphql(SECRET_GITLAB, "/api/graphql");
	return done_testing();
}
