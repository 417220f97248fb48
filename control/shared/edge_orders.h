/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge_orders.h - what acd and ac-edge say to each other
 *
 * One connection, to EDGE_SOCK of acd. acd sends all its orders, the whole list,
 * whenever they change; ac-edge answers each with a report. Both are frames,
 * integers big-endian:
 *
 *	u32 length of what follows, at most EDGE_FRAME_MAX
 *	u8  EDGE_VERSION
 *	orders: u8 number, then for each service a u32 length and the name, u8
 *	        family (4: 127.0.0.1, 6: ::1), u16 port; u16 number, then for
 *	        each published port a u32 id, u8 family (4 or 6), the 4 or 16
 *	        bytes of an address, u16 port (0: any free one)
 *	report: u8 number of services that it listens for, u32 length and a text,
 *	        the first failure or nothing; u16 number, then for each ordered
 *	        port the u32 id, u16 port that it listens at, u16 errno (0 and
 *	        the reason, or the port and 0)
 *
 * The ids of a frame rise. The functions have no side effects. A frame that is
 * longer, has another version, a name or an id twice, or bytes left over is
 * refused.
 */
#ifndef CONTROL_SHARED_EDGE_ORDERS_H
#define CONTROL_SHARED_EDGE_ORDERS_H

#include <stdbool.h>

#include "lib/buf.h"

#define EDGE_VERSION 2u
#define EDGE_ORDERS_MAX 64u
#define EDGE_PORTS_MAX 256u
#define EDGE_NAME_MAX 48u
#define EDGE_TEXT_MAX 200u
#define EDGE_FRAME_MAX 12288u

struct edge_order {
	char name[EDGE_NAME_MAX + 1]; /* of the service, and of its socket */
	bool v6; /* ::1 instead of 127.0.0.1 */
	uint16_t port;
};

struct edge_port {
	uint32_t id; /* not 0; names acd's socket too (EDGE_PORT_SOCK) */
	bool v6;
	uint8_t address[16]; /* to listen at; of IPv4 the first 4 bytes */
	uint16_t port; /* 0: any */
};

struct edge_orders {
	struct edge_order v[EDGE_ORDERS_MAX];
	size_t n;
	struct edge_port ports[EDGE_PORTS_MAX];
	size_t n_ports;
};

struct edge_bound {
	uint32_t id;
	uint16_t port; /* 0: it does not listen */
	uint16_t error; /* errno; 0: it listens */
};

struct edge_report {
	unsigned listening; /* services */
	char text[EDGE_TEXT_MAX + 1]; /* the first failure, "" */
	struct edge_bound ports[EDGE_PORTS_MAX];
	size_t n_ports;
};

/* Returns true for 1 to EDGE_NAME_MAX lower-case letters, digits, '-' and '_',
 * of which the first is a letter or a digit. Such a name is no path. */
bool edge_name_ok(const char *name);

/* Append a frame to @out. Return 0, -ENOBUFS or -ENOMEM, with @out as it was; or
 * -EINVAL for what the other side would refuse. A text is cut to EDGE_TEXT_MAX bytes. */
int edge_orders_put(struct buf *out, const struct edge_orders *o);
int edge_report_put(struct buf *out, const struct edge_report *r);

/* Read the frame at the beginning of @in. Return 0 and set *@ret_used to its
 * length; -EAGAIN if it is not complete, or -EBADMSG if it is none. The results
 * are unchanged then. */
int edge_orders_get(struct slice in, struct edge_orders *ret, size_t *ret_used);
int edge_report_get(struct slice in, struct edge_report *ret, size_t *ret_used);

#endif
