/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own.c - the addresses of the machine that the gateway runs on
 *
 * Theory of operation: each load of the policy asks the kernel by rtnetlink,
 * reads the file, and keeps both answers. The socket is made at the start: the
 * filter of system calls lets it be used, but no other of its family be opened.
 */
#include "ottergate/policy/net/own.h"

#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/time.h>

#include "lib/file.h"
#include "lib/str.h"

#define ANSWER_MAX 32768u /* the kernel's own bound for a part of a dump */
#define ANSWER_PARTS_MAX 256u
#define ANSWER_WAIT_S 2

static int own_fd = -1;

bool own_has(const struct own *o, const struct addr *a)
{
	for (size_t i = 0; i < o->n; i++)
		if (addr_eq(&o->v[i], a))
			return true;
	return false;
}

static int own_add(struct own *o, const struct addr *a)
{
	if (own_has(o, a))
		return 0;
	if (o->n == OWN_MAX)
		return -E2BIG;
	o->v[o->n++] = *a;
	return 0;
}

static int own_add_bytes(struct own *o, uint8_t family, struct slice bytes)
{
	struct addr a = { .family = family == AF_INET ? 4 : 6 };

	if (bytes.len != (a.family == 4 ? 4u : 16u))
		return -EBADMSG;
	memcpy(a.b, bytes.ptr, bytes.len);
	return own_add(o, &a);
}

/* @in: struct ifaddrmsg and its attributes. With a peer IFA_ADDRESS is that
 * one's, and IFA_LOCAL ours. */
static int own_message(struct slice in, struct own *o)
{
	struct slice head, body, attr, ours = slice_of(NULL, 0);
	bool local = false;
	struct ifaddrmsg msg;
	struct rtattr rta;

	if (slice_take(&in, NLMSG_ALIGN(sizeof(msg)), &head) < 0)
		return -EBADMSG;
	memcpy(&msg, head.ptr, sizeof(msg));
	if (msg.ifa_family != AF_INET && msg.ifa_family != AF_INET6)
		return 0;
	while (in.len >= sizeof(rta)) {
		memcpy(&rta, in.ptr, sizeof(rta));
		if (rta.rta_len < sizeof(rta) ||
		    slice_take(&in, rta.rta_len, &attr) < 0)
			return -EBADMSG;
		body = slice_of(attr.ptr + sizeof(rta), attr.len - sizeof(rta));
		if (rta.rta_type == IFA_LOCAL ||
		    (rta.rta_type == IFA_ADDRESS && !local))
			ours = body;
		local |= rta.rta_type == IFA_LOCAL;
		if (slice_take(&in, RTA_ALIGN(attr.len) - attr.len, &body) < 0)
			break; /* the last one needs no padding */
	}
	return ours.len > 0 ? own_add_bytes(o, msg.ifa_family, ours) : 0;
}

static int own_error(struct slice in)
{
	struct nlmsgerr e;

	if (in.len < sizeof(e.error))
		return -EBADMSG;
	memcpy(&e.error, in.ptr, sizeof(e.error));
	return e.error < 0 ? e.error : -EBADMSG;
}

int own_parse(struct slice in, struct own *o)
{
	while (in.len >= sizeof(struct nlmsghdr)) {
		struct nlmsghdr h;
		struct slice msg, pad;
		int rc = 0;

		memcpy(&h, in.ptr, sizeof(h));
		if (h.nlmsg_len < NLMSG_HDRLEN ||
		    slice_take(&in, h.nlmsg_len, &msg) < 0)
			return -EBADMSG;
		msg = slice_of(msg.ptr + NLMSG_HDRLEN, msg.len - NLMSG_HDRLEN);
		if (h.nlmsg_type == NLMSG_DONE)
			return 1;
		if (h.nlmsg_type == NLMSG_ERROR)
			rc = own_error(msg);
		else if (h.nlmsg_type == RTM_NEWADDR)
			rc = own_message(msg, o);
		if (rc < 0)
			return rc;
		if (slice_take(&in, NLMSG_ALIGN(h.nlmsg_len) - h.nlmsg_len,
			       &pad) < 0)
			break;
	}
	return 0;
}

int own_open(struct err *err)
{
	const struct timeval wait = { .tv_sec = ANSWER_WAIT_S };
	SCOPED_FD fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0)
		return err_sys(err, "a socket to ask for own addresses");
	own_fd = fd_take(&fd);
	return 0;
}

void own_close(void)
{
	fd_closep(&own_fd);
}

static int own_ask(uint32_t seq)
{
	const struct {
		struct nlmsghdr h;
		struct ifaddrmsg msg;
	} ask = {
		.h = { .nlmsg_len = sizeof(ask),
		       .nlmsg_type = RTM_GETADDR,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		       .nlmsg_seq = seq },
	};

	return send(own_fd, &ask, sizeof(ask), 0) < 0 ? -errno : 0;
}

/* Parts of an answer that a former question did not wait for are no error:
 * they have another number. */
static int own_answer(uint32_t seq, struct own *ret)
{
	_Alignas(struct nlmsghdr) uint8_t mem[ANSWER_MAX];

	for (unsigned i = 0; i < ANSWER_PARTS_MAX; i++) {
		ssize_t n = recv(own_fd, mem, sizeof(mem), 0);
		struct nlmsghdr h;
		int rc;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if ((size_t)n < sizeof(h))
			return -EBADMSG;
		memcpy(&h, mem, sizeof(h));
		if (h.nlmsg_seq != seq)
			continue;
		rc = own_parse(slice_of(mem, (size_t)n), ret);
		if (rc != 0)
			return rc < 0 ? rc : 0;
	}
	return -E2BIG;
}

int own_read(struct own *ret, struct err *err)
{
	static uint32_t seq;
	int rc;

	ret->n = 0;
	if (own_fd < 0)
		return 0;
	rc = own_ask(++seq);
	if (rc == 0)
		rc = own_answer(seq, ret);
	return rc < 0 ? err_set(err, rc, "own addresses: %s", err_text(rc)) : 0;
}

static int own_line(struct slice line, struct own *o)
{
	struct addr a;
	int rc = addr_parse(line, &a);

	if (rc < 0)
		return rc;
	return addr_classify(&a) == ADDR_PUBLIC ? own_add(o, &a) : 0;
}

int own_file(const char *path, struct own *o, struct err *err)
{
	SCOPED_STR text = NULL;
	struct slice in, line;
	unsigned n = 0;
	size_t len = 0;
	int rc = file_read(path, OWN_FILE_MAX, &text, &len);

	if (rc == -ENOENT)
		return 0;
	if (rc < 0)
		return err_set(err, rc, "%s: %s", path, err_text(rc));
	in = slice_of((const uint8_t *)text, len);
	while (rc == 0 && in.len > 0) {
		n++;
		line = slice_line(&in);
		rc = own_line(line, o);
	}
	return rc < 0 ? err_set(err, rc, "%s:%u: %s", path, n,
				rc == -E2BIG ? "too many addresses" :
					       "not an address") :
			0;
}
