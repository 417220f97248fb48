/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nft_flows.c - removes one sandbox from the table of connections
 *
 * A sandbox's share is counted by its address (nftables.conf). Connections that
 * a sandbox has left behind would count against the next one with its address,
 * and the kernel keeps a silent connection for days.
 *
 * All connections of an address are listed and then deleted one by one. A
 * kernel before 5.8 ignores the filter of the list and returns everything, so
 * the code here decides what is deleted; deleting by filter needs Linux 6.8.
 *
 * To list them the kernel walks its whole table, usually 262,144 rows, which
 * blocks acd for 2 to 12 ms. A deletion takes 11 to 35 us (3,900 of them 45 to
 * 135 ms on a busy machine; sending several requests at once saves nothing). So
 * this is not done at the end of each sandbox, but only when there are so many
 * connections that the next sandbox would notice a smaller share. Fewer than
 * that end by themselves: the gateway closes them, and the kernel forgets them
 * some seconds later.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <string.h>
#include <sys/socket.h>

#include "control/acd/net/nft_impl.h"
#include "control/acd/net/rtnl.h"
#include "lib/buf.h"
#include "lib/file.h"
#include "lib/kernel_share.h"
#include "lib/str.h"

#define COUNT "/proc/sys/net/netfilter/nf_conntrack_count"
#define FEW (KERNEL_SHARE_CONNS / 4u) /* of all sandboxes */
#define FLOWS_MAX 8192u /* in one list */
#define LISTS_MAX 3u
static_assert(
	FLOWS_MAX >= KERNEL_SHARE_CONNS + KERNEL_SHARE_BURST +
			     KERNEL_SHARE_NEW * KERNEL_SHARE_KEPT,
	"one list has what a sandbox may have that lives, and what ended");

#define TUPLE_MAX 64u /* of IPv4 and TCP or UDP: 48 */
#define BY_SOURCE 1u /* CTA_FILTER_F_CTA_IP_SRC, which no header exports */

struct flow {
	uint8_t len;
	uint8_t tuple[TUPLE_MAX];
};

struct flows {
	struct in_addr from;
	bool more; /* than fit in one list */
	struct buf of; /* struct flow, one after the other */
};

static int flow_add(struct flows *all, const void *tuple, size_t len)
{
	struct flow f = { .len = (uint8_t)len };

	if (len > TUPLE_MAX)
		return -ENOBUFS;
	memcpy(f.tuple, tuple, len);
	return buf_append(&all->of, &f, sizeof(f));
}

static void on_flow(void *arg, const struct nlmsghdr *m)
{
	struct flows *all = arg;
	const void *tuple =
		rtnl_find(m, sizeof(struct nfgenmsg), CTA_TUPLE_ORIG, 0);
	const void *ip = tuple ? rtnl_inside(tuple, CTA_TUPLE_IP, 0) : NULL;
	const void *from =
		ip ? rtnl_inside(ip, CTA_IP_V4_SRC, sizeof(all->from)) : NULL;

	if (m->nlmsg_type != (NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_NEW) ||
	    !from || memcmp(from, &all->from, sizeof(all->from)) != 0)
		return;
	if (flow_add(all, tuple, rtnl_length(tuple)) < 0)
		all->more = true;
}

static void begin(struct rtnl_request *rq, uint8_t type, uint16_t flags)
{
	const struct nfgenmsg body = { .nfgen_family = AF_INET,
				       .version = NFNETLINK_V0 };

	rtnl_begin(rq, (uint16_t)(NFNL_SUBSYS_CTNETLINK << 8 | type), flags,
		   &body, sizeof(body));
}

static int list_request(struct rtnl_request *rq, const struct in_addr *from)
{
	const uint32_t by = BY_SOURCE;
	int at[2] = { 0 }, rc;

	begin(rq, IPCTNL_MSG_CT_GET, NLM_F_DUMP);
	rc = at[0] = rtnl_nest(rq, CTA_TUPLE_ORIG, NULL, 0);
	if (rc >= 0)
		rc = at[1] = rtnl_nest(rq, CTA_TUPLE_IP, NULL, 0);
	if (rc >= 0)
		rc = rtnl_put(rq, CTA_IP_V4_SRC, from, sizeof(*from));
	if (rc < 0)
		return rc;
	rtnl_nest_end(rq, at[1]);
	rtnl_nest_end(rq, at[0]);
	rc = at[0] = rtnl_nest(rq, CTA_FILTER, NULL, 0);
	if (rc >= 0)
		rc = rtnl_put(rq, CTA_FILTER_ORIG_FLAGS, &by, sizeof(by));
	if (rc == 0)
		rtnl_nest_end(rq, at[0]);
	return rc;
}

static int flow_delete(int nl, const struct flow *f)
{
	struct rtnl_request rq = { 0 };
	int rc;

	begin(&rq, IPCTNL_MSG_CT_DELETE, 0);
	rc = rtnl_put(&rq, CTA_TUPLE_ORIG | NLA_F_NESTED, f->tuple, f->len);
	if (rc == 0)
		rc = rtnl_call(nl, &rq, NULL, NULL);
	/* It may have ended since the list. */
	return rc == -ENOENT ? 0 : rc;
}

static int forget(struct flows *all)
{
	struct rtnl_request rq = { 0 };
	int nl = nft_sock();
	int rc = nl < 0 ? nl : list_request(&rq, &all->from);

	if (rc == 0)
		rc = rtnl_call(nl, &rq, on_flow, all);
	for (; rc == 0 && buf_len(&all->of) > 0;
	     buf_consume(&all->of, sizeof(struct flow)))
		rc = flow_delete(nl, (const void *)buf_slice(&all->of).ptr);
	if (rc < 0)
		nft_sock_drop();
	return rc;
}

static bool are_few(void)
{
	SCOPED_STR text = NULL;
	uint64_t n = 0;

	if (file_read(COUNT, 64, &text, NULL) < 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	return str_parse_u64(text, 0, FEW, &n) == 0;
}

int nft_forget(const char *address, struct err *err)
{
	struct flows all = { .more = true };
	int rc = 0;

	if (inet_pton(AF_INET, address, &all.from) != 1)
		return err_set(err, -EINVAL,
			       "table of connections: '%s' is no address",
			       address);
	if (are_few())
		return 0;
	buf_init(&all.of, FLOWS_MAX * sizeof(struct flow));
	for (unsigned int i = 0; rc == 0 && all.more && i < LISTS_MAX; i++) {
		all.more = false;
		rc = forget(&all);
	}
	buf_done(&all.of);
	if (rc == 0 && all.more)
		rc = -ENOBUFS;
	/* The code of nfnetlink if the kernel lacks that subsystem. */
	if (rc < 0)
		return err_set(err, rc, "table of connections: %s: %s%s",
			       address, err_text(rc),
			       rc == -EINVAL ? " (the kernel must have "
					       "nf_conntrack_netlink)" :
					       "");
	return 0;
}
