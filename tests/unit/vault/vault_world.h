/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_world.h - vaultd's socket in namespaces of the test's own
 *
 * The test is PID 1 there, over a root as guest.h makes it. The server is a
 * child with the vault's ids, which serves as vaultd does; what its kernel
 * says to it is the test's to falsify (struct vault_shared). Clients are real
 * processes: a leader of a session, as init-guard starts one, and its child
 * with the ids of a setuid client. Included once by a test program.
 */
#ifndef TESTS_UNIT_VAULT_VAULT_WORLD_H
#define TESTS_UNIT_VAULT_VAULT_WORLD_H

#include "tests/unit/init-guard/guest.h"

#include <sodium.h>
#include <sys/mman.h>
#include <sys/un.h>
#include <time.h>

#include "vault/paths.h"
#include "vault/serve.h"
#include "vault/wire.h"

enum lie {
	LIE_NONE,
	LIE_PEER_FAILS,
	LIE_PEER_SHORT,
	LIE_PEER_PID,
	LIE_PEER_PID_0,
	LIE_PEER_AGENT,
	LIE_PEER_ROOT,
	LIE_PEER_GID,
	LIE_BOTH_PID_0,
	LIE_BOTH_PID_1,
	LIE_SENT_PID,
	LIE_SENT_UID,
	LIE_SENT_GID,
	LIE_SENT_NOT,
	LIE_SENT_CUT,
	LIE_SENT_SHORT,
	LIE_SENT_TYPE,
	LIE_SENT_TWICE,
};

#define CROWD_MAX 8192

struct vault_shared {
	enum lie lie;
	int64_t clock; /* seconds that the server's wall clock runs ahead */
	unsigned compared; /* calls of sodium_memcmp() by the server */
	/* of the last client */
	ssize_t nonce, len; /* bytes that it was sent; -1: none */
	uint8_t answer[VAULT_ANSWER_MAX];
	bool crowd[CROWD_MAX]; /* by pid: it has connected */
};

static struct vault_shared *shared;
static bool is_server; /* whom the kernel lies to */
static struct surrogate_key world_key;
static struct grant_secret world_secrets[] = {
	{ .kind = SECRET_GITHUB,
	  .uses = GRANT_GIT | GRANT_GH,
	  .id = "mine",
	  .user = "x-access-token",
	  .n_hosts = 1,
	  .hosts = { "github.com" } },
};
static struct grant world_grant = { .n = 1, .v = world_secrets };
static pid_t server;
static int server_log = -1;
static int machine_root = -1; /* the one that the world's lies in */

/* ---- the kernel's words, in place of libc's functions ---- */

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's names
 * are reserved ones. */

static inline void lie_peer(struct ucred *c, socklen_t *len)
{
	switch (shared->lie) {
	case LIE_PEER_SHORT:
		*len = sizeof(pid_t);
		break;
	case LIE_PEER_PID:
		c->pid++;
		break;
	case LIE_PEER_PID_0:
	case LIE_BOTH_PID_0:
		c->pid = 0;
		break;
	case LIE_BOTH_PID_1:
		c->pid = 1;
		break;
	case LIE_PEER_AGENT:
		c->uid = VAULT_AGENT_ID;
		break;
	case LIE_PEER_ROOT:
		c->uid = 0;
		break;
	case LIE_PEER_GID:
		c->gid = VAULT_AGENT_ID;
		break;
	default:
		break;
	}
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	const int rc =
		(int)syscall(SYS_getsockopt, fd, level, name, value, len);

	if (rc < 0 || !is_server || name != SO_PEERCRED)
		return rc;
	if (shared->lie == LIE_PEER_FAILS) {
		errno = EOPNOTSUPP;
		return -1;
	}
	lie_peer(value, len);
	return rc;
}

static inline void lie_twice(struct msghdr *msg, const struct cmsghdr *c)
{
	const size_t one = CMSG_SPACE(sizeof(struct ucred));

	memcpy((uint8_t *)msg->msg_control + one, c,
	       CMSG_LEN(sizeof(struct ucred)));
	msg->msg_controllen = 2 * one;
}

static inline void lie_sent(struct msghdr *msg)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	struct ucred cred = { 0 };

	if (!c)
		return;
	memcpy(&cred, CMSG_DATA(c), sizeof(cred));
	if (shared->lie == LIE_SENT_PID)
		cred.pid++;
	if (shared->lie == LIE_BOTH_PID_0 || shared->lie == LIE_BOTH_PID_1)
		cred.pid = shared->lie == LIE_BOTH_PID_1;
	if (shared->lie == LIE_SENT_UID)
		cred.uid = 1001;
	if (shared->lie == LIE_SENT_GID)
		cred.gid = 0;
	memcpy(CMSG_DATA(c), &cred, sizeof(cred));
	if (shared->lie == LIE_SENT_NOT)
		msg->msg_controllen = 0;
	if (shared->lie == LIE_SENT_CUT)
		msg->msg_flags |= MSG_CTRUNC;
	if (shared->lie == LIE_SENT_SHORT)
		c->cmsg_len = CMSG_LEN(sizeof(pid_t));
	if (shared->lie == LIE_SENT_TYPE)
		c->cmsg_type = SO_TIMESTAMP;
	if (shared->lie == LIE_SENT_TWICE)
		lie_twice(msg, c);
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	const ssize_t n = syscall(SYS_recvmsg, fd, msg, flags);

	if (n > 0 && is_server && shared->lie != LIE_NONE)
		lie_sent(msg);
	return n;
}

int clock_gettime(clockid_t id, struct timespec *ret)
{
	const int code = (int)syscall(SYS_clock_gettime, id, ret);

	if (code == 0 && is_server && id == CLOCK_REALTIME)
		ret->tv_sec += shared->clock;
	return code;
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

int sodium_memcmp(const void *const a, const void *const b, size_t len)
{
	const uint8_t *x = a, *y = b;
	uint8_t differ = 0;
	size_t i;

	if (is_server)
		shared->compared++;
	for (i = 0; i < len; i++)
		differ |= x[i] ^ y[i];
	return differ ? -1 : 0;
}

/* ---- the server ---- */

static inline int become(uid_t real, uid_t other)
{
	return setresgid(real, other, other) < 0 ||
			       setresuid(real, other, other) < 0 ?
		       -1 :
		       0;
}

static inline int listener_make(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX,
				  .sun_path = VAULT_SOCKET };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1;

	mkdir("/run", 0755);
	if (fd < 0 || mkdir(VAULT_DIR, 0700) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0 ||
	    bind(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0 ||
	    chown(VAULT_SOCKET, VAULT_ID, VAULT_ID) < 0 ||
	    chmod(VAULT_SOCKET, 0600) < 0 || listen(fd, 128) < 0 ||
	    chown(VAULT_DIR, 0, VAULT_ID) < 0 || chmod(VAULT_DIR, 0710) < 0)
		return -1;
	return fd;
}

static inline void server_main(int listener, int log_fd)
{
	struct vault_serve *sv;
	struct loop *loop;

	if (become(VAULT_ID, VAULT_ID) < 0)
		_exit(101);
	is_server = true;
	loop = loop_new();
	if (!loop ||
	    vault_serve_new(loop, listener, log_fd, &world_grant, &sv) < 0)
		_exit(102);
	_exit(loop_run(loop) < 0);
}

static inline bool server_start(void)
{
	int listener = listener_make(), end[2];

	if (listener < 0 || pipe2(end, O_CLOEXEC | O_NONBLOCK) < 0)
		return false;
	(void)fcntl(end[0], F_SETPIPE_SZ, 1024 * 1024);
	server = fork();
	if (server == 0)
		server_main(listener, end[1]);
	close(listener);
	close(end[1]);
	server_log = end[0];
	return server > 0;
}

/* What the audit has said since the last call. */
static inline const char *audit_text(void)
{
	static char text[256 * 1024];
	size_t len = 0;
	ssize_t n;

	while (len < sizeof(text) - 1 &&
	       (n = read(server_log, text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	return text;
}

/* ---- clients ---- */

typedef void (*act_fn)(void *arg);

static inline pid_t born(act_fn fn, void *arg)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	fn(arg);
	_exit(0);
}

static inline int ended(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct leader {
	act_fn fn;
	void *arg;
	uid_t real, other; /* of the client */
	uid_t parent; /* of the leader, once it has its child */
};

/* A leader of a session and its child, a client: what a request in a sandbox
 * comes from. The leader takes its ids when the child has its own. */
static inline void leader_main(void *arg)
{
	const struct leader *l = arg;
	int go[2];
	pid_t pid;
	char c;

	if (setsid() < 0 || pipe(go) < 0)
		_exit(103);
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		if (become(l->real, l->other) < 0 || read(go[0], &c, 1) != 1)
			_exit(104);
		l->fn(l->arg);
		_exit(0);
	}
	if (become(l->parent, l->parent) < 0 || write(go[1], "", 1) != 1)
		_exit(105);
	_exit(ended(pid));
}

static inline int client_as(uid_t real, uid_t other, uid_t parent, act_fn fn,
			    void *arg)
{
	struct leader l = { fn, arg, real, other, parent };

	return ended(born(leader_main, &l));
}

static inline int client(act_fn fn, void *arg)
{
	return client_as(VAULT_AGENT_ID, VAULT_ID, VAULT_AGENT_ID, fn, arg);
}

static inline int vault_dial(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX,
				  .sun_path = VAULT_SOCKET };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return -1;
	return fd;
}

/* Connects, and has the nonce. */
static inline int vault_begin(struct vault_request *r)
{
	const int fd = vault_dial();

	*r = (struct vault_request){ .op = VAULT_OP_GIT };
	strcpy(r->proto, "https");
	strcpy(r->host, "github.com");
	shared->nonce = fd < 0 ? -1 :
				 recv(fd, r->nonce, VAULT_NONCE, MSG_WAITALL);
	return fd;
}

/* With descriptors along, where @n is not 0. */
static inline bool vault_send(int fd, const struct vault_request *r, int pass,
			      size_t n)
{
	static union {
		char bytes[CMSG_SPACE(64 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr msg = { .msg_iovlen = 1 };
	struct iovec iov;
	struct cmsghdr *c;
	struct buf b;
	ssize_t sent;
	size_t i;

	buf_init(&b, VAULT_REQUEST_MAX);
	if (vault_put_request(&b, r) < 0)
		return false;
	iov.iov_base = b.mem;
	iov.iov_len = buf_len(&b);
	msg.msg_iov = &iov;
	if (n > 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		for (i = 0; i < n; i++)
			memcpy(CMSG_DATA(c) + i * sizeof(int), &pass,
			       sizeof(pass));
	}
	sent = sendmsg(fd, &msg, MSG_NOSIGNAL);
	buf_done(&b);
	return sent > 0;
}

static inline void vault_end(int fd)
{
	shared->len =
		recv(fd, shared->answer, sizeof(shared->answer), MSG_WAITALL);
	close(fd);
}

static inline void act_ask(void *arg)
{
	struct vault_request r;
	const int fd = vault_begin(&r);

	(void)arg;
	if (fd >= 0 && vault_send(fd, &r, -1, 0))
		vault_end(fd);
}

/* The surrogate that the last client was given: "" when it was none. */
static inline const char *granted(void)
{
	static struct vault_answer a;

	a = (struct vault_answer){ 0 };
	if (shared->len <= 0 ||
	    vault_get_answer(slice_of(shared->answer, (size_t)shared->len),
			     &a) < 0 ||
	    a.status != VAULT_OK)
		return "";
	return a.surrogate;
}

static inline void forget(void)
{
	shared->nonce = -1;
	shared->len = -1;
}

/* An honest client: its surrogate is good. */
static inline bool honest(void)
{
	forget();
	client(act_ask, NULL);
	return surrogate_check(&world_key, "mine", SECRET_GITHUB,
			       slice_str(granted()),
			       (uint64_t)(time(NULL) + shared->clock)) == 0;
}

/* ---- the world ---- */

static int (*world_tests)(void); /* what PID 1 does; before it, root only */

static inline int world_init(const char *top)
{
	int rc;

	if (unshare(CLONE_NEWNS | CLONE_NEWIPC) < 0)
		return 100;
	machine_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	rc = guest_root(top);
	if (rc != 0)
		return 100 + rc;
	umask(022);
	randombytes_buf(&world_key, sizeof(world_key));
	world_grant.key = world_key;
	if (!server_start())
		return 110;
	rc = world_tests();
	fflush(stdout);
	return rc;
}

/* Forks, and no clone() with a stack of its own, which AddressSanitizer takes
 * for a fault; and its leak checker could not start in the parent of a
 * namespace that is over. */
static inline int world_make(const char *top)
{
	pid_t pid;

	if (unshare(CLONE_NEWPID) < 0)
		return 100;
	pid = fork();
	if (pid == 0)
		_exit(world_init(top));
	return ended(pid);
}

/* The test program's whole main(). */
static inline int world_main(int (*tests)(void))
{
	char top[] = "/tmp/vault-world.XXXXXX";
	int rc;
	pid_t pid;

	if (getuid() != 0 || sodium_init() < 0) {
		skip("needs root");
		return done_testing();
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || !mkdtemp(top))
		return 1;
	world_tests = tests;
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(world_make(top));
	rc = ended(pid);
	rmdir(top);
	if (rc < 100 || rc >= 110)
		return rc;
	skip("no mounts here (step %d)", rc - 100);
	return done_testing();
}

#endif
