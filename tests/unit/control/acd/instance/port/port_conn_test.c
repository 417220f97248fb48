/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_conn_test.c - a connection to a published port: the test is ac-edge, and
 * the sandbox
 *
 * The functions of run.c that port_conn.c calls are defined here: they write
 * down what was asked of the run.
 */
#include "control/acd/instance/port/port_conn.h"

#include "control/acd/instance/instance_impl.h"
#include "lib/sock.h"
#include "tests/unit/control/edge/world.h"

struct run_watch {
	int unused;
};

static struct instances all;
static struct instance in = { .is = &all,
			      .rec = { .state = INSTANCE_RUNNING } };
static struct run the_run;
static struct run_watch the_watch;
static const struct run_watch_ops *ops; /* NULL: nothing watches */
static void *arg;
static char port[8], sent[64];
static size_t room, credited;
static bool eof;
static int abandoned, exec_code;

int instance_exec(struct instance *to_in, const struct run_options *o,
		  struct run **ret, struct err *err)
{
	if (exec_code < 0)
		return err_set(err, exec_code, "no");
	ok(to_in == &in && o->connect && o->use_stdin && !o->unnoticed &&
		   o->argv.n == 1,
	   "an exec that connects");
	snprintf(port, sizeof(port), "%s", o->argv.v[0]);
	*ret = &the_run;
	room = sizeof(sent) - 1;
	memset(sent, 0, sizeof(sent));
	credited = 0;
	eof = false;
	abandoned = 0;
	return 0;
}

struct run_watch *run_watch_add(struct run *r, const struct run_watch_ops *o,
				void *a)
{
	(void)r;
	ops = o;
	arg = a;
	return &the_watch;
}

void run_watch_credit(struct run_watch *w, uint32_t bytes)
{
	(void)w;
	credited += bytes;
}

void run_watch_free(struct run_watch *w)
{
	if (w)
		ops = NULL;
}

size_t run_stdin_room(const struct run *r)
{
	(void)r;
	return eof ? 0 : room;
}

int run_stdin(struct run *r, const void *data, size_t len)
{
	(void)r;
	strncat(sent, data, len);
	room -= len;
	return 0;
}

int run_stdin_eof(struct run *r)
{
	(void)r;
	eof = true;
	return 0;
}

void run_abandon(struct run *r)
{
	(void)r;
	abandoned++;
}

/* ---- the sandbox ---- */

static void output(const char *text)
{
	ops->output(arg, LINK_STDOUT, slice_str(text));
}

static void count(uint8_t n)
{
	const uint8_t mem[8] = { [7] = n };

	ops->output(arg, LINK_STDERR, slice_of(mem, 8));
}

static void exited(void)
{
	const struct link_exit x = { .kind = LINK_EXITED };

	ops->exited(arg, &x);
}

/* Returns the client's end of a new connection. */
static int begin(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		       ends) < 0)
		return -1;
	ops = NULL;
	port_conn_begin(&in, ends[1], 8000);
	return ends[0];
}

static void is_over(const char *what)
{
	until(!ops);
	ok(!ops && in.port_conns == 0 && LIST_EMPTY(&all.port_conns),
	   "%s: nothing is left", what);
}

static void test_client_first(void)
{
	SCOPED_FD fd = begin();

	is_str(port, "8000", "to the port");
	is_int(in.port_conns, 1, "a connection");
	say(fd, "ask");
	until(*sent);
	is_str(sent, "ask", "what the client says");
	shutdown(fd, SHUT_WR);
	until(eof);
	ok(eof && abandoned == 0, "and the end of its direction");
	output("answer");
	is_str(heard(fd), "answer", "what the server says");
	is_int(credited, 6, "is credited");
	count(6);
	is_str(heard(fd), "", "and the end of its direction");
	until(in.port_conns == 0 || abandoned > 0 || !ops);
	if (ops)
		exited();
	is_over("both have ended");
}

static void test_server_first(void)
{
	SCOPED_FD fd = begin();

	count(3);
	output("a");
	is_str(heard(fd), "a", "the end waits for its bytes");
	output("bc");
	is_str(heard(fd), "bc", "which come");
	is_str(heard(fd), "", "and it behind them");
	is_int(send(fd, "", 0, MSG_NOSIGNAL), 0, "by shutdown alone");
	say(fd, "more");
	until(*sent);
	is_str(sent, "more", "the client goes on");
	is_int(abandoned, 0, "until it ends, too");
	exited();
	is_over("the exec has ended");
}

/* The server resets the connection, or the sandbox ends: no count. */
static void test_cut(void)
{
	SCOPED_FD fd = begin();

	output("ab");
	exited();
	is_over("cut");
	ok(send(fd, "", 0, MSG_NOSIGNAL) < 0 && errno == EPIPE,
	   "it is closed, though the client has not ended");
	is_str(heard(fd), "ab", "with what came");
	is_str(heard(fd), "", "and no more");
	fd_closep(&fd);
	fd = begin();
	output("ab");
	count(3);
	exited();
	is_over("cut, after the count");
}

static void test_refused(void)
{
	SCOPED_FD fd = begin();

	exited();
	is_str(heard(fd), "", "nothing listens there");
	is_over("refused");
	fd_closep(&fd);
	exec_code = INSTANCE_IS_PAUSED;
	fd = begin();
	exec_code = 0;
	is_str(heard(fd), "", "it is paused");
	is_over("paused");
}

/* More than the client takes: it waits here, and is not credited. */
static void test_slow(void)
{
	static char mem[LINK_WINDOW];
	SCOPED_FD fd = begin();
	size_t got = 0;
	ssize_t n;

	ops->output(arg, LINK_STDOUT, slice_of(mem, sizeof(mem)));
	turn();
	ok(credited < sizeof(mem), "what waits is not credited");
	exited();
	until((n = recv(fd, mem, sizeof(mem), MSG_DONTWAIT)) == 0 ||
	      (n > 0 && (got += (size_t)n) == 0));
	is_int(got, sizeof(mem), "but arrives, also after the end");
	is_over("slow");
}

/* A sandbox that does not read. */
static void test_full(void)
{
	SCOPED_FD fd = begin();

	room = 2;
	say(fd, "abcd");
	until(room == 0);
	turn();
	is_str(sent, "ab", "as much as there is room for");
	room = 10;
	ops->stdin_credit(arg);
	is_str(sent, "abcd", "and the rest when there is more");
	room = 0;
	say(fd, "ef");
	fd_closep(&fd);
	turn();
	room = 10;
	ops->stdin_credit(arg);
	until(eof);
	is_str(sent, "abcdef", "also of a client that has gone");
	is_over("it does not answer for long");
	is_int(abandoned, 1, "and is ended");
}

static void test_bad(void)
{
	SCOPED_FD fd = begin();

	output("abc");
	count(2);
	is_over("fewer than came");
	is_int(abandoned, 1, "ended");
	fd_closep(&fd);
	fd = begin();
	count(2);
	output("abc");
	is_over("more than were to come");
	fd_closep(&fd);
	fd = begin();
	count(2);
	count(2);
	is_over("two counts");
}

static void test_many(void)
{
	int fds[PORT_CONNS_MAX + 1];

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = begin();
	is_int(in.port_conns, PORT_CONNS_MAX, "so many there may be");
	is_str(heard(fds[PORT_CONNS_MAX]), "", "the next is closed");
	port_conns_free(&all);
	is_int(in.port_conns, 0, "all are ended");
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fd_closep(&fds[i]);
}

static void test_idle(void)
{
	SCOPED_FD fd = -1;

	port_conns_set_times(PORT_IDLE_MS, 20, 20);
	fd = begin();
	output("a");
	is_over("idle for long");
	is_str(heard(fd), "a", "after a byte");
	is_str(heard(fd), "", "the client is told");
	fd_closep(&fd);
	fd = begin();
	say(fd, "a");
	is_over("or after one of the client's");
	is_str(sent, "a", "which came");
	fd_closep(&fd);
	port_conns_set_times(20, PORT_IDLE_MS, 20);
	fd = begin();
	shutdown(fd, SHUT_WR);
	is_over("not a byte, though the client has ended");
	fd_closep(&fd);
	fd = begin();
	output("a");
	for (int i = 0; i < 20; i++)
		turn();
	is_int(in.port_conns, 1, "one byte, and it stays");
	port_conns_free(&all);
}

int main(void)
{
	if (!ok(world_init(), "a loop"))
		return done_testing();
	all.loop = loop;
	LIST_INIT(&all.port_conns);
	port_conns_set_times(PORT_FIRST_MS, PORT_IDLE_MS, 50);
	test_client_first();
	test_server_first();
	test_cut();
	test_refused();
	test_slow();
	test_full();
	test_bad();
	test_many();
	test_idle();
	loop_free(loop);
	return done_testing();
}
