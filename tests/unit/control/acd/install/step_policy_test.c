/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_policy_test.c - what the steps of an image's build may reach, and take
 */
#include "control/acd/install/step_policy.h"

#include <string.h>

#include "control/acd/blueprint/blueprint.h"
#include "lib/file.h"
#include "tests/unit/control/acd/blueprint/user_dir.h"
#include "tests/unit/tap.h"

static struct step_limits limits;

static const char *policy(const char *image, bool packages)
{
	static char text[4096];
	struct err err = { 0 };
	struct buf out;
	struct slice s;

	buf_init(&out, sizeof(text) - 1);
	if (step_policy(image, "172.20.1.9", packages, &out, &limits, &err) <
	    0) {
		snprintf(text, sizeof(text), "%s", err.msg);
	} else {
		s = buf_slice(&out);
		snprintf(text, sizeof(text), "%.*s", (int)s.len, s.ptr);
	}
	buf_done(&out);
	return text;
}

#define HEAD                                   \
	"# Written by acd for each run.\n"     \
	"version: 1\nagents:\n"                \
	"  - id: \"build.%s\"\n"               \
	"    match: { address: 172.20.1.9 }\n" \
	"    mode: enforce\n"

static void is_policy(const char *image, bool packages, const char *rest)
{
	char want[4096];
	int n = snprintf(want, sizeof(want), HEAD, image);

	snprintf(want + n, sizeof(want) - (size_t)n, "%s", rest);
	is_str(policy(image, packages), want, "the policy of %s", image);
}

static void test_own(void)
{
	user_put("mine",
		 "version: 2\n"
		 "image:\n"
		 "  from: base\n"
		 "  egress: { use: [go], allow: [a.test], deny: [b.test] }\n"
		 "  time: 90s\n"
		 "  disk: 1g\n"
		 "  memory: 2g\n"
		 "egress: { mode: open, allow: [run.test] }\n");
	is_policy("mine", true,
		  "    use: [\"go\", \"packages\"]\n"
		  "    allow:\n"
		  "      - { id: allow-1, names: [\"a.test\"], risk_ok: "
		  "[multi-tenant, shared-cdn] }\n"
		  "    deny:\n"
		  "      - { id: deny-1, names: [\"b.test\"], from: blueprint "
		  "}\n");
	ok(limits.time_ms == 90000 && limits.disk == UINT64_C(1) << 30 &&
		   limits.memory == UINT64_C(2) << 30,
	   "its limits");
}

static void test_others(void)
{
	user_put("plain", "version: 2\nimage: base\n"
			  "egress: { mode: open, allow: [run.test] }\n");
	is_policy("unknown", true, "    use: [\"packages\"]\n");
	ok(limits.time_ms == BLUEPRINT_BUILD_TIME_MS &&
		   limits.disk == BLUEPRINT_BUILD_DISK &&
		   limits.memory == BLUEPRINT_BUILD_MEMORY,
	   "the usual limits");
	is_policy("unknown", false, "");
	is_policy("plain", true, "    use: [\"packages\"]\n");
}

static void test_refused(void)
{
	user_put("bad", "version: 2\nimage: [\n");
	ok(strstr(policy("bad", true), "bad/blueprint.yaml:"),
	   "a blueprint that cannot be read allows nothing");
	ok(strstr(policy("../x", true), "name"), "nor does what is no name");
}

static void test_agent(void)
{
	char long_name[STEP_AGENT_MAX + 2], id[STEP_AGENT_MAX + 1];

	memset(long_name, 'a', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	step_agent(long_name, id);
	is_int(strlen(id), STEP_AGENT_MAX, "a long name is cut");
	ok(strncmp(id, "build.aaa", 9) == 0, "at its end");
}

int main(void)
{
	if (!user_dir_begin())
		return 1;
	test_own();
	test_others();
	test_refused();
	test_agent();
	user_dir_end();
	return done_testing();
}
