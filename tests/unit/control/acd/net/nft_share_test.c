/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nft_share_test.c - what one sandbox may have in the table of connections
 *
 * Two network namespaces on a real bridge with the real rules: one floods, the
 * other is still answered. Skipped where namespaces are not permitted or ip(8)
 * is not there.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <nftables/libnftables.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "control/acd/net/netns.h"
#include "control/acd/net/nft.h"
#include "lib/file.h"
#include "lib/kernel_share.h"
#include "lib/loop.h"
#include "lib/str.h"
#include "tests/unit/control/acd/net/netns_world.h"
#include "tests/unit/tap.h"

#define IP_A "172.20.1.1"
#define IP_B "172.20.1.2"
#define GATEWAY "172.20.0.53"
#define COUNT "/proc/sys/net/netfilter/nf_conntrack_count"
#define LIVE KERNEL_SHARE_CONNS
#define TCP_RATE KERNEL_SHARE_NEW
#define TCP_BURST KERNEL_SHARE_BURST
#define KEPT_MS 5000
#define FLOOD 12000
#define PORT_FIRST 10000
#define OTHERS 16 /* connections that are no flood */
#define HELD 1100 /* enough to be worth forgetting */

static char top[] = "/tmp/nft_share_test.XXXXXX";
static char path_a[64], path_b[64];

static bool world(void)
{
	return mkdtemp(top) &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       sh("ip link add ac0 address 02:42:01:02:03:04 type bridge && "
		  "ip link set ac0 up && "
		  "ip addr add " GATEWAY "/16 dev ac0 && ip link set lo up");
}

static bool sandbox(const char *path, const char *address, struct veth *v)
{
	const struct netns_spec spec = {
		.path = path, .bridge = "ac0", .gateway = GATEWAY, .prefix = 16
	};
	struct err err = { 0 };

	return ok(netns_veth(address, v) == 0 &&
			  netns_create(&spec, v, &err) == 0,
		  "%s %s", address, err.msg);
}

static uint64_t count(void)
{
	SCOPED_STR text = NULL;
	uint64_t n = 0;

	if (file_read(COUNT, 64, &text, NULL) < 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	return str_parse_u64(text, 0, UINT64_MAX, &n) < 0 ? 0 : n;
}

static int bound(int type, const char *address, uint16_t port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_port = htons(port) };
	int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	inet_pton(AF_INET, address, &sa.sin_addr);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd >= 0 && bind(fd, (void *)&sa, sizeof(sa)) == 0)
		return fd;
	perror("# bind");
	fd_closep(&fd);
	return -1;
}

static struct sockaddr_in gate(uint16_t port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_port = htons(port) };

	inet_pton(AF_INET, GATEWAY, &sa.sin_addr);
	return sa;
}

static void reset(int fd)
{
	const struct linger at_once = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close(fd);
}

/* Takes each connection, of the proxy to reset it, and answers each question. */
static pid_t gateway(void)
{
	struct pollfd fds[] = {
		{ .fd = bound(SOCK_STREAM, GATEWAY, 3129), .events = POLLIN },
		{ .fd = bound(SOCK_DGRAM, GATEWAY, 53), .events = POLLIN },
		{ .fd = bound(SOCK_STREAM, GATEWAY, 3128), .events = POLLIN },
	};
	pid_t pid;

	if (fds[0].fd < 0 || fds[1].fd < 0 || listen(fds[0].fd, 4096) < 0 ||
	    listen(fds[2].fd, 16) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (pid == 0 && poll(fds, ARRAY_SIZE(fds), -1) > 0) {
		struct sockaddr_in sa;
		socklen_t len = sizeof(sa);
		int fd = accept(fds[0].fd, NULL, NULL);
		char data[64];

		if (fd >= 0)
			close(fd);
		fd = accept(fds[2].fd, NULL, NULL);
		if (fd >= 0)
			reset(fd);
		if (recvfrom(fds[1].fd, data, sizeof(data), 0, (void *)&sa,
			     &len) > 0)
			sendto(fds[1].fd, "a", 1, 0, (void *)&sa, len);
	}
	if (pid == 0)
		_exit(1);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i].fd);
	return pid;
}

static bool enter(const char *path)
{
	SCOPED_FD fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && setns(fd, CLONE_NEWNET) == 0;
}

/* A question from @port, or a connection that is reset at once. */
static void one(int type, uint16_t port)
{
	struct sockaddr_in to = gate(type == SOCK_DGRAM ? 53 : 443);
	int fd = bound(type, "0.0.0.0", port);

	if (type == SOCK_DGRAM)
		sendto(fd, "q", 1, 0, (void *)&to, sizeof(to));
	else
		(void)!connect(fd, (void *)&to, sizeof(to));
	reset(fd);
}

/* Makes a table entry from each of @n ports, if it is let; -1: cannot. */
static int flood(int type, int n)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		if (!enter(path_a))
			_exit(1);
		for (int i = 0; i < n; i++)
			one(type, (uint16_t)(PORT_FIRST + i));
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return status == 0 ? 0 : -1;
}

/* Is one at @path still answered, by both protocols? */
static bool answered(const char *path)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		struct sockaddr_in to = gate(53), web = gate(443);
		int fd = enter(path) ? bound(SOCK_DGRAM, "0.0.0.0", 0) : -1;
		int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		struct pollfd p = { .fd = fd, .events = POLLIN };

		int tries = 30;

		/* What is lost in a full queue is asked again. */
		while (sendto(fd, "q", 1, 0, (void *)&to, sizeof(to)) == 1 &&
		       poll(&p, 1, 1000) == 0 && --tries > 0)
			continue;
		if (tries == 0 || !(p.revents & POLLIN))
			_exit(1);
		_exit(connect(tcp, (void *)&web, sizeof(web)) < 0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return status == 0;
}

/* Entries are forgotten after KEPT_MS. What was counted later says nothing. */
static void test_udp(void)
{
	uint64_t start = clock_ms(), before = count(), n;

	if (!ok(flood(SOCK_DGRAM, FLOOD) == 0, "questions from many ports"))
		return;
	n = count();
	if (clock_ms() - start >= KEPT_MS) {
		skip("too slow here to fill a table");
		return;
	}
	ok(n >= LIVE / 2, "the flood fills what is its own: %llu",
	   (unsigned long long)n);
	ok(n <= before + LIVE + OTHERS, "and no more: %llu before, %llu now",
	   (unsigned long long)before, (unsigned long long)n);
	ok(answered(path_b), "another is answered");
}

/* Those that ended are not counted as live: their rate bounds them. */
static void test_tcp(void)
{
	uint64_t start = clock_ms(), before = count(), n, most;

	if (!ok(flood(SOCK_STREAM, FLOOD) == 0, "connections that end at once"))
		return;
	n = count();
	most = TCP_BURST + (clock_ms() - start + 1) * TCP_RATE / 1000;
	if (most > FLOOD / 2) {
		skip("too slow here to open that many");
		return;
	}
	ok(n >= TCP_BURST / 2, "the flood adds some: %llu",
	   (unsigned long long)n);
	ok(n <= before + most + OTHERS, "at its rate: %llu, not over %llu",
	   (unsigned long long)n, (unsigned long long)(before + most));
	ok(answered(path_b), "another connects");
}

/* One at @path that has @n connections, which it ends when it is killed. */
static pid_t holder(const char *path, int n)
{
	struct sockaddr_in web = gate(443);
	char byte = 0;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		const struct rlimit files = { HELD + 100, HELD + 100 };
		bool good = setrlimit(RLIMIT_NOFILE, &files) == 0 &&
			    enter(path);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; good && i < n; i++) {
			int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

			good = connect(fd, (void *)&web, sizeof(web)) == 0;
		}
		if (good && write(ends[1], "1", 1) == 1)
			pause();
		_exit(1);
	}
	close(ends[1]);
	ok(read(ends[0], &byte, 1) == 1, "%d connections", n);
	close(ends[0]);
	return pid;
}

/* The gateway has closed them, the sandbox not: so they are in the table for a
 * minute, unless they are taken out. */
static void test_forget(const struct veth *a)
{
	struct err err = { 0 };
	pid_t pids[2];
	uint64_t n;

	pids[0] = holder(path_a, HELD);
	pids[1] = holder(path_b, OTHERS);
	n = count();
	ok(n >= HELD + OTHERS, "are in the table: %llu", (unsigned long long)n);
	veth_unpin("ac0", a);
	n = count();
	ok(n < HELD / 2, "and not when the first is gone: %llu",
	   (unsigned long long)n);
	ok(n >= OTHERS, "unlike those of the other");
	is_int(nft_forget(IP_B, &err), 0, "few %s", err.msg);
	ok(count() >= OTHERS, "are not worth it: %llu",
	   (unsigned long long)count());
	is_int(nft_forget("172.20.1", &err), -EINVAL, "%s", err.msg);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		kill(pids[i], SIGKILL);
}

/* From one port to the proxy, which resets it: whether that was so. */
static bool dial(int wait_ms)
{
	struct sockaddr_in to = gate(3128);
	SCOPED_FD fd = bound(SOCK_STREAM, "0.0.0.0", PORT_FIRST - 1);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	(void)!connect(fd, (void *)&to, sizeof(to));
	return poll(&p, 1, wait_ms) == 1 && p.revents & POLLIN;
}

enum again { THROUGH, DROPPED, TOO_SLOW, BROKEN };

/* Twice in succession, the second while the kernel remembers the first. */
static enum again dial_again(int wait_ms)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		const uint64_t start = clock_ms();
		bool through;

		if (!enter(path_b) || !dial(60000))
			_exit(BROKEN);
		through = dial(wait_ms);
		if (clock_ms() - start >= KEPT_MS)
			_exit(TOO_SLOW);
		_exit(through ? THROUGH : DROPPED);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFEXITED(status) ? (enum again)WEXITSTATUS(status) : BROKEN;
}

static void is_again(enum again want, const char *what)
{
	enum again have = dial_again(want == THROUGH ? 60000 : 500);

	if (have == TOO_SLOW)
		skip("too slow here to dial twice");
	else
		is_int(have, want, "%s", what);
}

static bool nft(const char *command)
{
	struct nft_ctx *ctx = nft_ctx_new(NFT_CTX_DEFAULT);
	bool good = nft_run_cmd_from_buffer(ctx, command) == 0;

	nft_ctx_free(ctx);
	return good;
}

/* A SYN on what a reset has closed. The last: the rule is gone then. */
static void test_syn(void)
{
	is_again(DROPPED, "a SYN on a closed connection is dropped");
	ok(nft("flush chain inet ac served; "
	       "add rule inet ac served ct state invalid drop; "
	       "add rule inet ac served ct state new jump fresh; "
	       "add rule inet ac served accept"),
	   "the rule is taken out");
	is_again(THROUGH, "without it one gets through");
}

int main(void)
{
	struct veth a = { .port = "" }, b = { .port = "" };
	struct err err = { 0 };
	pid_t pid;

	if (unshare(CLONE_NEWNET | CLONE_NEWNS) < 0 || !world()) {
		skip("no network namespaces, or no ip(8), here");
		return done_testing();
	}
	snprintf(path_a, sizeof(path_a), "%s/run/a", top);
	snprintf(path_b, sizeof(path_b), "%s/run/b", top);
	pid = gateway();
	if (!ok(nft_load("images/host/nftables.conf", &err) == 0 &&
			nft_open(&err) == 0,
		"rules %s", err.msg) ||
	    pid < 0 || !sandbox(path_a, IP_A, &a) || !sandbox(path_b, IP_B, &b))
		return done_testing();
	ok(answered(path_a) && answered(path_b), "both are answered");
	/* TCP first: it is counted beside what is live. */
	test_tcp();
	test_udp();
	test_forget(&a);
	test_syn();
	kill(pid, SIGKILL);
	while (wait(NULL) > 0)
		continue;
	sh("umount %s/run/a %s/run/b", top, top);
	file_remove_tree(top);
	return done_testing();
}
