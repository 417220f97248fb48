/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge_test.c - acd's side of ac-edge: the test is ac-edge
 */
#include "control/acd/net/edge.h"

#include <sys/stat.h>

#include "control/acd/net/ports.h"
#include "control/acd/net/services.h"
#include "control/shared/edge_orders.h"
#include "lib/sock.h"
#include "tests/unit/control/edge/world.h"

static char dir[] = "/tmp/edge-acd-XXXXXX", path[64], list[64];
static struct edge *edge;
static struct ports *ports;

static void add(const char *name, const char *address, uint16_t port)
{
	struct service s = { .port = port };
	struct err err = { 0 };

	snprintf(s.name, sizeof(s.name), "%s", name);
	snprintf(s.host, sizeof(s.host), "%s.internal", name);
	snprintf(s.address, sizeof(s.address), "%s", address);
	ok(services_add(&s, &err) == 0, "%s at %s %s", name, address, err.msg);
	edge_update(edge);
}

static void removed(const char *name)
{
	struct err err = { 0 };

	ok(services_remove(name, &err) == 0, "%s is removed", name);
	edge_update(edge);
}

static void is_state(const char *want, const char *why)
{
	is_str(edge_state_name(edge_state(edge)), want, "it is %s", want);
	is_str(edge_reason(edge), why, "why");
}

static struct edge_orders ordered(int fd)
{
	struct edge_orders o = { .n = 99 };
	uint8_t mem[1024];
	size_t used = 0;
	ssize_t n = -1;

	until((n = recv(fd, mem, sizeof(mem), MSG_DONTWAIT)) >= 0);
	ok(n > 0 && edge_orders_get(slice_of(mem, (size_t)n), &o, &used) == 0 &&
		   used == (size_t)n,
	   "orders");
	return o;
}

static void report_send(int fd, const struct edge_report *r)
{
	struct buf out;

	buf_init(&out, EDGE_FRAME_MAX);
	ok(edge_report_put(&out, r) == 0 &&
		   send(fd, buf_slice(&out).ptr, buf_len(&out), MSG_NOSIGNAL) ==
			   (ssize_t)buf_len(&out),
	   "a report of %u", r->listening);
	buf_done(&out);
	turn();
}

static void report(int fd, unsigned listening, const char *text)
{
	struct edge_report r = { .listening = listening };

	snprintf(r.text, sizeof(r.text), "%s", text);
	report_send(fd, &r);
}

static void test_orders(void)
{
	SCOPED_FD fd = -1, next = -1;
	struct edge_orders o;

	is_state("unused", "");
	add("lan", "192.168.1.5", 1);
	is_state("unused", "");
	add("llm", "127.0.0.1", 11434);
	is_state("down", "ac-edge does not run; `ac start` starts it");
	fd = sock_unix_connect(path);
	o = ordered(fd);
	ok(o.n == 1 && strcmp(o.v[0].name, "llm") == 0 && !o.v[0].v6 &&
		   o.v[0].port == 11434,
	   "the services of this machine, and no other");
	is_state("down", "ac-edge is starting");
	report(fd, 0, "'llm': no");
	is_state("down", "'llm': no");
	add("six", "::1", 8000);
	o = ordered(fd);
	ok(o.n == 2 && o.v[1].v6, "all are said again");
	report(fd, 2, "");
	is_state("up", "");
	next = sock_unix_connect(path);
	is_int(ordered(next).n, 2, "a second one is told the same");
	is_str(heard(fd), "", "and the first is let go");
	report(next, 2, "");
	is_state("up", "");
	removed("llm");
	is_int(ordered(next).n, 1, "one is gone");
	removed("six");
	is_int(ordered(next).n, 0, "and the other");
	is_state("unused", "");
}

static void test_bad(void)
{
	SCOPED_FD fd = sock_unix_connect(path);

	add("llm", "127.0.0.1", 1);
	is_int(ordered(fd).n, 1, "orders");
	say(fd, "\n\n\n\n\n\n");
	until(edge_state(edge) == EDGE_DOWN);
	is_str(heard(fd), "", "what is no report ends it");
	is_state("down", "ac-edge does not run; `ac start` starts it");
	fd_closep(&fd);
	fd = sock_unix_connect(path);
	is_int(ordered(fd).n, 1, "orders");
	report(fd, 1, "");
	is_state("up", "");
	report(fd, 1, "");
	is_str(heard(fd), "", "and so does one that was not asked for");
	removed("llm");
}

/* ---- published ports ---- */

struct told {
	unsigned calls;
	struct err err;
};

static void on_ports(void *arg, const struct err *err)
{
	struct told *t = arg;

	t->calls++;
	t->err = err ? *err : (struct err){ 0 };
}

static int in_fd = -1;

static void on_client(void *arg, const struct port *port, int fd)
{
	(void)arg;
	ok(strcmp(port->owner, "web") == 0 && port->as.inner == 80,
	   "it is for that port");
	fd_closep(&in_fd);
	in_fd = fd;
}

static bool running; /* the instances */

static int publish(const char *owner, const char *text, struct told *t,
		   struct err *err)
{
	struct publish v;

	*t = (struct told){ 0 };
	*err = (struct err){ 0 };
	ok(publish_parse(text, &v, err) == 0, "%s", text);
	return ports_open(ports, owner, &v, 1, running, on_ports, t, err);
}

/* The answer to @o: the first port is at @port, or has failed. */
static void answer(int fd, const struct edge_orders *o, uint16_t port,
		   uint16_t error)
{
	struct edge_report r = { .listening = (unsigned)o->n,
				 .n_ports = o->n_ports };

	for (size_t i = 0; i < o->n_ports; i++)
		r.ports[i] = (struct edge_bound){ o->ports[i].id, port, error };
	report_send(fd, &r);
}

/* @fd is ac-edge's, and "web" has published 0:80 at port 4000. */
static void test_ports_lost(int *fd)
{
	SCOPED_FD client = -1;
	struct edge_orders o;
	struct publish kept;
	struct told u;
	struct err err;
	char at[96];

	ports_on_connection(ports, on_client, NULL);
	snprintf(at, sizeof(at), "%s/port.%u", dir,
		 (unsigned)ports_nth(ports, 0)->id);
	client = sock_unix_connect(at);
	until(in_fd >= 0);
	say(client, "x");
	is_str(heard(in_fd), "x", "a client of ac-edge's");
	report(*fd, 0, "");
	fd_closep(fd);
	until(!edge_is_there(edge));
	is_int(ports_nth(ports, 0)->state, PORT_WAITING, "ac-edge has ended");
	*fd = sock_unix_connect(path);
	o = ordered(*fd);
	ok(o.n_ports == 1 && o.ports[0].port == 4000,
	   "a new one opens the same port");
	answer(*fd, &o, 4000, 0);
	is_int(ports_nth(ports, 0)->state, PORT_OPEN, "again");
	is_int(publish("other", "4002:1", &u, &err), 0, "another is asked for");
	fd_closep(fd);
	until(u.calls > 0);
	is_str(u.err.word, "edge_down", "and ac-edge ends");
	fd[0] = sock_unix_connect(path);
	o = ordered(*fd);
	answer(*fd, &o, 4000, 0);
	is_int(publish("web", "4003:80", &u, &err), 0, "one more of the first");
	o = ordered(*fd);
	answer(*fd,
	       &(struct edge_orders){ .ports = { o.ports[1] }, .n_ports = 1 },
	       0, EADDRINUSE);
	ok(u.calls == 1 && u.err.code < 0 && ports_nth(ports, 0) &&
		   !ports_nth(ports, 1),
	   "that fails leaves the others");
	is_int(ordered(*fd).n_ports, 1, "open");
	publish_parse("4004:80", &kept, &err);
	ports_keep(ports, "other", &kept, 1);
	ok(ports_nth(ports, 0) != NULL, "others are not meant");
	ports_keep(ports, "web", &ports_nth(ports, 0)->as, 1);
	ok(ports_nth(ports, 0) != NULL, "it is kept");
	ports_keep(ports, "web", &kept, 1);
	ok(!ports_nth(ports, 0) && access(at, F_OK) < 0, "all are closed");
	fd_closep(&in_fd);
	fd_closep(fd);
}

/* acd has not noticed yet that ac-edge has gone when it orders. */
static void test_gone_unnoticed(void)
{
	SCOPED_FD fd = sock_unix_connect(path);
	struct told first, second;
	struct err err;

	(void)ordered(fd);
	report(fd, 0, "");
	fd_closep(&fd);
	is_int(publish("web", "4010:80", &first, &err), 0, "a port");
	is_int(publish("other", "4011:80", &second, &err), 0, "and another");
	ok(first.calls == 0 && second.calls == 0,
	   "no function is called before the loop goes on");
	until(first.calls > 0 && second.calls > 0);
	ok(first.calls == 1 && second.calls == 1, "each is called once");
	is_str(first.err.word, "edge_down", "ac-edge has ended");
	is_str(second.err.word, "edge_down", "for both");
	ok(!edge_is_there(edge) && !ports_nth(ports, 0), "none is left");
	fd = sock_unix_connect(path);
	is_int(ordered(fd).n_ports, 0, "nor ordered of the next one");
	report(fd, 0, "");
	fd_closep(&fd);
	is_int(publish("web", "4010:80", &first, &err), 0, "again");
	ports_close(ports, "web");
	until(!edge_is_there(edge));
	is_int(first.calls, 0, "what is closed meanwhile is not told");
}

static void test_ports(void)
{
	SCOPED_FD fd = -1;
	struct edge_orders o;
	struct told t, u;
	struct err err;

	is_state("unused", "");
	edge_want(edge);
	is_state("down", "ac-edge does not run; `ac start` starts it");
	ok(!edge_is_there(edge), "a run waits for it");
	fd = sock_unix_connect(path);
	o = ordered(fd);
	report(fd, 0, "");
	ok(edge_is_there(edge), "it is there");
	is_state("unused", "");
	is_int(publish("web", "0:80", &t, &err), 0, "any port");
	o = ordered(fd);
	ok(o.n_ports == 1 && o.ports[0].port == 0 &&
		   o.ports[0].address[0] == 127,
	   "is ordered");
	is_int(t.calls, 0, "and waited for");
	answer(fd, &o, 4000, 0);
	ok(t.calls == 1 && t.err.code == 0, "it is open");
	is_int(ports_nth(ports, 0)->outer, 4000, "where ac-edge says");
	is_int(publish("other", "4000:1", &u, &err), -EBUSY, "it is taken");
	ok(strstr(err.msg, "port 4000 of 127.0.0.1 is in use by instance "
			   "'web'") &&
		   strcmp(err.word, "port_in_use") == 0,
	   "by whom: %s", err.msg);
	ok(strstr(err.msg, "; `--publish 0:1` takes"), "and what helps");
	running = true;
	is_int(publish("other", "0.0.0.0:4000:1", &u, &err), -EBUSY,
	       "also for all addresses");
	ok(strstr(err.msg, "; `ac port other --publish 0:1` takes"),
	   "and what does while it runs: %s", err.msg);
	is_int(publish("other", "4001:1", &u, &err), 0, "another is not");
	o = ordered(fd);
	is_int(o.n_ports, 2, "both are ordered");
	is_int(o.ports[0].port, 4000, "the first where it is");
	answer(fd,
	       &(struct edge_orders){ .ports = { o.ports[1] }, .n_ports = 1 },
	       0, EADDRINUSE);
	ok(u.calls == 1 && strstr(u.err.msg, "in use by another program"),
	   "a program has it: %s", u.err.msg);
	ok(strstr(u.err.msg, "; `ac port other --publish 0:1` takes"),
	   "which `ac port` gets around");
	running = false;
	is_int(ordered(fd).n_ports, 1, "it is not ordered any more");
	test_ports_lost(&fd);
}

int main(void)
{
	struct err err = { 0 };
	struct stat st;

	if (!ok(mkdtemp(dir) && world_init(), "a place"))
		return done_testing();
	snprintf(path, sizeof(path), "%s/acd.sock", dir);
	snprintf(list, sizeof(list), "%s/services.json", dir);
	services_open(list, &err);
	ports = ports_new(loop, dir, getuid(), getgid());
	edge = edge_new(loop, path, getuid(), getgid(), ports, &err);
	if (ok(edge != NULL, "acd listens %s", err.msg)) {
		ok(stat(path, &st) == 0 && (st.st_mode & 07777) == 0600,
		   "for its user alone");
		test_orders();
		test_bad();
		test_ports();
		test_gone_unnoticed();
	}
	edge_free(edge);
	edge_free(NULL);
	ports_free(ports);
	edge_update(NULL);
	services_close();
	loop_free(loop);
	unlink(list);
	is_int(rmdir(dir), 0, "nothing is left");
	return done_testing();
}
