/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netns.c - the network namespace of a sandbox, with its pinned port
 *
 * Theory of operation: acd enters a namespace of its own making for as long
 * as it takes to keep it by a mount and to open a netlink socket in it, and
 * comes back; a process that could not come back must not live, since all
 * that it does from then on would be for the wrong network. The pair is made
 * from outside with one end in there, and the order is that of veth.h: flags,
 * bridge, filter, and only then up. So no frame leaves the sandbox that is
 * not held against its one address.
 *
 * The sandbox's kernel takes address and route from eth0 when it starts and
 * speaks through it itself; this namespace's own stack says nothing.
 *
 * A namespace lives as long as something refers to it. Besides its processes
 * that is the mount, of which other mount namespaces may have a copy (the
 * gateway's, if it started meanwhile): removing the file detaches them all.
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

/* In the new namespace. eth0, which comes later, takes the default: no IPv6,
 * which nothing here forwards. "lo" keeps its own. */
static int inside_prepare(const char *path, int *ret_nl, struct err *err)
{
	int r = file_put(NO_IPV6, "1");

	if (r < 0 && r != -ENOENT) /* a kernel without it */
		return failed(err, r, "switch off IPv6");
	if (mount(OWN_NETNS, path, NULL, MS_BIND, NULL) < 0)
		return failed(err, -errno, path);
	r = rtnl_open();
	if (r < 0)
		return failed(err, r, "rtnetlink inside");
	*ret_nl = r;
	return 0;
}

/* Makes it at @path, an empty file; a socket that is inside. */
static int space_make(const char *path, int *ret_nl, struct err *err)
{
	SCOPED_FD home = open(OWN_NETNS, O_RDONLY | O_CLOEXEC);
	int r;

	if (home < 0)
		return failed(err, -errno, OWN_NETNS);
	if (unshare(CLONE_NEWNET) < 0)
		return failed(err, -errno, "make a namespace");
	r = inside_prepare(path, ret_nl, err);
	if (setns(home, CLONE_NEWNET) < 0) {
		log_error("no way back to the network of ac-host: %s",
			  err_text(-errno));
		abort();
	}
	return r;
}

static int file_make(const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	SCOPED_STR dir = slash ? strndup(path, (size_t)(slash - path)) : NULL;
	int fd, r;

	if (!dir)
		return slash ? err_nomem(err) : failed(err, -EINVAL, path);
	r = file_mkdir_p(dir, 0700);
	if (r < 0)
		return failed(err, r, dir);
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

static int peer_put(struct rtnl_request *rq, int ns, const uint8_t *mac)
{
	const struct ifinfomsg body = { .ifi_family = AF_UNSPEC };
	const uint32_t fd = (uint32_t)ns;
	int peer = rtnl_nest(rq, VETH_INFO_PEER, &body, sizeof(body));
	int r = peer < 0 ? peer : 0;

	if (r == 0)
		r = rtnl_put(rq, IFLA_IFNAME, GUEST_LINK, sizeof(GUEST_LINK));
	if (r == 0)
		r = rtnl_put(rq, IFLA_ADDRESS, mac, 6);
	if (r == 0)
		r = rtnl_put(rq, IFLA_NET_NS_FD, &fd, sizeof(fd));
	if (r == 0)
		rtnl_nest_end(rq, peer);
	return r;
}

/* Both ends, down; @port is with the bridge. */
static int pair_make(int nl, const char *path, uint32_t bridge,
		     const char *port, const uint8_t *mac)
{
	SCOPED_FD ns = open(path, O_RDONLY | O_CLOEXEC);
	const struct ifinfomsg body = { .ifi_family = AF_UNSPEC };
	struct rtnl_request rq = { 0 };
	int info, data = 0, r;

	if (ns < 0)
		return -errno;
	rtnl_begin(&rq, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &body,
		   sizeof(body));
	r = rtnl_put(&rq, IFLA_IFNAME, port, strlen(port) + 1);
	if (r == 0)
		r = rtnl_put(&rq, IFLA_MASTER, &bridge, sizeof(bridge));
	if (r < 0)
		return r;
	info = rtnl_nest(&rq, IFLA_LINKINFO, NULL, 0);
	if (info < 0)
		return info;
	r = rtnl_put(&rq, IFLA_INFO_KIND, "veth", 4);
	if (r == 0)
		r = data = rtnl_nest(&rq, IFLA_INFO_DATA, NULL, 0);
	if (r >= 0)
		r = peer_put(&rq, ns, mac);
	if (r < 0)
		return r;
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
	int r;

	rtnl_begin(rq, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &body,
		   sizeof(body));
	r = rtnl_put(rq, IFA_LOCAL, ip, sizeof(*ip));
	return r < 0 ? r : rtnl_put(rq, IFA_ADDRESS, ip, sizeof(*ip));
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

/* A port's name is nobody else's: the kernel may still have the pair of an
 * address whose next sandbox starts already. */
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
	int r;

	if (nl < 0)
		return failed(err, nl, "rtnetlink");
	if (bridge == 0)
		return failed(err, -ENODEV, p->spec->bridge);
	r = pair_make(nl, p->spec->path, bridge, p->veth->port, p->mac);
	if (r < 0)
		return failed(err, r, "make its pair");
	r = veth_pin_port(p->spec->bridge, p->veth, err);
	if (r < 0)
		return r;
	r = link_index(nl, p->veth->port);
	if (r >= 0) {
		up_request(&rq, r);
		r = rtnl_call_all(nl, &rq, 1, 0, NULL);
	}
	return r < 0 ? failed(err, r, p->veth->port) : 0;
}

static int inside_make(const struct plan *p, int nl, struct err *err)
{
	static const char *const step[] = { "lo up", "eth0 up", "its address",
					    "its route" };
	struct rtnl_request rq[ARRAY_SIZE(step)] = { 0 };
	const int lo = link_index(nl, "lo");
	const int eth = link_index(nl, GUEST_LINK);
	size_t at = 0;
	int r;

	if (lo < 0 || eth < 0)
		return failed(err, -ENODEV, "its links");
	up_request(&rq[0], lo);
	up_request(&rq[1], eth);
	r = address_request(&rq[2], eth, &p->ip, p->spec->prefix);
	if (r == 0)
		r = route_request(&rq[3], &p->via);
	if (r == 0)
		r = rtnl_call_all(nl, rq, ARRAY_SIZE(rq), ARRAY_SIZE(rq) - 1,
				  &at);
	return r < 0 ? failed(err, r, step[at]) : 0;
}

int netns_create(const struct netns_spec *spec, const struct veth *v,
		 struct err *err)
{
	SCOPED_FD nl = -1;
	struct plan p;
	int r = plan_make(&p, spec, v, err);

	if (r == 0)
		r = file_make(spec->path, err);
	if (r < 0)
		return r;
	r = space_make(spec->path, &nl, err);
	if (r == 0)
		r = outside_make(&p, err);
	if (r == 0)
		r = inside_make(&p, nl, err);
	if (r < 0)
		netns_destroy(spec->path, spec->bridge, v);
	return r;
}

void netns_destroy(const char *path, const char *bridge, const struct veth *v)
{
	if (*v->port)
		veth_unpin(bridge, v);
	space_drop(path);
}

/* ---- what passed ---- */

/* The kernel's struct grows at its end; this much every one has. */
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
	int r;

	if (nl < 0)
		return nl;
	rtnl_begin(&rq, RTM_GETLINK, 0, &body, sizeof(body));
	r = rtnl_put(&rq, IFLA_IFNAME, v->port, strlen(v->port) + 1);
	if (r == 0)
		r = rtnl_call(nl, &rq, on_stats, &c);
	if (r < 0)
		return r;
	if (!c.found)
		return -ENODATA;
	*ret_rx = c.tx_bytes; /* what left by the port */
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
