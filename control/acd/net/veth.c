/* SPDX-License-Identifier: Apache-2.0 */
/*
 * veth.c - a sandbox's port of the bridge, pinned to its address
 *
 * Theory of operation: the address of a sandbox is its identity, so no other
 * may use it. The engine tells only the sandbox's network namespace; the kernel
 * tells which port of the bridge has its other end there. A frame then passes
 * only if {port, MAC, address} is in the set `pinned` of the packet filter.
 *
 * In addition the port is isolated from the others, and the bridge learns no
 * MAC from it and floods nothing to it. So frames for a MAC leave only by its
 * port, and a permanent neighbour entry makes ARP useless.
 */
#include "control/acd/net/veth.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_bridge.h>
#include <linux/neighbour.h>
#include <linux/net_namespace.h>
#include <string.h>

#include "control/acd/net/nft.h"
#include "control/acd/net/rtnl.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/str.h"

struct search {
	uint32_t bridge; /* in */
	int32_t nsid;
	unsigned found; /* out */
	int port;
	char name[IF_NAMESIZE];
};

static void on_link(void *arg, const struct nlmsghdr *m)
{
	const size_t skip = sizeof(struct ifinfomsg);
	struct search *s = arg;
	struct ifinfomsg info;
	const uint32_t *master = rtnl_find(m, skip, IFLA_MASTER, 4);
	const int32_t *nsid = rtnl_find(m, skip, IFLA_LINK_NETNSID, 4);
	const char *name = rtnl_find(m, skip, IFLA_IFNAME, 2);

	if (m->nlmsg_type != RTM_NEWLINK ||
	    m->nlmsg_len < NLMSG_LENGTH(sizeof(info)) || !master || !nsid ||
	    !name || *master != s->bridge || *nsid != s->nsid || s->nsid < 0)
		return;
	memcpy(&info, (const uint8_t *)m + NLMSG_HDRLEN, sizeof(info));
	s->found++;
	s->port = info.ifi_index;
	snprintf(s->name, sizeof(s->name), "%.*s", (int)sizeof(s->name) - 1,
		 name);
}

static void on_nsid(void *arg, const struct nlmsghdr *m)
{
	const int32_t *nsid =
		rtnl_find(m, sizeof(struct rtgenmsg), NETNSA_NSID, 4);

	if (m->nlmsg_type == RTM_NEWNSID && nsid)
		*(int32_t *)arg = *nsid;
}

static int nsid_ask(int nl, int netns, int32_t *ret)
{
	const struct rtgenmsg body = { .rtgen_family = AF_UNSPEC };
	const int32_t fd = netns;
	struct rtnl_request rq = { 0 };
	int rc;

	*ret = -1;
	rtnl_begin(&rq, RTM_GETNSID, 0, &body, sizeof(body));
	rc = rtnl_put(&rq, NETNSA_FD, &fd, sizeof(fd));
	return rc < 0 ? rc : rtnl_call(nl, &rq, on_nsid, ret);
}

static int links_ask(int nl, struct search *s)
{
	const struct ifinfomsg body = { .ifi_family = AF_UNSPEC };
	struct rtnl_request rq = { 0 };

	rtnl_begin(&rq, RTM_GETLINK, NLM_F_DUMP, &body, sizeof(body));
	return rtnl_call(nl, &rq, on_link, s);
}

/* Finds the port. The namespace may have no id yet; listing the links gives it
 * one. */
static int port_find(int nl, int netns, struct search *s)
{
	int rc = nsid_ask(nl, netns, &s->nsid);

	if (rc == 0)
		rc = links_ask(nl, s);
	if (rc == 0 && s->nsid < 0) {
		rc = nsid_ask(nl, netns, &s->nsid);
		if (rc == 0)
			rc = links_ask(nl, s);
	}
	if (rc < 0)
		return rc;
	return s->found == 1 ? 0 : s->found ? -EEXIST : -ENODEV;
}

/* ---- the port ---- */

static int port_request(struct rtnl_request *rq, int port)
{
	static const struct {
		uint16_t type;
		uint8_t value;
	} flags[] = {
		{ IFLA_BRPORT_ISOLATED, 1 },
		{ IFLA_BRPORT_LEARNING, 0 },
		{ IFLA_BRPORT_UNICAST_FLOOD, 0 },
		{ IFLA_BRPORT_MCAST_FLOOD, 0 },
		{ IFLA_BRPORT_BCAST_FLOOD, 0 },
		{ IFLA_BRPORT_MODE, 0 }, /* hairpin */
	};
	const struct ifinfomsg body = { .ifi_family = AF_BRIDGE,
					.ifi_index = port };
	int nest, rc = 0;

	rtnl_begin(rq, RTM_SETLINK, 0, &body, sizeof(body));
	nest = rtnl_nest(rq, IFLA_PROTINFO, NULL, 0);
	if (nest < 0)
		return nest;
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(flags); i++)
		rc = rtnl_put(rq, flags[i].type, &flags[i].value, 1);
	rtnl_nest_end(rq, nest);
	return rc;
}

/* Binds the MAC to this port permanently. */
static int fdb_request(struct rtnl_request *rq, int port,
		       const uint8_t mac[static 6])
{
	const struct ndmsg body = { .ndm_family = AF_BRIDGE,
				    .ndm_ifindex = port,
				    .ndm_state = NUD_NOARP,
				    .ndm_flags = NTF_MASTER };

	rtnl_begin(rq, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &body,
		   sizeof(body));
	return rtnl_put(rq, NDA_LLADDR, mac, 6);
}

/* Binds the address to this MAC permanently. */
static int neighbour_request(struct rtnl_request *rq, uint16_t type,
			     unsigned bridge, const struct in_addr *address,
			     const uint8_t *mac)
{
	const struct ndmsg body = { .ndm_family = AF_INET,
				    .ndm_ifindex = (int)bridge,
				    .ndm_state = NUD_PERMANENT };
	const uint16_t flags =
		type == RTM_NEWNEIGH ? NLM_F_CREATE | NLM_F_REPLACE : 0;
	int rc;

	rtnl_begin(rq, type, flags, &body, sizeof(body));
	rc = rtnl_put(rq, NDA_DST, address, sizeof(*address));
	if (rc == 0 && mac)
		rc = rtnl_put(rq, NDA_LLADDR, mac, 6);
	return rc;
}

static void neighbour_drop(int nl, unsigned bridge,
			   const struct in_addr *address)
{
	struct rtnl_request rq = { 0 };

	if (neighbour_request(&rq, RTM_DELNEIGH, bridge, address, NULL) == 0)
		rtnl_call_all(nl, &rq, 1, 0, NULL);
}

/* Reads six pairs of hex digits. */
static int mac_parse(const char *text, uint8_t mac[static 6],
		     char out[static VETH_MAC_TEXT])
{
	unsigned b[6];
	int end = 0;

	if (strlen(text) != VETH_MAC_TEXT - 1 ||
	    text[strspn(text, "0123456789abcdefABCDEF:")] ||
	    sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &b[0], &b[1], &b[2],
		   &b[3], &b[4], &b[5], &end) != 6 ||
	    end != (int)VETH_MAC_TEXT - 1)
		return -EINVAL;
	for (size_t i = 0; i < 6; i++)
		mac[i] = (uint8_t)b[i];
	snprintf(out, VETH_MAC_TEXT, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0],
		 mac[1], mac[2], mac[3], mac[4], mac[5]);
	return 0;
}

static int failed(struct err *err, int code, const char *what)
{
	return err_set(err, code, "pin the sandbox to its address: %s: %s",
		       what, err_text(code));
}

/* What both calls share: the bridge and the addresses, also as bytes. */
struct pin {
	unsigned bridge;
	uint8_t mac[6];
	struct in_addr ip;
	struct veth veth;
};

static int pin_init(struct pin *p, const char *bridge, const char *mac,
		    const char *address, struct err *err)
{
	*p = (struct pin){ .bridge = if_nametoindex(bridge) };
	if (p->bridge == 0)
		return failed(err, -ENODEV, bridge);
	if (mac_parse(mac, p->mac, p->veth.mac) < 0 ||
	    inet_pton(AF_INET, address, &p->ip) != 1 ||
	    !inet_ntop(AF_INET, &p->ip, p->veth.address,
		       sizeof(p->veth.address)))
		return failed(err, -EINVAL, "its addresses");
	return 0;
}

/* Pins a port. The filter comes last: until then no frame passes. */
static int pin_port(int nl, const struct pin *p, int port, struct err *err)
{
	static const char *const step[] = { "its port", "its MAC",
					    "neighbour" };
	struct rtnl_request rq[ARRAY_SIZE(step)] = { 0 };
	size_t at = 0;
	int rc = port_request(&rq[0], port);

	if (rc == 0)
		rc = fdb_request(&rq[1], port, p->mac);
	if (rc == 0)
		rc = neighbour_request(&rq[2], RTM_NEWNEIGH, p->bridge, &p->ip,
				       p->mac);
	if (rc == 0)
		rc = rtnl_call_all(nl, rq, ARRAY_SIZE(rq), ARRAY_SIZE(rq) - 1,
				   &at);
	if (rc < 0)
		return failed(err, rc, step[at]);
	rc = nft_pin(p->veth.port, p->veth.mac, p->veth.address, err);
	if (rc < 0)
		neighbour_drop(nl, p->bridge, &p->ip);
	return rc;
}

int veth_pin(const char *bridge, const char *netns, const char *mac,
	     const char *address, struct veth *ret, struct err *err)
{
	SCOPED_FD ns = open(netns, O_RDONLY | O_CLOEXEC);
	SCOPED_FD nl = rtnl_open();
	struct search s = { .port = 0 };
	struct pin p;
	int rc;

	if (ns < 0)
		return failed(err, -errno, netns);
	if (nl < 0)
		return failed(err, nl, "rtnetlink");
	rc = pin_init(&p, bridge, mac, address, err);
	if (rc < 0)
		return rc;
	s.bridge = p.bridge;
	rc = port_find(nl, ns, &s);
	if (rc < 0)
		return failed(err, rc, "its port");
	memcpy(p.veth.port, s.name, sizeof(p.veth.port));
	rc = pin_port(nl, &p, s.port, err);
	if (rc == 0)
		*ret = p.veth;
	return rc;
}

int veth_pin_port(const char *bridge, const struct veth *v, struct err *err)
{
	SCOPED_FD nl = rtnl_open();
	const int port = (int)if_nametoindex(v->port);
	struct pin p;
	int rc;

	if (nl < 0)
		return failed(err, nl, "rtnetlink");
	if (port == 0)
		return failed(err, -ENODEV, v->port);
	rc = pin_init(&p, bridge, v->mac, v->address, err);
	if (rc < 0)
		return rc;
	memcpy(p.veth.port, v->port, sizeof(p.veth.port));
	return pin_port(nl, &p, port, err);
}

void veth_unpin(const char *bridge, const struct veth *v)
{
	SCOPED_FD nl = rtnl_open();
	struct err err = { 0 };
	struct in_addr ip;
	int rc = nft_unpin(v->port, v->mac, v->address, &err);

	/* Not pinned: the address may be another sandbox's by now. */
	if (rc == -ENOENT)
		return;
	if (rc < 0)
		log_warn("%s", err.msg);
	if (nft_forget(v->address, &err) < 0)
		log_warn("%s", err.msg);
	if (nl >= 0 && inet_pton(AF_INET, v->address, &ip) == 1)
		neighbour_drop(nl, if_nametoindex(bridge), &ip);
}

/* ---- the bridge ---- */

static int sysctl_set(const char *path, const char *value, struct err *err)
{
	SCOPED_STR now = NULL;
	int rc = file_put(path, value);

	if (file_read(path, 64, &now, NULL) < 0)
		return err_set(err, rc < 0 ? rc : -EIO, "read %s", path);
	now[strcspn(now, "\n")] = '\0';
	if (strcmp(now, value) == 0)
		return 0;
	return err_set(err, rc < 0 ? rc : -EIO, "%s is %s and must be %s", path,
		       now, value);
}

int veth_bridge_harden(const char *bridge, struct err *err)
{
	static const struct {
		const char *family, *name, *value;
	} want[] = {
		{ "ipv4", "forwarding", "0" },
		{ "ipv4", "proxy_arp", "0" },
		{ "ipv4", "route_localnet", "0" },
		{ "ipv4", "send_redirects", "0" },
		{ "ipv6", "disable_ipv6", "1" },
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(want); i++) {
		SCOPED_STR path = str_printf("/proc/sys/net/%s/conf/%s/%s",
					     want[i].family, bridge,
					     want[i].name);

		if (!path)
			return err_nomem(err);
		/* Kernels without IPv6 have nothing to disable. */
		if (strcmp(want[i].family, "ipv6") == 0 &&
		    access(path, F_OK) < 0)
			continue;
		rc = sysctl_set(path, want[i].value, err);
	}
	return rc;
}
