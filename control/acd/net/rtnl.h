/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rtnl.h - netlink, the part that ports of a bridge need (RFC 3549)
 *
 * Lengths in the kernel's answers are checked, so no reader passes the end of a
 * message. Calls block; the kernel answers at once.
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

/* Return a new CLOEXEC socket, which the caller closes, or a negative errno.
 * The second is for a @protocol such as NETLINK_NETFILTER; the first for
 * NETLINK_ROUTE. */
int rtnl_open(void);
int rtnl_open_to(int protocol);
/* Begins a message of @type with the fixed part @body of @len bytes, which must
 * fit. NLM_F_REQUEST is added to @flags. */
void rtnl_begin(struct rtnl_request *rq, uint16_t type, uint16_t flags,
		const void *body, size_t len);
/* Appends an attribute. Returns 0, or -ENOBUFS past RTNL_REQUEST_MAX. */
int rtnl_put(struct rtnl_request *rq, uint16_t type, const void *data,
	     size_t len) ATTR_WUR;
/* Begins the attribute @type, which then holds what is put before
 * rtnl_nest_end(), after a fixed part (NULL: none). Returns the position for
 * rtnl_nest_end(), or -ENOBUFS. */
int rtnl_nest(struct rtnl_request *rq, uint16_t type, const void *body,
	      size_t len) ATTR_WUR;
/* Ends the attribute that begins at @at, the result of rtnl_nest(). */
void rtnl_nest_end(struct rtnl_request *rq, int at);
/*
 * Sends a request and reads the answer to its end. Calls @each, unless NULL,
 * with every message that is no control message, borrowed for the call. Returns
 * 0, the kernel's or the socket's negative errno, -EAGAIN if no answer comes
 * within 5 s, or -EBADMSG for a malformed answer.
 */
int rtnl_call(int fd, struct rtnl_request *rq,
	      void (*each)(void *arg, const struct nlmsghdr *m), void *arg);
/*
 * Sends @n requests (up to RTNL_BATCH_MAX) at once, which must have no answers
 * of their own, and waits for the acknowledgement of number @last, counted from
 * 0. The kernel serves them in order. Returns 0. Returns the code of the first
 * refusal, a negative errno, with its number in *ret_failed (unless NULL); or
 * fails like rtnl_call(), with *ret_failed unchanged. After a failure the
 * socket must not be used again.
 */
int rtnl_call_all(int fd, struct rtnl_request *rq, size_t n, size_t last,
		  size_t *ret_failed);
/* Returns the contents of the attribute @type after a fixed part of @skip
 * bytes, borrowed from @m; NULL if there is none or it has fewer than @len
 * bytes. */
const void *rtnl_find(const struct nlmsghdr *m, size_t skip, uint16_t type,
		      size_t len);
/* Returns the contents of the attribute @type inside @nest, a result of these
 * two functions; NULL if there is none or it has fewer than @len bytes. */
const void *rtnl_inside(const void *nest, uint16_t type, size_t len);
/* Returns how many bytes @found, a result of these two functions, has. */
size_t rtnl_length(const void *found);

#endif
