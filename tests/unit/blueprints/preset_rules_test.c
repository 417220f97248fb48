/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preset_rules_test.c - what the shipped presets of egress let through, and
 * which rule decides when two presets name one host
 */
#include <string.h>

#include "ottergate/policy/policy.h"
#include "tests/unit/ottergate/policies.h"
#include "tests/unit/tap.h"

static struct policy *policy; /* the shipped presets, and those of own[] */

/* `packages` as set-up writes it, and two that differ about one host. */
static const char own[] =
	"version: 1\n"
	"presets:\n"
	"  packages:\n"
	"    rules:\n"
	"      - { id: npm-1, names: [registry.npmjs.org], ports: [443] }\n"
	"      - { id: pip-1, names: [mirror.a.test], ports: [443] }\n"
	"  read:\n"
	"    rules:\n"
	"      - { id: read, names: [x.a.test], use: inspect, methods: [GET] "
	"}\n"
	"  write:\n"
	"    rules:\n"
	"      - { id: write, names: [x.a.test], use: inspect, methods: [PUT] "
	"}\n"
	"  below:\n"
	"    rules:\n"
	"      - { id: below, names: [.a.test], use: inspect, methods: [PUT] "
	"}\n";

static struct agent_policy *agent_of(const char *use)
{
	SCOPED_STR text = str_printf("version: 1\n"
				     "agents:\n"
				     "  - id: a\n"
				     "    match: { address: 172.20.0.7 }\n"
				     "    use: [%s]\n",
				     use);
	struct agent_policy *a = NULL;
	struct err err = { 0 };

	ok(text && agent_of_text(policy, text, &a, NULL, &err) == 0,
	   "an agent that uses %s %s", use, err.msg);
	return a;
}

static struct verdict ask(const struct agent_policy *a, const char *host,
			  uint16_t port)
{
	struct name name = name_of(host);
	struct request rq = {
		.path = port == 80 ? PATH_HTTP : PATH_TLS,
		.name = &name,
		.port = port,
	};

	return decide(a, &rq);
}

/* ---- requests ---- */

static const struct {
	const char *use, *host, *method, *path;
	bool passes;
} rows[] = {
	{ "github", "github.com", "GET", "/o/r/info/refs", true },
	{ "github", "github.com", "POST", "/o/r.git/git-upload-pack", true },
	{ "github", "github.com", "POST", "/o/r.git/git-receive-pack", false },
	{ "github", "github.com", "POST", "/o/r/issues", false },
	{ "github", "api.github.com", "GET", "/repos/o/r", true },
	{ "github", "api.github.com", "POST", "/gists", false },
	{ "github", "api.github.com", "POST", "/graphql", false },
	{ "gitlab", "gitlab.com", "POST", "/a/b/c.git/git-upload-pack", true },
	{ "gitlab", "gitlab.com", "POST", "/api/v4/x/git-upload-pack", false },
	{ "gitlab", "gitlab.com", "POST", "/-/snippets", false },
	{ "npm", "registry.npmjs.org", "GET", "/left-pad", true },
	{ "npm", "registry.npmjs.org", "PUT", "/left-pad", false },
	{ "npm", "registry.npmjs.org", "POST",
	  "/-/npm/v1/security/advisories/bulk", true },
	{ "pypi", "pypi.org", "GET", "/simple/pip/", true },
	{ "pypi", "pypi.org", "POST", "/legacy/", false },
	{ "crates", "crates.io", "PUT", "/api/v1/crates/new", false },
	{ "go", "storage.googleapis.com", "GET", "/proxy-golang-org-prod/a.zip",
	  true },
	{ "go", "storage.googleapis.com", "GET", "/somebody/a.zip", false },
	{ "go", "storage.googleapis.com", "PUT", "/proxy-golang-org-prod/a.zip",
	  false },
	{ "huggingface", "huggingface.co", "POST",
	  "/api/models/o/m/commit/main", false },
	{ "huggingface", "cas-server.xethub.hf.co", "POST",
	  "/v1/xorbs/default/x", false },
	{ "docker-hub", "registry-1.docker.io", "GET",
	  "/v2/library/debian/manifests/13", true },
	{ "docker-hub", "registry-1.docker.io", "POST",
	  "/v2/o/i/blobs/uploads/", false },
	{ "anthropic", "api.anthropic.com", "POST", "/v1/messages", true },
	{ "anthropic", "api.anthropic.com", "POST", "/v1/files", false },
	{ "anthropic", "api.anthropic.com", "POST", "/v1/messages/batches",
	  false },
	{ "anthropic", "platform.claude.com", "GET", "/v1/oauth/hello", true },
	{ "anthropic", "platform.claude.com", "POST", "/v1/oauth/token",
	  false },
	{ "openai", "api.openai.com", "POST", "/v1/responses", true },
	{ "openai", "api.openai.com", "POST", "/v1/files", false },
	{ "gemini", "generativelanguage.googleapis.com", "POST",
	  "/v1beta/models/gemini-x:streamGenerateContent", true },
	{ "gemini", "generativelanguage.googleapis.com", "POST",
	  "/v1beta/models/gemini-x:batchGenerateContent", false },
	{ "gemini", "generativelanguage.googleapis.com", "POST",
	  "/upload/v1beta/files", false },
	{ "security-databases", "api.osv.dev", "POST", "/v1/querybatch", true },
	{ "google", "www.google.com", "GET", "/search", true },
	{ "google", "www.google.com", "GET", "/url", false },
};

static void test_requests(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct agent_policy *a = agent_of(rows[i].use);
		struct verdict v = { 0 };
		bool passes = false;

		if (!a)
			continue;
		v = ask(a, rows[i].host, 443);
		if (ok(v.allow && v.use == RULE_INSPECT, "%s is inspected",
		       rows[i].host))
			passes = decide_http(v.rule, slice_str(rows[i].method),
					     slice_str(rows[i].path))
					 .reason == REASON_ALLOWED;
		ok(passes == rows[i].passes, "%s %s%s %s", rows[i].method,
		   rows[i].host, rows[i].path,
		   rows[i].passes ? "passes" : "is refused");
		agent_policy_unref(a);
	}
}

/* ---- two presets, one host ---- */

static const struct {
	const char *use, *host, *rule;
	enum rule_use is;
} pairs[] = {
	/* inspect before tunnel, in any order of use */
	{ "packages", "registry.npmjs.org", "npm-1", RULE_TUNNEL },
	{ "packages, npm", "registry.npmjs.org", "registry", RULE_INSPECT },
	{ "npm, packages", "registry.npmjs.org", "registry", RULE_INSPECT },
	{ "npm, packages", "mirror.a.test", "pip-1", RULE_TUNNEL },
	/* of the same kind: the order of use */
	{ "read, write", "x.a.test", "read", RULE_INSPECT },
	{ "write, read", "x.a.test", "write", RULE_INSPECT },
	/* the more specific name goes before both */
	{ "below, read", "x.a.test", "read", RULE_INSPECT },
	{ "below, packages", "mirror.a.test", "pip-1", RULE_TUNNEL },
};

static void test_pairs(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		struct agent_policy *a = agent_of(pairs[i].use);
		struct verdict v = { 0 };

		if (!a)
			continue;
		v = ask(a, pairs[i].host, 443);
		ok(v.allow && v.use == pairs[i].is &&
			   strcmp(v.rule->id, pairs[i].rule) == 0,
		   "%s: %s is for %s", pairs[i].use, pairs[i].rule,
		   pairs[i].host);
		agent_policy_unref(a);
	}
}

/* Port 80 is open for a mirror alone, which apt checks by signatures. */
static void test_plain(void)
{
	struct agent_policy *a = agent_of("debian, npm, github, pypi");

	if (!a)
		return;
	ok(ask(a, "deb.debian.org", 80).allow, "apt asks by plain HTTP");
	ok(ask(a, "deb.debian.org", 443).use == RULE_INSPECT, "or by TLS");
	ok(!ask(a, "registry.npmjs.org", 80).allow, "npm does not");
	ok(!ask(a, "github.com", 22).allow, "nor is there SSH");
	agent_policy_unref(a);
}

int main(void)
{
	char path[] = "/tmp/preset_rules_test.XXXXXX";
	const char *const paths[] = { "blueprints/presets/egress", path, NULL };
	struct lint lint = { 0 };
	struct err err = { 0 };
	SCOPED_FD fd = mkostemp(path, O_CLOEXEC);

	if (fd < 0 || fd_write_all(fd, own, sizeof(own) - 1) < 0)
		return 1;
	if (ok(policy_load(paths, &policy, &lint, &err) == 0, "presets %s",
	       err.msg)) {
		test_requests();
		test_pairs();
		test_plain();
	}
	unlink(path);
	policy_unref(policy);
	lint_done(&lint);
	return done_testing();
}
