/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rtnl.h - netlink, as much of it as ports of a bridge need (RFC 3549)
 *
 * Answers of the kernel are read by their lengths all the same: a reader
 * never looks behind a message. Calls block, since the kernel answers at
 * once.
 */
#ifndef CONTROL_ACD_NET_RTNL_H
#define CONTROL_ACD_NET_RTNL_H

#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/attr.h"

#define RTNL_REQUEST_MAX 512u
#define RTNL_BATCH_MAX 8u /* requests sent at once */

struct rtnl_request { /* zeroed, then rtnl_begin() */
	union {
		struct nlmsghdr head;
		uint8_t mem[RTNL_REQUEST_MAX];
	};
};

/* The descriptor; CLOEXEC. Of @protocol: NETLINK_ROUTE, NETLINK_NETFILTER. */
int rtnl_open(void);
int rtnl_open_to(int protocol);
/* A message of @type with the fixed part @body of @len bytes. */
void rtnl_begin(struct rtnl_request *rq, uint16_t type, uint16_t flags,
		const void *body, size_t len);
/* -ENOBUFS past RTNL_REQUEST_MAX. */
int rtnl_put(struct rtnl_request *rq, uint16_t type, const void *data,
	     size_t len) ATTR_WUR;
/* What is put until rtnl_nest_end() is inside the attribute @type, behind a
 * fixed part (NULL: none). Where it begins, or -ENOBUFS. */
int rtnl_nest(struct rtnl_request *rq, uint16_t type, const void *body,
	      size_t len) ATTR_WUR;
void rtnl_nest_end(struct rtnl_request *rq, int at);
/*
 * Sends and takes the answer. @each gets every message that is no control
 * message; NULL: none is wanted. 0, or what the kernel refused it with.
 */
int rtnl_call(int fd, struct rtnl_request *rq,
	      void (*each)(void *arg, const struct nlmsghdr *m), void *arg);
/*
 * Sends @n requests at once, none of which has an answer to read, and waits
 * for the acknowledgement of number @last. The kernel does them in their
 * order. The first that it refuses ends the wait: its code is the result, its
 * number in *ret_failed unless NULL, and the socket of no more use.
 */
int rtnl_call_all(int fd, struct rtnl_request *rq, size_t n, size_t last,
		  size_t *ret_failed);
/* The attribute @type behind a fixed part of @skip bytes, at least @len bytes
 * long; NULL: none such. */
const void *rtnl_find(const struct nlmsghdr *m, size_t skip, uint16_t type,
		      size_t len);
/* The same within @nest, an attribute that was found, and how long what is in
 * it is. */
const void *rtnl_inside(const void *nest, uint16_t type, size_t len);
size_t rtnl_length(const void *found);

#endif
