/* SPDX-License-Identifier: Apache-2.0 */
/*
 * published_test.c - a change of the published ports while a sandbox runs: the
 * test is ac-edge
 */
#include "control/acd/net/ports.h"
#include "control/shared/publish.h"
#include "tests/unit/control/acd/instance/instance_world.h"

static struct ports *ports;

/* Says of each port that it is open, where it was asked for. */
static void answer(void)
{
	struct edge_report r = { .listening = 0 };
	const struct port *p;

	while ((p = ports_nth(ports, r.n_ports)))
		r.ports[r.n_ports++] =
			(struct edge_bound){ .id = p->id, .port = p->outer };
	ports_answered(ports, &r);
}

/* Publishes @a and @b (NULL: one alone), and returns the outcome. */
static struct outcome change(struct world *w, struct instance *in,
			     const char *a, const char *b)
{
	struct outcome o = { 0 };
	struct publish v[2];
	struct err err = { 0 };
	size_t n = b ? 2 : 1;

	ok(publish_parse(a, &v[0], &err) == 0 &&
		   (!b || publish_parse(b, &v[1], &err) == 0),
	   "%s and %s", a, b ? b : "no other");
	is_int(instance_publish(in, v, n, note_outcome, &o, &err), 0,
	       "a change %s", err.msg);
	is_int(o.calls, 0, "that is told later");
	answer();
	STEP_UNTIL(w->loop, o.calls);
	return o;
}

/* Returns how many ports are open, and the outer one of the first. */
static size_t open_ports(unsigned *ret_first)
{
	const struct port *p;
	size_t n = 0;

	while ((p = ports_nth(ports, n)))
		if (n++ == 0)
			*ret_first = p->outer;
	return n;
}

static void test_not_stored(struct world *w, struct instance *in)
{
	struct err err = { 0 };
	unsigned first = 0;

	is_int(change(w, in, "4000:80", NULL).err.code, 0, "one is open");
	is_int(change(w, in, "4000:80", "4001:81").err.code, 0, "and another");
	is_int(open_ports(&first), 2, "both");
	is_int(change(w, in, "4000:80", NULL).err.code, 0, "one is taken back");
	is_int(open_ports(&first), 1, "and closed");

	store_delete(w->store, "one", &err); /* behind its back */
	ok(change(w, in, "4000:80", "4002:82").err.code < 0,
	   "a change that cannot be stored");
	is_int(open_ports(&first), 1, "leaves none open");
	is_int(first, 4000, "but what was");
	ok(change(w, in, "4003:80", NULL).err.code < 0, "nor does another");
	is_int(open_ports(&first), 1, "take its place");
	is_int(first, 4000, "it stays");
	is_str(instance_record(in)->publish_json, "[\"127.0.0.1:4000:80\"]",
	       "as the record says");
}

int main(void)
{
	struct watcher v;
	struct world w;
	struct instance *in = world_one(&w);

	ports = ports_new(w.loop, w.dir, getuid(), getgid());
	if (ok(ports != NULL, "ports")) {
		instances_set_ports(w.is, ports);
		run_up(&w, &v, in, "sleep", NULL);
		test_not_stored(&w, in);
		run_abandon(instance_main(in));
		STEP_UNTIL(w.loop, !instance_is_live(in));
		ok(!ports_nth(ports, 0), "the end closes all");
		instances_set_ports(w.is, NULL);
	}
	ports_free(ports);
	world_done(&w);
	return done_testing();
}
