/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rtnl.h - rtnetlink, as much of it as ports of a bridge need (RFC 3549)
 *
 * Answers of the kernel are read by their lengths all the same: a reader
 * never looks behind a message. One socket a use; calls block, since the
 * kernel answers at once.
 */
#ifndef CONTROL_ACD_RTNL_H
#define CONTROL_ACD_RTNL_H

#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/attr.h"

#define RTNL_REQUEST_MAX 512u

struct rtnl_request { /* zeroed, then rtnl_begin() */
	union {
		struct nlmsghdr head;
		uint8_t mem[RTNL_REQUEST_MAX];
	};
};

int rtnl_open(void); /* the descriptor; CLOEXEC */
/* A message of @type with the fixed part @body of @len bytes. */
void rtnl_begin(struct rtnl_request *rq, uint16_t type, uint16_t flags,
		const void *body, size_t len);
/* -ENOBUFS past RTNL_REQUEST_MAX. */
int rtnl_put(struct rtnl_request *rq, uint16_t type, const void *data,
	     size_t len) ATTR_WUR;
/*
 * Sends and takes the answer. @each gets every message that is no control
 * message; NULL: none is wanted. 0, or what the kernel refused it with.
 */
int rtnl_call(int fd, struct rtnl_request *rq,
	      void (*each)(void *arg, const struct nlmsghdr *m), void *arg);
/* The attribute @type behind a fixed part of @skip bytes, at least @len bytes
 * long; NULL: none such. */
const void *rtnl_find(const struct nlmsghdr *m, size_t skip, uint16_t type,
		      size_t len);

#endif
