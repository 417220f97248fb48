/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe_test.c - from an audit log to a policy that loads
 */
#include "ottergate/policy/load.h"

#include "tests/unit/ottergate/policies.h"
#include "tests/unit/tap.h"

#define ALLOW(agent, path, name, port)                                \
	"{\"time\":\"2026-11-21T18:00:00.000Z\",\"event\":\"allow\"," \
	"\"agent\":\"" agent "\",\"conn\":1,\"path\":\"" path         \
	"\",\"name\":\"" name "\",\"port\":" port                     \
	",\"reason\":\"observed\",\"observed\":true,\"prev\":\"00\"," \
	"\"hash\":\"ff\"}\n"

#define HEAD                                                                  \
	"# What was reached and no rule allows yet, as a preset. Take out "   \
	"what "                                                               \
	"is not\n# wanted, give it a name of its own in place of `learned`, " \
	"put "                                                                \
	"it into\n# policy/policy.yaml, and name it with --egress or in a "   \
	"blueprint.\n"
/* By a rule: it is in the policy already. */
#define RULED                                                    \
	"{\"time\":\"t\",\"event\":\"allow\",\"agent\":\"a\","   \
	"\"path\":\"tls\",\"name\":\"ruled.test\",\"port\":443," \
	"\"rule\":\"r\",\"reason\":\"allowed\"}\n"
#define DENIED                                                \
	"{\"time\":\"t\",\"event\":\"deny\",\"agent\":\"a\"," \
	"\"name\":\"denied.test\",\"port\":443}\n"
#define LITERAL                                                \
	"{\"time\":\"t\",\"event\":\"allow\",\"agent\":\"a\"," \
	"\"port\":443}\n"

#define FAILED(agent, path, name, port, reason)                           \
	"{\"time\":\"2026-11-21T18:00:00.000Z\",\"event\":\"deny\","      \
	"\"agent\":\"" agent "\",\"conn\":1,\"path\":\"" path             \
	"\",\"name\":\"" name "\",\"port\":" port ",\"reason\":\"" reason \
	"\",\"prev\":\"00\",\"hash\":\"ff\"}\n"

/* Refused for its bytes alone: only by a tcp rule would it pass. */
#define UNSPOKEN(name, port, reason)                                           \
	"{\"time\":\"t\",\"event\":\"deny\",\"agent\":\"a\",\"path\":\"tcp\"," \
	"\"name\":\"" name "\",\"port\":" port ",\"reason\":\"" reason         \
	"\",\"observed\":true,\"exe\":\"/usr/bin/\\u0022x\"}\n"

static int learn(const char *in, const char *agent, char **ret, struct err *err)
{
	size_t len = strlen(in), size = 0;
	FILE *from = fmemopen(NULL, len + 1, "w+");
	FILE *to = open_memstream(ret, &size);
	int rc = -ENOMEM;

	if (from && to) {
		fwrite(in, 1, len, from);
		rewind(from);
		/* The NUL that fmemopen() adds is no part of it. */
		rc = policy_from_audit(from, agent, to, err);
	}
	if (from)
		fclose(from);
	if (to)
		fclose(to);
	return rc;
}

static const char *const lines[] = {
	"{\"time\":\"t\",\"event\":\"policy\",\"x\":{\"deep\":[1]}}\n",
	ALLOW("a", "tls", "b.test", "443"),
	ALLOW("a", "connect", "a.test", "443"),
	ALLOW("a", "tls", "b.test", "443"),
	ALLOW("a", "http", "plain.test", "80"),
	ALLOW("a", "tls", "plain.test", "80"),
	ALLOW("a", "connect", "plain.test", "443"),
	ALLOW("a", "proxy", "alt.test", "8080"),
	ALLOW("a", "tcp", "git.test", "22"),
	ALLOW("a", "tls", "github.com", "443"),
	ALLOW("b", "tls", "other.test", "443"),
	/* Never reached; reached the second time; denied by its address. */
	ALLOW("a", "tls", "gone.test", "443"),
	FAILED("a", "tls", "gone.test", "443", "no-address"),
	ALLOW("a", "tls", "gone.test", "443"),
	FAILED("a", "tls", "gone.test", "443", "dns-failed"),
	FAILED("a", "tls", "b.test", "443", "dns-failed"),
	FAILED("a", "connect", "a.test", "443", "connect-failed"),
	FAILED("b", "tls", "a.test", "443", "no-address"),
	FAILED("a", "dns", "a.test", "443", "no-address"), DENIED, LITERAL,
	RULED, "{\"time\":\"t\",\"event\":\"all", /* still being written */
};

static void test_learn(void)
{
	static const char want[] = HEAD
		"version: 1\npresets:\n  learned:\n    rules:\n"
		"      - { id: seen-1, names: [\"a.test\"], ports: [443] }\n"
		"      - { id: seen-2, names: [\"alt.test\"], ports: [8080],"
		" proto: http }\n"
		"      - { id: seen-3, names: [\"b.test\"], ports: [443] }\n"
		"      - { id: seen-4, names: [\"git.test\"], ports: [22],"
		" proto: tcp }\n"
		"      - { id: seen-5, names: [\"github.com\"], ports: [443],"
		" risk_ok: [multi-tenant] } # shared: is it really wanted?\n"
		"      - { id: seen-6, names: [\"plain.test\"], ports: [80,"
		" 443] }\n"
		"      - { id: seen-7, names: [\"plain.test\"], ports: [80],"
		" proto: tls }\n";
	struct policy *p = NULL;
	struct err err = { 0 };
	char log[4096], *text = NULL;
	size_t at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		at += (size_t)snprintf(log + at, sizeof(log) - at, "%s",
				       lines[i]);
	is_int(learn(log, "a", &text, &err), 0, "learned: %s", err.msg);
	is_str(text, want, "each name once, with what it needs");
	ok(text && policy_of(text, &p, NULL, &err) == 0, "it loads: %s",
	   err.msg);
	policy_unref(p);
	free(text);
	text = NULL;
	is_int(learn(log, NULL, &text, &err), 0, "of all agents");
	ok(text && strstr(text, "other.test"), "has theirs, too");
	free(text);
	text = NULL;
	p = NULL;
	is_int(learn("", NULL, &text, &err), 0, "of nothing");
	ok(text && policy_of(text, &p, NULL, &err) == 0, "loads as well: %s",
	   err.msg);
	ok(text && strstr(text, "# Nothing was reached that no rule"),
	   "and says that it is empty");
	policy_unref(p);
	free(text);
}

/* What is neither TLS nor HTTP; but not where something did pass, since a
 * client may hold a silent connection ready. */
static void test_unspoken(void)
{
	static const char log[] = UNSPOKEN("db.test", "5432", "hello-timeout")
		UNSPOKEN("git.test", "22", "not-tls") UNSPOKEN("git.test", "22",
							       "not-tls")
			UNSPOKEN("git.test", "2222",
				 "not-tls") ALLOW("a", "tls", "git.test", "443")
				UNSPOKEN("git.test", "443", "hello-timeout")
					UNSPOKEN("no.test", "22",
						 "not-allowed");
	static const char want[] = HEAD
		"version: 1\npresets:\n  learned:\n    rules:\n"
		"      - { id: seen-1, names: [\"db.test\"], ports: [5432],"
		" proto: tcp } # was refused: neither TLS nor HTTP\n"
		"      - { id: seen-2, names: [\"git.test\"], ports: [443] }\n"
		"      - { id: seen-3, names: [\"git.test\"], ports: [22, "
		"2222],"
		" proto: tcp } # was refused: neither TLS nor HTTP\n";
	struct policy *p = NULL;
	struct err err = { 0 };
	char *text = NULL;

	is_int(learn(log, "a", &text, &err), 0, "learned: %s", err.msg);
	is_str(text, want, "plain TCP is proposed by the name of its address");
	ok(text && policy_of(text, &p, NULL, &err) == 0, "it loads: %s",
	   err.msg);
	policy_unref(p);
	free(text);
}

static void test_refused(void)
{
	static const char *const logs[] = {
		"hello\n",
		"{}\n",
		"{\"event\":\"allow\"\n",
		"{\"event\":\"allow\"}x\n",
		"{\"event\":\"allow\",\"x\":{}}\n",
		"{\"event\":\"allow\",\"x\":\"a\tb\"}\n",
		"{\"event\":\"allow\",\"x\":\"\\\n",
		"{\"name\":\"a.test\"}\n",
		ALLOW("a", "tls", "a..test", "443"),
		ALLOW("a", "tls", "a.test\\\", x: [\\\"", "443"),
		ALLOW("a", "tls", "1.2.3.4", "443"),
		ALLOW("a", "tls", "a.test", "65536"),
		ALLOW("a", "tls", "a.test", "1e3"),
		ALLOW("a", "tls", "a.test", "-1"),
	};
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(logs); i++) {
		char *text = NULL;

		is_int(learn(logs[i], NULL, &text, &err), -EBADMSG,
		       "no line of ours: %zu", i);
		is_str(text, "", "and no policy of it");
		free(text);
	}
}

int main(void)
{
	test_learn();
	test_unspoken();
	test_refused();
	return done_testing();
}
