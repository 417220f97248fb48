/* SPDX-License-Identifier: Apache-2.0 */
/*
 * veth_test.c - ports of a real bridge, pinned; frames with borrowed
 * addresses, and what arrives of them
 *
 * Two sandboxes are network namespaces of children; the test's own is the
 * gateway. Skipped where namespaces are not permitted or ip(8) is not there.
 */
#include "control/acd/net/veth.h"

#include <arpa/inet.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "control/acd/net/nft.h"
#include "control/acd/net/rtnl.h"
#include "lib/str.h"
#include "tests/unit/control/acd/net/netns_world.h"
#include "tests/unit/tap.h"

#define MAC_A "02:42:ac:14:01:01"
#define MAC_B "02:42:ac:14:01:02"
#define IP_A "172.20.1.1"
#define IP_B "172.20.1.2"

static pid_t box[2];

/* In the namespace of a box. */
#define IN_BOX "nsenter -t %d -n "

static bool world(void)
{
	static const char *const mac[] = { MAC_A, MAC_B };
	static const char *const ip[] = { IP_A, IP_B };
	bool good = sh("ip link add ac0 type bridge && ip link set ac0 up && "
		       "ip addr add 172.20.0.53/16 dev ac0 && "
		       "ip link set lo up");

	for (int i = 0; good && i < 2; i++) {
		box[i] = netns_holder(CLONE_NEWNET);
		good = box[i] > 0 &&
		       sh("ip link add v%d type veth peer name eth0 "
			  "address %s netns %d && ip link set v%d master ac0 "
			  "up",
			  i, mac[i], (int)box[i], i) &&
		       sh(IN_BOX "ip link set eth0 up", (int)box[i]) &&
		       sh(IN_BOX "ip addr add %s/16 dev eth0", (int)box[i],
			  ip[i]);
	}
	return good;
}

static int pin(int i, const char *mac, const char *ip, struct veth *ret,
	       struct err *err)
{
	char netns[64];

	snprintf(netns, sizeof(netns), "/proc/%d/ns/net", (int)box[i]);
	return veth_pin("ac0", netns, mac, ip, ret, err);
}

/* A question to the gateway from box @i; who asked, "" when none came. Each has
 * a number: one that a busy machine brings late is not taken for the next. */
static const char *ask(int sock, int i)
{
	static char from[INET_ADDRSTRLEN];
	static unsigned number;
	struct sockaddr_in sa;
	socklen_t len = sizeof(sa);
	char data[64] = "", want[16];
	ssize_t n;

	from[0] = '\0';
	snprintf(want, sizeof(want), "q%u\n", ++number);
	sh(IN_BOX "ip neigh flush dev eth0", (int)box[i]);
	sh(IN_BOX "bash -c 'echo q%u >/dev/udp/172.20.0.53/53' 2>/dev/null",
	   (int)box[i], number);
	do
		n = recvfrom(sock, data, sizeof(data) - 1, 0, (void *)&sa,
			     &len);
	while (n > 0 && strncmp(data, want, strlen(want)) != 0);
	if (n > 0)
		inet_ntop(AF_INET, &sa.sin_addr, from, sizeof(from));
	return from;
}

static int gateway(void)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_port = htons(53) };
	const struct timeval limit = { .tv_sec = 1 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, "172.20.0.53", &sa.sin_addr);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (bind(fd, (void *)&sa, sizeof(sa)) < 0)
		perror("# bind");
	return fd;
}

static void test_refused(void)
{
	struct err err = { 0 };
	struct veth v;

	is_int(veth_pin("ac0", "/nonexistent", MAC_A, IP_A, &v, &err), -ENOENT,
	       "%s", err.msg);
	is_int(veth_pin("ac0", "/dev/null", MAC_A, IP_A, &v, &err), -EINVAL,
	       "no namespace: %s", err.msg);
	is_int(veth_pin("ac9", "/proc/self/ns/net", MAC_A, IP_A, &v, &err),
	       -ENODEV, "no bridge: %s", err.msg);
	is_int(veth_pin("ac0", "/proc/self/ns/net", MAC_A, IP_A, &v, &err),
	       -ENODEV, "no port leads there: %s", err.msg);
	is_int(pin(0, "02:42:ac:14:01", IP_A, &v, &err), -EINVAL, "%s",
	       err.msg);
	is_int(pin(0, MAC_A "0", IP_A, &v, &err), -EINVAL, "%s", err.msg);
	is_int(pin(0, MAC_A, "172.20.1.1.1", &v, &err), -EINVAL, "%s", err.msg);
}

static void test_spoof(int sock, const struct veth *a)
{
	is_str(ask(sock, 0), IP_A, "pinned: heard");
	is_str(ask(sock, 1), IP_B, "the other too");
	sh(IN_BOX "ip addr add " IP_B "/16 dev eth0 && "
		  "nsenter -t %d -n ip addr del " IP_A "/16 dev eth0",
	   (int)box[0], (int)box[0]);
	is_str(ask(sock, 0), "", "the other's address: nothing came");
	is_str(ask(sock, 1), IP_B, "whose own still works");
	sh(IN_BOX "ip addr flush dev eth0", (int)box[0]);
	sh(IN_BOX "ip addr add " IP_A "/16 dev eth0", (int)box[0]);
	is_str(ask(sock, 0), IP_A, "back: heard");
	sh(IN_BOX "ip link set eth0 address " MAC_B, (int)box[0]);
	is_str(ask(sock, 0), "", "the other's MAC: nothing came");
	sh(IN_BOX "ip link set eth0 address " MAC_A, (int)box[0]);
	is_str(ask(sock, 0), IP_A, "back: heard");
	sh(IN_BOX "bash -c 'echo q >/dev/udp/" IP_B "/53'", (int)box[0]);
	ok(!sh(IN_BOX "ip neigh show " IP_B " | grep -q lladdr", (int)box[0]),
	   "no frame from port to port");
	veth_unpin("ac0", a);
	is_str(ask(sock, 0), "", "unpinned: nothing came");
	sh("ip neigh replace " IP_A " lladdr " MAC_B " nud permanent dev ac0");
	veth_unpin("ac0", a);
	ok(sh("ip neigh show " IP_A " dev ac0 | grep -q '" MAC_B " PERMANENT'"),
	   "unpinned again: its next owner's neighbour entry stays");
}

static void test_port(const struct veth *a)
{
	ok(sh("ip -d link show %s | grep -q 'learning off flood off.*isolated "
	      "on'",
	      a->port),
	   "the port is isolated and learns nothing");
	ok(sh("ip neigh show " IP_A " dev ac0 | grep -q '" MAC_A " PERMANENT'"),
	   "its address is at its MAC for good");
	ok(sh("bridge fdb show dev %s | grep -q '" MAC_A " .*static'", a->port),
	   "and its MAC behind its port");
}

static void test_harden(void)
{
	struct err err = { 0 };

	sh("sysctl -qw net.ipv4.conf.ac0.forwarding=1");
	is_int(veth_bridge_harden("ac0", &err), 0, "hardened %s", err.msg);
	ok(sh("test $(cat /proc/sys/net/ipv4/conf/ac0/forwarding) = 0"),
	   "it forwards nothing");
	ok(veth_bridge_harden("ac9", &err) < 0, "no bridge: %s", err.msg);
}

static void test_rtnl(void)
{
	struct rtnl_request rq = { 0 };
	const uint8_t big[RTNL_REQUEST_MAX] = { 0 };
	const uint32_t lie = 0xffff0008;
	const struct ifinfomsg body = { 0 };
	const void *nest;
	int at;

	rtnl_begin(&rq, RTM_GETLINK, 0, &body, sizeof(body));
	is_int(rtnl_put(&rq, 1, big, sizeof(big)), -ENOBUFS, "too much");
	is_int(rtnl_put(&rq, 5, "abcd", 4), 0, "an attribute");
	ok(rtnl_find(&rq.head, sizeof(body), 5, 4) != NULL, "is found");
	ok(!rtnl_find(&rq.head, sizeof(body), 5, 5), "not as a longer one");
	ok(!rtnl_find(&rq.head, sizeof(body), 6, 0), "nor as another");
	at = rtnl_nest(&rq, 7, "xy", 2);
	ok(at > 0 && rtnl_put(&rq, 8, "z", 1) == 0, "one inside another");
	rtnl_nest_end(&rq, at);
	is_int(rtnl_put(&rq, 9, NULL, 0), 0, "one behind it");
	nest = rtnl_find(&rq.head, sizeof(body), 7, 2);
	if (ok(nest != NULL, "it is found"))
		is_int(rtnl_length(nest), 12, "with what is in it");
	ok(!rtnl_find(&rq.head, sizeof(body), 8, 0), "which is not outside");
	ok(rtnl_find(&rq.head, sizeof(body), 9, 0) != NULL, "what is behind");
	memcpy(rq.mem + NLMSG_LENGTH(sizeof(body)), &lie, 4);
	ok(!rtnl_find(&rq.head, sizeof(body), 5, 0), "a length that lies");
}

int main(void)
{
	struct err err = { 0 };
	struct veth a = { .port = "" }, b = { .port = "" };
	int sock;

	test_rtnl();
	if (unshare(CLONE_NEWNET) < 0 || !world()) {
		skip("no network namespaces, or no ip(8), here");
		return done_testing();
	}
	if (!ok(nft_load("images/host/nftables.conf", &err) == 0 &&
			nft_open(&err) == 0,
		"rules %s", err.msg))
		return done_testing();
	sock = gateway();
	is_str(ask(sock, 0), "", "before it is pinned nothing comes");
	test_refused();
	is_int(pin(0, MAC_A, IP_A, &a, &err), 0, "pinned %s", err.msg);
	is_int(pin(1, MAC_B, IP_B, &b, &err), 0, "pinned %s", err.msg);
	is_str(a.port, "v0", "its port");
	is_str(b.port, "v1", "its port");
	test_port(&a);
	test_spoof(sock, &a);
	test_harden();
	close(sock);
	for (int i = 0; i < 2; i++)
		kill(box[i], SIGKILL);
	while (wait(NULL) > 0)
		continue;
	return done_testing();
}
