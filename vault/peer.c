/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.c - the peer of a connection, as the kernel reports it
 *
 * unix(7): SO_PEERCRED is from the time of connect(), SCM_CREDENTIALS of each
 * message. If the connection was passed on in between, they differ.
 */
#include "vault/peer.h"

#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

#include "vault/paths.h"

#define FDS_MAX 16u

union control {
	char bytes[CMSG_SPACE(sizeof(struct ucred)) +
		   CMSG_SPACE(FDS_MAX * sizeof(int))];
	struct cmsghdr align;
};

int peer_connected(int fd, struct ucred *ret)
{
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	if (len != sizeof(cred))
		return -EPROTO;
	*ret = cred;
	return 0;
}

static void close_all(const struct cmsghdr *c)
{
	const size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	size_t i;
	int fd;

	for (i = 0; i < n; i++) {
		memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
		close(fd);
	}
}

/* Returns true if there was exactly one set of credentials and nothing else. */
static bool control_take(struct msghdr *msg, struct ucred *ret)
{
	bool alone = true;
	unsigned int creds = 0;
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level == SOL_SOCKET &&
		    c->cmsg_type == SCM_CREDENTIALS &&
		    c->cmsg_len == CMSG_LEN(sizeof(*ret))) {
			memcpy(ret, CMSG_DATA(c), sizeof(*ret));
			creds++;
			continue;
		}
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			close_all(c);
		alone = false;
	}
	return alone && creds == 1 && !(msg->msg_flags & MSG_CTRUNC);
}

ssize_t peer_receive(int fd, void *data, size_t len, struct ucred *ret)
{
	struct iovec iov = { .iov_base = data, .iov_len = len };
	union control control = { 0 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct ucred cred = { 0 };
	ssize_t n;

	do {
		n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (!control_take(&msg, &cred))
		return n == 0 ? 0 : -EPROTO;
	*ret = cred;
	return n;
}

static bool id_is_ours(uid_t id)
{
	return id == VAULT_ID || id == VAULT_AGENT_ID;
}

int peer_agree(const struct ucred *connected, const struct ucred *sent)
{
	/* pid 0: the process has died, or the kernel does not say */
	if (connected->pid <= 1 || connected->pid != sent->pid ||
	    connected->uid != VAULT_ID || connected->gid != VAULT_ID ||
	    !id_is_ours(sent->uid) || !id_is_ours(sent->gid))
		return -EACCES;
	return 0;
}
