/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netns_test.c - namespaces of sandboxes on a real bridge with the real rules
 *
 * The test's own network namespace is ac-host, its own mount namespace keeps
 * what it mounts away from the machine. Skipped where namespaces are not
 * permitted or ip(8) is not there.
 */
#include "control/acd/net/netns.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "control/acd/net/nft.h"
#include "control/shared/paths.h"
#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/control/acd/net/netns_world.h"
#include "tests/unit/tap.h"

#define IP_A "172.20.1.1"
#define IP_B "172.20.255.254"
#define GATEWAY "172.20.0.53"
#define WAIT_MS 5000

static char top[] = "/tmp/netns_test.XXXXXX";
static char path_a[64], path_b[64];

/* In the namespace at a path. */
#define IN "nsenter --net=%s "

/* With a MAC of its own, as the engine makes it: one that comes from a port
 * changes with the ports, and forgets its neighbours then. */
static bool world(void)
{
	return mkdtemp(top) &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       sh("ip link add ac0 address 02:42:01:02:03:04 type bridge && "
		  "ip link set ac0 up && "
		  "ip addr add " GATEWAY "/16 dev ac0 && ip link set lo up");
}

static int create(const char *path, const char *address, struct veth *ret,
		  struct err *err)
{
	const struct netns_spec spec = {
		.path = path, .bridge = "ac0", .gateway = GATEWAY, .prefix = 16
	};
	int rc = netns_veth(address, ret);

	return rc < 0 ? rc : netns_create(&spec, ret, err);
}

static int gateway(void)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_port = htons(53) };
	const struct timeval limit = { .tv_usec = 400000 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, GATEWAY, &sa.sin_addr);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (bind(fd, (void *)&sa, sizeof(sa)) < 0)
		perror("# bind");
	return fd;
}

/* A question to the gateway; who asked, "" when none came. */
static const char *ask(int sock, const char *path)
{
	static char from[INET_ADDRSTRLEN];
	struct sockaddr_in sa;
	socklen_t len = sizeof(sa);
	char data[64];

	from[0] = '\0';
	sh(IN "bash -c 'echo q >/dev/udp/" GATEWAY "/53' 2>/dev/null", path);
	if (recvfrom(sock, data, sizeof(data), 0, (void *)&sa, &len) > 0)
		inet_ntop(AF_INET, &sa.sin_addr, from, sizeof(from));
	return from;
}

static bool port_goes(const struct veth *v)
{
	for (int ms = 0; ms < WAIT_MS; ms += 10) {
		if (if_nametoindex(v->port) == 0)
			return true;
		usleep(10000);
	}
	return false;
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

static void test_inside(const struct veth *v)
{
	is_str(v->mac, "02:42:ac:14:01:01", "the MAC is that of its address");
	is_str(v->address, IP_A, "the address");
	ok(sh(IN "ip -br link show eth0 | grep -q '%s.*LOWER_UP'", path_a,
	      v->mac),
	   "eth0 is up with its MAC");
	ok(sh(IN "ip -o link show eth0 | grep -q 'mtu %u '", path_a, AC_MTU) &&
		   sh("ip -o link show %s | grep -q 'mtu %u '", v->port,
		      AC_MTU),
	   "both ends take packets of %u bytes", AC_MTU);
	ok(sh(IN "ip -br addr show eth0 | grep -q ' " IP_A "/16 *$'", path_a),
	   "it has its address and no other, IPv6 included");
	ok(sh(IN "ip route | grep -q '^default via " GATEWAY " dev eth0'",
	      path_a),
	   "the default route leads to the gateway");
	ok(sh(IN "ip -br addr show lo | grep -q '127.0.0.1/8'", path_a),
	   "lo is up");
	ok(sh("ip -d -o link show %s | grep 'master ac0' | grep -q 'learning "
	      "off flood off.*isolated on'",
	      v->port),
	   "its port is with the bridge, isolated, and learns nothing");
	ok(sh("ip neigh show " IP_A " dev ac0 | grep -q '%s PERMANENT'",
	      v->mac),
	   "its address is at its MAC for good");
	ok(sh("nft list set bridge ac pinned | grep -q " IP_A),
	   "it is in the packet filter");
	ok(if_nametoindex("eth0") == 0 && if_nametoindex("ac0") > 0,
	   "and we are where we were");
}

/* Does the sandbox's own kernel count as we do? */
static bool counts_agree(const struct veth *v)
{
	uint64_t rx = 0, tx = 0;

	return netns_counters(v, &rx, &tx) == 0 && tx > 0 &&
	       sh(IN "awk '/eth0:/ { exit !($2 == %llu && $10 == %llu) }' "
		     "/proc/net/dev",
		  path_a, (unsigned long long)rx, (unsigned long long)tx);
}

static void test_traffic(int sock, const struct veth *v)
{
	is_str(ask(sock, path_a), IP_A, "the first packet is heard");
	is_str(ask(sock, path_b), IP_B, "the other's too");
	/* A frame of the bridge's own may come between two looks. */
	ok(counts_agree(v) || counts_agree(v) || counts_agree(v),
	   "bytes are counted as the sandbox does");
	sh(IN "ip addr flush dev eth0", path_a);
	sh(IN "ip addr add " IP_B "/16 dev eth0", path_a);
	is_str(ask(sock, path_a), "", "as another it is not heard");
	is_str(ask(sock, path_b), IP_B, "that other is");
}

/* Nothing of a failed one stays: no file, no port, no neighbour. */
static void test_refused(void)
{
	struct netns_spec spec = { .path = path_a,
				   .bridge = "ac9",
				   .gateway = GATEWAY,
				   .prefix = 16 };
	struct veth v = { .port = "" };
	struct err err = { 0 };

	is_int(netns_create(&spec, &v, &err), -EINVAL, "no port: %s", err.msg);
	is_int(netns_veth("172.20.1", &v), -EINVAL, "no address");
	is_int(netns_veth(IP_A, &v), 0, "a port");
	is_int(netns_create(&spec, &v, &err), -ENODEV, "%s", err.msg);
	ok(!is_there(path_a), "no bridge: nothing is left");
	spec.bridge = "ac0";
	spec.gateway = "fe80::1";
	is_int(netns_create(&spec, &v, &err), -EINVAL, "%s", err.msg);
	spec.gateway = "10.1.1.1";
	is_int(netns_create(&spec, &v, &err), -ENETUNREACH, "%s", err.msg);
	ok(!is_there(path_a), "a route to nowhere: nothing is left");
	ok(!sh("ip neigh show " IP_A " | grep -q PERMANENT"), "no neighbour");
	ok(!sh("nft list set bridge ac pinned | grep -q " IP_A), "no pin");
	ok(sh("for i in $(seq 100); do ip -br link show type veth | grep -q . "
	      "|| exit 0; sleep 0.05; done; exit 1"),
	   "no port");
	spec.gateway = GATEWAY;
	spec.path = "nowhere";
	is_int(netns_create(&spec, &v, &err), -EINVAL, "%s", err.msg);
	ok(if_nametoindex("ac0") > 0, "and we are where we were");
	is_int(netns_counters(&v, &(uint64_t){ 0 }, &(uint64_t){ 0 }), -ENODEV,
	       "no port, no counters");
}

static void test_taken(void)
{
	struct veth v = { .port = "" };
	struct err err = { 0 };

	is_int(create(path_a, "172.20.1.9", &v, &err), -EEXIST,
	       "the path is taken: %s", err.msg);
	ok(sh(IN "ip -br addr show eth0 | grep -q " IP_A, path_a),
	   "who has it keeps it");
}

static void test_destroy(int sock, const struct veth *a, const struct veth *b)
{
	/* With a copy of our mounts, as the gateway is. */
	pid_t holder = netns_holder(CLONE_NEWNS);
	struct veth again = { .port = "" };
	struct err err = { 0 };
	char dir[64];

	netns_destroy(path_a, "ac0", a);
	ok(!is_there(path_a), "the file is gone");
	ok(!sh("nft list set bridge ac pinned | grep -q '" IP_A " '"),
	   "nobody is pinned to its address");
	is_int(create(path_a, IP_A, &again, &err), 0,
	       "its address can be used again at once %s", err.msg);
	ok(strcmp(again.port, a->port) != 0, "by another port");
	ok(port_goes(a), "the old one goes, whoever copied our mounts");
	is_str(ask(sock, path_a), IP_A, "the new one is heard");
	ok(sh("bridge fdb show dev %s | grep -q '%s .*static'", again.port,
	      again.mac),
	   "its MAC is behind its port");
	netns_destroy(path_a, "ac0", &again);
	netns_destroy(path_a, "ac0", &again);
	netns_destroy(path_a, "ac0", &(struct veth){ .port = "" });
	ok(true, "once more is fine");
	snprintf(dir, sizeof(dir), "%s/run", top);
	netns_sweep(dir);
	ok(!is_there(path_b), "swept");
	ok(port_goes(b), "with its port");
	netns_sweep("/nonexistent");
	if (holder > 0)
		kill(holder, SIGKILL);
	while (wait(NULL) > 0)
		continue;
}

/* Who makes one is killed before it has told anybody: what was planned is
 * enough to take all of it away. */
static void test_killed(void)
{
	struct err err = { 0 };
	struct veth v = { .port = "" };
	const struct netns_spec spec = { .path = path_b,
					 .bridge = "ac0",
					 .gateway = GATEWAY,
					 .prefix = 16 };
	int status = -1;
	pid_t pid;

	is_int(netns_veth(IP_B, &v), 0, "planned");
	netns_destroy(path_b, "ac0", &v);
	ok(true, "never made: nothing to take away");
	pid = fork();
	if (pid == 0) {
		if (netns_create(&spec, &v, &err) < 0)
			printf("# %s\n", err.msg);
		fflush(stdout);
		raise(SIGKILL);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	ok(sh("ip neigh show " IP_B " | grep -q PERMANENT") &&
		   if_nametoindex(v.port) > 0,
	   "it was pinned");
	netns_destroy(path_b, "ac0", &v);
	ok(!sh("nft list set bridge ac pinned | grep -q %s", v.port) &&
		   !sh("ip neigh show " IP_B " | grep -q PERMANENT") &&
		   !is_there(path_b) && port_goes(&v),
	   "and nothing of it stays");
}

/* A child that makes one does not touch what its parent's numbers are now. */
static void test_child(void)
{
	struct err err = { 0 };
	struct veth v = { .port = "" };
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		int fd;

		for (fd = 3; fd < 64; fd++)
			dup2(0, fd);
		if (create(path_b, IP_B, &v, &err) < 0)
			_exit(2);
		while (--fd >= 3)
			if (fcntl(fd, F_GETFD) < 0)
				_exit(3);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	is_int(status, 0, "a child makes one, and keeps its descriptors");
	is_int(create(path_a, IP_A, &v, &err), 0, "so does its parent %s",
	       err.msg);
	netns_destroy(path_a, "ac0", &v);
	netns_destroy(path_b, "ac0", &(struct veth){ .port = "" });
}

int main(void)
{
	struct err err = { 0 };
	struct veth a = { .port = "" }, b = { .port = "" };
	int sock;

	if (unshare(CLONE_NEWNET | CLONE_NEWNS) < 0 || !world()) {
		skip("no network namespaces, or no ip(8), here");
		return done_testing();
	}
	snprintf(path_a, sizeof(path_a), "%s/run/a", top);
	snprintf(path_b, sizeof(path_b), "%s/run/b", top);
	if (!ok(nft_load("images/host/nftables.conf", &err) == 0 &&
			nft_open(&err) == 0,
		"rules %s", err.msg))
		return done_testing();
	sock = gateway();
	test_refused();
	is_int(create(path_a, IP_A, &a, &err), 0, "made %s", err.msg);
	is_int(create(path_b, IP_B, &b, &err), 0, "another %s", err.msg);
	test_taken();
	test_inside(&a);
	test_traffic(sock, &a);
	test_destroy(sock, &a, &b);
	test_child();
	test_killed();
	close(sock);
	file_remove_tree(top);
	return done_testing();
}
