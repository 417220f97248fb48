/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_test.c - vaultd under false words of the kernel, pids that come
 * round, descriptors that change hands, clocks that are wrong
 *
 * Rows V1, V2, V3, V22, V34 and V35 of the vault's catalogue, as far as a
 * sandbox cannot try them: no agent can open the socket.
 */
#include "tests/unit/vault/vault_world.h"

#include <sys/prctl.h>

#include "init-guard/start/peer.h"
#include "init-guard/start/setup.h"

/* One refusal, whatever the reason: the first one seen. */
static uint8_t denial[VAULT_ANSWER_MAX];
static ssize_t denial_len = -1;

/* The last client was told what all are who get nothing. */
static bool refused(void)
{
	struct vault_answer a;

	if (shared->len <= 0 ||
	    vault_get_answer(slice_of(shared->answer, (size_t)shared->len),
			     &a) < 0)
		return false;
	if (denial_len < 0) {
		denial_len = shared->len;
		memcpy(denial, shared->answer, (size_t)shared->len);
	}
	return a.status == VAULT_DENIED && denial_len == shared->len &&
	       memcmp(denial, shared->answer, (size_t)denial_len) == 0;
}

/* ---- V1 ---- */

static const struct {
	enum lie lie;
	const char *what, *why; /* NULL: closed without a word */
} lies[] = {
	{ LIE_PEER_FAILS, "no SO_PEERCRED", NULL },
	{ LIE_PEER_SHORT, "half of SO_PEERCRED", NULL },
	{ LIE_PEER_PID, "another pid connected", "two callers" },
	{ LIE_PEER_PID_0, "pid 0 connected", "two callers" },
	{ LIE_PEER_AGENT, "the agent's uid connected", "two callers" },
	{ LIE_PEER_ROOT, "root connected", "two callers" },
	{ LIE_PEER_GID, "another gid connected", "two callers" },
	{ LIE_BOTH_PID_0, "pid 0 did all", "two callers" },
	{ LIE_BOTH_PID_1, "PID 1 did all", "two callers" },
	{ LIE_SENT_PID, "another pid sent", "two callers" },
	{ LIE_SENT_UID, "another uid sent", "two callers" },
	{ LIE_SENT_GID, "another gid sent", "two callers" },
	{ LIE_SENT_NOT, "no SCM_CREDENTIALS", "no credentials" },
	{ LIE_SENT_CUT, "MSG_CTRUNC", "no credentials" },
	{ LIE_SENT_SHORT, "half of SCM_CREDENTIALS", "no credentials" },
	{ LIE_SENT_TYPE, "another message", "no credentials" },
	{ LIE_SENT_TWICE, "two of SCM_CREDENTIALS", "no credentials" },
};

static void test_lies(void)
{
	size_t i;

	ok(honest(), "V1 an honest client is granted");
	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		(void)audit_text();
		forget();
		shared->lie = lies[i].lie;
		client(act_ask, NULL);
		shared->lie = LIE_NONE;
		if (lies[i].why)
			ok(refused() && strstr(audit_text(), lies[i].why),
			   "V1 %s: denied", lies[i].what);
		else
			ok(shared->nonce <= 0 && shared->len <= 0,
			   "V1 %s: closed", lies[i].what);
	}
	ok(honest(), "V1 ... and after all this");
}

/* What init-guard tries before anybody is started: a kernel that lies ends the
 * start, with 78. */
#define STRANGER 1002

static void speak(void *arg)
{
	(void)arg;
	_exit(become(STRANGER, STRANGER) < 0 || peer_speak() != 0);
}

static int self_test(enum lie lie)
{
	struct err err = { 0 };
	SCOPED_FD lis = peer_listen(&err);
	pid_t pid = lis < 0 ? -1 : born(speak, NULL);
	siginfo_t end;
	int rc;

	if (pid < 0 || waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT) < 0)
		return -1;
	is_server = true;
	shared->lie = lie;
	rc = peer_judge(lis, pid, STRANGER, &err);
	is_server = false;
	shared->lie = LIE_NONE;
	ended(pid);
	return rc;
}

static void test_self_test(void)
{
	static const enum lie all[] = {
		LIE_PEER_FAILS, LIE_PEER_PID,  LIE_PEER_PID_0, LIE_PEER_AGENT,
		LIE_PEER_ROOT,  LIE_PEER_GID,  LIE_BOTH_PID_1, LIE_SENT_PID,
		LIE_SENT_UID,   LIE_SENT_GID,  LIE_SENT_NOT,   LIE_SENT_CUT,
		LIE_SENT_SHORT, LIE_SENT_TYPE,
	};
	size_t i, caught = 0;

	is_int(self_test(LIE_NONE), 0, "V1 a true kernel passes init-guard");
	for (i = 0; i < ARRAY_SIZE(all); i++)
		caught += self_test(all[i]) < 0;
	is_int(caught, ARRAY_SIZE(all), "V1 no lie passes its self-test");
	is_int(GUARD_EXIT_UNSAFE, 78, "... and the code of its refusal is 78");
}

/* ---- V2 ---- */

struct reuse {
	int to_old[2], to_leader[2], from[2];
	pid_t old, found; /* who asks; who has its number then */
};

static struct reuse *reuse; /* shared */

static void tell(int fd)
{
	(void)!write(fd, "", 1);
}

static bool hear(int fd)
{
	char c;

	return read(fd, &c, 1) == 1;
}

/* Asks, leaves the connection to a child, and is gone. */
static void old_main(void *arg)
{
	struct vault_request r;
	int fd;

	(void)arg;
	if (become(VAULT_AGENT_ID, VAULT_ID) < 0)
		_exit(1);
	fd = vault_begin(&r);
	tell(reuse->from[1]);
	hear(reuse->to_old[0]);
	if (fd < 0 || !vault_send(fd, &r, -1, 0))
		_exit(2);
	if (fork() == 0)
		vault_end(fd);
}

/* An honest client, as far as anybody can see: it has the old number. */
static void young_main(void)
{
	if (become(VAULT_AGENT_ID, VAULT_ID) == 0)
		tell(reuse->from[1]);
	for (;;)
		pause();
}

static void young_leader(void *arg)
{
	pid_t pid;

	(void)arg;
	setsid();
	tell(reuse->from[1]);
	hear(reuse->to_leader[0]);
	pid = fork();
	if (pid == 0)
		young_main();
	reuse->found = pid;
	if (become(VAULT_AGENT_ID, VAULT_AGENT_ID) == 0)
		tell(reuse->from[1]);
	for (;;)
		pause();
}

/* The next process of this namespace has the number @pid. */
static bool number_next(pid_t pid)
{
	SCOPED_FD fd =
		open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
	char text[16];
	int n = snprintf(text, sizeof(text), "%d", pid - 1);

	return fd >= 0 && write(fd, text, (size_t)n) == n;
}

/* The server finds the request when who sent it is gone, and an honest client
 * has its number. True when it came to that. */
static bool reuse_round(void)
{
	pid_t leader = born(young_leader, NULL), old, keeper;
	bool good = hear(reuse->from[0]);

	forget();
	old = born(old_main, NULL);
	good = good && hear(reuse->from[0]) && shared->nonce == VAULT_NONCE;
	kill(server, SIGSTOP);
	good = good && waitpid(server, NULL, WUNTRACED) == server;
	tell(reuse->to_old[1]);
	good = good && ended(old) == 0 && number_next(old);
	tell(reuse->to_leader[1]);
	good = good && hear(reuse->from[0]) && hear(reuse->from[0]);
	good = good && reuse->found == old;
	kill(server, SIGCONT);
	/* The keeper is PID 1's now, as is the young one in the end. */
	keeper = wait(NULL);
	kill(leader, SIGKILL);
	ended(leader);
	if (reuse->found > 0) {
		kill(reuse->found, SIGKILL);
		ended(reuse->found);
	}
	return good && keeper != reuse->found;
}

#define ROUNDS 50

static void test_reuse(void)
{
	int i, came = 0, denied = 0, had = 0;

	reuse = mmap(NULL, sizeof(*reuse), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (reuse == MAP_FAILED || pipe(reuse->to_old) < 0 ||
	    pipe(reuse->to_leader) < 0 || pipe(reuse->from) < 0)
		abort();
	if (!number_next(getpid() + 1000)) {
		skip("V2 pids cannot be chosen here");
		return;
	}
	for (i = 0; i < ROUNDS; i++) {
		came += reuse_round();
		denied += refused();
		had += granted()[0] != '\0';
	}
	is_int(came, ROUNDS, "V2 a number came round to an honest client");
	is_int(had, 0, "V2 who had it before is given nothing");
	is_int(denied, ROUNDS, "V2 ... but a denial");
	ok(honest(), "V2 an honest client is granted");
}

/* ---- V3, V23: who is no client ---- */

static void act_dial(void *arg)
{
	const int fd = vault_dial();

	(void)arg;
	_exit(fd >= 0 ? 1 : errno == EACCES ? 0 : 2);
}

static bool map_write(const char *path, const char *text)
{
	SCOPED_FD fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 &&
	       write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/*
 * As root of namespaces of its own, with the vault's number there, and a
 * program of its own where the client lies. Of the machine's root, since no
 * process in another one may make such (user_namespaces(7)); the world's is
 * its folder. 0: it could not connect; 3: no such namespaces here.
 */
static void bind_main(void *arg)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX,
				  .sun_path = VAULT_SOCKET };
	SCOPED_FD world = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)arg;
	memmove(sa.sun_path, sa.sun_path + 1, sizeof(VAULT_SOCKET) - 1);
	if (world < 0 || fchdir(machine_root) < 0 || chroot(".") < 0 ||
	    fchdir(world) < 0 || become(VAULT_AGENT_ID, VAULT_AGENT_ID) < 0 ||
	    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		_exit(4);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		_exit(3);
	if (!map_write("/proc/self/setgroups", "deny") ||
	    !map_write("/proc/self/uid_map", "990 1000 1") ||
	    !map_write("/proc/self/gid_map", "990 1000 1"))
		_exit(5);
	if (getuid() != VAULT_ID ||
	    mount("bin/sh", &VAULT_GIT[1], NULL, MS_BIND, NULL) < 0)
		_exit(6);
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0)
		_exit(1);
	_exit(errno == EACCES ? 0 : 7);
}

static void test_strangers(void)
{
	static const struct {
		const char *what;
		uid_t real, other, parent;
	} rows[] = {
		{ "the vault's own user", VAULT_ID, VAULT_ID, VAULT_AGENT_ID },
		{ "root's client", 0, VAULT_ID, VAULT_AGENT_ID },
		{ "another user's", 1001, VAULT_ID, VAULT_AGENT_ID },
		{ "a client that root started", VAULT_AGENT_ID, VAULT_ID, 0 },
		{ "one that a client started", VAULT_AGENT_ID, VAULT_ID,
		  VAULT_ID },
	};
	size_t i;
	int code;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		forget();
		client_as(rows[i].real, rows[i].other, rows[i].parent, act_ask,
			  NULL);
		ok(refused(), "V3 %s is denied", rows[i].what);
	}
	is_int(client_as(VAULT_AGENT_ID, VAULT_AGENT_ID, VAULT_AGENT_ID,
			 act_dial, NULL),
	       0, "V3 the agent cannot connect");
	close(open(VAULT_GIT, O_WRONLY | O_CREAT | O_CLOEXEC, 0755));
	code = ended(born(bind_main, NULL));
	if (code == 3)
		skip("V3 no namespaces for users here");
	else
		is_int(code, 0,
		       "V3 nor where a filter lets it bind over a client");
}

/* ---- V22 ---- */

static void act_hand_over(void *arg)
{
	struct vault_request r;
	const int fd = vault_begin(&r);

	(void)arg;
	if (fork() == 0) {
		if (fd >= 0 && vault_send(fd, &r, -1, 0))
			vault_end(fd);
		_exit(0);
	}
	wait(NULL);
}

/* Descriptors of a pipe along with the request. */
static void act_pass(void *arg)
{
	struct vault_request r;
	const int fd = vault_begin(&r);
	int end[2];

	if (fd >= 0 && pipe(end) == 0 &&
	    vault_send(fd, &r, end[0], *(size_t *)arg))
		vault_end(fd);
}

static void act_wrong_nonce(void *arg)
{
	struct vault_request r;
	const int fd = vault_begin(&r);

	(void)arg;
	r.nonce[VAULT_NONCE - 1] ^= 1;
	if (fd >= 0 && vault_send(fd, &r, -1, 0))
		vault_end(fd);
}

static void act_malformed(void *arg)
{
	struct vault_request r;
	const int fd = vault_begin(&r);

	(void)arg;
	if (fd >= 0 && send(fd, r.nonce, 9, MSG_NOSIGNAL) == 9)
		vault_end(fd);
}

static int server_files(void)
{
	char path[32];
	struct dirent *e;
	int n = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", server);

	SCOPED_DIR dir = opendir(path);

	while (dir && (e = readdir(dir)))
		n += e->d_name[0] != '.';
	return n;
}

/* Its connections are closed when it has turned to the next one's. */
static int server_files_at_rest(void)
{
	(void)honest();
	return honest() ? server_files() : -1;
}

static void test_hands(void)
{
	static size_t some = 3, many = 60; /* more than it has room for */
	const int before = server_files_at_rest();

	forget();
	client(act_hand_over, NULL);
	ok(refused() && strstr(audit_text(), "two callers"),
	   "V22 who writes on another's connection is judged");
	forget();
	client(act_pass, &some);
	ok(refused(), "V22 descriptors along: denied");
	forget();
	client(act_pass, &many);
	ok(refused() && strstr(audit_text(), "no credentials"),
	   "V22 more than it has room for, MSG_CTRUNC: denied");
	is_int(server_files_at_rest(), before, "V22 and it has kept none");
}

/* ---- V35, V34 ---- */

static void test_uniform(void)
{
	unsigned before = shared->compared;

	forget();
	client(act_wrong_nonce, NULL);
	ok(refused(), "V35 another's nonce: the same bytes as all others");
	ok(shared->compared > before, "V35 in time that tells nothing");
	forget();
	client(act_malformed, NULL);
	ok(refused(), "V35 a malformed request: the same bytes");
	ok(denial_len > 0 && denial_len < 64, "V35 which say nothing more");
	before = shared->compared;
	is_server = true; /* whose calls are counted */
	ok(surrogate_check(
		   &world_key, "mine", SECRET_GITHUB,
		   slice_str("ghp_000000000000000000000000000000000000"),
		   1) == -EACCES &&
		   shared->compared > before,
	   "V35 a surrogate is compared so as well");
	is_server = false;
}

static int verdict(const char *text, int64_t ahead)
{
	return surrogate_check(&world_key, "mine", SECRET_GITHUB,
			       slice_str(text),
			       (uint64_t)((int64_t)time(NULL) + ahead));
}

/* The clocks of vaultd and of the gateway are one machine's, but any of them
 * may be set. */
static void test_clock(void)
{
	const int64_t hour = 3600, step = SURROGATE_STEP;
	char text[SURROGATE_MAX];

	ok(honest(), "V34 the clocks agree");
	snprintf(text, sizeof(text), "%s", granted());
	is_int(verdict(text, 0), 0, "V34 it is good");
	is_int(verdict(text, 2 * step), -ETIME,
	       "V34 the gateway's clock is set ahead: it is over");
	is_int(verdict(text, -step - SERVE_SKEW), -EACCES,
	       "V34 set back: it is none yet");
	is_int(verdict(text, 0), 0, "V34 set right: good again");
	is_int(verdict(text, 30 * 24 * hour), -EACCES, "V34 a month ahead");
	shared->clock = hour;
	ok(honest() && verdict(granted(), 0) == -EACCES,
	   "V34 vaultd's clock runs ahead: what it mints is not good yet");
	is_int(verdict(granted(), hour), 0, "V34 ... but in its own time");
	shared->clock = -hour;
	ok(honest() && verdict(granted(), 0) == -ETIME,
	   "V34 it is behind: what it mints is over");
	shared->clock = -(int64_t)time(NULL) - 5;
	forget();
	client(act_ask, NULL);
	ok(!granted()[0] || verdict(granted(), 0) < 0,
	   "V34 a clock before 1970: nothing that is good");
	shared->clock = 0;
	ok(honest(), "V34 and it serves on");
}

static int tests(void)
{
	test_lies();
	test_self_test();
	test_reuse();
	mkdir("/usr/libexec", 0755);
	mkdir("/usr/libexec/ac", 0755);
	mkdir(VAULT_LIBEXEC, 0755);
	test_strangers();
	test_hands();
	test_uniform();
	test_clock();
	kill(server, SIGKILL);
	return done_testing();
}

int main(void)
{
	return world_main(tests);
}
