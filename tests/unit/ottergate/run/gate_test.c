/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_test.c - nobody reaches a gateway that is not ready to answer
 *
 * Whoever connects to a socket on which nobody accepts yet waits. So the roots,
 * which take longest to read, come before the sockets. Here they are a FIFO of
 * the test, which holds the gateway while it reads them. A connection does not wait
 * either while the kernel makes a larger table of descriptors.
 */
#include "ottergate/run/gate.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "lib/file.h"
#include "lib/sock.h"
#include "tests/unit/tap.h"

static const char policy[] = "version: 1\n";

static struct {
	char dir[64], policy[96], roots[96], ready[96];
	struct sockaddr_in at;
	struct gate_opts opts;
	struct err err;
	pthread_t thread;
	int result;
} g;

static void *gate_thread(void *arg)
{
	(void)arg;
	g.result = gate_run(&g.opts, &g.err);
	return NULL;
}

/* Takes a free port of 127.0.0.1, to be the gateway's later. */
static void port_take(void)
{
	socklen_t len = sizeof(g.at);
	SCOPED_FD fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	g.at = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	if (bind(fd, (struct sockaddr *)&g.at, len) < 0 ||
	    getsockname(fd, (struct sockaddr *)&g.at, &len) < 0)
		abort();
}

static void up(void)
{
	sigset_t all;

	sigfillset(&all); /* the control thread asks for its signals */
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	snprintf(g.dir, sizeof(g.dir), "/tmp/otter-gate-XXXXXX");
	if (!mkdtemp(g.dir))
		abort();
	snprintf(g.policy, sizeof(g.policy), "%s/p.yaml", g.dir);
	snprintf(g.roots, sizeof(g.roots), "%s/roots", g.dir);
	snprintf(g.ready, sizeof(g.ready), "%s/ready", g.dir);
	file_write_atomic(g.policy, policy, sizeof(policy) - 1, 0644);
	if (mkfifo(g.roots, 0600) < 0)
		abort();
	port_take();
	g.opts = (struct gate_opts){
		.ready = g.ready,
		.self = addr_v4(INADDR_LOOPBACK),
		.proxy_port = ntohs(g.at.sin_port),
		.workers = 1,
		.keep_root = true,
	};
	if (strv_push(&g.opts.policy, g.policy) < 0)
		abort();
}

static void down(void)
{
	strv_done(&g.opts.policy);
	file_remove_tree(g.dir);
}

/* Returns 0, or the errno of a connection to the gateway. */
static int connects(void)
{
	SCOPED_FD fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return connect(fd, (struct sockaddr *)&g.at, sizeof(g.at)) < 0 ? errno :
									 0;
}

/* Returns how many descriptors the kernel's table has room for: FDSize of
 * proc_pid_status(5). */
static unsigned table_size(void)
{
	SCOPED_STR text = NULL;
	size_t len = 0;
	const char *at = NULL;

	if (file_read("/proc/self/status", 65536, &text, &len) == 0)
		at = strstr(text, "FDSize:");
	return at ? (unsigned)strtoul(at + strlen("FDSize:"), NULL, 10) : 0;
}

static unsigned table_aim(void)
{
	struct rlimit lim;

	getrlimit(RLIMIT_NOFILE, &lim);
	return lim.rlim_max < GATE_FILES ? (unsigned)lim.rlim_max : GATE_FILES;
}

static void test_roots_first(void)
{
	int fd;

	ok(table_size() < table_aim(), "the table of descriptors is small: %u",
	   table_size());

	g.opts.roots = g.roots;
	pthread_create(&g.thread, NULL, gate_thread, NULL);
	fd = open(g.roots, O_WRONLY | O_CLOEXEC); /* until it reads them */
	is_int(connects(), ECONNREFUSED, "while it reads the roots: no socket");
	ok(table_size() >= table_aim(), "it has room for all of %u: %u",
	   table_aim(), table_size());
	close(fd);
	pthread_join(g.thread, NULL);
	is_int(g.result, -EINVAL,
	       "named roots without a certificate: no start");
	ok(strstr(g.err.msg, g.roots) != NULL, "which names the file: %s",
	   g.err.msg);
}

static void test_ready(void)
{
	struct stat st;

	g.opts.roots = NULL;
	g.err = (struct err){ 0 };
	pthread_create(&g.thread, NULL, gate_thread, NULL);
	for (int ms = 0; ms < GIVE_UP_MS; ms += 10) {
		if (stat(g.ready, &st) == 0 && st.st_size > 0)
			break;
		usleep(10000);
	}
	is_int(connects(), 0, "once it is ready, it is reached");
	kill(getpid(), SIGTERM);
	pthread_join(g.thread, NULL);
	is_int(g.result, 0, "the gateway ends well");
}

int main(void)
{
	up();
	test_roots_first();
	test_ready();
	down();
	return done_testing();
}
