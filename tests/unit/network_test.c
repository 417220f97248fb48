/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network_test.c - what counts as "everything is dropped", and the network
 */
#include "control/acd/network.h"

#include "lib/str.h"
#include "tests/fake/engine.h"
#include "tests/unit/tap.h"

#define CHAIN(fam, name, hook, policy)                                         \
	"{\"chain\":{\"family\":\"" fam "\",\"table\":\"ac\",\"name\":\"" name \
	"\",\"type\":\"filter\",\"hook\":\"" hook "\",\"policy\":\"" policy    \
	"\"}},"
#define MATCH(key)                                                     \
	"{\"match\":{\"op\":\"==\",\"left\":{\"meta\":{\"key\":\"" key \
	"\"}},\"right\":\"ac0\"}},"
#define RULE(chain, expr)                                                    \
	"{\"rule\":{\"family\":\"inet\",\"table\":\"ac\",\"chain\":\"" chain \
	"\",\"expr\":[" expr "]}},"
#define DROP "{\"drop\":null}"
#define BRIDGE_IN CHAIN("bridge", "input", "input", "drop")
#define BRIDGE_FWD CHAIN("bridge", "forward", "forward", "drop")
#define BRIDGE_OUT CHAIN("bridge", "output", "output", "drop")
#define EARLY CHAIN("inet", "early", "prerouting", "accept")
#define INPUT CHAIN("inet", "input", "input", "accept")
#define FORWARD CHAIN("inet", "forward", "forward", "drop")
#define OUTPUT CHAIN("inet", "output", "output", "accept")
#define R_EARLY RULE("early", MATCH("iifname") DROP)
#define R_INPUT RULE("input", MATCH("iifname") DROP)
#define R_OUTPUT RULE("output", MATCH("oifname") DROP)
#define BRIDGE BRIDGE_IN BRIDGE_FWD BRIDGE_OUT
#define INET EARLY INPUT FORWARD OUTPUT
#define RULES R_EARLY R_INPUT R_OUTPUT

static void test_check(void)
{
	static const struct {
		const char *name, *list;
		int want;
	} cases[] = {
		{ "all there", INET RULES BRIDGE, 0 },
		{ "others do not matter",
		  CHAIN("ip", "x", "input", "accept") INET RULES BRIDGE, 0 },
		{ "more rules after the drop", INET RULES R_INPUT BRIDGE, 0 },
		{ "nothing", "", -ENOENT },
		{ "no rules", INET BRIDGE, -ENOENT },
		{ "no bridge family", INET RULES, -ENOENT },
		{ "one bridge hook missing", INET RULES BRIDGE_IN BRIDGE_OUT,
		  -ENOENT },
		{ "forward accepts",
		  EARLY INPUT CHAIN("inet", "forward", "forward", "accept")
			  OUTPUT RULES BRIDGE,
		  -ENOENT },
		{ "forward has an exception",
		  INET RULES RULE("forward", "{\"accept\":null}") BRIDGE,
		  -ENOENT },
		{ "a rule before the drop",
		  INET R_EARLY RULE("input", "{\"accept\":null}")
			  R_INPUT R_OUTPUT BRIDGE,
		  -ENOENT },
		{ "a drop with a second condition",
		  INET R_EARLY RULE("input", MATCH("iifname") MATCH("mark")
						     DROP) R_OUTPUT BRIDGE,
		  -ENOENT },
		{ "an accept in place of the drop",
		  INET R_EARLY RULE("input",
				    MATCH("iifname") "{\"accept\":null}")
			  R_OUTPUT BRIDGE,
		  -ENOENT },
		{ "on the wrong hook",
		  EARLY CHAIN("inet", "input", "output", "accept")
			  FORWARD OUTPUT RULES BRIDGE,
		  -ENOENT },
		{ "the wrong interface key",
		  INET R_EARLY R_INPUT RULE("output", MATCH("iifname") DROP)
			  BRIDGE,
		  -ENOENT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		SCOPED_STR json =
			str_printf("{\"nftables\":[%s{}]}", cases[i].list);
		struct err err = { 0 };

		is_int(network_rules_check(json, &err), cases[i].want, "%s: %s",
		       cases[i].name, err.msg);
	}
	is_int(network_rules_check("", NULL), -ENOENT, "no output");
	is_int(network_rules_check("[]", NULL), -ENOENT, "another shape");
}

static struct loop *loop;
static int inspect_status, create_status, remove_status, created, removed;
static const char *inspect_body;

static void on_request(void *arg, const struct fake_request *rq,
		       struct fake_answer *ret)
{
	(void)arg;
	if (strcmp(rq->method, "GET") == 0) {
		ret->status = inspect_status;
		ret->body = inspect_body;
		return;
	}
	if (strcmp(rq->method, "DELETE") == 0) {
		is_int(created, 0, "the old one goes first");
		removed++;
		ret->status = remove_status;
		ret->body = remove_status < 300 ? "" : "{\"message\":\"busy\"}";
		return;
	}
	created++;
	ret->status = create_status;
	ret->body = create_status < 300 ? "{\"Id\":\"n\"}" :
					  "{\"message\":\"no bridge\"}";
	ok(strstr(rq->body, "\"172.20.0.53\"") &&
		   strstr(rq->body, "\"172.20.0.0/16\"") &&
		   strstr(rq->body, "enable_icc\":\"false\""),
	   "the network is made as designed");
}

static void on_ensured(void *arg, const struct err *err)
{
	*(int *)arg = err ? err->code : 0;
	loop_stop(loop, 0);
}

static void test_ensure(void)
{
#define CONFIG(gw, icc)                                                        \
	"{\"Driver\":\"bridge\",\"IPAM\":{\"Config\":[{"                       \
	"\"Subnet\":\"172.20.0.0/16\",\"Gateway\":\"" gw "\"}]},"              \
	"\"Options\":{\"com.docker.network.bridge.name\":\"ac0\","             \
	"\"com.docker.network.bridge.enable_icc\":\"" icc "\",\"more\":\"x\"," \
	"\"com.docker.network.bridge.enable_ip_masquerade\":\"false\"}}"
#define GOOD CONFIG("172.20.0.53", "false")
#define OTHER CONFIG("172.20.0.1", "false")
#define OPEN CONFIG("172.20.0.53", "true")
#define NONE "{\"message\":\"none\"}"
	static const struct {
		const char *name, *body;
		int inspect, remove, create, removals, creations, want;
	} cases[] = {
		{ "there", GOOD, 200, 204, 201, 0, 0, 0 },
		{ "of other addresses", OTHER, 200, 204, 201, 1, 1, 0 },
		{ "of other options", OPEN, 200, 204, 201, 1, 1, 0 },
		{ "gone meanwhile", OTHER, 200, 404, 201, 1, 1, 0 },
		{ "in use", OTHER, 200, 403, 201, 1, 0, -EIO },
		{ "cannot again", OTHER, 200, 204, 500, 1, 1, -EIO },
		{ "absent", NONE, 404, 204, 201, 0, 1, 0 },
		{ "cannot", NONE, 404, 204, 500, 0, 1, -EIO },
		{ "engine broken", NONE, 500, 204, 201, 0, 0, -EIO },
	};
	char dir[] = "/tmp/network_test.XXXXXX", sock[64];
	struct fake_engine *f;
	struct engine *e;

	if (!mkdtemp(dir))
		return;
	snprintf(sock, sizeof(sock), "%s/s", dir);
	loop = loop_new();
	f = fake_engine_new(loop, sock, on_request, NULL);
	e = engine_new(loop, sock, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int got = 1;

		inspect_status = cases[i].inspect;
		inspect_body = cases[i].body;
		create_status = cases[i].create;
		remove_status = cases[i].remove;
		created = removed = 0;
		network_ensure(e, on_ensured, &got);
		loop_run(loop);
		is_int(got, cases[i].want, "network %s", cases[i].name);
		is_int(removed, cases[i].removals, "network %s: removals",
		       cases[i].name);
		is_int(created, cases[i].creations, "network %s: creations",
		       cases[i].name);
	}
	engine_free(e);
	fake_engine_free(f);
	loop_free(loop);
	unlink(sock);
	rmdir(dir);
}

int main(void)
{
	test_check();
	test_ensure();
	return done_testing();
}
