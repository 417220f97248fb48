/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenes.c - what strangers' programs do around a connect()
 */
#include "tests/fake/preload/guest.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define FORKS 200

int tcp(int flags)
{
	return socket(AF_INET, SOCK_STREAM | flags, 0);
}

void say(int code)
{
	printf("%s ", name_of(code));
}

int dial(const char *text)
{
	int fd = tcp(0), rc = connect_to(fd, text, PORT);

	close(fd);
	return rc;
}

/* Connected already: whatever is asked for, the kernel says EISCONN. */
static void connected(void)
{
	int fd = tcp(0);

	say(connect_to(fd, ALLOWED, PORT));
	say(connect_to(fd, ALLOWED, PORT));
	say(connect_to(fd, DENIED, PORT));
	say(connect_to(fd, DENIED, PORT));
	close(fd);
}

/* A queue that is full leaves the next connection in SYN-SENT. */
static int stuck(int *ret_port)
{
	struct sockaddr_storage ss;
	socklen_t len = address(&ss, AF_INET, ALLOWED, 0);
	int server = tcp(0);

	if (bind(server, (void *)&ss, len) < 0 || listen(server, 0) < 0)
		return -1;
	getsockname(server, (void *)&ss, &len);
	*ret_port = ntohs(((struct sockaddr_in *)&ss)->sin_port);
	for (int i = 0; i < 8; i++) {
		struct pollfd p = { .fd = tcp(SOCK_NONBLOCK),
				    .events = POLLOUT };

		if (connect_to(p.fd, ALLOWED, *ret_port) == EINPROGRESS &&
		    poll(&p, 1, 100) == 0)
			return p.fd;
	}
	return -1;
}

static void in_progress(void)
{
	int port = 0, fd = stuck(&port);

	say(connect_to(fd, ALLOWED, port));
	say(connect_to(fd, DENIED, PORT));
	say(connect_to(fd, DENIED, PORT));
}

/* The error of a connection that failed is told by the next call. */
static void failed_before(void)
{
	struct sockaddr_storage ss;
	socklen_t len = address(&ss, AF_INET, ALLOWED, 1);
	int fd = tcp(SOCK_NONBLOCK);
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	say(result_of(connect(fd, (void *)&ss, len)));
	poll(&p, 1, 1000);
	say(connect_to(fd, DENIED, PORT));
	close(fd);
	fd = tcp(0);
	say(connect_to(fd, ALLOWED, 1));
	say(connect_to(fd, ALLOWED, PORT));
	close(fd);
}

static void odd_sockets(void)
{
	struct sockaddr_storage in, in6;
	socklen_t len = address(&in, AF_INET, DENIED, PORT);
	socklen_t len6 = address(&in6, AF_INET6, DENIED, PORT);
	int one = 1, p[2], fd = tcp(0);

	say(connect_to(-1, DENIED, PORT));
	if (pipe(p) == 0)
		say(connect_to(p[0], DENIED, PORT));
	say(result_of(connect(fd, (void *)&in, 3)));
	say(result_of(connect(fd, (void *)&in6, len6)));
	listen(fd, 1);
	say(connect_to(fd, DENIED, PORT));
	fd = socket(AF_INET6, SOCK_STREAM, 0);
	say(result_of(connect(fd, (void *)&in, len)));
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	say(result_of(connect(fd, (void *)&in6, len6)));
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	say(connect_to(fd, DENIED, PORT));
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	say(result_of(sendto(fd, "x", 1, 0, (void *)&in, 3)));
	say(result_of(sendto(-1, "x", 1, 0, (void *)&in, len)));
}

/* What is never asked about. */
static void left_alone(void)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX,
				  .sun_path = "/nowhere/at/all" };
	struct sockaddr_storage none = { .ss_family = AF_UNSPEC };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	say(result_of(connect(fd, (void *)&un, sizeof(un))));
	fd = tcp(0);
	say(result_of(connect(fd, (void *)&none, sizeof(none))));
	say(connect_to(fd, "127.0.0.1", PORT));
	fd = tcp(0);
	say(connect_to(fd, "127.9.9.9", 1));
	say(connect_to(tcp(0), "0.0.0.0", PORT));
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	say(connect_to(fd, DENIED, 53));
	say(connect_to(fd, DENIED, 0));
	say(connect_to(fd, DENIED_LITERAL, PORT));
	say(result_of(send(fd, "x", 1, 0)));
	say(connect_to(fd, DENIED, PORT));
	say(result_of(send(fd, "x", 1, 0)));
}

/* What a resolver in a program does with each address that it has found: a
 * connect() of UDP, only to learn which address of its own leads there. */
static void learn(void)
{
	static const char *const to[] = { DENIED, DENIED_LITERAL, ALLOWED };

	for (int i = 0; i < 6; i++) {
		struct sockaddr_in in = { 0 };
		socklen_t len = sizeof(in);
		int fd = socket(AF_INET, SOCK_DGRAM, 0);

		say(connect_to(fd, to[i % 3], PORT));
		getsockname(fd, (void *)&in, &len);
		printf("%d ", in.sin_addr.s_addr != 0);
		close(fd);
	}
}

/* Disconnected by AF_UNSPEC, a socket begins anew, with an error of the old
 * connection: the kernel goes on, so the shim leaves it to the network. */
static void again(void)
{
	struct sockaddr_storage none = { .ss_family = AF_UNSPEC };
	int fd = tcp(0);

	say(connect_to(fd, ALLOWED, PORT));
	say(result_of(connect(fd, (void *)&none, sizeof(none))));
	say(connect_to(fd, DENIED, PORT));
	say(connect_to(fd, ALLOWED, PORT));
	close(fd);
}

static void by_epoll(void)
{
	int ep = epoll_create1(0), fd = tcp(SOCK_NONBLOCK);
	struct epoll_event ev = { .events = EPOLLOUT | EPOLLONESHOT };

	say(connect_to(fd, ALLOWED, PORT));
	epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
	printf("%d ", epoll_wait(ep, &ev, 1, 5000));
	printf("%d ", ev.events == EPOLLOUT);
	say(finish(fd));
	say(connect_to(fd, ALLOWED, PORT));
}

static void mixed(void)
{
	static const char *const to[] = { ALLOWED, ALLOWED_TOO, DENIED,
					  ALLOWED };
	struct sockaddr_storage ss[4];
	static char hello[] = "hello";
	struct iovec iov = { .iov_base = hello, .iov_len = 5 };
	struct mmsghdr m[4] = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	for (int i = 0; i < 4; i++) {
		m[i].msg_hdr.msg_namelen =
			address(&ss[i], AF_INET, to[i], PORT);
		m[i].msg_hdr.msg_name = &ss[i];
		m[i].msg_hdr.msg_iov = &iov;
		m[i].msg_hdr.msg_iovlen = 1;
	}
	printf("%d ", sendmmsg(fd, m, 4, 0));
	printf("%u %u ", m[1].msg_len, m[2].msg_len);
	say(result_of(sendmmsg(fd, m + 2, 2, 0)));
	printf("%d ", sendmmsg(fd, m + 3, 1, 0));
	printf("%d ", sendmmsg(fd, m, 0, 0));
	say(result_of(sendmmsg(-1, m, 1, 0)));
	say(result_of(sendmsg(fd, NULL, 0)) == EFAULT ? 0 : 1);
}

/* What the parent has been told, its children know: a storm of questions
 * would make some answers late, and what is late passes. */
static void forks(void)
{
	int n = dial(DENIED) == ECONNREFUSED && dial(ALLOWED) == 0 ? 0 : -FORKS;
	int status;

	for (int i = 0; i < FORKS; i++) {
		if (fork() == 0) {
			pid_t grandchild = fork();
			int code = dial(i % 2 ? ALLOWED : DENIED);

			if (grandchild > 0)
				waitpid(grandchild, &status, 0);
			_exit(code != (i % 2 ? 0 : ECONNREFUSED));
		}
	}
	while (wait(&status) > 0)
		n += status == 0;
	printf("%d ", n);
}

/* The child runs in the parent's memory until it execs. */
static void by_vfork(void)
{
	int fd = tcp(0), status = 1;
	volatile int code = 0;
	pid_t pid;

	errno = 0;
	pid = vfork(); /* NOLINT: what we test */
	if (pid == 0) {
		code = connect_to(fd, DENIED, PORT); /* NOLINT */
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	say(code);
	printf("%d ", status);
	say(connect_to(fd, DENIED, PORT));
}

/* GUEST_LIBRARY: an object with a function that connects. */
static void by_dlopen(void)
{
	const char *path = getenv("GUEST_LIBRARY");
	int (*fn)(const char *, int);

	for (int i = 0; path && i < 3; i++) {
		void *lib = dlopen(path,
				   i == 1 ? RTLD_NOW | RTLD_GLOBAL : RTLD_LAZY);
		void *p = lib ? dlsym(lib, "library_connect") : NULL;

		if (!p) {
			printf("%s ", dlerror());
			return;
		}
		memcpy(&fn, &p, sizeof(fn));
		say(fn(DENIED, PORT));
		say(fn(ALLOWED, PORT));
		dlclose(lib);
	}
}

/* No descriptor is to be had: the call is the kernel's. */
static void no_descriptor(void)
{
	struct rlimit rl = { 0 };
	int fd = tcp(0), more = tcp(0);

	getrlimit(RLIMIT_NOFILE, &rl);
	rl.rlim_cur = (rlim_t)more + 1;
	setrlimit(RLIMIT_NOFILE, &rl);
	say(connect_to(fd, DENIED, PORT));
	rl.rlim_cur = rl.rlim_max;
	setrlimit(RLIMIT_NOFILE, &rl);
	say(connect_to(more, DENIED, PORT));
}

/* A data file in the place of standard error. */
static void replaced(void)
{
	const char *path = getenv("GUEST_FILE");
	int fd = path ? open(path, O_CREAT | O_RDWR | O_TRUNC, 0600) : -1;

	dup2(fd, STDERR_FILENO);
	say(dial(DENIED));
	printf("%ld ", (long)lseek(fd, 0, SEEK_END));
}

/* Denied with a reader that has gone, or at the limit of a file's size; the
 * mask of signals is as before, and nothing is pending. */
static void no_signal(void)
{
	const struct rlimit none = { 0 };
	sigset_t set, pending;

	if (getenv("GUEST_LIMIT"))
		setrlimit(RLIMIT_FSIZE, &none);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	say(dial(DENIED));
	sigprocmask(SIG_SETMASK, NULL, &set);
	sigpending(&pending);
	printf("%d%d%d%d ", sigismember(&set, SIGUSR1),
	       sigismember(&set, SIGPIPE), sigismember(&pending, SIGPIPE),
	       sigismember(&pending, SIGXFSZ));
}

/* No route leads from here by IPv6. */
static void ipv6(void)
{
	struct sockaddr_storage ss;
	socklen_t len = address(&ss, AF_INET6, "2001:db8::1", PORT);

	for (int i = 0; i < 2; i++)
		say(result_of(connect(socket(AF_INET6, SOCK_STREAM, 0),
				      (void *)&ss, len)));
	say(result_of(
		connect(socket(AF_INET6, SOCK_DGRAM, 0), (void *)&ss, len)));
}

/* A filter of system calls (seccomp(2)) that ends who makes this one: as
 * linux/seccomp.h and linux/filter.h have it, which musl has not. */
static int filtered(long number)
{
	struct {
		unsigned short code;
		unsigned char yes, no;
		unsigned k;
	} filter[] = {
		{ 0x20, 0, 0, 0 }, /* the number of the call */
		{ 0x15, 0, 1, (unsigned)number },
		{ 0x06, 0, 0, 0x80000000u }, /* ends the process */
		{ 0x06, 0, 0, 0x7fff0000u }, /* goes on */
	};
	struct {
		unsigned short len;
		void *filter;
	} program = { 4, filter };

	/* Past the C library, and so past what looks on. */
	return (int)syscall(SYS_prctl, PR_SET_SECCOMP, 2, &program, 0, 0);
}

/* As a program does it to itself. */
static int forbid(long number)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -1 :
							    filtered(number);
}

#define NO_FILTER 77

/* How a program ends that goes there and must not ask what its socket is. */
static int forbidden(const char *const *to, int n)
{
	int status = 0, code = 0;

	if (fork() == 0) {
		if (forbid(SYS_getsockopt) < 0)
			_exit(NO_FILTER);
		for (int i = 0; i < n; i++)
			code |= dial(to[i]);
		_exit(code);
	}
	wait(&status);
	return WIFSIGNALED(status) ? -1 : WEXITSTATUS(status);
}

/* What is known, that nobody is to be asked there too, costs no other call. */
static void one_call(void)
{
	static const char *const known[] = { ALLOWED, "198.18.1.1" };
	static const char *const other[] = { ALLOWED_TOO };
	int end, wanted = -1;

	dial(known[0]);
	dial(known[1]);
	end = forbidden(known, 2);
	if (end == NO_FILTER)
		wanted = NO_FILTER; /* not allowed here */
	printf("%d %d ", end == NO_FILTER ? 0 : end,
	       forbidden(other, 1) == wanted);
}

/* Ends without exit(3). */
static void leave(void)
{
	_exit(0);
}

/* Children that end by exit(3), of one that has connected. */
static void offspring(void)
{
	int good = 0;

	say(dial(FAILED));
	for (int i = 0; i < 5; i++) {
		int status = -1;
		pid_t pid = fork();

		if (pid == 0)
			exit(0); /* what it printed is not buffered */
		waitpid(pid, &status, 0);
		good += status == 0;
	}
	printf("%d ", good);
}

/* A child that connects and then may make no socket any more: its status. As in
 * a sandbox it has had a filter from the start. */
static void confined(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		if (syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    filtered(SYS_acct) < 0)
			exit(NO_FILTER);
		dial(FAILED);
		exit(forbid(SYS_socket) < 0 ? NO_FILTER : 3);
	}
	waitpid(pid, &status, 0);
	if (!WIFEXITED(status))
		printf("signal %d ", WTERMSIG(status));
	else
		printf("%d ", WEXITSTATUS(status) == NO_FILTER ?
				      3 :
				      WEXITSTATUS(status));
}

bool scene(const char *name)
{
	static const struct {
		const char *name;
		void (*play)(void);
	} scenes[] = {
		{ "connected", connected },
		{ "in-progress", in_progress },
		{ "failed-before", failed_before },
		{ "odd-sockets", odd_sockets },
		{ "left-alone", left_alone },
		{ "again", again },
		{ "epoll", by_epoll },
		{ "mixed", mixed },
		{ "threads", threads },
		{ "crowd", crowd },
		{ "forks", forks },
		{ "vfork", by_vfork },
		{ "dlopen", by_dlopen },
		{ "handler", in_handler },
		{ "jumps", jumps },
		{ "descriptors", descriptors },
		{ "above", above },
		{ "learn", learn },
		{ "one-call", one_call },
		{ "no-descriptor", no_descriptor },
		{ "replaced", replaced },
		{ "leave", leave },
		{ "offspring", offspring },
		{ "confined", confined },
		{ "no-signal", no_signal },
		{ "ipv6", ipv6 },
	};

	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
		if (strcmp(scenes[i].name, name) != 0)
			continue;
		scenes[i].play();
		printf("\n");
		return true;
	}
	return false;
}
