/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge_test.c - acd's side of ac-edge: the test is ac-edge
 */
#include "control/acd/net/edge.h"

#include <sys/stat.h>

#include "control/acd/net/services.h"
#include "control/shared/edge_orders.h"
#include "lib/sock.h"
#include "tests/unit/control/edge/world.h"

static char dir[] = "/tmp/edge-acd-XXXXXX", path[64], list[64];
static struct edge *edge;

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

static void report(int fd, unsigned listening, const char *text)
{
	struct edge_report r = { .listening = listening };
	struct buf out;

	buf_init(&out, EDGE_FRAME_MAX);
	snprintf(r.text, sizeof(r.text), "%s", text);
	ok(edge_report_put(&out, &r) == 0 &&
		   send(fd, buf_slice(&out).ptr, buf_len(&out), MSG_NOSIGNAL) ==
			   (ssize_t)buf_len(&out),
	   "a report of %u", listening);
	buf_done(&out);
	turn();
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

int main(void)
{
	struct err err = { 0 };
	struct stat st;

	if (!ok(mkdtemp(dir) && world_init(), "a place"))
		return done_testing();
	snprintf(path, sizeof(path), "%s/acd.sock", dir);
	snprintf(list, sizeof(list), "%s/services.json", dir);
	services_open(list, &err);
	edge = edge_new(loop, path, getuid(), getgid(), &err);
	if (ok(edge != NULL, "acd listens %s", err.msg)) {
		ok(stat(path, &st) == 0 && (st.st_mode & 07777) == 0600,
		   "for its user alone");
		test_orders();
		test_bad();
	}
	edge_free(edge);
	edge_free(NULL);
	edge_update(NULL);
	services_close();
	loop_free(loop);
	unlink(list);
	is_int(rmdir(dir), 0, "nothing is left");
	return done_testing();
}
