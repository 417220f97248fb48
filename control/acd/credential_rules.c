/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credential_rules.c - what a credential of the vault opens, as policy rules
 *
 * Theory of operation: each kind has its own defaults. They let its clients
 * work and deny what would outlive the sandbox: making another token, a key or
 * a runner. Where there is git, writing to a repository is `push`, by git and,
 * as far as a path or the name of a GraphQL mutation tells it, by the API.
 * So is making a repository, from nothing, from a template or by an import: it
 * may be public, and what is in it then is out, as with a gist. A fork is not:
 * what it has in it is there already, and writing to it is `push` again. A
 * registry has no such word: publishing, and moving a tag to what is published,
 * is what its credential is for; taking away what is published is denied.
 * What the vault's entry or a blueprint says of methods and paths narrows
 * that.
 *
 * Everything that is written is checked to stand between double quotes in YAML
 * as it is (credentials.c, vault/store_entry.c).
 */
#include "control/acd/credential_rules.h"

#include <string.h>

#include "lib/str.h"

#define CHANGING "methods: [POST, PUT, PATCH, DELETE]"
#define GIT_READ                                               \
	"{ methods: [GET, HEAD], paths: [\"/**\"] }, "         \
	"{ methods: [POST], paths: [\"/**/git-upload-pack\", " \
	"\"/**/info/lfs/objects/batch\"] }, "                  \
	"{ paths: [\"/api/**\"] }"
#define GIT_PUSH                                                  \
	", { methods: [POST], paths: [\"/**/git-receive-pack\", " \
	"\"/**/info/lfs/locks\", \"/**/info/lfs/locks/**\", "     \
	"\"/**/info/lfs/verify\"] }"
#define GRAPHQL_PATHS "paths: [\"/graphql\", \"/api/graphql\"]"
#define GRAPHQL                                                         \
	", { " GRAPHQL_PATHS ", graphql: { mutations: [createIssue, "   \
	"updateIssue, closeIssue, reopenIssue, addComment, "            \
	"updateIssueComment, createPullRequest, updatePullRequest, "    \
	"closePullRequest, reopenPullRequest, "                         \
	"markPullRequestReadyForReview, convertPullRequestToDraft, "    \
	"requestReviews, addPullRequestReview, "                        \
	"submitPullRequestReview, addLabelsToLabelable, "               \
	"removeLabelsFromLabelable, addAssigneesToAssignable, "         \
	"removeAssigneesFromAssignable], push: [createCommitOnBranch, " \
	"createRef, updateRef, updateRefs, deleteRef, mergeBranch, "    \
	"mergePullRequest, enablePullRequestAutoMerge, "                \
	"updatePullRequestBranch, createLinkedBranch, "                 \
	"createRepository, cloneTemplateRepository] } }"
#define PUSH "{ " CHANGING ", paths: [\"/**/git-receive-pack\"], push: true }"
#define ANYTHING "{ paths: [\"/**\"] }"

/*
 * Paths of denials. One that begins with '/' is a pattern as it is; others stand
 * for what is so called below each of a kind's roots, and all below that.
 *
 * `mint`: tokens, keys and runners; who else may do what; where else something
 * is sent or runs, and with which secrets. All of it would be there after the
 * sandbox, or act from elsewhere.
 */
#define ROOTS_MAX 2u

/* Both names of a repository. */
#define GITHUB_ROOTS "/**/repos/*/*/", "/**/repositories/*/"
static const char *const github_mint[] = {
	"/**/user/keys/**",
	"/**/user/gpg_keys/**",
	"/**/user/ssh_signing_keys/**",
	"/**/authorizations/**",
	"/**/applications/**",
	"/**/access_tokens",
	"/**/actions/runners/*-token",
	"/**/actions/runners/generate-jitconfig",
	"/**/actions/runner-groups/**",
	"/**/actions/secrets/**",
	"/**/actions/variables/**",
	"/**/actions/permissions/**",
	"/**/actions/oidc/**",
	"/**/dependabot/secrets/**",
	"/**/codespaces/secrets/**",
	"/**/environments/*/secrets/**",
	"/**/orgs/*/hooks/**",
	"/**/orgs/*/invitations/**",
	"/**/orgs/*/memberships/**",
	"/**/orgs/*/outside_collaborators/**",
	"/**/orgs/*/teams/**",
	"/**/orgs/*/rulesets/**",
	"/**/orgs/*/migrations/**",
	"/**/orgs/*/personal-access-token*/**",
	"/**/orgs/*/organization-roles/**",
	"/**/orgs/*/custom-repository-roles/**",
	"/**/orgs/*/security-managers/**",
	"/**/orgs/*/code-security/**",
	"/**/orgs/*/private-registries/**", /* with their secrets */
	"/hub", /* hooks, by another name */
	"/api/v3/hub",
	/* What would also be a repository's name is written from the root. */
	"/gists/**",
	"/api/v3/gists/**",
	"/user/emails/**",
	"/api/v3/user/emails/**",
	"/user/codespaces/**",
	"/user/migrations/**",
	"/api/v3/user/migrations/**",
	"/user/installations/**", /* what else an app reaches */
	"/api/v3/user/installations/**",
	"/user/repository_invitations/**",
	"/api/v3/user/repository_invitations/**",
	"/teams/**",
	"/api/v3/teams/**",
	"/enterprises/**",
	"/api/v3/enterprises/**",
	"/scim/**",
	"/api/v3/admin/**",
	/* its visibility, its end; what its members may do */
	"/repos/*/*",
	"/api/v3/repos/*/*",
	"/repositories/*",
	"/api/v3/repositories/*",
	"/orgs/*",
	"/api/v3/orgs/*",
	"keys",
	"hooks",
	"collaborators",
	"invitations",
	"transfer",
	"branches/*/protection",
	"tags/protection",
	"rulesets",
	"environments",
	"codespaces",
	"pulls/*/codespaces",
	"pages",
	NULL,
};
/* With what runs where the repository does: a workflow may write there. */
static const char *const github_write[] = {
	"contents",
	"git",
	"merges",
	"merge-upstream",
	"pulls/*/merge",
	"pulls/*/update-branch",
	"branches/*/rename",
	"releases",
	"dispatches",
	"deployments",
	"actions/workflows",
	"actions/runs",
	"actions/jobs",
	"code-scanning/alerts/*/autofix/commits",
	"import",
	"generate", /* a repository, from a template */
	"/user/repos",
	"/api/v3/user/repos",
	"/orgs/*/repos",
	"/api/v3/orgs/*/repos",
	NULL,
};

/* Whatever it belongs to: a project, a group, all. */
#define GITLAB_ROOTS "/**/api/**/"
static const char *const gitlab_mint[] = {
	"/oauth/**",
	"/api/*/projects/*", /* its visibility, its end */
	"/api/*/projects/*%2F*",
	"/api/*/groups/*",
	"/api/*/groups/*%2F*",
	"/api/*/users/**",
	"/api/*/application/**",
	"/api/*/applications/**",
	"personal_access_tokens",
	"access_tokens",
	"impersonation_tokens",
	"keys",
	"gpg_keys",
	"deploy_keys",
	"deploy_tokens",
	"service_accounts",
	"cluster_agents",
	"clusters",
	"triggers",
	"pipeline_schedules",
	"hooks",
	"integrations",
	"services",
	"members",
	"invitations",
	"access_requests",
	"share",
	"transfer",
	"saml_group_links",
	"ldap_group_links",
	"member_roles",
	"variables",
	"secure_files",
	"job_token_scope",
	"remote_mirrors",
	"export",
	"export_relations",
	"runners",
	"reset_registration_token",
	"reset_authentication_token",
	"protected_branches",
	"protected_tags",
	"protected_environments",
	"environments",
	"approval_rules",
	"approvals", /* how many there must be */
	"merge_request_approval_setting",
	"external_status_checks",
	"registry/protection",
	"packages/protection",
	"ssh_certificates",
	"error_tracking/client_keys",
	"push_rule",
	"pages",
	"snippets",
	"user/emails",
	NULL,
};
static const char *const gitlab_write[] = {
	"repository/commits",
	"repository/files",
	"repository/branches",
	"repository/tags",
	"repository/submodules",
	"repository/merged_branches",
	"repository/changelog",
	"merge_requests/*/merge",
	"merge_requests/*/rebase",
	"suggestions",
	"releases",
	"deployments",
	"pipeline",
	"pipelines",
	"jobs",
	"wikis", /* repositories, too */
	"mirror/pull",
	"import",
	"bulk_imports",
	"/api/*/projects",
	NULL,
};

static const char *const npm_mint[] = {
	"/**/-/npm/v1/tokens/**",
	"/**/-/npm/v1/user/**",
	"/**/-/npm/v1/hooks/**",
	"/**/-/user/**",
	"/**/-/v1/login",
	"/**/-/org/**",
	"/**/-/team/**",
	"/**/-/package/**/access",
	"/**/-/package/**/collaborators/**",
	"/**/-/package/**/trust/**",
	"/**/-rev/**", /* owners; and what has been published, taken away */
	NULL,
};
static const char *const anthropic_mint[] = { "/v1/organizations/**", NULL };
/* The sessions give tokens that work from anywhere. */
static const char *const openai_mint[] = {
	"/v1/organization/**",
	"/v1/organizations/**",
	"/v1/dashboard/**",
	"/v1/realtime/sessions",
	"/v1/realtime/transcription_sessions",
	"/v1/realtime/client_secrets",
	"/v1/chatkit/sessions",
	NULL,
};
static const char *const gemini_mint[] = { "/*/auth_tokens/**", NULL };

static const struct kind {
	const char *roots[ROOTS_MAX];
	const char *const *mint; /* NULL: none */
	const char *const *write; /* to a repository; NULL: there is no git */
	bool websocket;
} kinds[SECRET_KINDS] = {
	[SECRET_GITHUB] = { { GITHUB_ROOTS },
			    github_mint,
			    github_write,
			    false },
	[SECRET_GITLAB] = { { GITLAB_ROOTS },
			    gitlab_mint,
			    gitlab_write,
			    false },
	[SECRET_NPM] = { .mint = npm_mint },
	[SECRET_ANTHROPIC] = { .mint = anthropic_mint },
	[SECRET_OPENAI] = { .mint = openai_mint, .websocket = true },
	[SECRET_GEMINI] = { .mint = gemini_mint, .websocket = true },
};

enum git_push credential_push(const struct credential *c, enum git_push said)
{
	if (said != PUSH_UNSET)
		return said;
	return c->push != PUSH_UNSET ? c->push : PUSH_ASK;
}

/* ---- lists ---- */

static int put_list(struct buf *out, const char *key, const struct strv *l)
{
	int r = buf_printf(out, "%s: [", key);

	for (size_t i = 0; r == 0 && i < l->n; i++)
		r = buf_printf(out, "%s\"%s\"", i ? ", " : "", l->v[i]);
	return r == 0 ? buf_printf(out, "]") : r;
}

/* A host of the API alone, not of repositories. */
static bool is_api(const char *host)
{
	return str_starts(host, "api.") || str_starts(host, "uploads.");
}

/* The hosts of @e, all or of one sort; *ret_n: how many. */
static int put_hosts(struct buf *out, const struct vstore_entry *e, int api,
		     size_t *ret_n)
{
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < e->hosts.n; i++) {
		if (api >= 0 && is_api(e->hosts.v[i]) != (api == 1))
			continue;
		r = buf_printf(out, "%s\"%s\"", n++ ? ", " : "", e->hosts.v[i]);
	}
	*ret_n = n;
	return r;
}

/* ---- what is allowed ---- */

/* Is each of @part in @all, which may be anything when it is empty? */
static bool is_part(const struct strv *part, const struct strv *all)
{
	for (size_t i = 0; all->n && i < part->n; i++)
		if (!strv_has(all, part->v[i]))
			return false;
	return true;
}

/* A blueprint may narrow what the vault's entry says, not widen it. */
static int check_narrow(const struct vstore_entry *e,
			const struct credential *c, struct err *err)
{
	if (is_part(&c->methods, &e->methods) && is_part(&c->paths, &e->paths))
		return 0;
	return err_set(err, -EINVAL,
		       "credential '%s' is for other methods or paths in the "
		       "vault than are asked for: only some of its own can be "
		       "(`ac vault ls --json`)",
		       e->name);
}

/* What the defaults are narrowed to. */
static int put_said(struct buf *out, const struct vstore_entry *e,
		    const struct credential *c)
{
	const struct strv *methods = c->methods.n ? &c->methods : &e->methods;
	const struct strv *paths = c->paths.n ? &c->paths : &e->paths;
	int r;

	if (methods->n == 0 && paths->n == 0)
		return 0;
	r = buf_printf(out, "within: [{ ");
	if (r == 0 && methods->n)
		r = put_list(out, "methods", methods);
	if (r == 0 && methods->n)
		r = buf_printf(out, ", ");
	if (r == 0)
		r = paths->n ? put_list(out, "paths", paths) :
			       buf_printf(out, "paths: [\"/**\"]");
	return r == 0 ? buf_printf(out, " }], ") : r;
}

/* ---- what is denied ---- */

static int put_path(struct buf *out, const struct kind *k, const char *path,
		    bool first)
{
	int r = 0;

	if (path[0] == '/')
		return buf_printf(out, "%s\"%s\"", first ? "" : ", ", path);
	for (size_t i = 0; r == 0 && i < ROOTS_MAX && k->roots[i]; i++)
		r = buf_printf(out, "%s\"%s%s/**\"",
			       first && i == 0 ? "" : ", ", k->roots[i], path);
	return r;
}

static int put_changing(struct buf *out, const struct kind *k,
			const char *const *paths)
{
	int r = buf_printf(out, "{ " CHANGING ", paths: [");

	for (size_t i = 0; r == 0 && paths[i]; i++)
		r = put_path(out, k, paths[i], i == 0);
	return r == 0 ? buf_printf(out, "] }") : r;
}

static int put_denied(struct buf *out, const struct kind *k, enum git_push push)
{
	int r = buf_printf(out, ", deny: [");

	if (r == 0 && k->mint)
		r = put_changing(out, k, k->mint);
	if (r == 0 && k->write && push != PUSH_ALLOW)
		r = buf_printf(out, "%s" PUSH ", ", k->mint ? ", " : "");
	if (r == 0 && k->write && push != PUSH_ALLOW)
		r = put_changing(out, k, k->write);
	return r == 0 ? buf_printf(out, "]") : r;
}

static int put_http(struct buf *out, const struct vstore_entry *e,
		    const struct credential *c, bool git, enum git_push push)
{
	const struct kind *k = &kinds[e->kind];
	int r = buf_printf(out, ", http: { ");

	if (r == 0)
		r = put_said(out, e, c);
	if (r == 0)
		r = buf_printf(out, "allow: [%s%s%s", git ? GIT_READ : ANYTHING,
			       git && push == PUSH_ALLOW ? GIT_PUSH : "",
			       k->write && push != PUSH_ALLOW ? GRAPHQL : "");
	if (r == 0)
		r = buf_printf(out, "]");
	if (r == 0 && (k->mint || (k->write && push != PUSH_ALLOW)))
		r = put_denied(out, k, push);
	return r == 0 ? buf_printf(out, " }") : r;
}

/* ---- rules ---- */

/* How a client shows it, where that is not one of the known ways. */
static int put_auth(struct buf *out, const struct vstore_entry *e)
{
	const char *form = "", *name = e->field;

	if (e->kind == SECRET_GENERIC && e->form == VSTORE_HEADER && *e->field)
		form = "header-";
	else if (e->kind == SECRET_GENERIC && e->form == VSTORE_QUERY)
		form = "query-";
	else if (e->kind == SECRET_GENERIC && *e->user) {
		form = "basic-";
		name = e->user;
	}
	if (!*form)
		return buf_printf(out,
				  ", auth: { use: \"%s\", exclusive: true }",
				  e->name);
	return buf_printf(out,
			  ", auth: { use: \"%s\", exclusive: true, as: "
			  "\"%s%s\" }",
			  e->name, form, name);
}

/* @api: 1 for the API's hosts, 0 for the others, -1 for all. */
static int put_rule(struct buf *out, const struct vstore_entry *e,
		    const struct credential *c, enum git_push push, size_t nth,
		    int api)
{
	struct buf hosts;
	size_t n = 0;
	int r;

	buf_init(&hosts, 16 * 1024);
	r = put_hosts(&hosts, e, api, &n);
	if (r == 0 && n > 0) {
		r = buf_printf(out,
			       "      - { id: cred-%zu-%.32s%s, names: "
			       "[%.*s], use: inspect",
			       nth, e->name, api == 1 ? "-api" : "",
			       (int)buf_len(&hosts),
			       (const char *)buf_slice(&hosts).ptr);
		if (r == 0)
			r = put_auth(out, e);
		if (r == 0)
			r = put_http(out, e, c, api == 0, push);
		if (r == 0 && kinds[e->kind].websocket)
			r = buf_printf(out, ", stream: { websocket: true }");
		if (r == 0)
			r = buf_printf(out, " }\n");
	}
	buf_done(&hosts);
	return r;
}

static int put_tunnel(struct buf *out, const struct vstore_entry *e, size_t nth)
{
	size_t n;
	int r = buf_printf(out, "      - { id: cred-%zu-%.32s, names: [", nth,
			   e->name);

	if (r == 0)
		r = put_hosts(out, e, -1, &n);
	return r == 0 ? buf_printf(out, "], risk_ok: [multi-tenant, "
					"shared-cdn] }\n") :
			r;
}

int credential_rules(const struct vstore_entry *e, const struct credential *c,
		     enum git_push push, size_t nth, struct buf *out,
		     struct err *err)
{
	int r = check_narrow(e, c, err);

	if (r < 0)
		return r;
	if (c->mode == CREDENTIAL_HANDOVER) {
		r = put_tunnel(out, e, nth);
	} else if (!kinds[e->kind].write) {
		r = put_rule(out, e, c, push, nth, -1);
	} else {
		r = put_rule(out, e, c, push, nth, 0);
		if (r == 0)
			r = put_rule(out, e, c, push, nth, 1);
	}
	return r < 0 ? err_set(err, r, "the rules of credential '%s': %s",
			       e->name, err_text(r)) :
		       0;
}
