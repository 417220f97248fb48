/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lint_test.c - what the linter says, and what it must not say; the
 * shipped presets
 */
#include "ottergate/policy/load.h"

#include <fcntl.h>

#include "lib/file.h"
#include "tests/unit/ottergate/policies.h"
#include "tests/unit/tap.h"

#define V "version: 1\n"
#define RULES                        \
	V "credentials: { k: {} }\n" \
	  "presets:\n  p:\n    rules:\n"
#define HTTP "http: { allow: [ { paths: [/v1] } ] }"

struct row {
	const char *text;
	const char *code; /* NULL: nothing at all is said */
	enum lint_level level;
	const char *at; /* beginning of the text */
};

#define AGENT V "agents: [ { id: a, match: { address: 172.20.0.7 }, limits: { "

static const struct row rows[] = {
	{ RULES "    - { id: a, names: [a.test, .b.a.example] }\n", NULL, 0,
	  NULL },
	/* N6: wildcards over public suffixes. */
	{ RULES "    - { id: a, names: [.com] }\n", "public-suffix", LINT_ERROR,
	  "f:6:24: " },
	{ RULES "    - { id: a, names: [+co.uk] }\n", "public-suffix",
	  LINT_ERROR, "f:6:24: " },
	{ RULES "    - { id: a, names: [.github.io], risk_ok: [multi-tenant]"
		" }\n",
	  "public-suffix", LINT_ERROR, "f:6:24: " },
	{ RULES "    - { id: a, names: [.s3.amazonaws.com], risk_ok: "
		"[multi-tenant] }\n",
	  "public-suffix", LINT_ERROR, "f:6:24: " },
	{ RULES "    - { id: a, names: [.nosuchtld] }\n", "public-suffix",
	  LINT_ERROR, "f:6:24: " },
	/* Those that nobody can register, too; below them it is a name. */
	{ RULES "    - { id: a, names: [.test] }\n", "public-suffix",
	  LINT_ERROR, "f:6:24: " },
	{ RULES "    - { id: a, names: [+internal] }\n", "public-suffix",
	  LINT_ERROR, "f:6:24: " },
	{ RULES "    - { id: a, names: [.example] }\n", "public-suffix",
	  LINT_ERROR, "f:6:24: " },
	{ RULES "    - { id: a, names: [.home.arpa] }\n", "public-suffix",
	  LINT_ERROR, "f:6:24: " },
	{ RULES "    - { id: a, names: [.corp.internal, +b.test] }\n", NULL, 0,
	  NULL },
	{ V "deny: [ { id: a, names: [.zip] } ]\n", NULL, 0, NULL },
	/* T2, H11: hosts of many. */
	{ RULES "    - { id: a, names: [github.com] }\n", "multi-tenant",
	  LINT_ERROR, "f:6:24: github.com: " },
	{ RULES "    - { id: a, names: [x.s3.amazonaws.com] }\n",
	  "multi-tenant", LINT_ERROR, "f:6:24: " },
	{ RULES "    - { id: a, names: [.amazonaws.com] }\n", "multi-tenant",
	  LINT_ERROR, "f:6:24: " },
	{ RULES "    - { id: a, names: [d1.cloudfront.net] }\n", "shared-cdn",
	  LINT_ERROR, "f:6:24: " },
	{ RULES "    - { id: a, names: [.google.com], risk_ok: "
		"[shared-cdn] }\n",
	  "multi-tenant", LINT_ERROR, "f:6:24: " },
	{ RULES "    - { id: a, names: [github.com], risk_ok: [multi-tenant]"
		" }\n",
	  NULL, 0, NULL },
	{ RULES "    - { id: a, names: [notgithub.com, github.com.a.test]"
		" }\n",
	  NULL, 0, NULL },
	{ RULES "    - { id: a, names: [github.com], use: inspect }\n", NULL, 0,
	  NULL },
	/* Nobody proves a name there, so nothing of it passes. */
	{ RULES "    - { id: a, names: [a.test], use: inspect, ports: [80] }\n",
	  "needs-inspect", LINT_WARNING, "f:6:7: " },
	{ RULES "    - { id: a, ips: [192.0.2.1], use: inspect }\n",
	  "needs-inspect", LINT_WARNING, "f:6:7: " },
	/* What a tunnel cannot hold. */
	{ RULES "    - { id: a, names: [a.test], methods: [GET] }\n",
	  "tunnel-cannot", LINT_ERROR, "f:6:33: `methods`" },
	{ RULES "    - { id: a, names: [a.test], upload: { body_max: 0 } }\n",
	  "tunnel-cannot", LINT_ERROR, "f:6:33: `upload`" },
	{ RULES "    - { id: a, names: [a.test], limits: { requests: 1/m } }\n",
	  "tunnel-cannot", LINT_ERROR, "f:6:33: `limits`" },
	/* Credentials. */
	{ RULES "    - { id: a, names: [a.test], use: inspect, auth: { use: k "
		"} }\n",
	  "auth-without-paths", LINT_ERROR, "f:6:7: " },
	{ RULES "    - { id: a, names: [a.test], use: inspect, auth: { use: k "
		"}, http: { deny: [ { paths: [/x] } ] } }\n",
	  "auth-without-paths", LINT_ERROR, "f:6:7: " },
	{ RULES "    - { id: a, names: [a.test], use: inspect, auth: { use: k "
		"}, ports: [80], " HTTP " }\n",
	  "auth-plain-http", LINT_ERROR, "f:6:7: " },
	{ RULES "    - { id: a, names: [a.test, b.test], use: inspect, auth: { "
		"use: k }, " HTTP " }\n",
	  "credential-names", LINT_WARNING, "f:2:16: " },
	{ RULES "    - { id: a, names: [.a.test], use: inspect, auth: { "
		"use: k }, " HTTP " }\n",
	  "credential-names", LINT_WARNING, "f:2:16: " },
	/* Limits that the packet filter bounds anyway. */
	{ AGENT "conns: 4096, new_conns: 500/s } } ]\n", NULL, 0, NULL },
	{ AGENT "conns: none, new_conns: none } } ]\n", NULL, 0, NULL },
	{ AGENT "conns: 4097 } } ]\n", "filter-bound", LINT_WARNING,
	  "f:2:60: `conns: 4097`" },
	{ AGENT "new_conns: 501/s } } ]\n", "filter-bound", LINT_WARNING,
	  "f:2:60: `new_conns: 501/s`" },
	/* Reach. */
	{ RULES "    - { id: a, names: [a.test] }\n"
		"    - { id: b, names: [a.test] }\n",
	  "unreachable", LINT_WARNING, "f:7:7: rule 'b' never decides" },
	{ RULES "    - { id: a, names: [a.test] }\n"
		"    - { id: b, names: [a.test], use: inspect }\n",
	  "unreachable", LINT_WARNING, "f:6:7: rule 'a' never decides" },
	{ RULES "    - { id: a, names: [a.test] }\n"
		"    - { id: b, names: [a.test], ports: [8443] }\n"
		"    - { id: c, names: [.a.test] }\n"
		"    - { id: d, names: [+a.test] }\n",
	  NULL, 0, NULL },
	{ V "deny: [ { id: d, names: [.a.test] } ]\n"
	    "presets: { p: { rules: [ { id: a, names: [b.a.test] } ] } }\n",
	  "deny-shadows", LINT_INFO, "f:3:26: rule 'a' allows b.a.test" },
	{ V "deny: [ { id: d, names: [a.test] } ]\n"
	    "presets: { p: { rules: [ { id: a, names: [.a.test] } ] } }\n",
	  NULL, 0, NULL },
	{ V "deny: [ { id: d, names: [a.test], ports: [25] } ]\n"
	    "presets: { p: { rules: [ { id: a, names: [a.test] } ] } }\n",
	  NULL, 0, NULL },
	{ RULES "    - { id: a, names: [dns.google] }\n", "builtin-denied",
	  LINT_WARNING, "f:6:24: dns.google" },
	{ RULES "    - { id: a, ips: [10.0.0.0/8] }\n", "builtin-denied",
	  LINT_WARNING, "f:6:22: " },
	{ RULES "    - { id: a, ips: [0.0.0.0/0] }\n", "wide-range", LINT_ERROR,
	  "f:6:22: " },
	{ RULES "    - { id: a, ips: [\"2600::/24\"] }\n", "wide-range",
	  LINT_ERROR, "f:6:22: " },
	{ V "hosts: { a.test: [10.0.0.1] }\n", "host-address", LINT_WARNING,
	  "f:2:19: " },
	/* N4 */
	{ RULES "    - { id: a, names: [\"b\\u00fccher.example\"] }\n", "idn",
	  LINT_INFO, "f:6:24: this name is xn--bcher-kva.example" },
	{ RULES "    - { id: a, names: [\"github\\u3002com\"] }\n",
	  "multi-tenant", LINT_ERROR, "f:6:24: github.com" },
};

static const struct lint_item *find(const struct lint *l, const char *code)
{
	for (size_t i = 0; i < l->n; i++) {
		if (strcmp(l->v[i].code, code) == 0)
			return &l->v[i];
	}
	return NULL;
}

static void check_row(const struct row *row)
{
	const struct lint_item *item;
	struct lint lint = { 0 };
	struct policy *p = NULL;
	struct err err = { 0 };
	int rc = policy_of(row->text, &p, &lint, &err);
	bool good;

	if (!row->code) {
		good = rc == 0 && lint.n == 0;
	} else {
		item = find(&lint, row->code);
		good = item && item->level == row->level &&
		       strncmp(item->text, row->at, strlen(row->at)) == 0 &&
		       (rc < 0) == (row->level == LINT_ERROR) &&
		       (rc >= 0 || strcmp(err.msg, item->text) == 0 ||
			lint.n > 1);
	}
	ok(good, "%s at %s", row->code ? row->code : "nothing",
	   row->at ? row->at : "all");
	for (size_t i = 0; i < lint.n && !good; i++)
		printf("# got %s %s\n", lint.v[i].code, lint.v[i].text);
	if (!good)
		printf("# r %d %s\n", rc, err.msg);
	policy_unref(p);
	lint_done(&lint);
}

static void test_agents(void)
{
	static const char text[] = V
		"agents:\n- id: x\n  match: { address: 172.20.0.9 }\n"
		"  use: [p]\n"
		"  allow:\n"
		"  - { id: a, names: [a.test, b.test] }\n"
		"  - { id: again, names: [b.test] }\n"
		"  deny: [ { id: d, names: [a.test] } ]\n";
	struct agent_policy *a = NULL;
	struct policy *p = NULL;
	struct lint lint = { 0 };
	const struct lint_item *item;

	if (policy_of(RULES "    - { id: a, names: [a.test] }\n", &p, NULL,
		      NULL) < 0)
		return;
	is_int(agent_of_text(p, text, &a, &lint, NULL), 0, "an agent");
	item = find(&lint, "unreachable");
	ok(item && strncmp(item->text, "a:8:5: rule 'again'", 18) == 0,
	   "a rule after its equal");
	ok(item && strcmp(item->about, "b.test") == 0 && item->line == 8 &&
		   item->column == 5 && item->file_len == 1 &&
		   strncmp(item->text + item->words, "rule 'again'", 12) == 0,
	   "with its place, and what it is about");
	item = find(&lint, "deny-shadows");
	ok(item && strncmp(item->text, "a:7:5: rule 'a' allows a.test", 29) ==
			   0,
	   "its own denial");
	ok(item && strcmp(item->about, "a.test") == 0 &&
		   strcmp(item->by, "a.test") == 0,
	   "with both names");
	is_int(lint.n, 3, "also of what the preset allows");
	agent_policy_unref(a);
	policy_unref(p);
	lint_done(&lint);
}

/* All faults are shown, the first is the message. */
static void test_all_shown(void)
{
	struct policy *p = NULL;
	struct lint lint = { 0 };
	struct err err = { 0 };

	is_int(policy_of(RULES "    - { id: a, names: [.com, .net] }\n"
			       "    - { id: b, names: [github.com] }\n",
			 &p, &lint, &err),
	       -EINVAL, "three errors");
	is_int(lint.n, 3, "three items");
	ok(strncmp(err.msg, "f:6:24: ", 8) == 0, "the first: %s", err.msg);
	ok(!p, "no policy");
	lint_done(&lint);
}

static void test_presets(void)
{
	const char *const paths[] = { "blueprints/presets/egress", NULL };
	struct policy *p = NULL;
	struct lint lint = { 0 };
	struct err err = { 0 };

	if (access(paths[0], R_OK) < 0) {
		skip("not in the tree");
		return;
	}
	is_int(policy_load(paths, &p, &lint, &err), 0, "presets: %s", err.msg);
	is_int(lint.n, 0, "nothing to say about them");
	policy_unref(p);
	lint_done(&lint);
}

/* A parser that took the NUL for the end would find the rest good. */
static void test_nul(void)
{
	static const char nul[] = "version: 1\ndeny: []\n\0";
	char path[] = "/tmp/otter_lint_test.XXXXXX";
	const char *const paths[] = { path, NULL };
	SCOPED_FD fd = mkostemp(path, O_CLOEXEC);
	struct policy *p = NULL;
	struct lint lint = { 0 };
	struct err err = { 0 };

	if (fd < 0 || fd_write_all(fd, nul, sizeof(nul) - 1) < 0) {
		ok(false, "a file");
		return;
	}
	ok(policy_load(paths, &p, &lint, &err) < 0, "a NUL is refused: %s",
	   err.msg);
	policy_unref(p);
	p = NULL;
	err = (struct err){ 0 };
	ok(ftruncate(fd, sizeof(nul) - 2) == 0 &&
		   policy_load(paths, &p, &lint, &err) == 0,
	   "without it the same is good %s", err.msg);
	policy_unref(p);
	lint_done(&lint);
	unlink(path);
}

int main(void)
{
	test_nul();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_row(&rows[i]);
	test_agents();
	test_all_shown();
	test_presets();
	return done_testing();
}
