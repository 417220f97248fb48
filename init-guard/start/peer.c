/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.c - tests that the kernel reports a socket's peer correctly
 *
 * A process of another uid connects to a socket of ours, first tries to pass
 * for root, then sends its own credentials. SO_PEERCRED and SCM_CREDENTIALS
 * must both name its pid, uid and gid, and the forgery must fail. Some
 * runtimes' SO_PEERCRED named the server itself: there every caller of vaultd
 * would be trusted. gVisor still does so for SOCK_SEQPACKET, which is why this
 * and vaultd's socket are streams.
 */
#include "init-guard/start/peer.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define PEER_HONEST 'h'
#define PEER_FORGED 'f' /* the kernel accepted forged credentials */

union cred_cmsg {
	char buf[CMSG_SPACE(sizeof(struct ucred))];
	struct cmsghdr align;
};

/* An abstract name needs no file system and trusts none. */
static socklen_t peer_address(struct sockaddr_un *sa)
{
	static const char name[] = "ac-self-test";

	*sa = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(sa->sun_path + 1, name, sizeof(name));
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   sizeof(name));
}

static bool send_as(int fd, char what, const struct ucred *cred)
{
	struct iovec iov = { .iov_base = &what, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	union cred_cmsg control = { 0 };
	struct cmsghdr *c;

	if (cred) {
		msg.msg_control = control.buf;
		msg.msg_controllen = sizeof(control.buf);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_CREDENTIALS;
		c->cmsg_len = CMSG_LEN(sizeof(*cred));
		memcpy(CMSG_DATA(c), cred, sizeof(*cred));
	}
	return sendmsg(fd, &msg, MSG_NOSIGNAL) == 1;
}

int peer_speak(void)
{
	const struct ucred root = { .pid = 1, .uid = 0, .gid = 0 };
	struct sockaddr_un sa;
	socklen_t len = peer_address(&sa);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool said;

	if (fd < 0)
		return 1;
	said = connect(fd, (struct sockaddr *)&sa, len) == 0 &&
	       (send_as(fd, PEER_FORGED, &root) ||
		send_as(fd, PEER_HONEST, NULL));
	close(fd);
	return said ? 0 : 2;
}

static int receive(int fd, char *what, struct ucred *ret, struct err *err)
{
	struct iovec iov = { .iov_base = what, .iov_len = 1 };
	union cred_cmsg control = { 0 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	struct cmsghdr *c;

	if (recvmsg(fd, &msg, MSG_CMSG_CLOEXEC) != 1)
		return err_sys(err, "receive with credentials");
	c = CMSG_FIRSTHDR(&msg);
	if (!c || c->cmsg_level != SOL_SOCKET ||
	    c->cmsg_type != SCM_CREDENTIALS ||
	    c->cmsg_len != CMSG_LEN(sizeof(*ret)) ||
	    (msg.msg_flags & MSG_CTRUNC))
		return err_set(err, -EPROTO, "SCM_CREDENTIALS is missing");
	memcpy(ret, CMSG_DATA(c), sizeof(*ret));
	return 0;
}

static int cred_judge(const char *what, const struct ucred *got, pid_t pid,
		      uid_t id, struct err *err)
{
	if (got->pid == pid && got->uid == id && got->gid == id)
		return 0;
	return err_set(err, -EPERM,
		       "%s says pid %d uid %u gid %u for pid %d uid and gid %u",
		       what, got->pid, (unsigned int)got->uid,
		       (unsigned int)got->gid, pid, (unsigned int)id);
}

int peer_judge(int listener, pid_t pid, uid_t id, struct err *err)
{
	SCOPED_FD fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	struct ucred peer = { 0 }, sender = { 0 };
	socklen_t len = sizeof(peer);
	char what = PEER_FORGED;
	int rc;

	if (fd < 0)
		return err_sys(err, "accept a connection");
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return err_sys(err, "SO_PEERCRED");
	rc = cred_judge("SO_PEERCRED", &peer, pid, id, err);
	if (rc == 0)
		rc = receive(fd, &what, &sender, err);
	if (rc == 0 && what != PEER_HONEST)
		rc = err_set(err, -EPERM, "SCM_CREDENTIALS can be forged");
	if (rc == 0)
		rc = cred_judge("SCM_CREDENTIALS", &sender, pid, id, err);
	return rc;
}

int peer_listen(struct err *err)
{
	struct sockaddr_un sa;
	socklen_t len = peer_address(&sa);
	SCOPED_FD fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1;

	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, len) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0 ||
	    listen(fd, 1) < 0)
		return err_sys(err, "listen on a unix socket");
	return fd_take(&fd);
}
