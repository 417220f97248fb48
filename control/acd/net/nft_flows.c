/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nft_flows.c - what the table of connections has of one sandbox
 *
 * The share of a sandbox is counted by its address (nftables.conf). What is
 * left of one that ended would count against the next that gets its address,
 * and the kernel keeps a connection of which it hears nothing for days.
 *
 * All of an address are listed and then deleted one by one. A kernel before
 * 5.8 does not know the filter of the list and gives everything, so what is
 * deleted is decided here; a deletion by filter would need Linux 6.8.
 *
 * To list them the kernel walks its whole table, of 262,144 rows mostly, for
 * 2 to 12 ms in which acd stands still, and a deletion takes 11 to 35 us of its
 * time (3,900 of them 45 to 135 ms on a busy machine; several requests sent at
 * once save nothing). So it is not done at the end of each sandbox, but when
 * there are so many connections that the next one's share would be felt to be
 * smaller. Below that they end of themselves: the gateway closes them, and the
 * kernel forgets them some seconds later.
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
	bool more; /* than one list has room for */
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
	int at[2] = { 0 }, r;

	begin(rq, IPCTNL_MSG_CT_GET, NLM_F_DUMP);
	r = at[0] = rtnl_nest(rq, CTA_TUPLE_ORIG, NULL, 0);
	if (r >= 0)
		r = at[1] = rtnl_nest(rq, CTA_TUPLE_IP, NULL, 0);
	if (r >= 0)
		r = rtnl_put(rq, CTA_IP_V4_SRC, from, sizeof(*from));
	if (r < 0)
		return r;
	rtnl_nest_end(rq, at[1]);
	rtnl_nest_end(rq, at[0]);
	r = at[0] = rtnl_nest(rq, CTA_FILTER, NULL, 0);
	if (r >= 0)
		r = rtnl_put(rq, CTA_FILTER_ORIG_FLAGS, &by, sizeof(by));
	if (r == 0)
		rtnl_nest_end(rq, at[0]);
	return r;
}

static int flow_delete(int nl, const struct flow *f)
{
	struct rtnl_request rq = { 0 };
	int r;

	begin(&rq, IPCTNL_MSG_CT_DELETE, 0);
	r = rtnl_put(&rq, CTA_TUPLE_ORIG | NLA_F_NESTED, f->tuple, f->len);
	if (r == 0)
		r = rtnl_call(nl, &rq, NULL, NULL);
	/* It may have ended of itself meanwhile. */
	return r == -ENOENT ? 0 : r;
}

static int forget(struct flows *all)
{
	struct rtnl_request rq = { 0 };
	int nl = nft_sock();
	int r = nl < 0 ? nl : list_request(&rq, &all->from);

	if (r == 0)
		r = rtnl_call(nl, &rq, on_flow, all);
	for (; r == 0 && buf_len(&all->of) > 0;
	     buf_consume(&all->of, sizeof(struct flow)))
		r = flow_delete(nl, (const void *)buf_slice(&all->of).ptr);
	if (r < 0)
		nft_sock_drop();
	return r;
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
	int r = 0;

	if (inet_pton(AF_INET, address, &all.from) != 1)
		return err_set(err, -EINVAL,
			       "table of connections: '%s' is no address",
			       address);
	if (are_few())
		return 0;
	buf_init(&all.of, FLOWS_MAX * sizeof(struct flow));
	for (unsigned int i = 0; r == 0 && all.more && i < LISTS_MAX; i++) {
		all.more = false;
		r = forget(&all);
	}
	buf_done(&all.of);
	if (r == 0 && all.more)
		r = -ENOBUFS;
	/* What nfnetlink says when nobody of that subsystem is there. */
	if (r < 0)
		return err_set(err, r, "table of connections: %s: %s%s",
			       address, err_text(r),
			       r == -EINVAL ? " (the kernel must have "
					      "nf_conntrack_netlink)" :
					      "");
	return 0;
}
