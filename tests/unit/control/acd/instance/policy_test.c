/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_test.c - calls to the gateway's admin socket, and the files that
 * follow its answers
 */
#include "control/acd/instance/policy.h"

#include "control/acd/blueprint/blueprint.h"
#include "control/acd/credential/vault.h"
#include "lib/file.h"
#include "lib/sock.h"
#include "tests/unit/control/acd/instance/gate_world.h"
#include "tests/unit/step.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/policy_test.XXXXXX", sock[64];

/* ---- calls ---- */

static struct {
	int n, code;
	char text[256], msg[512];
	size_t len;
} got;

static void on_text(void *arg, const char *text, size_t len,
		    const struct err *err)
{
	(void)arg;
	got.n++;
	got.code = err ? err->code : 0;
	got.len = len;
	snprintf(got.text, sizeof(got.text), "%.255s", text);
	snprintf(got.msg, sizeof(got.msg), "%s", err ? err->msg : "");
}

static void ask(struct gate_client *g, enum admin_verb verb)
{
	int before = got.n;

	is_int(gate_call(g, verb, slice_str(""), slice_str(""), on_text, NULL),
	       0, "asked");
	ok(got.n == before, "not answered before it returned");
	STEP_UNTIL(loop, got.n > before);
	is_int(got.n, before + 1, "answered once");
}

static void test_calls(struct gate_client *g)
{
	static const struct {
		const char *name;
		int mood, code;
		const char *text;
	} cases[] = {
		{ "an answer", ANSWER, 0, "{\"ok\":true}" },
		{ "refused", REFUSE, -EINVAL, REFUSED },
		{ "cut off", CUT, -EPIPE, "half" },
		{ "no frame", GARBAGE, -EPROTO, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		gw.mood = cases[i].mood;
		ask(g, ADMIN_SHOW);
		is_int(got.code, cases[i].code, "%s: %s", cases[i].name,
		       got.msg);
		is_str(got.text, cases[i].text, "its text");
	}
	gw.mood = REFUSE;
	ask(g, ADMIN_SHOW);
	is_str(got.msg, "one:3:1: no\\x1b such preset", "words are escaped");
	gw.mood = LONG;
	ask(g, ADMIN_METRICS);
	is_int(got.len, 200 * 1024 - 1, "a long answer is whole");
	gw.mood = PIECES;
	ask(g, ADMIN_SHOW);
	is_str(got.text, "{\"a\":1}{\"b\":2}", "pieces are one text");
	ask(g, ADMIN_CONNECTIONS);
	is_str(got.text, "{\"a\":1}\n{\"b\":2}\n", "a list is lines");
	gw.mood = ANSWER;
}

/* Changes go out one by one and in order, questions beside them. */
static void test_order(struct gate_client *g)
{
	const struct slice none = { 0 };
	int before = got.n;

	gw.asked[0] = '\0';
	gw.open_most = 0;
	gw.hold = true;
	gate_call(g, ADMIN_UNBIND, slice_str("a"), none, on_text, NULL);
	gate_call(g, ADMIN_BIND, slice_str("a"), none, on_text, NULL);
	gate_call(g, ADMIN_RELOAD, none, none, on_text, NULL);
	gate_call(g, ADMIN_PING, none, none, on_text, NULL);
	STEP_UNTIL(loop, strstr(gw.asked, "PING"));
	step_for(loop, 20);
	is_str(gw.asked, "UNBIND a;PING ;", "one change at a time");
	gw.hold = false;
	for (unsigned i = 0; i < PEERS_MAX; i++)
		if (gw.peers[i].waits)
			peer_answer(&gw.peers[i]);
	STEP_UNTIL(loop, got.n == before + 4);
	is_str(gw.asked, "UNBIND a;PING ;BIND a;RELOAD ;", "in their order");
	is_int(gw.open_most, 2, "two connections at most");
}

/* ---- policies ---- */

static bool packages;

static bool have_packages(void)
{
	return packages;
}

static bool file_there(char *text, size_t size)
{
	SCOPED_STR path = str_printf("%s/agents/one.yaml", dir);
	SCOPED_STR all = NULL;

	if (file_read(path, 65536, &all, NULL) < 0)
		return false;
	snprintf(text, size, "%s", all);
	return true;
}

static struct policies *bound_by;
static char warned[64];

static void on_done(void *arg, const struct err *err)
{
	const char *text = policy_egress_ops.warnings(bound_by);
	int *code = arg;

	snprintf(warned, sizeof(warned), "%s", text ? text : "");

	*code = err ? err->code : 0;
	snprintf(got.msg, sizeof(got.msg), "%s", err ? err->msg : "");
}

static void test_policies(struct policies *p)
{
	static char name[] = "one", address[] = "172.20.1.7";
	static char options[] = "{\"allow\":[\"a.example\"]}", bad[] = "x";
	struct instance_record r = { .name = name,
				     .address = address,
				     .egress_json = options };
	struct blueprint bp = { 0 };
	struct err err = { 0 };
	char text[4096] = "";
	json_t *v;
	int code = 1;

	is_int(policy_egress_ops.bind(p, &r, &bp, on_done, &code, &err), 0,
	       "bind %s", err.msg);
	STEP_UNTIL(loop, code < 1);
	is_int(code, 0, "bound %s", got.msg);
	ok(file_there(text, sizeof(text)) && strcmp(text, gw.text) == 0,
	   "the file is what was bound");
	ok(strstr(text, "172.20.1.7") && strstr(text, "a.example") &&
		   !strstr(text, "packages"),
	   "its address and its options");

	gw.mood = REFUSE;
	code = 1;
	r.egress_json = NULL;
	policy_egress_ops.bind(p, &r, &bp, on_done, &code, &err);
	STEP_UNTIL(loop, code < 1);
	is_int(code, -EINVAL, "refused");
	is_str(got.msg, "the policy of 'one': no such preset",
	       "in words without a place");
	ok(file_there(text, sizeof(text)) && strstr(text, "a.example"),
	   "the file is as before");
	gw.mood = ANSWER;

	r.egress_json = bad;
	ok(policy_egress_ops.bind(p, &r, &bp, on_done, &code, &err) < 0,
	   "what is stored is broken: %s", err.msg);

	packages = true;
	v = policy_effective(p, options, &bp, &err);
	ok(json_array_size(json_object_get(v, "presets")) == 1 &&
		   json_array_size(json_object_get(v, "allow")) == 1,
	   "what holds, with the machine's own preset");
	json_decref(v);

	/* A bind whose answer comes behind the unbind leaves no file. */
	gw.hold = true;
	code = 1;
	r.egress_json = NULL;
	policy_egress_ops.bind(p, &r, &bp, on_done, &code, &err);
	policy_egress_ops.unbind(p, "one");
	STEP_UNTIL(loop, gw.peers[(gw.n - 1) % PEERS_MAX].waits);
	gw.hold = false;
	peer_answer(&gw.peers[(gw.n - 1) % PEERS_MAX]);
	STEP_UNTIL(loop, code < 1 && !file_there(text, sizeof(text)));
	ok(code == 0 && !file_there(text, sizeof(text)), "no file is left");
}

static void test_warnings(struct policies *p)
{
	static char name[] = "one", address[] = "172.20.1.7";
	static char options[] = "{\"allow\":[\"a.example\"]}";
	struct instance_record r = { .name = name,
				     .address = address,
				     .egress_json = options };
	struct blueprint bp = { 0 };
	struct err err = { 0 };
	int code = 1;

	packages = false;
	gw.mood = WARN;
	policy_egress_ops.bind(p, &r, &bp, on_done, &code, &err);
	STEP_UNTIL(loop, code < 1);
	is_str(warned, "'a.example': never", "of its own target alone");
	ok(!policy_egress_ops.warnings(p), "and then alone");
	gw.mood = ANSWER;
	code = 1;
	policy_egress_ops.bind(p, &r, &bp, on_done, &code, &err);
	STEP_UNTIL(loop, code < 1);
	is_str(warned, "", "nothing to say");
}

static void test_down(struct gate_client *g, struct policies *p)
{
	SCOPED_STR path = str_printf("%s/agents/one.yaml", dir);
	char text[64];

	unlink(sock);
	ask(g, ADMIN_PING);
	is_int(got.code, -ENOENT, "nobody listens: %s", got.msg);
	file_write_atomic(path, "x", 1, 0644);
	policy_egress_ops.unbind(p, "one");
	STEP_UNTIL(loop, !file_there(text, sizeof(text)));
	ok(!file_there(text, sizeof(text)), "the file goes all the same");
}

static void vault_put(struct vault *v, const char *id)
{
	struct vstore_entry *e = vstore_entry_new();
	struct err err = { 0 };

	if (!e || strv_push(&e->hosts, "api.test") < 0 ||
	    vstore_entry_set_value(e, "the-real-value", 14) < 0)
		abort();
	snprintf(e->name, sizeof(e->name), "%s", id);
	snprintf(e->field, sizeof(e->field), "X-Key");
	is_int(vstore_put(vault_store(v), e, true, &err), 0, "put %s %s", id,
	       err.msg);
}

static void bind_wait(struct policies *p, const struct instance_record *r,
		      int want, const char *asked)
{
	struct blueprint bp = { 0 };
	struct err err = { 0 };
	int code = 1;

	gw.asked[0] = '\0';
	is_int(policy_egress_ops.bind(p, r, &bp, on_done, &code, &err), 0,
	       "bind %s", err.msg);
	STEP_UNTIL(loop, code < 1);
	is_int(code, want, "as it should %s", got.msg);
	is_str(gw.asked, asked, "in this order");
}

static void test_lacks_rule(struct policies *p, const struct instance_record *r,
			    bool lacks)
{
	static const struct {
		const char *rule;
		bool of_it;
	} rows[] = {
		{ "cred-1-key", true },      { "cred-12-key-api", true },
		{ "cred-1-keys", false },    { "cred-1-key-apis", false },
		{ "cred-1-ke", false },      { "cred-key", false },
		{ "cred-1-other", false },   { "key", false },
		{ "credential-key", false }, { "", false },
	};
	const struct blueprint bp = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		is_int(policy_lacks_rule(p, r, &bp, rows[i].rule),
		       lacks && rows[i].of_it, "rule '%s'", rows[i].rule);
}

/* Of a policy that is looked at alone, when the vault does not give them. */
static void test_text(struct policies *p, const struct instance_record *r)
{
	struct blueprint bp = { 0 };
	struct err err = { 0 }, lacks = { 0 };
	const char *text;
	struct buf out;

	buf_init(&out, 1 << 16);
	is_int(policy_text(p, r, NULL, &bp, &out, &lacks, &err), 0,
	       "it can be shown: %s", err.msg);
	ok(lacks.code == -ENOENT && strstr(lacks.msg, "'key'"),
	   "and what is not in it: %s", lacks.msg);
	text = buf_append(&out, "", 1) == 0 ?
		       (const char *)buf_slice(&out).ptr :
		       NULL;
	ok(text && !strstr(text, "allow:"), "no list without a value");
	is_int(policy_may(p, r, &err), -EINVAL, "it may not run: %s", err.msg);
	test_lacks_rule(p, r, true);
	buf_done(&out);
}

/* Secrets before the policy, the CA behind it, once a run. */
static void test_credentials(struct policies *p, struct vault *v)
{
	static char name[] = "two", address[] = "172.20.1.8";
	static char grants[] = "[\"key\"]", runsc[] = "runsc", base[] = "base";
	struct instance_record r = { .name = name,
				     .address = address,
				     .isolation = runsc,
				     .blueprint = base,
				     .credentials_json = grants };
	const struct instance_grant *t;
	struct blueprint bp = { 0 };
	struct err err = { 0 };
	char text[4096] = "";
	int code = 1;

	is_int(policy_egress_ops.bind(p, &r, &bp, on_done, &code, &err),
	       -ENOENT, "not in the vault: %s", err.msg);
	test_text(p, &r);
	vault_put(v, "key");
	test_lacks_rule(p, &r, false);
	gw.mood = REFUSE;
	bind_wait(p, &r, -EINVAL, "SECRETS two;");
	ok(strstr(got.msg, "the credentials of 'two'"), "%s", got.msg);
	policy_egress_ops.unbind(p, "two");
	gw.mood = INSPECT;
	STEP_UNTIL(loop, strstr(gw.asked, "UNBIND"));
	bind_wait(p, &r, 0, "SECRETS two;BIND two;CA two;");
	t = policy_egress_ops.grant(p, "two");
	ok(t && t->ca && strcmp(t->ca, "C") == 0 && t->env && t->env[0] &&
		   str_starts(t->env[0], "KEY="),
	   "what the guest is told");
	ok(strstr(gw.text, "use: inspect") &&
		   strstr(gw.text, "auth: { use: \"key\", exclusive: true"),
	   "its rules are in the policy");
	ok(!strstr(gw.text, "the-real-value") &&
		   !(file_there(text, sizeof(text)) &&
		     strstr(text, "the-real-value")),
	   "the value is not");
	bind_wait(p, &r, 0, "SECRETS two;BIND two;");
	gw.asked[0] = '\0';
	policies_gate_up(p);
	STEP_UNTIL(loop, strstr(gw.asked, "SECRETS"));
	is_str(gw.asked, "CA two;SECRETS two;", "a gateway that begins anew");
	/* Locked when the gateway began anew, as after a restart of ac-host's
	 * vault; an unlock tells all. */
	gw.asked[0] = '\0';
	policies_vault_changed(p, NULL);
	STEP_UNTIL(loop, strstr(gw.asked, "SECRETS"));
	is_str(gw.asked, "SECRETS two;", "a vault that is open again");
	gw.asked[0] = '\0';
	policies_vault_changed(p, "other");
	policies_vault_changed(p, "key");
	STEP_UNTIL(loop, strstr(gw.asked, "SECRETS"));
	is_str(gw.asked, "SECRETS two;", "a vault that has changed");
	gw.asked[0] = '\0';
	policy_egress_ops.unbind(p, "two");
	ok(!policy_egress_ops.grant(p, "two"), "gone with its policy");
	STEP_UNTIL(loop, strstr(gw.asked, "UNBIND"));
	policies_gate_up(p);
	gw.mood = ANSWER;
}

int main(void)
{
	SCOPED_STR agents = NULL;
	struct vault *v;
	struct gate_client *g;
	struct policies *p;
	struct err err = { 0 };
	int fd, before;

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
	p = policies_new(g, agents, "blueprints/credentials", v, have_packages,
			 &err);
	test_calls(g);
	test_order(g);
	bound_by = p;
	test_policies(p);
	test_warnings(p);
	test_credentials(p, v);
	test_down(g, p);
	before = got.n;
	gate_call(g, ADMIN_PING, slice_str(""), slice_str(""), on_text, NULL);
	gate_client_free(g);
	ok(got.n == before + 1 && got.code == -ECANCELED, "ended: %s", got.msg);
	policies_free(p);
	vault_free(v);
	loop_free(loop);
	close(fd);
	file_remove_tree(dir);
	return done_testing();
}
