/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rtnl.c - netlink, as much of it as ports of a bridge need (RFC 3549)
 *
 * libmnl builds and walks messages and attributes. Its mnl_cb_run() is not
 * used: that fails a dump during which another link came or went, which is
 * the rule while sandboxes start.
 */
#include "control/acd/net/rtnl.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define ANSWER_MAX 32768u /* bytes; the kernel sends no more at once */

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
	/* It never takes long, but PID 1 must not hang. */
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return fd;
}

void rtnl_begin(struct rtnl_request *rq, uint16_t type, uint16_t flags,
		const void *body, size_t len)
{
	struct nlmsghdr *m = mnl_nlmsg_put_header(rq->mem);

	m->nlmsg_type = type;
	m->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	m->nlmsg_seq = 1;
	memcpy(mnl_nlmsg_put_extra_header(m, len), body, len);
}

int rtnl_put(struct rtnl_request *rq, uint16_t type, const void *data,
	     size_t len)
{
	return mnl_attr_put_check(&rq->head, sizeof(rq->mem), type, len, data) ?
		       0 :
		       -ENOBUFS;
}

int rtnl_nest(struct rtnl_request *rq, uint16_t type, const void *body,
	      size_t len)
{
	int at = (int)rq->head.nlmsg_len; /* aligned: libmnl's all are */
	int rc = rtnl_put(rq, type | NLA_F_NESTED, body ? body : "", len);

	return rc < 0 ? rc : at;
}

void rtnl_nest_end(struct rtnl_request *rq, int at)
{
	mnl_attr_nest_end(&rq->head, (struct nlattr *)(rq->mem + at));
}

/* What an error message says: 0, or a negative errno. */
static int error_of(const struct nlmsghdr *m)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(m);

	return mnl_nlmsg_get_payload_len(m) < sizeof(e->error) ? -EBADMSG :
								 e->error;
}

/* 1: the answer is whole, 0: more will come. */
static int answer_read(const void *mem, int len,
		       void (*each)(void *arg, const struct nlmsghdr *m),
		       void *arg)
{
	const struct nlmsghdr *m = mem;

	for (; mnl_nlmsg_ok(m, len); m = mnl_nlmsg_next(m, &len)) {
		if (m->nlmsg_type == NLMSG_DONE)
			return 1;
		if (m->nlmsg_type == NLMSG_ERROR) {
			int rc = error_of(m);

			return rc < 0 ? rc : 1;
		}
		if (m->nlmsg_type >= NLMSG_MIN_TYPE && each)
			each(arg, m);
	}
	/* Less than a header is what alignment left over. */
	return len >= (int)sizeof(*m) ? -EBADMSG : 0;
}

int rtnl_call(int fd, struct rtnl_request *rq,
	      void (*each)(void *arg, const struct nlmsghdr *m), void *arg)
{
	_Alignas(struct nlmsghdr) uint8_t mem[ANSWER_MAX];
	ssize_t n;
	int rc = 0;

	/* The acknowledgement ends the answer, also after other messages. */
	if ((rq->head.nlmsg_flags & NLM_F_DUMP) != NLM_F_DUMP)
		rq->head.nlmsg_flags |= NLM_F_ACK;
	if (send(fd, rq->mem, rq->head.nlmsg_len, 0) < 0)
		return -errno;
	while (rc == 0) {
		n = recv(fd, mem, sizeof(mem), MSG_TRUNC);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0 || (size_t)n > sizeof(mem))
			return -EBADMSG;
		rc = answer_read(mem, (int)n, each, arg);
	}
	return rc < 0 ? rc : 0;
}

/* The first refusal in @mem, or the acknowledgement of @last: 1, with the code
 * and which one in @ret_code and @ret_seq. 0: neither came yet. */
static int batch_read(const void *mem, int len, uint32_t last, int *ret_code,
		      uint32_t *ret_seq)
{
	const struct nlmsghdr *m = mem;

	for (; mnl_nlmsg_ok(m, len); m = mnl_nlmsg_next(m, &len)) {
		if (m->nlmsg_type != NLMSG_ERROR)
			continue;
		*ret_code = error_of(m);
		*ret_seq = m->nlmsg_seq;
		if (*ret_code < 0 || m->nlmsg_seq == last)
			return 1;
	}
	return 0;
}

int rtnl_call_all(int fd, struct rtnl_request *rq, size_t n, size_t last,
		  size_t *ret_failed)
{
	_Alignas(struct nlmsghdr) uint8_t mem[ANSWER_MAX];
	struct iovec parts[RTNL_BATCH_MAX];
	const struct msghdr msg = { .msg_iov = parts, .msg_iovlen = n };
	uint32_t seq = 0;
	int code = 0;
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
	/* Refusals are always sent; one acknowledgement covers the rest. */
	rq[last].head.nlmsg_flags |= NLM_F_ACK;
	if (sendmsg(fd, &msg, 0) < 0)
		return -errno;
	do {
		len = recv(fd, mem, sizeof(mem), 0);
		if (len < 0 && errno != EINTR)
			return -errno;
	} while (len < 0 ||
		 !batch_read(mem, (int)len, (uint32_t)last + 1, &code, &seq));
	if (code < 0 && ret_failed && seq > 0 && seq <= n)
		*ret_failed = seq - 1;
	return code;
}

static const void *find(const void *mem, size_t size, uint16_t type, size_t len)
{
	const struct nlattr *a = mem;
	int left = (int)size;

	for (; mnl_attr_ok(a, left);
	     left -= MNL_ALIGN(a->nla_len), a = mnl_attr_next(a)) {
		if (mnl_attr_get_type(a) == type)
			return mnl_attr_get_payload_len(a) >= len ?
				       mnl_attr_get_payload(a) :
				       NULL;
	}
	return NULL;
}

const void *rtnl_find(const struct nlmsghdr *m, size_t skip, uint16_t type,
		      size_t len)
{
	const size_t at = NLMSG_HDRLEN + MNL_ALIGN(skip);

	if (m->nlmsg_len < at)
		return NULL;
	return find((const uint8_t *)m + at, m->nlmsg_len - at, type, len);
}

size_t rtnl_length(const void *found)
{
	const struct nlattr *a =
		(const void *)((const uint8_t *)found - MNL_ATTR_HDRLEN);

	return mnl_attr_get_payload_len(a);
}

const void *rtnl_inside(const void *nest, uint16_t type, size_t len)
{
	return find(nest, rtnl_length(nest), type, len);
}
