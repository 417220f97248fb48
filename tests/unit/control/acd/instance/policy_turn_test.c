/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_turn_test.c - changes of policies that meet others on their way
 */
#include "control/acd/instance/policy.h"

#include "control/acd/blueprint/blueprint.h"
#include "control/acd/credential/vault.h"
#include "lib/file.h"
#include "lib/sock.h"
#include "tests/unit/control/acd/instance/gate_world.h"
#include "tests/unit/step.h"
#include "tests/unit/tap.h"

#define WARN_INSPECT                                               \
	"{\"ok\":true,\"inspects\":true,\"lint\":[{\"level\":"     \
	"\"warning\",\"code\":\"c\",\"text\":\"one:8:32: never\"," \
	"\"file\":\"one\",\"line\":8,\"column\":32,\"message\":"   \
	"\"never\",\"about\":\"a.example\"}]}"

static char dir[] = "/tmp/policy_turn_test.XXXXXX", sock[64];
static struct policies *policies;
static char *credentials; /* of the next instance that is bound */

static bool no_packages(void)
{
	return false;
}

/* ---- the gateway, an answer at a time ---- */

static struct peer *waiting(void)
{
	for (unsigned i = 0; i < PEERS_MAX; i++)
		if (gw.peers[i].waits)
			return &gw.peers[i];
	return NULL;
}

static void answer(int mood, const char *text)
{
	STEP_UNTIL(loop, waiting());
	gw.mood = mood;
	gw.say = text;
	if (waiting())
		peer_answer(waiting());
}

/* ---- changes ---- */

static void vault_put(struct vault *v)
{
	struct vstore_entry *e = vstore_entry_new();
	struct err err = { 0 };

	if (!e || strv_push(&e->hosts, "api.test") < 0 ||
	    vstore_entry_set_value(e, "the-real-value", 14) < 0)
		abort();
	snprintf(e->name, sizeof(e->name), "key");
	snprintf(e->field, sizeof(e->field), "X-Key");
	is_int(vstore_put(vault_store(v), e, true, &err), 0, "put %s", err.msg);
}

struct bound {
	int code; /* 1: not yet */
	char warned[64];
};

static void on_bound(void *arg, const struct err *err)
{
	const char *text = policy_egress_ops.warnings(policies);
	struct bound *b = arg;

	snprintf(b->warned, sizeof(b->warned), "%s", text ? text : "");
	b->code = err ? err->code : 0;
}

static void bind_begin(char *name, char *wishes, struct bound *b)
{
	static char address[] = "172.20.1.7", runsc[] = "runsc",
		    base[] = "base";
	struct instance_record r = { .name = name,
				     .address = address,
				     .isolation = runsc,
				     .blueprint = base,
				     .egress_json = wishes,
				     .credentials_json = credentials };
	struct blueprint bp = { 0 };
	struct err err = { 0 };

	*b = (struct bound){ .code = 1 };
	is_int(policy_egress_ops.bind(policies, &r, &bp, on_bound, b, &err), 0,
	       "bind %s %s", name, err.msg);
}

static void unbind(const char *name)
{
	policy_egress_ops.unbind(policies, name);
	answer(ANSWER, NULL);
	step_for(loop, 20);
}

/* The first has its warnings with the answer to BIND, and its callback after
 * the answer to CA. The second is bound in between. */
static void test_warnings(void)
{
	static char one[] = "one", two[] = "two";
	static char wishes[] = "{\"allow\":[\"a.example\"]}";
	struct bound first, second;

	gw.asked[0] = '\0';
	bind_begin(one, wishes, &first);
	bind_begin(two, NULL, &second);
	answer(TEXT, WARN_INSPECT);
	answer(ANSWER, NULL);
	STEP_UNTIL(loop, second.code < 1);
	is_str(second.warned, "", "the second has no warning");
	answer(INSPECT, NULL);
	STEP_UNTIL(loop, first.code < 1);
	is_str(gw.asked, "BIND one;BIND two;CA one;", "one after the other");
	is_str(first.warned, "'a.example': never", "the first has its own");
	is_int(first.code, 0, "is bound");
	unbind(one);
	unbind(two);
}

/* An instance ends while its policy changes: the change ends with it, @n
 * answers after its begin. */
static void test_unbound(unsigned n, int code, const char *asked)
{
	static char key[] = "[\"key\"]", one[] = "one";
	struct bound b, next;

	gw.asked[0] = '\0';
	credentials = key;
	bind_begin(one, NULL, &b);
	for (unsigned i = 0; i < n; i++)
		answer(INSPECT, NULL);
	STEP_UNTIL(loop, waiting());
	policy_egress_ops.unbind(policies, one);
	credentials = NULL;
	answer(INSPECT, NULL);
	STEP_UNTIL(loop, b.code < 1);
	is_int(b.code, code, "after %u answers: it ends", n);
	ok(!policy_egress_ops.grant(policies, one), "and leaves nothing");
	answer(ANSWER, NULL);
	step_for(loop, 20);
	is_str(gw.asked, asked, "the unbind comes last");
	credentials = key;
	bind_begin(one, NULL, &next);
	answer(ANSWER, NULL);
	answer(ANSWER, NULL);
	STEP_UNTIL(loop, next.code < 1);
	ok(strstr(gw.asked, "UNBIND one;SECRETS one;BIND one;") != NULL,
	   "the next run has its credentials");
	credentials = NULL;
	unbind(one);
}

int main(void)
{
	SCOPED_STR agents = NULL;
	struct gate_client *g;
	struct err err = { 0 };
	struct vault *v;
	int fd;

	if (!mkdtemp(dir))
		return 1;
	snprintf(sock, sizeof(sock), "%s/s", dir);
	agents = str_printf("%s/agents", dir);
	file_mkdir_p(agents, 0755);
	loop = loop_new();
	fd = sock_unix_listen(sock, 0600, 16);
	loop_add(loop, fd, EPOLLIN, on_accept, &fd);
	g = gate_client_new(loop, sock, &err);
	v = vault_new(dir, getuid(), NULL, &err);
	policies = policies_new(g, agents, "blueprints/credentials", v,
				no_packages, &err);
	gw.hold = true;
	test_warnings();
	vault_put(v);
	test_unbound(0, -ECANCELED, "SECRETS one;UNBIND one;");
	test_unbound(1, 0, "SECRETS one;BIND one;UNBIND one;");
	test_unbound(2, 0, "SECRETS one;BIND one;CA one;UNBIND one;");
	gate_client_free(g);
	policies_free(policies);
	vault_free(v);
	loop_free(loop);
	close(fd);
	file_remove_tree(dir);
	return done_testing();
}
