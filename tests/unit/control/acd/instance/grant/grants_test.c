/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grants_test.c - credentials of an instance: rules, what is told
 *
 * The rules are judged by the gateway's own loader and decision, the secrets
 * read by its reader, surrogates checked with the key that it gets.
 */
#include "control/acd/instance/grant/grants.h"

#include <sodium.h>
#include <string.h>
#include <time.h>

#include "control/acd/credential/vault.h"
#include "lib/file.h"
#include "ottergate/policy/load.h"
#include "ottergate/inspect/mask/secrets.h"
#include "tests/unit/tap.h"
#include "vault/grant.h"
#define REAL "github_pat_real_value_0123456789"

static char dir[] = "/tmp/grants_test.XXXXXX";
static char name[] = "one", blueprint[] = "base", address[] = "172.20.1.7";
static char runsc[] = "runsc", crun[] = "crun";
static struct vault *vault;

/* ---- the vault ---- */

static struct vstore_entry *entry(const char *id, enum secret_kind kind,
				  const char *host)
{
	struct vstore_entry *e = vstore_entry_new();

	if (!e || strv_push(&e->hosts, host) < 0 ||
	    vstore_entry_set_value(e, REAL, strlen(REAL)) < 0)
		abort();
	snprintf(e->name, sizeof(e->name), "%s", id);
	e->kind = kind;
	return e;
}

static void put(struct vstore_entry *e)
{
	struct err err = { 0 };

	if (vstore_put(vault_store(vault), e, true, &err) < 0)
		ok(false, "put: %s", err.msg);
}

static void vault_fill(void)
{
	struct vstore_entry *e = entry("github", SECRET_GITHUB, "github.com");

	if (strv_push(&e->hosts, "api.github.com") < 0)
		abort();
	put(e);
	e = entry("own", SECRET_GENERIC, "own.test");
	e->form = VSTORE_HEADER;
	snprintf(e->field, sizeof(e->field), "X-Own");
	put(e);
	e = entry("narrow", SECRET_GENERIC, "narrow.test");
	e->form = VSTORE_BASIC;
	snprintf(e->user, sizeof(e->user), "bob");
	if (strv_push(&e->methods, "GET") < 0 ||
	    strv_push(&e->paths, "/v1/**") < 0)
		abort();
	put(e);
	put(entry("npm", SECRET_NPM, "registry.test"));
	put(entry("pypi", SECRET_PYPI, "index.test"));
	put(entry("claude", SECRET_ANTHROPIC, "api.anthropic.com"));
	put(entry("work", SECRET_ANTHROPIC, "api.anthropic.com"));
	put(entry("cc", SECRET_ANTHROPIC_LOGIN, "plan.test"));
	put(entry("npm2", SECRET_NPM, "registry2.test"));
	e = entry("cloud", SECRET_AWS, "s3.test");
	snprintf(e->access_key, sizeof(e->access_key), "AKIA1");
	snprintf(e->region, sizeof(e->region), "eu");
	put(e);
	e = entry("scoped", SECRET_OPENAI, "api.openai.com");
	if (strv_push(&e->instances, "other") < 0)
		abort();
	put(e);
	put(entry("voice", SECRET_OPENAI, "voice.test"));
	put(entry("live", SECRET_GEMINI, "live.test"));
	e = entry("past", SECRET_OPENAI, "api.openai.com");
	e->expires = 1;
	put(e);
}

static struct instance_record record(char *credentials)
{
	return (struct instance_record){ .name = name,
					 .blueprint = blueprint,
					 .isolation = runsc,
					 .address = address,
					 .credentials_json = credentials };
}

/* ---- rules ---- */

struct judge {
	struct policy *policy;
	struct agent_policy *agent;
};

/* What holds with these credentials, and a tunnel to github.com besides. */
static bool judge_begin(struct judge *j, struct grants *g, char *credentials,
			enum git_push said)
{
	static const char *const none[] = { NULL };
	struct instance_record r = record(credentials);
	struct blueprint bp = { 0 };
	struct egress e = { .mode = EGRESS_LOCKED };
	struct lint lint = { 0 };
	struct err err = { 0 };
	struct buf rules, out;
	struct slice s;
	bool good;
	size_t odd = 0;

	*j = (struct judge){ 0 };
	buf_init(&rules, 1 << 20);
	buf_init(&out, 1 << 20);
	good = grants_rules(g, &r, &bp, said, &e.services, &rules, &err) == 0 &&
	       egress_add_target(&e.allow, "github.com", &err) == 0 &&
	       policy_load(none, &j->policy, &lint, &err) == 0;
	s = buf_slice(&rules);
	good = good && (s.len == 0 || slice_dup_str(s, &e.rules) == 0);
	good = good && egress_yaml(&e, name, address, &out) == 0;
	s = buf_slice(&out);
	good = good && policy_load_agent(j->policy, (const char *)s.ptr, s.len,
					 "one", &j->agent, &lint, &err) == 0;
	/* The tunnel to github.com never decides, which it says. */
	for (size_t i = 0; i < lint.n; i++)
		odd += strcmp(lint.v[i].code, "unreachable") != 0;
	ok(good && odd == 0, "%s: the linter is content %s", credentials,
	   err.msg);
	lint_done(&lint);
	egress_done(&e);
	buf_done(&rules);
	buf_done(&out);
	return good;
}

static void judge_end(struct judge *j)
{
	agent_policy_unref(j->agent);
	policy_unref(j->policy);
}

/* 't' tunnel, 'd' denied, 'a' allowed with the credential @id, '?' */
static char judge(const struct judge *j, const char *host, const char *method,
		  const char *path, const char *id)
{
	struct name n;
	struct request rq = { .path = PATH_TLS, .name = &n, .port = 443 };
	struct verdict v;

	if (name_canon(slice_str(host), &n) < 0)
		return '?';
	v = decide(j->agent, &rq);
	if (!v.allow)
		return 'd';
	if (v.use == RULE_TUNNEL)
		return 't';
	if (decide_http(v.rule, slice_str(method), slice_str(path)).reason !=
	    REASON_ALLOWED)
		return 'd';
	return v.rule->credential && strcmp(v.rule->credential, id) == 0 ? 'a' :
									   '?';
}

struct row {
	const char *host, *method, *path;
	char ask, allow; /* with `push: ask`, with `push: allow` */
};

static void test_github(struct grants *g)
{
	static const struct row rows[] = {
		{ "github.com", "GET", "/o/r/info/refs", 'a', 'a' },
		{ "github.com", "POST", "/o/r.git/git-upload-pack", 'a', 'a' },
		{ "github.com", "POST", "/o/r/git-receive-pack", 'd', 'a' },
		{ "github.com", "POST", "/login/device/code", 'd', 'd' },
		{ "api.github.com", "GET", "/user", 'a', 'a' },
		{ "api.github.com", "POST", "/graphql", 'a', 'a' },
		{ "api.github.com", "POST", "/repos/o/r/pulls", 'a', 'a' },
		{ "api.github.com", "POST", "/user/keys", 'd', 'd' },
		{ "api.github.com", "GET", "/user/keys", 'd', 'd' },
		{ "api.github.com", "POST", "/user/gpg_keys", 'd', 'd' },
		{ "api.github.com", "POST", "/repos/o/r/keys", 'd', 'd' },
		/* the same by another name of the repository, or spelled so */
		{ "api.github.com", "POST", "/repositories/7/keys", 'd', 'd' },
		{ "api.github.com", "POST", "/repos/o/r/keys/", 'd', 'd' },
		{ "api.github.com", "POST", "/User/keys.json", 'd', 'd' },
		{ "api.github.com", "POST", "/authorizations", 'd', 'd' },
		{ "api.github.com", "POST",
		  "/repos/o/r/actions/runners/registration-token", 'd', 'd' },
		{ "api.github.com", "PUT", "/repos/o/r/contents/a/b", 'd',
		  'a' },
		{ "api.github.com", "PUT", "/repos/o/r/pulls/7/merge", 'd',
		  'a' },
		{ "gist.github.com", "GET", "/", 'd', 'd' },
	};
	char options[] = "[\"github\"]";
	char allow[] = "[{\"name\":\"github\",\"push\":\"allow\"}]";
	struct judge j;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];

		if (i == 0 && !judge_begin(&j, g, options, PUSH_UNSET))
			return;
		is_int(judge(&j, r->host, r->method, r->path, "github"), r->ask,
		       "ask: %s %s%s", r->method, r->host, r->path);
	}
	judge_end(&j);
	if (!judge_begin(&j, g, allow, PUSH_UNSET))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];

		is_int(judge(&j, r->host, r->method, r->path, "github"),
		       r->allow, "allow: %s %s%s", r->method, r->host, r->path);
	}
	judge_end(&j);
	if (judge_begin(&j, g, allow, PUSH_DENY))
		is_int(judge(&j, "github.com", "POST", "/o/r/git-receive-pack",
			     "github"),
		       'd', "what was said for the instance goes before");
	judge_end(&j);
}

static void test_other_kinds(struct grants *g)
{
	char all[] = "[\"own\",\"narrow\",\"npm\",\"pypi\",\"claude\","
		     "\"cloud\",\"voice\",\"live\"]";
	char handed[] = "[{\"name\":\"claude\",\"mode\":\"handover\"}]";
	char less[] = "[{\"name\":\"narrow\",\"methods\":[\"GET\"]}]";
	char more[] = "[{\"name\":\"narrow\",\"paths\":[\"/**\"]}]";
	struct instance_record r = record(more);
	struct blueprint bp = { 0 };
	struct err err = { 0 };
	struct buf out;
	struct judge j;

	if (!judge_begin(&j, g, all, PUSH_UNSET))
		return;
	is_int(judge(&j, "own.test", "POST", "/x", "own"), 'a', "generic");
	is_int(judge(&j, "narrow.test", "GET", "/v1/x", "narrow"), 'a',
	       "what the entry says");
	is_int(judge(&j, "narrow.test", "POST", "/v1/x", "narrow"), 'd',
	       "and no other method");
	is_int(judge(&j, "narrow.test", "GET", "/v2", "narrow"), 'd',
	       "nor path");
	is_int(judge(&j, "registry.test", "PUT", "/pkg", "npm"), 'a',
	       "publish");
	is_int(judge(&j, "registry.test", "POST", "/-/npm/v1/tokens", "npm"),
	       'd', "no token of its own");
	is_int(judge(&j, "api.anthropic.com", "POST", "/v1/messages", "claude"),
	       'a', "a model");
	is_int(judge(&j, "voice.test", "POST", "/v1/realtime/sessions/",
		     "voice"),
	       'd', "no token that works from anywhere");
	is_int(judge(&j, "live.test", "POST", "/v1alpha/auth_tokens", "live"),
	       'd', "nor of an hour");
	is_int(judge(&j, "github.com", "GET", "/", ""), 't',
	       "other hosts stay as they are");
	judge_end(&j);
	if (judge_begin(&j, g, handed, PUSH_UNSET))
		is_int(judge(&j, "api.anthropic.com", "GET", "/", ""), 't',
		       "handed over: a tunnel");
	judge_end(&j);
	if (judge_begin(&j, g, less, PUSH_UNSET))
		is_int(judge(&j, "narrow.test", "GET", "/v2", "narrow"), 'd',
		       "less methods, the entry's paths");
	judge_end(&j);
	buf_init(&out, 1 << 16);
	is_int(grants_rules(g, &r, &bp, PUSH_UNSET, &bp.egress.services, &out,
			    &err),
	       -EINVAL, "not more than the entry: %s", err.msg);
	buf_done(&out);
}

/* ---- what is told ---- */

static const char *env_of(const struct instance_grant *t, const char *var)
{
	size_t n = strlen(var);

	for (size_t i = 0; t->env && t->env[i]; i++)
		if (strncmp(t->env[i], var, n) == 0 && t->env[i][n] == '=')
			return t->env[i] + n + 1;
	return "";
}

static bool is_surrogate(const struct secret_set *s, const char *id,
			 const char *text)
{
	const struct secret *of = secret_set_find(s, id);

	return of && *text && !strstr(text, REAL) &&
	       surrogate_check(s->key, id, of->kind, slice_str(text),
			       (uint64_t)time(NULL)) == 0;
}

static void check_told(struct grants *g, const struct secret_set *s)
{
	const struct instance_grant *t = grants_of(g, name);
	struct grant back = { 0 };

	if (!ok(t != NULL, "something is told"))
		return;
	ok(!t->ca, "no CA before the gateway gave one");
	is_int(grant_get(slice_of(t->vault, t->vault_len), &back), 0,
	       "vaultd can read it");
	ok(back.n == 1 && strcmp(back.v[0].id, "github") == 0 &&
		   back.v[0].uses == (GRANT_GIT | GRANT_GH) &&
		   back.v[0].n_hosts == 2,
	   "what its clients ask for, and no more");
	ok(memcmp(back.key.k, s->key->k, SURROGATE_KEY_LEN) == 0,
	   "with the gateway's key");
	grant_done(&back);
	ok(is_surrogate(s, "claude", env_of(t, "ANTHROPIC_API_KEY")) &&
		   is_surrogate(s, "cc", env_of(t, "CLAUDE_CODE_OAUTH_TOKEN")),
	   "a model's key, and a subscription's token");
	ok(is_surrogate(s, "own", env_of(t, "OWN_IT")) &&
		   is_surrogate(s, "npm", env_of(t, "NPM_TOKEN")) &&
		   is_surrogate(s, "npm",
				env_of(t, "npm_config_//registry.test/"
					  ":_authToken")),
	   "under another name; npm's");
	ok(str_starts(env_of(t, "PIP_INDEX_URL"), "https://__token__:pypi-") &&
		   str_ends(env_of(t, "PIP_INDEX_URL"), "@index.test/simple/"),
	   "pip's");
	ok(is_surrogate(s, "cloud", env_of(t, "AWS_ACCESS_KEY_ID")) &&
		   strcmp(env_of(t, "AWS_REGION"), "eu") == 0,
	   "a cloud's, whose name alone is shown, with its region");
	is_str(env_of(t, "GH_TOKEN"), "", "gh asks vaultd");
	ok(!t->warnings, "nothing to warn of");
}

static void test_told(struct grants *g)
{
	char options[] = "[\"github\",\"claude\",{\"name\":\"own\",\"env\":"
			 "\"OWN_IT\"},\"npm\",{\"name\":\"pypi\",\"env\":"
			 "\"PIP_INDEX_URL\"},\"cloud\",\"cc\"]";
	struct instance_record r = record(options);
	struct blueprint bp = { 0 };
	struct secret_bytes json = { 0 };
	struct secret_set *s = NULL, *again = NULL;
	struct err err = { 0 };

	is_int(grants_bind(g, &r, &bp, &json, &err), 0, "bind %s", err.msg);
	is_int(secret_set_read(slice_of(json.p, json.len), &s, &err), 0,
	       "the gateway reads it %s", err.msg);
	secret_bytes_done(&json);
	if (!s)
		return;
	ok(s->n == 7 && strcmp(s->v[0].value, REAL) == 0, "all real values");
	check_told(g, s);
	is_int(grants_bind(g, &r, &bp, &json, &err), 0, "bound anew");
	is_int(secret_set_read(slice_of(json.p, json.len), &again, &err), 0,
	       "read");
	ok(again && memcmp(again->key, s->key, sizeof(*s->key)) == 0,
	   "in a run the key stays");
	secret_bytes_done(&json);
	secret_set_unref(again);
	again = NULL;
	grants_unbind(g, name);
	ok(!grants_of(g, name), "nothing is left of a run");
	grants_bind(g, &r, &bp, &json, &err);
	is_int(secret_set_read(slice_of(json.p, json.len), &again, &err), 0,
	       "the next run");
	ok(again && memcmp(again->key, s->key, sizeof(*s->key)) != 0,
	   "has another key");
	secret_bytes_done(&json);
	secret_set_unref(again);
	secret_set_unref(s);
	grants_unbind(g, name);
}

static void test_handover(struct grants *g)
{
	char options[] = "[{\"name\":\"github\",\"mode\":\"handover\"}]";
	struct instance_record r = record(options), plain = record(NULL);
	struct blueprint bp = { 0 };
	struct secret_bytes json = { 0 };
	struct err err = { 0 };
	const struct instance_grant *t;

	is_int(grants_bind(g, &r, &bp, &json, &err), 0, "handed over %s",
	       err.msg);
	ok(!strstr(json.p, "github"), "is not the gateway's business");
	secret_bytes_done(&json);
	t = grants_of(g, name);
	is_str(t ? env_of(t, "GH_TOKEN") : "", REAL, "the real one");
	ok(t && t->vault_len == 0, "vaultd has none");
	ok(t && t->warnings && strstr(t->warnings, "'github' is handed over"),
	   "and it is said");
	grants_unbind(g, name);
	if (credentials_load(options, &bp.credentials, &err) < 0)
		return;
	is_int(grants_bind(g, &plain, &bp, &json, &err), -EPERM,
	       "a blueprint may not ask for it: %s", err.msg);
	ok(!grants_of(g, name), "nothing is left of it");
	credentials_done(&bp.credentials);
}

static void test_refused(struct grants *g)
{
	static char missing[] = "[\"gone\"]", scoped[] = "[\"scoped\"]";
	static char past[] = "[\"past\"]", good[] = "[\"claude\"]";
	static char broken[] = "[", host[] = "[\"claude\",\"work\"]";
	static char var[] = "[{\"name\":\"own\",\"env\":\"X\"},\"npm\","
			    "{\"name\":\"claude\",\"env\":\"X\"}]";
	static char usual[] = "[\"voice\",{\"name\":\"own\",\"env\":"
			      "\"OPENAI_API_KEY\"}]";
	static char npm[] = "[\"npm\",{\"name\":\"own\",\"env\":"
			    "\"NPM_TOKEN\"}]";
	static char npm_last[] = "[{\"name\":\"own\",\"env\":\"NPM_TOKEN\"},"
				 "\"npm\"]";
	struct {
		char *options, *isolation;
		int want;
		const char *said;
	} rows[] = {
		{ missing, runsc, -ENOENT, "ac vault add gone" },
		{ scoped, runsc, -EACCES, "not for instance 'one'" },
		{ past, runsc, -EKEYEXPIRED, "ac vault rotate past" },
		{ good, crun, -EOPNOTSUPP, "--isolation runsc" },
		{ broken, runsc, -EINVAL, "stored credentials" },
		{ host, runsc, -EINVAL,
		  "'claude' and 'work' are both for api.anthropic.com" },
		{ host, runsc, -EINVAL, "--credential none --credential work" },
		{ var, runsc, -EINVAL, "'own' and 'claude' both set X: " },
		{ usual, runsc, -EINVAL, "--secret own=NAME" },
		{ npm, runsc, -EINVAL, "'npm' and 'own' both set NPM_TOKEN" },
		{ npm_last, runsc, -EINVAL,
		  "'own' and 'npm' both set NPM_TOKEN" },
	};
	struct grants *away;
	struct blueprint bp = { 0 };
	struct instance_record r;
	struct secret_bytes json = { 0 };
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		err = (struct err){ 0 };
		r = record(rows[i].options);
		r.isolation = rows[i].isolation;
		is_int(grants_bind(g, &r, &bp, &json, &err), rows[i].want, "%s",
		       rows[i].options);
		ok(strstr(err.msg, rows[i].said), "%s", err.msg);
		ok(!grants_of(g, name), "nothing is left of it");
	}
	ok(grants_is_gone(-ENOENT) && grants_is_gone(-EACCES) &&
		   grants_is_gone(-EKEYEXPIRED) && !grants_is_gone(-ENOKEY),
	   "a lock takes nothing from a run that is on");
	r = record(NULL);
	is_int(grants_bind(g, &r, &bp, &json, &err), 0, "none at all");
	ok(json.len == 0 && !grants_of(g, name), "needs nothing");
	away = grants_new(NULL, "blueprints/credentials", &err);
	r = record(good);
	is_int(grants_bind(away, &r, &bp, &json, &err), -ENOTSUP,
	       "without a vault: %s", err.msg);
	grants_free(away);
}

/* What two may have in common. */
static void test_together(struct grants *g)
{
	static char npm[] = "[\"npm\",\"npm2\"]";
	static char handed[] =
		"[{\"name\":\"claude\",\"mode\":\"handover\"},{\"name\":"
		"\"work\",\"mode\":\"handover\",\"env\":\"WORK\"}]";
	static char third[] = "[{\"name\":\"npm\",\"env\":\"NPM_TOKEN\"},"
			      "{\"name\":\"own\",\"env\":\"X\"},\"npm2\"]";
	char *const rows[] = { npm, handed, third };
	struct blueprint bp = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct instance_record r = record(rows[i]);
		struct secret_bytes json = { 0 };
		struct err err = { 0 };

		is_int(grants_bind(g, &r, &bp, &json, &err), 0, "%s: %s",
		       rows[i], err.msg);
		secret_bytes_done(&json);
		grants_unbind(g, name);
	}
}

/* ---- the CA, and all of them ---- */

struct seen {
	unsigned n, with_json, with_bundle, failed;
};

static void see(void *arg, const char *of, struct slice json,
		struct slice bundle, const struct err *err)
{
	struct seen *s = arg;

	(void)of;
	s->n++;
	s->with_json += json.len > 0;
	s->with_bundle += bundle.len > 0;
	s->failed += err != NULL;
}

static void test_each(struct grants *g)
{
	static const char answer[] = "{\"cert\":\"C\",\"bundle\":\"CK\"}";
	char good[] = "[\"claude\",\"own\"]", other[] = "two";
	struct instance_record r = record(good);
	struct blueprint bp = { 0 };
	struct secret_bytes json = { 0 };
	struct err err = { 0 };
	struct seen seen = { 0 };

	if (grants_bind(g, &r, &bp, &json, &err) < 0)
		ok(false, "%s", err.msg);
	secret_bytes_done(&json);
	ok(grants_lacks_ca(g, name), "no CA yet");
	is_int(grants_take_ca(g, name, "{}", 2), -EPROTO, "no answer");
	is_int(grants_take_ca(g, name, answer, strlen(answer)), 0, "a CA");
	ok(!grants_lacks_ca(g, name) && grants_of(g, name) &&
		   strcmp(grants_of(g, name)->ca, "C") == 0,
	   "the guest gets the certificate alone");
	is_int(grants_take_ca(g, other, answer, strlen(answer)), 0,
	       "one without credentials");
	grants_each(g, NULL, see, &seen);
	ok(seen.n == 2 && seen.with_json == 1 && seen.with_bundle == 2,
	   "a new gateway is told all of it");
	seen = (struct seen){ 0 };
	grants_each(g, "own", see, &seen);
	is_int(seen.n, 1, "those that use one");
	if (vstore_remove(vault_store(vault), "own", &err) < 0)
		ok(false, "%s", err.msg);
	seen = (struct seen){ 0 };
	grants_each(g, "own", see, &seen);
	ok(seen.n == 1 && seen.with_json == 1 && seen.failed == 0,
	   "what is gone is left out");
	grants_unbind(g, name);
	grants_unbind(g, other);
	seen = (struct seen){ 0 };
	grants_each(g, NULL, see, &seen);
	is_int(seen.n, 0, "nothing runs");
}

static void test_revoked(struct grants *g)
{
	char two[] = "[\"claude\",\"npm\"]";
	struct instance_record r = record(two);
	struct blueprint bp = { 0 };
	struct secret_bytes json = { 0 };
	struct err err = { 0 };

	is_int(grants_bind(g, &r, &bp, &json, &err), 0, "a run");
	ok(strstr(json.p, "\"npm\"") && strstr(json.p, "\"claude\""),
	   "with both");
	secret_bytes_done(&json);
	ok(!grants_revoke(g, name, "own"), "it does not use that one");
	ok(grants_revoke(g, name, "npm"), "one is revoked");
	is_int(grants_bind(g, &r, &bp, &json, &err), 0, "bound anew");
	ok(!strstr(json.p, "\"npm\"") && strstr(json.p, "\"claude\""),
	   "no gateway gets it any more");
	secret_bytes_done(&json);
	grants_unbind(g, name);
	is_int(grants_bind(g, &r, &bp, &json, &err), 0, "the next run");
	ok(strstr(json.p, "\"npm\"") != NULL, "has it again");
	secret_bytes_done(&json);
	grants_unbind(g, name);
}

int main(void)
{
	struct err err = { 0 };
	struct grants *g;

	if (sodium_init() < 0 || !mkdtemp(dir))
		return 1;
	vault = vault_new(dir, getuid(), NULL, &err);
	g = grants_new(vault, "blueprints/credentials", &err);
	if (!ok(vault && g, "a vault %s", err.msg))
		return done_testing();
	vault_fill();
	test_github(g);
	test_other_kinds(g);
	test_told(g);
	test_handover(g);
	test_refused(g);
	test_together(g);
	test_each(g);
	test_revoked(g);
	grants_free(g);
	vault_free(vault);
	file_remove_tree(dir);
	return done_testing();
}
