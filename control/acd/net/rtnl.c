/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rtnl.c - netlink, as much of it as ports of a bridge need (RFC 3549)
 */
#include "control/acd/net/rtnl.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define ANSWER_MAX 32768u /* the kernel sends no more at once */

int rtnl_open(void)
{
	return rtnl_open_to(NETLINK_ROUTE);
}

int rtnl_open_to(int protocol)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	const struct timeval limit = { .tv_sec = 5 };

	if (fd < 0)
		return -errno;
	/* It never takes long; PID 1 must not hang if it should. */
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return fd;
}

void rtnl_begin(struct rtnl_request *rq, uint16_t type, uint16_t flags,
		const void *body, size_t len)
{
	rq->head = (struct nlmsghdr){
		.nlmsg_len = (uint32_t)NLMSG_LENGTH(len),
		.nlmsg_type = type,
		.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
		.nlmsg_seq = 1,
	};
	memcpy(rq->mem + NLMSG_HDRLEN, body, len);
}

int rtnl_put(struct rtnl_request *rq, uint16_t type, const void *data,
	     size_t len)
{
	size_t at = NLMSG_ALIGN(rq->head.nlmsg_len);
	const struct rtattr a = { .rta_type = type,
				  .rta_len = (uint16_t)RTA_LENGTH(len) };

	if (at + RTA_SPACE(len) > sizeof(rq->mem))
		return -ENOBUFS;
	memcpy(rq->mem + at, &a, sizeof(a));
	memcpy(rq->mem + at + RTA_LENGTH(0), data, len);
	rq->head.nlmsg_len = (uint32_t)(at + RTA_LENGTH(len));
	return 0;
}

int rtnl_nest(struct rtnl_request *rq, uint16_t type, const void *body,
	      size_t len)
{
	int at = (int)NLMSG_ALIGN(rq->head.nlmsg_len);
	int r = rtnl_put(rq, type | NLA_F_NESTED, body ? body : "", len);

	return r < 0 ? r : at;
}

void rtnl_nest_end(struct rtnl_request *rq, int at)
{
	const uint16_t len = (uint16_t)(rq->head.nlmsg_len - (uint32_t)at);

	memcpy(rq->mem + at + offsetof(struct rtattr, rta_len), &len,
	       sizeof(len));
}

/* 1: the answer is whole, 0: more will come. */
static int answer_read(const uint8_t *mem, size_t len,
		       void (*each)(void *arg, const struct nlmsghdr *m),
		       void *arg)
{
	while (len >= sizeof(struct nlmsghdr)) {
		/* Buffers and messages are aligned to NLMSG_ALIGNTO. */
		const struct nlmsghdr *m = (const void *)mem;
		size_t step;

		if (m->nlmsg_len < sizeof(*m) || m->nlmsg_len > len)
			return -EBADMSG;
		if (m->nlmsg_type == NLMSG_DONE)
			return 1;
		if (m->nlmsg_type == NLMSG_ERROR) {
			int code;

			if (m->nlmsg_len < NLMSG_LENGTH(sizeof(code)))
				return -EBADMSG;
			memcpy(&code, mem + NLMSG_HDRLEN, sizeof(code));
			return code < 0 ? code : 1;
		}
		if (m->nlmsg_type >= NLMSG_MIN_TYPE && each)
			each(arg, m);
		step = NLMSG_ALIGN(m->nlmsg_len);
		if (step >= len)
			break;
		mem += step;
		len -= step;
	}
	return 0;
}

int rtnl_call(int fd, struct rtnl_request *rq,
	      void (*each)(void *arg, const struct nlmsghdr *m), void *arg)
{
	_Alignas(struct nlmsghdr) uint8_t mem[ANSWER_MAX];
	ssize_t n;
	int r = 0;

	/* Also behind a message of its own, the acknowledgement ends it. */
	if ((rq->head.nlmsg_flags & NLM_F_DUMP) != NLM_F_DUMP)
		rq->head.nlmsg_flags |= NLM_F_ACK;
	if (send(fd, rq->mem, rq->head.nlmsg_len, 0) < 0)
		return -errno;
	while (r == 0) {
		n = recv(fd, mem, sizeof(mem), MSG_TRUNC);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0 || (size_t)n > sizeof(mem))
			return -EBADMSG;
		r = answer_read(mem, (size_t)n, each, arg);
	}
	return r < 0 ? r : 0;
}

/* The first refusal in @mem, or the acknowledgement of @last: 1, and which in
 * @ret. 0: neither came yet. */
static int batch_read(const uint8_t *mem, size_t len, uint32_t last,
		      struct nlmsgerr *ret, uint32_t *ret_seq)
{
	while (len >= NLMSG_LENGTH(sizeof(*ret))) {
		struct nlmsghdr m;

		memcpy(&m, mem, sizeof(m));
		if (m.nlmsg_len < sizeof(m) || m.nlmsg_len > len)
			break;
		if (m.nlmsg_type == NLMSG_ERROR &&
		    m.nlmsg_len >= NLMSG_LENGTH(sizeof(*ret))) {
			memcpy(ret, mem + NLMSG_HDRLEN, sizeof(*ret));
			*ret_seq = m.nlmsg_seq;
			if (ret->error < 0 || m.nlmsg_seq == last)
				return 1;
		}
		if (NLMSG_ALIGN(m.nlmsg_len) >= len)
			break;
		mem += NLMSG_ALIGN(m.nlmsg_len);
		len -= NLMSG_ALIGN(m.nlmsg_len);
	}
	return 0;
}

int rtnl_call_all(int fd, struct rtnl_request *rq, size_t n, size_t last,
		  size_t *ret_failed)
{
	_Alignas(struct nlmsghdr) uint8_t mem[ANSWER_MAX];
	struct iovec parts[RTNL_BATCH_MAX];
	const struct msghdr msg = { .msg_iov = parts, .msg_iovlen = n };
	struct nlmsgerr answer = { .error = 0 };
	uint32_t seq = 0;
	ssize_t len;

	if (last >= n || n > RTNL_BATCH_MAX)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		rq[i].head.nlmsg_seq = (uint32_t)i + 1;
		parts[i] = (struct iovec){
			.iov_base = rq[i].mem,
			.iov_len = NLMSG_ALIGN(rq[i].head.nlmsg_len),
		};
	}
	/* Refusals come unasked; one answer for all the others will do. */
	rq[last].head.nlmsg_flags |= NLM_F_ACK;
	if (sendmsg(fd, &msg, 0) < 0)
		return -errno;
	do {
		len = recv(fd, mem, sizeof(mem), 0);
		if (len < 0 && errno != EINTR)
			return -errno;
	} while (len < 0 || !batch_read(mem, (size_t)len, (uint32_t)last + 1,
					&answer, &seq));
	if (answer.error < 0 && ret_failed && seq > 0 && seq <= n)
		*ret_failed = seq - 1;
	return answer.error;
}

static const void *find(const uint8_t *mem, size_t end, uint16_t type,
			size_t len)
{
	size_t at = 0;

	while (at + sizeof(struct rtattr) <= end) {
		struct rtattr a;

		memcpy(&a, mem + at, sizeof(a));
		if (a.rta_len < sizeof(a) || a.rta_len > end - at)
			return NULL;
		if ((a.rta_type & NLA_TYPE_MASK) == type)
			return a.rta_len >= RTA_LENGTH(len) ?
				       mem + at + RTA_LENGTH(0) :
				       NULL;
		at += RTA_ALIGN(a.rta_len);
	}
	return NULL;
}

const void *rtnl_find(const struct nlmsghdr *m, size_t skip, uint16_t type,
		      size_t len)
{
	const size_t at = NLMSG_HDRLEN + NLMSG_ALIGN(skip);

	if (m->nlmsg_len < at)
		return NULL;
	return find((const uint8_t *)m + at, m->nlmsg_len - at, type, len);
}

size_t rtnl_length(const void *found)
{
	struct rtattr a;

	memcpy(&a, (const uint8_t *)found - RTA_LENGTH(0), sizeof(a));
	return a.rta_len - RTA_LENGTH(0);
}

const void *rtnl_inside(const void *nest, uint16_t type, size_t len)
{
	return find(nest, rtnl_length(nest), type, len);
}
