/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sock_test.c - stale sockets, modes, descriptors nobody asked for
 */
#include "lib/sock.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "lib/file.h"
#include "tests/unit/tap.h"

static char home[] = "/tmp/sock_test-XXXXXX";

static int open_fds(void)
{
	SCOPED_DIR dir = opendir("/proc/self/fd");
	int count = 0;

	while (dir && readdir(dir))
		count++;
	return count;
}

static void test_flags(void)
{
	SCOPED_FD fd = open("/dev/null", O_RDONLY);

	ok(fd_nonblock(fd, 1) == 0 && fcntl(fd, F_GETFL) & O_NONBLOCK,
	   "nonblock on");
	ok(fd_nonblock(fd, 0) == 0 && !(fcntl(fd, F_GETFL) & O_NONBLOCK),
	   "and off");
	is_int(fd_nonblock(-1, 1), -EBADF, "no descriptor");
}

static void test_listen(void)
{
	SCOPED_FD first = sock_unix_listen("s", 0660, 8);
	SCOPED_FD second = -1;
	SCOPED_FD client = -1;
	SCOPED_FD server = -1;
	uid_t uid = (uid_t)-1;
	pid_t pid = 0;
	struct stat st;

	if (!ok(first >= 0, "listen"))
		return;
	ok(fcntl(first, F_GETFD) == FD_CLOEXEC &&
		   fcntl(first, F_GETFL) & O_NONBLOCK,
	   "cloexec, non-blocking");
	ok(stat("s", &st) == 0 && (st.st_mode & 07777) == 0660,
	   "the mode is exact");
	is_int(sock_unix_listen("s", 0600, 8), -EADDRINUSE, "a live socket");
	client = sock_unix_connect("s");
	ok(client >= 0 && fcntl(client, F_GETFD) == FD_CLOEXEC, "connect");
	/* The probe of the second listen() is first in the queue. */
	close(accept(first, NULL, NULL));
	server = accept4(first, NULL, NULL, SOCK_CLOEXEC);
	ok(sock_peer(server, &pid, &uid, NULL) == 0 && pid == getpid() &&
		   uid == getuid(),
	   "the peer's identity");
	is_int(sock_peer(-1, &pid, &uid, NULL), -EBADF, "of nobody");
	fd_closep(&first);
	is_int(sock_unix_connect("s"), -ECONNREFUSED, "a stale socket");
	second = sock_unix_listen("s", 0600, 8);
	ok(second >= 0, "is replaced");
}

static void test_paths(void)
{
	char name[200];
	struct stat st;

	memset(name, 'x', sizeof(name));
	name[108] = '\0';
	is_int(sock_unix_listen(name, 0600, 8), -ENAMETOOLONG, "108 bytes");
	is_int(sock_unix_connect(name), -ENAMETOOLONG, "nor connect");
	name[107] = '\0';
	fd_closep(&(int){ sock_unix_listen(name, 0600, 8) });
	ok(lstat(name, &st) == 0 && S_ISSOCK(st.st_mode), "107 bytes");
	is_int(sock_unix_listen("", 0600, 8), -EINVAL, "no name");
	is_int(sock_unix_connect(""), -EINVAL, "nor connect");
	is_int(sock_unix_connect("missing"), -ENOENT, "no socket");
	is_int(sock_unix_listen("no/dir", 0600, 8), -ENOENT, "no directory");
	file_write_atomic("file", "x", 1, 0600);
	is_int(sock_unix_listen("file", 0600, 8), -EEXIST, "a file");
	ok(lstat("file", &st) == 0 && S_ISREG(st.st_mode), "is left alone");
	ok(symlink("s", "link") == 0 &&
		   sock_unix_listen("link", 0600, 8) == -EEXIST,
	   "a link as well");
}

static void test_pass(void)
{
	int pair[2] = { -1, -1 };
	SCOPED_FD file = open("file", O_RDONLY | O_CLOEXEC);
	SCOPED_FD got = -1;
	int none = 7;
	char data[16] = "";

	if (!ok(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0,
		"a pair"))
		return;
	is_int(sock_send_fd(pair[0], file, "hi", 2), 0, "send");
	is_int(sock_recv_fd(pair[1], &got, data, sizeof(data)), 2, "receive");
	ok(got >= 0 && got != file && fcntl(got, F_GETFD) == FD_CLOEXEC,
	   "a descriptor, cloexec");
	is_str(data, "hi", "with the bytes");
	ok(read(got, data, 1) == 1 && data[0] == 'x', "it is the file");
	ok(write(pair[0], "abc", 3) == 3 &&
		   sock_recv_fd(pair[1], &none, data, sizeof(data)) == 3,
	   "bytes alone");
	is_int(none, -1, "bring none");
	is_int(sock_send_fd(pair[0], file, NULL, 0), -EINVAL, "no bytes");
	is_int(sock_send_fd(pair[0], -1, "x", 1), -EBADF, "no descriptor");
	close(pair[0]);
	is_int(sock_recv_fd(pair[1], &none, data, sizeof(data)), 0,
	       "end of file");
	is_int(none, -1, "brings none");
	is_int(sock_send_fd(pair[1], file, "x", 1), -EPIPE,
	       "nobody there: no SIGPIPE");
	close(pair[1]);
}

/* Sends @count descriptors at once, as no friend would. */
static int send_many(int sock, int fd, size_t count)
{
	union {
		char bytes[CMSG_SPACE(200 * sizeof(int))];
		struct cmsghdr align;
	} control = { .bytes = { 0 } };
	struct iovec iov = { .iov_base = (char[]){ 'x' }, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = CMSG_SPACE(count * sizeof(int)),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(count * sizeof(int));
	for (size_t i = 0; i < count; i++)
		memcpy(CMSG_DATA(c) + i * sizeof(int), &fd, sizeof(fd));
	return sendmsg(sock, &msg, 0) == 1 ? 0 : -errno;
}

static void test_many(void)
{
	static const size_t counts[] = { 1, 2, 3, 4, 5, 6, 12, 200 };
	int pair[2], on = 1, before;
	char byte;

	if (!ok(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0,
		"a pair"))
		return;
	before = open_fds();
	for (size_t i = 0; i < 2 * ARRAY_SIZE(counts); i++) {
		size_t count = counts[i % ARRAY_SIZE(counts)];
		int fd = -1;

		if (i == ARRAY_SIZE(counts))
			setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on,
				   sizeof(on));
		is_int(send_many(pair[0], pair[0], count), 0,
		       "send %zu descriptors", count);
		ok(sock_recv_fd(pair[1], &fd, &byte, 1) == 1 && fd >= 0,
		   "receive one");
		fd_closep(&fd);
		is_int(open_fds(), before, "no other stays open");
	}
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	if (!mkdtemp(home) || chdir(home) < 0) {
		perror(home);
		return 1;
	}
	umask(077);
	test_flags();
	test_listen();
	test_paths();
	test_pass();
	test_many();
	ok(chdir("/") == 0 && file_remove_tree(home) == 0, "clean up");
	return done_testing();
}
