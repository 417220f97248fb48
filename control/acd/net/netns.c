/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netns.c - the network namespace of a sandbox, with its pinned port
 *
 * Theory of operation: acd enters a new namespace for as long as it takes to
 * keep it by a mount and to open a netlink socket in it, and comes back. A
 * process that cannot come back must not live, since everything that it does
 * afterwards would be for the wrong network. The pair is made from outside with
 * one end inside, in the order of veth.h: flags, bridge, filter, and only then
 * up. So no frame leaves the sandbox that is not checked against its one
 * address.
 *
 * The sandbox's kernel takes address and route from eth0 when it starts and
 * speaks through it itself; this namespace's own stack sends nothing.
 *
 * A namespace lives as long as something refers to it. Besides its processes
 * that is the mount, of which other mount namespaces may have a copy (the
 * gateway's, if it has started since). Removing the file detaches all of them.
 */
#include "control/acd/net/netns.h"

#include <arpa/inet.h>
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/veth.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/random.h>

#include "control/acd/net/rtnl.h"
#include "control/shared/paths.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/str.h"

#define OWN_NETNS "/proc/thread-self/ns/net"
#define NO_IPV6 "/proc/sys/net/ipv6/conf/default/disable_ipv6"
#define GUEST_LINK "eth0"

static int failed(struct err *err, int code, const char *what)
{
	return err_set(err, code, "network of the sandbox: %s: %s", what,
		       err_text(code));
}

/* ---- the namespace ---- */

/* Runs in the new namespace. eth0, which comes later, gets the default: no
 * IPv6, which nothing here forwards. "lo" keeps its own setting. */
static int inside_prepare(const char *path, int *ret_nl, struct err *err)
{
	int rc = file_put(NO_IPV6, "1");

	if (rc < 0 && rc != -ENOENT) /* kernels without IPv6 */
		return failed(err, rc, "switch off IPv6");
	if (mount(OWN_NETNS, path, NULL, MS_BIND, NULL) < 0)
		return failed(err, -errno, path);
	rc = rtnl_open();
	if (rc < 0)
		return failed(err, rc, "rtnetlink inside");
	*ret_nl = rc;
	return 0;
}

/* Makes the namespace at @path, an empty file. *ret_nl is a socket inside. */
static int space_make(const char *path, int *ret_nl, struct err *err)
{
	SCOPED_FD home = open(OWN_NETNS, O_RDONLY | O_CLOEXEC);
	int rc;

	if (home < 0)
		return failed(err, -errno, OWN_NETNS);
	if (unshare(CLONE_NEWNET) < 0)
		return failed(err, -errno, "make a namespace");
	rc = inside_prepare(path, ret_nl, err);
	if (setns(home, CLONE_NEWNET) < 0) {
		log_error("no way back to the network of ac-host: %s",
			  err_text(-errno));
		abort();
	}
	return rc;
}

static int file_make(const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	SCOPED_STR dir = slash ? strndup(path, (size_t)(slash - path)) : NULL;
	int fd, rc;

	if (!dir)
		return slash ? err_nomem(err) : failed(err, -EINVAL, path);
	rc = file_mkdir_p(dir, 0700);
	if (rc < 0)
		return failed(err, rc, dir);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		  0600);
	if (fd < 0)
		return failed(err, -errno, path);
	close(fd);
	return 0;
}

static void space_drop(const char *path)
{
	umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW);
	if (unlink(path) < 0 && errno != ENOENT)
		log_warn("remove %s: %s", path, err_text(-errno));
}

/* ---- the pair ---- */

static const uint32_t mtu = AC_MTU;

static int peer_put(struct rtnl_request *rq, int ns, const uint8_t *mac)
{
	const struct ifinfomsg body = { .ifi_family = AF_UNSPEC };
	const uint32_t fd = (uint32_t)ns;
	int peer = rtnl_nest(rq, VETH_INFO_PEER, &body, sizeof(body));
	int rc = peer < 0 ? peer : 0;

	if (rc == 0)
		rc = rtnl_put(rq, IFLA_IFNAME, GUEST_LINK, sizeof(GUEST_LINK));
	if (rc == 0)
		rc = rtnl_put(rq, IFLA_MTU, &mtu, sizeof(mtu));
	if (rc == 0)
		rc = rtnl_put(rq, IFLA_ADDRESS, mac, 6);
	if (rc == 0)
		rc = rtnl_put(rq, IFLA_NET_NS_FD, &fd, sizeof(fd));
	if (rc == 0)
		rtnl_nest_end(rq, peer);
	return rc;
}

/* Makes both ends, down; @port is in the bridge. */
static int pair_make(int nl, const char *path, uint32_t bridge,
		     const char *port, const uint8_t *mac)
{
	SCOPED_FD ns = open(path, O_RDONLY | O_CLOEXEC);
	const struct ifinfomsg body = { .ifi_family = AF_UNSPEC };
	struct rtnl_request rq = { 0 };
	int info, data = 0, rc;

	if (ns < 0)
		return -errno;
	rtnl_begin(&rq, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &body,
		   sizeof(body));
	rc = rtnl_put(&rq, IFLA_IFNAME, port, strlen(port) + 1);
	if (rc == 0)
		rc = rtnl_put(&rq, IFLA_MTU, &mtu, sizeof(mtu));
	if (rc == 0)
		rc = rtnl_put(&rq, IFLA_MASTER, &bridge, sizeof(bridge));
	if (rc < 0)
		return rc;
	info = rtnl_nest(&rq, IFLA_LINKINFO, NULL, 0);
	if (info < 0)
		return info;
	rc = rtnl_put(&rq, IFLA_INFO_KIND, "veth", 4);
	if (rc == 0)
		rc = data = rtnl_nest(&rq, IFLA_INFO_DATA, NULL, 0);
	if (rc >= 0)
		rc = peer_put(&rq, ns, mac);
	if (rc < 0)
		return rc;
	rtnl_nest_end(&rq, data);
	rtnl_nest_end(&rq, info);
	return rtnl_call_all(nl, &rq, 1, 0, NULL);
}

static int link_index(int sock, const char *name)
{
	struct ifreq ifr = { .ifr_name = "" };

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	return ioctl(sock, SIOCGIFINDEX, &ifr) < 0 ? -errno : ifr.ifr_ifindex;
}

static void up_request(struct rtnl_request *rq, int index)
{
	const struct ifinfomsg body = { .ifi_family = AF_UNSPEC,
					.ifi_index = index,
					.ifi_flags = IFF_UP,
					.ifi_change = IFF_UP };

	rtnl_begin(rq, RTM_NEWLINK, 0, &body, sizeof(body));
}

static int address_request(struct rtnl_request *rq, int index,
			   const struct in_addr *ip, unsigned prefix)
{
	const struct ifaddrmsg body = { .ifa_family = AF_INET,
					.ifa_prefixlen = (uint8_t)prefix,
					.ifa_scope = RT_SCOPE_UNIVERSE,
					.ifa_index = (uint32_t)index };
	int rc;

	rtnl_begin(rq, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &body,
		   sizeof(body));
	rc = rtnl_put(rq, IFA_LOCAL, ip, sizeof(*ip));
	return rc < 0 ? rc : rtnl_put(rq, IFA_ADDRESS, ip, sizeof(*ip));
}

static int route_request(struct rtnl_request *rq, const struct in_addr *via)
{
	const struct rtmsg body = { .rtm_family = AF_INET,
				    .rtm_table = RT_TABLE_MAIN,
				    .rtm_protocol = RTPROT_BOOT,
				    .rtm_scope = RT_SCOPE_UNIVERSE,
				    .rtm_type = RTN_UNICAST };

	rtnl_begin(rq, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &body,
		   sizeof(body));
	return rtnl_put(rq, RTA_GATEWAY, via, sizeof(*via));
}

/* ---- all of it ---- */

struct plan {
	const struct netns_spec *spec;
	const struct veth *veth;
	struct in_addr ip, via;
	uint8_t mac[6];
};

static void mac_of(const struct in_addr *ip, uint8_t mac[static 6])
{
	const uint8_t *b = (const uint8_t *)&ip->s_addr;

	memcpy(mac, (const uint8_t[]){ 0x02, 0x42, b[0], b[1], b[2], b[3] }, 6);
}

/* The port's name is unique: the kernel may still have the pair of an address
 * whose next sandbox starts already. */
int netns_veth(const char *address, struct veth *ret)
{
	struct in_addr ip;
	uint64_t number;
	uint8_t m[6];

	if (inet_pton(AF_INET, address, &ip) != 1)
		return -EINVAL;
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	mac_of(&ip, m);
	*ret = (struct veth){ .port = "" };
	snprintf(ret->port, sizeof(ret->port), "sb%012llx",
		 (unsigned long long)number >> 16);
	snprintf(ret->mac, sizeof(ret->mac), "%02x:%02x:%02x:%02x:%02x:%02x",
		 m[0], m[1], m[2], m[3], m[4], m[5]);
	inet_ntop(AF_INET, &ip, ret->address, sizeof(ret->address));
	return 0;
}

static int plan_make(struct plan *p, const struct netns_spec *spec,
		     const struct veth *v, struct err *err)
{
	*p = (struct plan){ .spec = spec, .veth = v };
	if (!*v->port || inet_pton(AF_INET, v->address, &p->ip) != 1 ||
	    inet_pton(AF_INET, spec->gateway, &p->via) != 1 ||
	    spec->prefix > 32)
		return failed(err, -EINVAL, "its addresses");
	mac_of(&p->ip, p->mac);
	return 0;
}

static int outside_make(const struct plan *p, struct err *err)
{
	SCOPED_FD nl = rtnl_open();
	const unsigned bridge = if_nametoindex(p->spec->bridge);
	struct rtnl_request rq = { 0 };
	int rc;

	if (nl < 0)
		return failed(err, nl, "rtnetlink");
	if (bridge == 0)
		return failed(err, -ENODEV, p->spec->bridge);
	rc = pair_make(nl, p->spec->path, bridge, p->veth->port, p->mac);
	if (rc < 0)
		return failed(err, rc, "make its pair");
	rc = veth_pin_port(p->spec->bridge, p->veth, err);
	if (rc < 0)
		return rc;
	rc = link_index(nl, p->veth->port);
	if (rc >= 0) {
		up_request(&rq, rc);
		rc = rtnl_call_all(nl, &rq, 1, 0, NULL);
	}
	return rc < 0 ? failed(err, rc, p->veth->port) : 0;
}

static int inside_make(const struct plan *p, int nl, struct err *err)
{
	static const char *const step[] = { "lo up", "eth0 up", "its address",
					    "its route" };
	struct rtnl_request rq[ARRAY_SIZE(step)] = { 0 };
	const int lo = link_index(nl, "lo");
	const int eth = link_index(nl, GUEST_LINK);
	size_t at = 0;
	int rc;

	if (lo < 0 || eth < 0)
		return failed(err, -ENODEV, "its links");
	up_request(&rq[0], lo);
	up_request(&rq[1], eth);
	rc = address_request(&rq[2], eth, &p->ip, p->spec->prefix);
	if (rc == 0)
		rc = route_request(&rq[3], &p->via);
	if (rc == 0)
		rc = rtnl_call_all(nl, rq, ARRAY_SIZE(rq), ARRAY_SIZE(rq) - 1,
				   &at);
	return rc < 0 ? failed(err, rc, step[at]) : 0;
}

int netns_create(const struct netns_spec *spec, const struct veth *v,
		 struct err *err)
{
	SCOPED_FD nl = -1;
	struct plan p;
	int rc = plan_make(&p, spec, v, err);

	if (rc == 0)
		rc = file_make(spec->path, err);
	if (rc < 0)
		return rc;
	rc = space_make(spec->path, &nl, err);
	if (rc == 0)
		rc = outside_make(&p, err);
	if (rc == 0)
		rc = inside_make(&p, nl, err);
	if (rc < 0)
		netns_destroy(spec->path, spec->bridge, v);
	return rc;
}

void netns_destroy(const char *path, const char *bridge, const struct veth *v)
{
	if (*v->port)
		veth_unpin(bridge, v);
	space_drop(path);
}

/* ---- what passed ---- */

/* The kernel's struct grows at its end; every version has this much. */
struct counters {
	uint64_t rx_packets, tx_packets, rx_bytes, tx_bytes;
	bool found;
};

#define COUNTERS_BYTES offsetof(struct counters, found)

static_assert(offsetof(struct rtnl_link_stats64, tx_bytes) ==
		      offsetof(struct counters, tx_bytes),
	      "the start of rtnl_link_stats64");

static void on_stats(void *arg, const struct nlmsghdr *m)
{
	struct counters *c = arg;
	const void *stats = rtnl_find(m, sizeof(struct ifinfomsg), IFLA_STATS64,
				      COUNTERS_BYTES);

	if (m->nlmsg_type != RTM_NEWLINK || !stats)
		return;
	memcpy(c, stats, COUNTERS_BYTES);
	c->found = true;
}

int netns_counters(const struct veth *v, uint64_t *ret_rx, uint64_t *ret_tx)
{
	SCOPED_FD nl = rtnl_open();
	const struct ifinfomsg body = { .ifi_family = AF_UNSPEC };
	struct rtnl_request rq = { 0 };
	struct counters c = { .found = false };
	int rc;

	if (nl < 0)
		return nl;
	rtnl_begin(&rq, RTM_GETLINK, 0, &body, sizeof(body));
	rc = rtnl_put(&rq, IFLA_IFNAME, v->port, strlen(v->port) + 1);
	if (rc == 0)
		rc = rtnl_call(nl, &rq, on_stats, &c);
	if (rc < 0)
		return rc;
	if (!c.found)
		return -ENODATA;
	*ret_rx = c.tx_bytes; /* what left the port, the sandbox received */
	*ret_tx = c.rx_bytes;
	return 0;
}

void netns_sweep(const char *dir)
{
	SCOPED_DIR d = opendir(dir);
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		SCOPED_STR path = NULL;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		path = str_printf("%s/%s", dir, e->d_name);
		if (path)
			space_drop(path);
	}
}
