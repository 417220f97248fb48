/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network_test.c - the network of the sandboxes, made and made anew
 */
#include "control/acd/runtime/network.h"

#include "tests/fake/engine.h"
#include "tests/unit/tap.h"

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
	"\"com.docker.network.bridge.enable_ip_masquerade\":\"false\","        \
	"\"com.docker.network.driver.mtu\":\"65000\"}}"
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
	test_ensure();
	return done_testing();
}
