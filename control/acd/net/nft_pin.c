/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nft_pin.c - elements of the packet filter's set `pinned`
 *
 * Uses netlink directly and not libnftables, because of how that closes its
 * socket: the kernel then waits until everything deleted is freed, which would
 * block acd for 10 to 20 ms at the end of each sandbox. So this socket stays
 * open. A forked child opens its own: two readers of one socket would take each
 * other's answers.
 */
#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <net/if.h>
#include <string.h>

#include "control/acd/net/nft_impl.h"
#include "control/acd/net/rtnl.h"
#include "lib/str.h"

#define TABLE "ac"
#define SET "pinned"

/* As in images/host/nftables.conf: ifname . ether_addr . ipv4_addr, each padded
 * to a multiple of four bytes. */
struct key {
	char port[IF_NAMESIZE];
	uint8_t mac[8];
	struct in_addr address;
};

static struct {
	int fd;
	pid_t owner;
} sock = { .fd = -1 };

int nft_sock(void)
{
	/* In a child the number may belong to another file by now: it is not
	 * closed. */
	if (sock.fd >= 0 && sock.owner == getpid())
		return sock.fd;
	sock.owner = getpid();
	sock.fd = rtnl_open_to(NETLINK_NETFILTER);
	return sock.fd;
}

void nft_sock_drop(void)
{
	fd_closep(&sock.fd);
}

static int key_make(struct key *k, const char *port, const char *mac,
		    const char *address)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_.-";
	size_t len = strspn(port, letters);

	*k = (struct key){ .port = "" };
	if (len == 0 || len >= sizeof(k->port) || port[len] ||
	    strlen(mac) != 17 || inet_pton(AF_INET, address, &k->address) != 1)
		return -EINVAL;
	memcpy(k->port, port, len);
	for (size_t i = 0; i < 17; i += 3) {
		int hi = str_hex_digit((unsigned char)mac[i]);
		int lo = str_hex_digit((unsigned char)mac[i + 1]);

		if (hi < 0 || lo < 0 || (i < 15 && mac[i + 2] != ':'))
			return -EINVAL;
		k->mac[i / 3] = (uint8_t)(hi << 4 | lo);
	}
	return 0;
}

/* The message that begins, or ends, a transaction. */
static void edge(struct rtnl_request *rq, uint16_t type)
{
	const struct nfgenmsg body = { .nfgen_family = AF_UNSPEC,
				       .version = NFNETLINK_V0,
				       .res_id = htons(NFNL_SUBSYS_NFTABLES) };

	rtnl_begin(rq, type, 0, &body, sizeof(body));
}

static int element_request(struct rtnl_request *rq, uint16_t type,
			   const struct key *k)
{
	const struct nfgenmsg body = { .nfgen_family = NFPROTO_BRIDGE,
				       .version = NFNETLINK_V0 };
	static const uint16_t nests[] = { NFTA_SET_ELEM_LIST_ELEMENTS,
					  NFTA_LIST_ELEM, NFTA_SET_ELEM_KEY };
	int at[ARRAY_SIZE(nests)];
	int rc;

	rtnl_begin(rq, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type),
		   NLM_F_CREATE, &body, sizeof(body));
	rc = rtnl_put(rq, NFTA_SET_ELEM_LIST_TABLE, TABLE, sizeof(TABLE));
	if (rc == 0)
		rc = rtnl_put(rq, NFTA_SET_ELEM_LIST_SET, SET, sizeof(SET));
	for (size_t i = 0; rc >= 0 && i < ARRAY_SIZE(nests); i++)
		rc = at[i] = rtnl_nest(rq, nests[i], NULL, 0);
	if (rc >= 0)
		rc = rtnl_put(rq, NFTA_DATA_VALUE, k, sizeof(*k));
	for (size_t i = ARRAY_SIZE(nests); rc == 0 && i > 0; i--)
		rtnl_nest_end(rq, at[i - 1]);
	return rc;
}

static int element(uint16_t type, const char *port, const char *mac,
		   const char *address, struct err *err)
{
	struct rtnl_request rq[3] = { 0 };
	struct key k;
	int nl, rc = key_make(&k, port, mac, address);

	/* These texts come from the kernel and the store; anything but a name
	 * and addresses is an error. */
	if (rc < 0)
		return err_set(err, rc,
			       "packet filter: '%s' '%s' '%s' is no port with "
			       "its addresses",
			       port, mac, address);
	edge(&rq[0], NFNL_MSG_BATCH_BEGIN);
	rc = element_request(&rq[1], type, &k);
	edge(&rq[2], NFNL_MSG_BATCH_END);
	nl = nft_sock();
	if (rc == 0)
		rc = nl < 0 ? nl :
			      rtnl_call_all(nl, rq, ARRAY_SIZE(rq), 1, NULL);
	if (rc < 0) {
		nft_sock_drop();
		return err_set(err, rc,
			       "packet filter: %s: %s (the kernel must have "
			       "nf_tables with the bridge family)",
			       port, err_text(rc));
	}
	return 0;
}

int nft_pin(const char *port, const char *mac, const char *address,
	    struct err *err)
{
	return element(NFT_MSG_NEWSETELEM, port, mac, address, err);
}

int nft_unpin(const char *port, const char *mac, const char *address,
	      struct err *err)
{
	return element(NFT_MSG_DELSETELEM, port, mac, address, err);
}
