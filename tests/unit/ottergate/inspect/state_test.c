/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_test.c - secrets and CA of a sandbox, from when they are given
 * to the end of its binding
 */
#include "ottergate/run/gate.h"

#include <fcntl.h>
#include <sodium.h>
#include <string.h>

#include "lib/file.h"
#include "lib/str.h"
#include "ottergate/inspect/leaf.h"
#include "ottergate/policy/load.h"
#include "ottergate/inspect/mask/secrets.h"
#include "ottergate/conn/table.h"
#include "tests/unit/ottergate/state_bind.h"
#include "tests/unit/tap.h"

#define AGENT(id, ip, names)                                             \
	"version: 1\nagents:\n  - id: " id "\n    match: { address: " ip \
	" }\n    allow:\n      - { id: x, names: [" names                \
	"], use: inspect }\n      - { id: t, names: [tunnel.test] }\n"
#define JSON                                                         \
	"{\"key\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"," \
	"\"secrets\":"                                               \
	"[]}"

static struct gate_state *state_of(void)
{
	char path[] = "/tmp/ac-inspect-state-XXXXXX";
	static const char text[] = "version: 1\n";
	struct gate_opts opts = { 0 };
	struct gate_state *s = NULL;
	struct lint lint = { 0 };
	struct err err = { 0 };
	SCOPED_FD fd = mkstemp(path);

	if (fd < 0 || write(fd, text, strlen(text)) < 0 ||
	    strv_push(&opts.policy, path) < 0 ||
	    gate_state_load(&opts, &s, &lint, &err) < 0)
		ok(false, "a state: %s", err.msg);
	unlink(path);
	lint_done(&lint);
	strv_done(&opts.policy);
	return s;
}

static void bind_text(struct gate_state *s, const char *id, const char *text)
{
	struct lint lint = { 0 };
	struct err err = { 0 };

	if (state_bind(s, id, text, &lint, &err) < 0)
		ok(false, "bind %s: %s", id, err.msg);
	lint_done(&lint);
}

static const struct table_entry *entry(struct gate_state *s, const char *id)
{
	return table_find_id(gate_state_table(s), id);
}

static void test_names(struct gate_state *s)
{
	struct strv v = { 0 };

	is_int(agent_policy_inspected(entry(s, "a")->policy, &v), 0, "names");
	is_int(v.n, 2, "of the rules that inspect alone");
	ok(v.n == 2 && strcmp(v.v[0], "one.test") == 0 &&
		   strcmp(v.v[1], "two.test") == 0,
	   "without what says how far they reach");
	strv_done(&v);
	is_int(agent_policy_ca_seconds(entry(s, "a")->policy), 30 * 24 * 3600,
	       "a CA lives a month");
	is_int(agent_policy_leaf_seconds(entry(s, "a")->policy), 12 * 3600,
	       "a leaf half a day");
}

static void test_ca(struct gate_state *s)
{
	struct leaf_ca *pem = NULL, *again = NULL, *other = NULL;
	struct err err = { 0 };

	ok(!entry(s, "a")->ca, "none before it is asked for");
	is_int(gate_state_ca(s, "a", &pem, &err), 0, "a CA");
	is_int(gate_state_ca(s, "a", &again, &err), 0, "once more");
	ok(pem && pem == again, "is the same");
	is_int(gate_state_ca(s, "b", &other, &err), 0, "another sandbox");
	ok(pem && other && strcmp(leaf_ca_pem(pem), leaf_ca_pem(other)) != 0,
	   "has another one");
	is_int(gate_state_ca(s, "c", &pem, &err), -ENOENT, "nobody has none");
}

/* A gateway that was started anew gets back what it had. */
static void test_bundle(struct gate_state *s)
{
	struct leaf_ca *ca = NULL, *back = NULL;
	struct err err = { 0 };
	struct slice all;
	SCOPED_STR pem = NULL;
	struct buf b;

	buf_init(&b, 64 * 1024);
	if (gate_state_ca(s, "a", &ca, &err) < 0 ||
	    leaf_ca_bundle(ca, &b) < 0) {
		ok(false, "a bundle: %s", err.msg);
		return;
	}
	pem = strdup(leaf_ca_pem(ca));
	all = buf_slice(&b);
	ok(!gate_state_inspects(s, "d"), "nobody's policy inspects nothing");
	is_int(gate_state_ca_put(s, "d", all, &err), 0, "before its policy");
	bind_text(s, "d", AGENT("d", "172.20.0.9", "one.test"));
	ok(gate_state_inspects(s, "d"), "its policy does");
	is_int(gate_state_ca(s, "d", &back, &err), 0, "the CA");
	ok(back && strcmp(leaf_ca_pem(back), pem) == 0, "is the one it was");
	all.len -= 40;
	is_int(gate_state_ca_put(s, "d", all, &err), -EINVAL, "half a key: %s",
	       err.msg);
	is_int(gate_state_ca_put(s, "d", slice_str(pem), &err), -EINVAL,
	       "no key");
	is_int(gate_state_ca_put(s, "d", slice_str("x"), &err), -EINVAL,
	       "neither");
	ok(entry(s, "d")->ca == back, "what was there stays");
	is_int(gate_state_unbind(s, "d", &err), 0, "unbind");
	buf_done(&b);
}

static void test_secrets(struct gate_state *s)
{
	struct secret_set *set = NULL;
	struct leaf_ca *ca = entry(s, "a")->ca;
	struct err err = { 0 };

	if (secret_set_read(slice_str(JSON), &set, &err) < 0) {
		ok(false, "%s", err.msg);
		return;
	}
	is_int(gate_state_secrets(s, "a", set, &err), 0, "secrets");
	ok(entry(s, "a")->secrets == set && !entry(s, "b")->secrets,
	   "of that sandbox alone");
	bind_text(s, "b", AGENT("b", "172.20.0.3", "b.test"));
	bind_text(s, "a", AGENT("a", "172.20.0.2", "new.test"));
	ok(entry(s, "a")->secrets == set && entry(s, "a")->ca == ca,
	   "a policy that is bound anew keeps both");
	is_int(gate_state_secrets(s, "a", NULL, &err), 0, "none any more");
	ok(!entry(s, "a")->secrets && entry(s, "a")->ca == ca, "are taken");
	is_int(gate_state_secrets(s, "a", set, &err), 0, "given again");
	is_int(gate_state_secrets(s, "c", set, &err), 0, "before its policy");
	ok(!entry(s, "c"), "which does not bind it");
	bind_text(s, "c", AGENT("c", "172.20.0.4", "c.test"));
	ok(entry(s, "c") && entry(s, "c")->secrets == set, "has it then");
	is_int(gate_state_unbind(s, "c", &err), 0, "until its end");
	is_int(gate_state_secrets(s, "c", set, &err), 0, "for a policy");
	is_int(gate_state_unbind(s, "c", &err), 0, "that never came");
	is_int(gate_state_unbind(s, "c", &err), -ENOENT, "nothing is left");
	secret_set_unref(set);
	is_int(gate_state_unbind(s, "a", &err), 0, "the end");
	bind_text(s, "a", AGENT("a", "172.20.0.2", "one.test"));
	ok(!entry(s, "a")->secrets && !entry(s, "a")->ca, "is the end of both");
}

int main(void)
{
	struct gate_state *s;

	if (sodium_init() < 0 || !(s = state_of()))
		return 1;
	bind_text(s, "a", AGENT("a", "172.20.0.2", "one.test, .two.test"));
	bind_text(s, "b", AGENT("b", "172.20.0.3", "b.test"));
	test_names(s);
	test_ca(s);
	test_bundle(s);
	test_secrets(s);
	gate_state_free(s);
	return done_testing();
}
