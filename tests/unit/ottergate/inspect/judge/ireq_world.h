/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ireq_world.h - a policy, secrets and requests for the tests of ireq
 */
#ifndef TESTS_UNIT_OTTERGATE_INSPECT_JUDGE_IREQ_WORLD_H
#define TESTS_UNIT_OTTERGATE_INSPECT_JUDGE_IREQ_WORLD_H

#include "ottergate/inspect/judge/ireq.h"

#include "tests/unit/ottergate/policies.h"
#include "tests/unit/ottergate/known_secrets.h"
#include "tests/unit/tap.h"

static const char world_shared[] = "version: 1\n"
				   "credentials:\n"
				   "  github: {}\n"
				   "  gemini: {}\n"
				   "  login: {}\n"
				   "  aws: {}\n"
				   "  own: {}\n"
				   "  away: {}\n"
				   "  past: {}\n"
				   "  gitlab: {}\n"
				   "  query: {}\n"
				   "  plain: {}\n"
				   "  named: {}\n";

static const char world_agent[] =
	"version: 1\n"
	"agents:\n"
	"  - id: coder\n"
	"    match: { address: 172.20.0.7 }\n"
	"    allow:\n"
	"      - id: api\n"
	"        names: [api.github.com]\n"
	"        use: inspect\n"
	"        http:\n"
	"          allow:\n"
	"            - { methods: [GET, HEAD, POST],\n"
	"                paths: ['/repos/otter/**', '/user'] }\n"
	"            - { methods: [POST, GET], paths: [/graphql],\n"
	"                graphql: query-only, body_max: 1KiB }\n"
	"          deny:\n"
	"            - { methods: ['*'], paths: ['/repos/otter/*/hooks/**'] }\n"
	"        auth: { use: github, exclusive: true }\n"
	"        limits: { requests: 60/m }\n"
	"        response: { max: 1KiB }\n"
	"      - id: git\n"
	"        names: [github.com]\n"
	"        use: inspect\n"
	"        paths: ['/**']\n"
	"        auth: { use: github, exclusive: true }\n"
	"        upload: { body_max: 100 }\n"
	"      - id: hub\n"
	"        names: [hub.test]\n"
	"        use: inspect\n"
	"        http:\n"
	"          allow:\n"
	"            - { paths: ['/**'] }\n"
	"            - { paths: [/strict], graphql: query-only }\n"
	"            - { paths: [/graphql], graphql: { mutations: [b,\n"
	"                createPullRequest, a], push: [mergePullRequest,\n"
	"                createRef], without: [ciVariables] } }\n"
	"          deny:\n"
	"            - { paths: [/releases], push: true }\n"
	"            - { paths: [/hooks/**] }\n"
	"      - id: open\n"
	"        names: [open.test]\n"
	"        use: inspect\n"
	"        stream: { websocket: true }\n"
	"      - id: loose\n"
	"        names: [loose.test]\n"
	"        use: inspect\n"
	"        paths: ['/**']\n"
	"        auth: { use: own, as: header-X-Own }\n"
	"        stream: { websocket: true }\n"
	"      - id: gem\n"
	"        names: [gemini.test]\n"
	"        use: inspect\n"
	"        paths: ['/**']\n"
	"        auth: { use: gemini, exclusive: true }\n"
	"      - id: login\n"
	"        names: [login.test]\n"
	"        use: inspect\n"
	"        paths: ['/**']\n"
	"        auth: { use: login, exclusive: true }\n"
	"      - id: s3\n"
	"        names: [s3.test]\n"
	"        use: inspect\n"
	"        paths: ['/**']\n"
	"        auth: { use: aws, exclusive: true }\n"
	"      - id: gone\n"
	"        names: [away.test]\n"
	"        use: inspect\n"
	"        paths: ['/**']\n"
	"        auth: { use: away, exclusive: true }\n"
	"      - id: past\n"
	"        names: [past.test]\n"
	"        use: inspect\n"
	"        paths: ['/**']\n"
	"        auth: { use: past, exclusive: true }\n"
	"      - id: elsewhere\n"
	"        names: [elsewhere.test]\n"
	"        use: inspect\n"
	"        paths: ['/**']\n"
	"        auth: { use: own, exclusive: true }\n"
	"      - id: gitlab\n"
	"        names: [gitlab.test]\n"
	"        use: inspect\n"
	"        paths: ['/**']\n"
	"        auth: { use: gitlab, exclusive: true }\n"
	"      - id: query\n"
	"        names: [query.test]\n"
	"        use: inspect\n"
	"        paths: ['/**']\n"
	"        auth: { use: query, exclusive: true, as: query-tok }\n"
	"      - id: plain\n"
	"        names: [plain.test]\n"
	"        use: inspect\n"
	"        paths: ['/**']\n"
	"        auth: { use: plain, exclusive: true }\n"
	"      - id: named\n"
	"        names: [named.test]\n"
	"        use: inspect\n"
	"        paths: ['/**']\n"
	"        auth: { use: named, exclusive: true, as: basic-bob }\n"
	"      - id: form\n"
	"        names: [form.test]\n"
	"        use: inspect\n"
	"        http:\n"
	"          allow:\n"
	"            - { methods: [POST, PUT], paths: ['/a', '/b'],\n"
	"                forms: judge }\n"
	"            - { methods: [POST], paths: [/b, /c], forms: any }\n"
	"      - { id: tunnel, names: [tunnel.test] }\n";

#define REAL_GITHUB "ghp_REALrealREALrealREALrealREALrealREAL"
#define REAL_GEMINI "AIzaREALrealREAL+real"
#define REAL_OWN "own-real-value"
#define REAL_GITLAB "glpat-REALrealREALreal"
#define REAL_QUERY "query-real-value"
#define REAL_PLAIN "plain-real-value"
#define REAL_NAMED "named-real-value"
#define REAL_LOGIN "eyJhbGciOiJSUzI1NiJ9.eyJleHAiOjF9.real-signature_1"
#define REAL_AWS "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"

struct world {
	struct policy *policy;
	struct agent_policy *agent;
	struct secret_set *secrets;
};

static inline bool world_init(struct world *w)
{
	struct err err = { 0 };
	static char list[10][512], all[8192];

	*w = (struct world){ 0 };
	secret_json(list[0], 512, "github", "github", REAL_GITHUB,
		    "\"github.com\",\"api.github.com\"", "");
	secret_json(list[1], 512, "gemini", "gemini", REAL_GEMINI,
		    "\"gemini.test\"", "");
	secret_json(list[2], 512, "aws", "aws", REAL_AWS, "\"s3.test\"",
		    ",\"access_key\":\"AKIAREAL\",\"region\":\"eu-west-1\"");
	secret_json(list[3], 512, "own", "generic", REAL_OWN, "\"loose.test\"",
		    "");
	secret_json(list[4], 512, "past", "openai", "openai-real-value",
		    "\"past.test\"", ",\"expires\":1699999999");
	secret_json(list[5], 512, "gitlab", "gitlab", REAL_GITLAB,
		    "\"gitlab.test\"", "");
	secret_json(list[6], 512, "query", "generic", REAL_QUERY,
		    "\"query.test\"", "");
	secret_json(list[7], 512, "plain", "generic", REAL_PLAIN,
		    "\"plain.test\"", "");
	secret_json(list[8], 512, "named", "generic", REAL_NAMED,
		    "\"named.test\"", "");
	secret_json(list[9], 512, "login", "openai-login", REAL_LOGIN,
		    "\"login.test\"", "");
	for (size_t i = 0, n = 0; i < ARRAY_SIZE(list); i++)
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s",
				      i ? "," : "", list[i]);
	return ok(sodium_init() >= 0, "libsodium") &&
	       ok(policy_of(world_shared, &w->policy, NULL, &err) == 0,
		  "policy: %s", err.msg) &&
	       ok(agent_of_text(w->policy, world_agent, &w->agent, NULL,
				&err) == 0,
		  "agent: %s", err.msg) &&
	       ok(secrets_of(all, &w->secrets, &err) == 0, "secrets: %s",
		  err.msg);
}

static inline void world_done(struct world *w)
{
	agent_policy_unref(w->agent);
	policy_unref(w->policy);
	secret_set_unref(w->secrets);
}

/* A request as a front end makes it. */
struct asked {
	struct ihead h;
	struct ireq r;
	struct name name;
};

static inline void asked_head(struct asked *a, const char *host,
			      const char *method, const char *path)
{
	memset(a, 0, sizeof(*a));
	a->name = name_of(host);
	ihead_init(&a->h);
	a->h.method = ihead_keep(&a->h, slice_str(method));
	a->h.authority = ihead_keep(&a->h, slice_str(host));
	a->h.path = ihead_keep(&a->h, slice_str(path));
}

static inline void asked_field(struct asked *a, const char *name,
			       const char *value)
{
	if (ihead_add_str(&a->h, name, value) < 0)
		ok(false, "no room for %s", name);
}

static inline int asked_begin(struct asked *a, const struct world *w)
{
	struct ireq_ctx ctx = {
		.policy = w->agent,
		.secrets = w->secrets,
		.name = &a->name,
		.port = 443,
		.now_ms = 5000,
		.now_s = SECRETS_NOW,
	};

	return ireq_begin(&a->r, &ctx, &a->h);
}

static inline void asked_done(struct asked *a)
{
	ireq_end(&a->r);
	ihead_done(&a->h);
}

/* The value of the only field of this name, NULL: none, or more. */
static inline const char *asked_value(struct asked *a, const char *name)
{
	static char text[2048];
	const struct ifield *f = ihead_find(&a->h, name, 0);

	if (!f || ihead_count(&a->h, name) != 1)
		return NULL;
	snprintf(text, sizeof(text), "%.*s", (int)f->value.len,
		 (const char *)f->value.ptr);
	return text;
}

static inline const char *asked_path(struct asked *a)
{
	static char text[2048];

	snprintf(text, sizeof(text), "%.*s", (int)a->h.path.len,
		 (const char *)a->h.path.ptr);
	return text;
}

#endif
