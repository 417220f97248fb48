/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sock.c - unix sockets and descriptor passing
 */
#include "lib/sock.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/*
 * Space for more than the one descriptor asked for: rounding lets the kernel
 * install a second one anyway, and with SO_PASSCRED credentials come along.
 * What does not fit the kernel closes itself.
 */
#define CONTROL_SPACE \
	(CMSG_SPACE(4 * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred)))

union control {
	char bytes[CONTROL_SPACE];
	struct cmsghdr align;
};

int fd_nonblock(int fd, int on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -errno;
	if (!(flags & O_NONBLOCK) == !on)
		return 0;
	flags ^= O_NONBLOCK;
	return fcntl(fd, F_SETFL, flags) < 0 ? -errno : 0;
}

static int unix_address(const char *path, struct sockaddr_un *ret)
{
	size_t len = strlen(path);

	if (len == 0)
		return -EINVAL; /* would be an abstract name */
	if (len >= sizeof(ret->sun_path))
		return -ENAMETOOLONG;
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(ret->sun_path, path, len);
	return 0;
}

static int unix_connect(const struct sockaddr_un *addr, int flags)
{
	SCOPED_FD fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
	int rc;

	if (fd < 0)
		return -errno;
	do {
		rc = connect(fd, (const struct sockaddr *)addr, sizeof(*addr));
	} while (rc < 0 && errno == EINTR);
	return rc < 0 ? -errno : fd_take(&fd);
}

/* Removes a socket without a listener; anything else is left alone. */
static int unix_remove_stale(const struct sockaddr_un *addr)
{
	struct stat st;
	int fd;

	if (lstat(addr->sun_path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	fd = unix_connect(addr, SOCK_NONBLOCK);
	if (fd >= 0)
		close(fd);
	if (fd != -ECONNREFUSED)
		return -EADDRINUSE;
	if (unlink(addr->sun_path) < 0 && errno != ENOENT)
		return -errno;
	return 0;
}

int sock_unix_listen(const char *path, mode_t mode, int backlog)
{
	struct sockaddr_un addr;
	SCOPED_FD fd = -1;
	int rc = unix_address(path, &addr);

	if (rc < 0)
		return rc;
	rc = unix_remove_stale(&addr);
	if (rc < 0)
		return rc;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/*
	 * Linux gives the file the mode of the unbound socket, less the
	 * umask, so it is never open to more than @mode; the second call
	 * restores what the umask took.
	 */
	if (fchmod(fd, mode) < 0 ||
	    bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0)
		return -errno;
	if (chmod(path, mode) < 0 || listen(fd, backlog) < 0) {
		rc = -errno;
		unlink(path);
		return rc;
	}
	return fd_take(&fd);
}

int sock_unix_connect(const char *path)
{
	struct sockaddr_un addr;
	int rc = unix_address(path, &addr);

	return rc < 0 ? rc : unix_connect(&addr, 0);
}

int sock_send_fd(int sock, int fd, const void *data, size_t len)
{
	union control control = { .bytes = { 0 } };
	struct iovec iov = { .iov_len = len };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = CMSG_SPACE(sizeof(fd)),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	ssize_t n;

	if (len == 0)
		return -EINVAL; /* a stream carries no descriptor alone */
	/* iov_base is not const, though sendmsg() only reads. */
	memcpy(&iov.iov_base, &data, sizeof(data));
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	do {
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	/* A part was sent: one recv will not take it all. */
	return (size_t)n < len ? -EMSGSIZE : 0;
}

/* Keeps the first descriptor of a message, closes all others. */
static int control_first_fd(struct msghdr *msg)
{
	int kept = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c;
	     c = CMSG_NXTHDR(msg, c)) {
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (kept < 0)
				kept = fd;
			else
				close(fd);
		}
	}
	return kept;
}

ssize_t sock_recv_fd(int sock, int *ret_fd, void *data, size_t len)
{
	union control control;
	struct iovec iov = { .iov_base = data, .iov_len = len };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n;

	do {
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	*ret_fd = control_first_fd(&msg);
	return n;
}

int sock_peer(int sock, pid_t *ret_pid, uid_t *ret_uid, gid_t *ret_gid)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	if (len != sizeof(cred))
		return -EPROTO;
	if (ret_pid)
		*ret_pid = cred.pid;
	if (ret_uid)
		*ret_uid = cred.uid;
	if (ret_gid)
		*ret_gid = cred.gid;
	return 0;
}
