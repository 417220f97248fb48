/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_test.c - a connection to a port on stdin and stdout, as a process
 */
#include "init-guard/connect/relay.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "init-guard/link.h"
#include "lib/file.h"
#include "tests/unit/tap.h"

#define BIG (3u * 1024 * 1024)

struct relayed {
	pid_t pid;
	int in, out, count; /* our ends of its stdin, stdout and stderr */
};

static uint16_t port;

static int serve(bool v6)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr *sa = v6 ? (struct sockaddr *)&in6 :
				   (struct sockaddr *)&in;
	socklen_t len = v6 ? sizeof(in6) : sizeof(in);
	SCOPED_FD fd = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, sa, len) < 0 || listen(fd, 8) < 0 ||
	    getsockname(fd, sa, &len) < 0)
		return -1;
	port = ntohs(v6 ? in6.sin6_port : in.sin_port);
	return fd_take(&fd);
}

static void begin(struct relayed *r, const char *to)
{
	int in[2], out[2], count[2];

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 ||
	    pipe2(count, O_CLOEXEC) < 0)
		exit(1);
	r->pid = fork();
	if (r->pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(count[1], 2);
		close(in[0]);
		close(in[1]);
		close(out[0]);
		close(out[1]);
		close(count[0]);
		close(count[1]);
		_exit(relay_run(to));
	}
	close(in[0]);
	close(out[1]);
	close(count[1]);
	r->in = in[1];
	r->out = out[0];
	r->count = count[0];
}

/* Returns its exit code, -1 if it was killed. */
static int end(struct relayed *r)
{
	int status = 0;

	fd_closep(&r->in);
	fd_closep(&r->out);
	fd_closep(&r->count);
	waitpid(r->pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void to_port(struct relayed *r)
{
	char text[8];

	snprintf(text, sizeof(text), "%u", (unsigned)port);
	begin(r, text);
}

static uint64_t counted(int fd)
{
	uint8_t mem[9];
	uint64_t n = 0;

	if (fd_read_all(fd, mem, 8) != 8)
		return UINT64_MAX;
	for (unsigned i = 0; i < 8; i++)
		n = n << 8 | mem[i];
	return n;
}

static const char *heard(int fd)
{
	static char text[64];
	ssize_t n = read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* Each direction ends by itself, the client's first. */
static void test_half(bool v6)
{
	SCOPED_FD listener = serve(v6), fd = -1;
	struct relayed r;

	if (listener < 0) {
		ok(v6, "no such address here");
		return;
	}
	to_port(&r);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	ok(fd >= 0, "it connects by IPv%d", v6 ? 6 : 4);
	ok(write(r.in, "ask", 3) == 3, "the client asks");
	is_str(heard(fd), "ask", "the server hears it");
	fd_closep(&r.in);
	is_str(heard(fd), "", "and the end of its direction");
	ok(write(fd, "answer", 6) == 6, "it answers then");
	is_str(heard(r.out), "answer", "which arrives");
	fd_closep(&fd);
	is_int(counted(r.count), 6, "with the number of its bytes");
	is_int(end(&r), 0, "it ends well");
}

/* The server ends first: the client may go on. */
static void test_other_half(void)
{
	SCOPED_FD listener = serve(false), fd = -1;
	struct relayed r;
	uint8_t count[8] = { 0 };

	to_port(&r);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	ok(write(fd, "hi", 2) == 2 && shutdown(fd, SHUT_WR) == 0,
	   "the server has ended");
	is_str(heard(r.out), "hi", "what it said");
	ok(read(r.count, count, 8) == 8 && count[7] == 2, "is two bytes");
	ok(write(r.in, "more", 4) == 4, "the client sends more");
	is_str(heard(fd), "more", "which arrives");
	is_int(end(&r), 0, "and ends well");
}

/* Much, both ways at once, with readers that are slow. */
static void test_much(void)
{
	SCOPED_FD listener = serve(false), fd = -1;
	static uint8_t mem[BIG], back[BIG + 1];
	struct relayed r;
	pid_t echo;
	ssize_t n;

	for (size_t i = 0; i < BIG; i++)
		mem[i] = (uint8_t)(i * 7 + i / 251);
	to_port(&r);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	echo = fork();
	if (echo == 0) {
		static uint8_t part[5000];

		close(r.in); /* whose end would not come */
		while ((n = read(fd, part, sizeof(part))) > 0)
			if (fd_write_all(fd, part, (size_t)n) < 0)
				_exit(1);
		_exit(0);
	}
	fd_closep(&fd);
	if (fork() == 0) {
		close(r.out);
		close(r.count);
		_exit(fd_write_all(r.in, mem, BIG) < 0);
	}
	fd_closep(&r.in);
	n = fd_read_all(r.out, back, BIG);
	ok(n == BIG && memcmp(mem, back, BIG) == 0, "3 MiB come back intact");
	is_int(counted(r.count), BIG, "and counted");
	is_int(end(&r), 0, "it ends well");
	while (wait(NULL) > 0)
		continue;
}

/* The server resets the connection: that is no end. @writes: the client finds out
 * first. */
static void test_reset(bool writes)
{
	SCOPED_FD listener = serve(false), fd = -1;
	const struct linger now = { .l_onoff = 1 };
	struct relayed r;
	int status;

	to_port(&r);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	ok(write(fd, "half", 4) == 4, "half an answer");
	is_str(heard(r.out), "half", "arrives");
	kill(r.pid, SIGSTOP);
	waitpid(r.pid, &status, WUNTRACED);
	ok(!writes || write(r.in, "more", 4) == 4, "both happen at once");
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	fd_closep(&fd);
	kill(r.pid, SIGCONT);
	ok(counted(r.count) == UINT64_MAX, "a reset has no count");
	is_int(end(&r), 1, "nor ends it well");
}

static void test_refused(void)
{
	static const char *const none[] = { "0", "65536", "x", "", "-1" };
	SCOPED_FD listener = serve(false);
	struct relayed r;

	fd_closep(&listener);
	to_port(&r);
	is_str(heard(r.out), "", "where nothing listens nothing comes");
	is_int(end(&r), 1, "and it says so");
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		begin(&r, none[i]);
		is_int(end(&r), 2, "'%s' is no port", none[i]);
	}
}

/* ---- the EXEC that starts it ---- */

static const struct {
	const char *what;
	uint32_t flags;
	const char *argv[3];
	int rc;
} execs[] = {
#define CONNECT (LINK_EXEC_CONNECT | LINK_EXEC_STDIN)
	{ "a port", CONNECT, { "8" }, 0 },
	{ "the last port", CONNECT, { "65535" }, 0 },
	{ "no port", CONNECT, { NULL }, -EBADMSG },
	{ "an empty one", CONNECT, { "" }, -EBADMSG },
	{ "port 0", CONNECT, { "0" }, -EBADMSG },
	{ "a zero in front", CONNECT, { "08" }, -EBADMSG },
	{ "port 65536", CONNECT, { "65536" }, -EBADMSG },
	{ "a longer one", CONNECT, { "4294967304" }, -EBADMSG },
	{ "what is no number", CONNECT, { "8x" }, -EBADMSG },
	{ "an option", CONNECT, { "-8" }, -EBADMSG },
	{ "two ports", CONNECT, { "8", "9" }, -EBADMSG },
	{ "without input", LINK_EXEC_CONNECT, { "8" }, -EBADMSG },
	{ "on a terminal", CONNECT | LINK_EXEC_PTY, { "8" }, -EBADMSG },
	{ "and files", CONNECT | LINK_EXEC_FILES, { "8" }, -EBADMSG },
	{ "and a shell", CONNECT | LINK_EXEC_LOGIN, { "8" }, -EBADMSG },
};

static void test_exec(void)
{
	static const char *const none[] = { NULL };

	for (size_t i = 0; i < ARRAY_SIZE(execs); i++) {
		const struct link_exec x = { .flags = execs[i].flags,
					     .argv = execs[i].argv,
					     .env = none };
		struct link_exec_args got = { 0 };
		struct link_frame f = { 0 };
		struct slice in;
		struct buf b;

		buf_init(&b, 4096);
		ok(link_put_exec(&b, 1, &x) == 0, "an EXEC");
		in = buf_slice(&b);
		ok(link_parse(&in, &f, NULL) == 0, "and its frame");
		is_int(link_get_exec(&f, &got), execs[i].rc, "%s",
		       execs[i].what);
		link_exec_args_done(&got);
		buf_done(&b);
	}
}

int main(void)
{
	test_exec();
	test_half(false);
	test_half(true);
	test_other_half();
	test_much();
	test_reset(false);
	test_reset(true);
	test_refused();
	return done_testing();
}
