/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_state_test.c - what is loaded, what stays when a load fails
 */
#include "ottergate/run/gate.h"

#include <sys/stat.h>

#include "lib/buf.h"
#include "lib/file.h"
#include "ottergate/policy/load.h"
#include "ottergate/conn/table.h"
#include "tests/unit/ottergate/state_bind.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/otter-state-XXXXXX";
static char shared[64], agents[64];

#define SHARED         \
	"version: 1\n" \
	"presets:\n"   \
	"  web:\n"     \
	"    rules:\n" \
	"      - { id: web, names: [+example.org], use: tunnel }\n"
#define AGENT(id, address)                      \
	"version: 1\n"                          \
	"agents:\n"                             \
	"  - id: " id "\n"                      \
	"    match: { address: " address " }\n" \
	"    use: [web]\n"

static void put(const char *folder, const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (text)
		file_write_atomic(path, text, strlen(text), 0644);
	else
		unlink(path);
}

static void fresh(void)
{
	file_remove_tree(shared);
	file_remove_tree(agents);
	mkdir(shared, 0755);
	mkdir(agents, 0755);
	put(shared, "base.yaml", SHARED);
	put(agents, "a.yaml", AGENT("a", "172.20.0.2"));
	put(agents, "b.yaml", AGENT("b", "172.20.0.3"));
}

struct world {
	struct gate_opts opts;
	struct gate_state *s;
	struct lint lint;
	struct err err;
};

static bool world_open(struct world *w)
{
	*w = (struct world){ .opts = { .agents = agents } };
	return strv_push(&w->opts.policy, shared) == 0 &&
	       gate_state_load(&w->opts, &w->s, &w->lint, &w->err) == 0;
}

static void world_close(struct world *w)
{
	gate_state_free(w->s);
	lint_done(&w->lint);
	strv_done(&w->opts.policy);
}

static int reload(struct world *w)
{
	lint_done(&w->lint);
	w->lint = (struct lint){ 0 };
	w->err = (struct err){ 0 };
	return gate_state_reload(w->s, &w->lint, &w->err);
}

static const struct table_entry *find(struct world *w, const char *id)
{
	return table_find_id(gate_state_table(w->s), id);
}

static size_t count(struct world *w)
{
	return table_count(gate_state_table(w->s));
}

static uint64_t generation(struct world *w)
{
	return table_generation(gate_state_table(w->s));
}

static bool allows(struct world *w, const char *id, const char *url)
{
	const struct table_entry *e = find(w, id);
	struct buf out;
	int rc;

	if (!e)
		return false;
	buf_init(&out, 65536);
	rc = gate_check(e->policy, url, &out, &w->err);
	buf_done(&out);
	return rc == 1;
}

static bool said(const struct world *w, const char *text)
{
	for (size_t i = 0; i < w->lint.n; i++)
		if (strstr(w->lint.v[i].text, text))
			return true;
	return false;
}

static void test_load(void)
{
	struct world w;

	fresh();
	if (!ok(world_open(&w), "load: %s", w.err.msg)) {
		world_close(&w);
		return;
	}
	is_int(count(&w), 2, "two agents");
	is_int(generation(&w), 1, "the first generation");
	ok(allows(&w, "a", "https://x.example.org/"), "a rule allows");
	ok(!allows(&w, "a", "https://example.com/"), "the rest is denied");
	is_int(reload(&w), 0, "a reload: %s", w.err.msg);
	is_int(generation(&w), 2, "the second generation");
	world_close(&w);
}

static void test_shared_bad(void)
{
	struct table *before;
	struct world w;

	fresh();
	put(shared, "base.yaml", "version: 1\nnonsense: 1\n");
	ok(!world_open(&w), "a bad start is refused: %s", w.err.msg);
	world_close(&w);

	fresh();
	ok(world_open(&w), "a good one");
	before = gate_state_table(w.s);
	put(shared, "zz.yaml", "version: 1\nnonsense: 1\n");
	ok(reload(&w) < 0, "a bad reload: %s", w.err.msg);
	ok(gate_state_table(w.s) == before, "the last good one stays");
	ok(allows(&w, "a", "https://example.org"), "and allows");
	put(shared, "zz.yaml", NULL);
	is_int(reload(&w), 0, "good again");
	file_remove_tree(agents);
	ok(reload(&w) < 0, "no folder of agents: %s", w.err.msg);
	is_int(count(&w), 2, "they stay");
	world_close(&w);
}

static void test_agent_bad(void)
{
	static const struct {
		const char *what, *name, *text, *said;
		size_t left;
	} rows[] = {
		{ "no YAML", "a.yaml", "x: [", "a.yaml", 1 },
		{ "an unknown preset", "a.yaml",
		  "version: 1\nagents:\n  - id: a\n    match: { address: "
		  "172.20.0.2 }\n    use: [nosuch]\n",
		  "nosuch", 1 },
		{ "empty", "a.yaml", "", "a.yaml", 1 },
		{ "another's id", "c.yaml", AGENT("d", "172.20.0.9"),
		  "for agent d", 2 },
		{ "a longer id", "c.yaml", AGENT("cc", "172.20.0.9"),
		  "for agent cc", 2 },
		{ "another's address", "c.yaml", AGENT("c", "172.20.0.2"),
		  "address of a", 2 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct world w;

		fresh();
		put(agents, rows[i].name, rows[i].text);
		ok(world_open(&w), "%s: the rest loads: %s", rows[i].what,
		   w.err.msg);
		is_int(count(&w), rows[i].left, "%s: who is left",
		       rows[i].what);
		ok(said(&w, rows[i].said), "%s: it is said: %s", rows[i].what,
		   w.lint.n ? w.lint.v[0].text : "-");
		ok(allows(&w, "b", "https://example.org"), "%s: b may go on",
		   rows[i].what);
		world_close(&w);
	}
}

static void test_folder(void)
{
	struct world w;
	char path[128];

	fresh();
	put(agents, ".hidden.yaml", "nonsense");
	put(agents, ".yaml", "nonsense");
	put(agents, "notes.txt", "nonsense");
	snprintf(path, sizeof(path), "%s/link.yaml", agents);
	is_int(symlink("/etc/passwd", path), 0, "a link");
	ok(world_open(&w), "load: %s", w.err.msg);
	is_int(count(&w), 2, "other names are left alone");
	ok(said(&w, "link.yaml"), "a link is not followed: %s",
	   w.lint.n ? w.lint.v[0].text : "-");
	is_int(w.lint.n, 1, "nothing else is said");
	world_close(&w);
}

static void test_counters(void)
{
	struct agent *a;
	struct world w;

	fresh();
	ok(world_open(&w), "load");
	a = find(&w, "a")->agent;
	atomic_store(&a->usage.allowed, 7);
	atomic_store(&a->usage.killed, true);
	is_int(reload(&w), 0, "reload");
	ok(find(&w, "a")->agent == a, "an agent keeps its counters");
	ok(atomic_load(&a->usage.killed), "a reload forgives nothing");
	put(agents, "a.yaml", AGENT("a", "172.20.0.7"));
	is_int(reload(&w), 0, "another address");
	is_int(atomic_load(&find(&w, "a")->agent->usage.allowed), 0,
	       "is another sandbox");
	world_close(&w);
}

static int agent_bind(struct world *w, const char *id, const char *text)
{
	w->err = (struct err){ 0 };
	return state_bind(w->s, id, text, &w->lint, &w->err);
}

static void test_bind(void)
{
	struct world w;

	fresh();
	ok(world_open(&w), "load");
	atomic_store(&find(&w, "a")->agent->usage.killed, true);
	is_int(agent_bind(&w, "a", AGENT("a", "172.20.0.2")), 0, "bound: %s",
	       w.err.msg);
	ok(!atomic_load(&find(&w, "a")->agent->usage.killed), "it begins anew");
	is_int(count(&w), 2, "in the place of what it had");
	is_int(agent_bind(&w, "c", AGENT("c", "172.20.0.4")), 0, "a new one");
	is_int(count(&w), 3, "beside the others");
	is_int(generation(&w), 3, "each is a generation");
	is_int(agent_bind(&w, "c", AGENT("d", "172.20.0.5")), -EINVAL,
	       "another's policy: %s", w.err.msg);
	is_int(agent_bind(&w, "d", AGENT("d", "172.20.0.2")), -EEXIST,
	       "another's address: %s", w.err.msg);
	ok(agent_bind(&w, "c", "version: 1\n") < 0, "no agent in it: %s",
	   w.err.msg);
	ok(agent_bind(&w, "c", AGENT("c", "8.8.8.8") AGENT("c", "1.1.1.1")) < 0,
	   "two of them: %s", w.err.msg);
	is_int(generation(&w), 3, "none of them changed a thing");
	ok(allows(&w, "c", "https://example.org"), "c may go on");
	is_int(gate_state_unbind(w.s, "c", &w.err), 0, "unbound");
	is_int(count(&w), 2, "gone");
	is_int(gate_state_unbind(w.s, "c", &w.err), -ENOENT, "twice: %s",
	       w.err.msg);
	is_int(agent_bind(&w, "c", AGENT("c", "172.20.0.4")), 0, "bound again");
	is_int(reload(&w), 0, "a reload");
	is_int(count(&w), 2, "knows only what files say");
	world_close(&w);
}

static void test_shared_agents(void)
{
	struct world w;

	fresh();
	put(shared, "agents.yaml", AGENT("a", "172.20.0.6"));
	ok(world_open(&w), "load: %s", w.err.msg);
	is_int(count(&w), 2, "a is there once");
	ok(said(&w, "agent a is defined already"), "and that is said");
	world_close(&w);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	snprintf(shared, sizeof(shared), "%s/shared", dir);
	snprintf(agents, sizeof(agents), "%s/agents", dir);
	test_load();
	test_shared_bad();
	test_agent_bad();
	test_folder();
	test_counters();
	test_bind();
	test_shared_agents();
	file_remove_tree(dir);
	return done_testing();
}
