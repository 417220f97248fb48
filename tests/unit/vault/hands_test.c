/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hands_test.c - connections to vaultd that are passed on, names that are
 * forged, orphans
 *
 * Rows V1, V22 and V23 of the vault's catalogue. A connection goes from one
 * process to another by SCM_RIGHTS; who may use it is whoever made it, as long
 * as that is a client. Both ends of each pass are processes of the test's, the
 * first a client, the second what the row says.
 */
#include "tests/unit/vault/vault_world.h"

/* The last client was answered, and with a refusal. */
static bool refused(void)
{
	struct vault_answer a;

	return shared->len > 0 &&
	       vault_get_answer(slice_of(shared->answer, (size_t)shared->len),
				&a) == 0 &&
	       a.status == VAULT_DENIED;
}

static bool good(void)
{
	return surrogate_check(&world_key, "mine", SECRET_GITHUB,
			       slice_str(granted()), (uint64_t)time(NULL)) == 0;
}

/* ---- V22: passed on ---- */

struct pass {
	const char *what, *why; /* NULL: it is granted */
	uid_t real, other; /* of who is given it */
	bool by_maker; /* who made it asks, and the other one reads */
};

static union {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
} pass_control;

static struct msghdr pass_message(struct iovec *iov)
{
	return (struct msghdr){
		.msg_iov = iov,
		.msg_iovlen = 1,
		.msg_control = pass_control.bytes,
		.msg_controllen = sizeof(pass_control.bytes),
	};
}

/* The request goes along, so that the other one knows the nonce. */
static bool pass_send(int to, int fd, struct vault_request *r)
{
	struct iovec iov = { r, sizeof(*r) };
	struct msghdr msg = pass_message(&iov);
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(to, &msg, MSG_NOSIGNAL) == (ssize_t)sizeof(*r);
}

static int pass_take(int from, struct vault_request *r)
{
	struct iovec iov = { r, sizeof(*r) };
	struct msghdr msg = pass_message(&iov);
	struct cmsghdr *c;
	int fd = -1;

	if (recvmsg(from, &msg, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*r))
		return -1;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* Who is given it: asks, unless that is the maker's, and reads. */
static int taker_main(const struct pass *p, int from)
{
	struct vault_request r = { 0 };
	int fd;

	if (become(p->real, p->other) < 0)
		return 1;
	fd = pass_take(from, &r);
	if (fd < 0)
		return 2;
	if (p->by_maker ? read(from, &r, 1) != 1 : !vault_send(fd, &r, -1, 0))
		return 3;
	vault_end(fd);
	return 0;
}

/* The client: connects, passes it on, and stays: a process that is gone is
 * refused for that alone. */
static int maker_main(const struct pass *p, int to)
{
	struct vault_request r;
	int fd, rc = 0;

	if (become(VAULT_AGENT_ID, VAULT_ID) < 0)
		return 4;
	fd = vault_begin(&r);
	if (fd < 0 || !pass_send(to, fd, &r))
		rc = 5;
	else if (p->by_maker &&
		 (!vault_send(fd, &r, -1, 0) || write(to, "", 1) != 1))
		rc = 6;
	else if (read(to, &r, 1) != 0)
		rc = 7;
	return rc;
}

/* The session's leader, the agent's before either of its children asks. */
static int pair_main(const struct pass *p)
{
	int ends[2], go[2], code;
	pid_t maker, taker;
	char c;

	if (setsid() < 0 || pipe(go) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return 8;
	taker = fork();
	if (taker == 0) {
		close(ends[1]);
		_exit(taker_main(p, ends[0]));
	}
	close(ends[0]);
	maker = fork();
	if (maker == 0)
		_exit(read(go[0], &c, 1) == 1 ? maker_main(p, ends[1]) : 9);
	close(ends[1]);
	if (become(VAULT_AGENT_ID, VAULT_AGENT_ID) < 0 ||
	    write(go[1], "", 1) != 1)
		return 10;
	code = ended(taker);
	return code != 0 ? code : ended(maker);
}

static void pair_born(void *arg)
{
	_exit(pair_main(arg));
}

static const struct pass passes[] = {
	{ "the agent, to which a client passed it", "two callers",
	  VAULT_AGENT_ID, VAULT_AGENT_ID, false },
	{ "another client, to which it was passed", "two callers",
	  VAULT_AGENT_ID, VAULT_ID, false },
	{ "root, to which it was passed", "two callers", 0, 0, false },
	{ "who made it, and passed it to the agent", NULL, VAULT_AGENT_ID,
	  VAULT_AGENT_ID, true },
};

static void test_passed(void)
{
	const struct pass *p;

	for (p = passes; p < passes + ARRAY_SIZE(passes); p++) {
		(void)audit_text();
		forget();
		is_int(ended(born(pair_born, (void *)(uintptr_t)p)), 0,
		       "V22 %s asks", p->what);
		if (p->why)
			ok(refused() && strstr(audit_text(), p->why),
			   "V22 ... and is refused");
		else
			ok(good(), "V22 ... and is granted, whoever reads");
	}
}

/* Connected as a client, asks as the agent that it is again. */
static void act_drop(void *arg)
{
	struct vault_request r;
	const int fd = vault_begin(&r);

	(void)arg;
	if (fd >= 0 &&
	    setresuid(VAULT_AGENT_ID, VAULT_AGENT_ID, VAULT_AGENT_ID) == 0 &&
	    vault_send(fd, &r, -1, 0))
		vault_end(fd);
}

static void test_dropped(void)
{
	(void)audit_text();
	forget();
	client(act_drop, NULL);
	ok(refused() && strstr(audit_text(), "no client of the vault"),
	   "V22 a client that became the agent again is refused");
}

/* ---- V1: forged ---- */

static struct forgery {
	const char *what;
	pid_t pid; /* 0: its own */
	uid_t uid;
	gid_t gid;
	bool taken; /* the kernel lets it be said */
} forgeries[] = {
	{ "its own, the agent's ids", 0, VAULT_AGENT_ID, VAULT_AGENT_ID, true },
	{ "its own, the vault's ids", 0, VAULT_ID, VAULT_ID, true },
	{ "the pid of PID 1", 1, VAULT_ID, VAULT_ID, false },
	{ "the pid of vaultd", -1, VAULT_ID, VAULT_ID, false },
	{ "the uid of root", 0, 0, VAULT_ID, false },
	{ "the gid of root", 0, VAULT_ID, 0, false },
	{ "the uid of another user", 0, 1001, VAULT_ID, false },
};

static bool forged_send(int fd, const struct vault_request *r,
			const struct ucred *cred)
{
	union {
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} control = { 0 };
	struct msghdr msg = {
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	struct iovec iov;
	struct buf b;
	ssize_t n = -1;

	buf_init(&b, VAULT_REQUEST_MAX);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_CREDENTIALS;
	c->cmsg_len = CMSG_LEN(sizeof(*cred));
	memcpy(CMSG_DATA(c), cred, sizeof(*cred));
	if (vault_put_request(&b, r) == 0) {
		iov = (struct iovec){ b.mem, buf_len(&b) };
		msg.msg_iov = &iov;
		n = sendmsg(fd, &msg, MSG_NOSIGNAL);
	}
	buf_done(&b);
	return n > 0;
}

static void act_forge(void *arg)
{
	const struct forgery *f = arg;
	const struct ucred cred = {
		.pid = f->pid ? f->pid : getpid(),
		.uid = f->uid,
		.gid = f->gid,
	};
	struct vault_request r;
	const int fd = vault_begin(&r);

	if (fd < 0)
		_exit(1);
	if (!forged_send(fd, &r, &cred))
		_exit(errno == EPERM ? 2 : 3);
	vault_end(fd);
}

static void test_forged(void)
{
	struct forgery *f;

	for (f = forgeries; f < forgeries + ARRAY_SIZE(forgeries); f++) {
		if (f->pid < 0)
			f->pid = server;
		forget();
		is_int(client(act_forge, f), f->taken ? 0 : 2,
		       "V1 SCM_CREDENTIALS of %s: %s", f->what,
		       f->taken ? "sent" : "EPERM");
		ok(f->taken ? good() : shared->len <= 0, "V1 ... and %s",
		   f->taken ? "granted" : "nothing comes of it");
	}
}

/* ---- V23: orphans ---- */

struct orphan {
	bool session; /* it leads one */
	int over[2];
};

static struct orphan *orphan; /* shared */

/* A client whose parent is gone when it asks. */
static void orphan_main(void)
{
	const pid_t init = 1;

	while (getppid() != init)
		usleep(1000);
	if ((!orphan->session || setsid() > 0) &&
	    become(VAULT_AGENT_ID, VAULT_ID) == 0)
		act_ask(NULL);
	(void)!write(orphan->over[1], "", 1);
	_exit(0);
}

static void orphan_leader(void *arg)
{
	(void)arg;
	if (setsid() > 0 && fork() == 0)
		orphan_main();
}

static void orphan_ask(bool session)
{
	char c;

	(void)audit_text();
	forget();
	orphan->session = session;
	ended(born(orphan_leader, NULL));
	if (read(orphan->over[0], &c, 1) == 1)
		(void)wait(NULL); /* it is ours now */
}

static void test_orphans(void)
{
	orphan = mmap(NULL, sizeof(*orphan), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (orphan == MAP_FAILED || pipe(orphan->over) < 0)
		abort();
	orphan_ask(false);
	ok(refused() && strstr(audit_text(), "an orphan's"),
	   "V23 an orphan is refused");
	orphan_ask(true);
	ok(good(), "V23 one that leads a session, as a daemon, is served");
	ok(strstr(audit_text(), "\"verdict\":\"granted\""),
	   "V23 ... and the audit has it");
}

static int tests(void)
{
	ok(honest(), "an honest client is granted");
	test_passed();
	test_dropped();
	test_forged();
	test_orphans();
	ok(honest(), "and is after all this");
	kill(server, SIGKILL);
	return done_testing();
}

int main(void)
{
	return world_main(tests);
}
