/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest.h - a real init-guard as PID 1 of namespaces of its own, and the
 * host's end of its link
 *
 * The root is an overlay over this machine's with everything written into
 * memory, so that nothing outside is touched. Needs root. With GUEST_COMMAND
 * in the environment, that shell command is run instead: it has the link as
 * its stdin and stdout and starts a sandbox of another runtime.
 */
#ifndef TESTS_UNIT_INIT_GUARD_GUEST_H
#define TESTS_UNIT_INIT_GUARD_GUEST_H

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "init-guard/link.h"
#include "lib/loop.h"
#include "tests/unit/tap.h"

#define GUEST_CHANNELS 512u
#define GUEST_WAIT_MS 20000
/* Processes of uid 1000 are counted over the whole machine: far more than all
 * of what runs there may have at a time. */
#define GUEST_NPROC 30000u
#define GUEST_TOP "/tmp/guard-test-root" /* and a number of the test's own */

/* What is known of one exec. */
struct guest_channel {
	bool started, over;
	struct link_exit exit;
	struct buf out, err;
	uint64_t bytes; /* of output, also when it is not kept */
	uint64_t credit; /* given back to us for input */
	bool discard; /* do not keep the output */
	bool stalled; /* give no credit back */
};

struct guest {
	pid_t pid;
	int in, out; /* read, write */
	struct buf rx;
	bool hello, prepared, ready, failed, pong, unvaulted, bad;
	char fail_text[512];
	char **report; /* of READY */
	char log[16384]; /* what LOG said, a line each; the first of it */
	struct guest_channel ch[GUEST_CHANNELS];
	uint32_t last;
};

enum guest_kind { GUEST_SOCKET, GUEST_PIPES };

struct guest_child {
	int exe, in, out;
	const char *top; /* mount point for everything */
	bool bad_workspace;
};

static inline int guest_mount(const char *src, const char *top, const char *rel,
			      const char *type, unsigned long flags,
			      const char *data)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s%s", top, rel);
	mkdir(path, 0755);
	return mount(src, path, type, flags, data);
}

static inline int guest_dev(const char *top, const char *name, unsigned int maj,
			    unsigned int min)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/root/dev/%s", top, name);
	if (mknod(path, S_IFCHR | 0666, makedev(maj, min)) < 0)
		return -1;
	return chmod(path, 0666);
}

static inline int guest_root(const char *top)
{
	char data[512], path[256];

	(void)snprintf(data, sizeof(data),
		       "lowerdir=/,upperdir=%s/up,workdir=%s/work", top, top);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", top, "tmpfs", 0, "mode=0755") < 0)
		return 1;
	(void)snprintf(path, sizeof(path), "%s/up", top);
	mkdir(path, 0755);
	(void)snprintf(path, sizeof(path), "%s/work", top);
	mkdir(path, 0755);
	if (guest_mount("overlay", top, "/root", "overlay", 0, data) < 0)
		return 2;
	if (guest_mount("tmpfs", top, "/root/dev", "tmpfs", 0, "mode=0755") <
		    0 ||
	    guest_mount("tmpfs", top, "/root/tmp", "tmpfs", 0, "mode=1777") <
		    0 ||
	    guest_mount("tmpfs", top, "/root/home", "tmpfs", 0, "mode=0755") <
		    0 ||
	    guest_mount("tmpfs", top, "/root/workspace", "tmpfs", 0,
			"mode=0755") < 0 ||
	    guest_mount("proc", top, "/root/proc", "proc", 0, NULL) < 0 ||
	    guest_mount("devpts", top, "/root/dev/pts", "devpts", 0,
			"newinstance,ptmxmode=0666,mode=0620") < 0)
		return 3;
	(void)snprintf(path, sizeof(path), "%s/root/dev/ptmx", top);
	if (guest_dev(top, "null", 1, 3) < 0 ||
	    guest_dev(top, "zero", 1, 5) < 0 ||
	    guest_dev(top, "urandom", 1, 9) < 0 ||
	    guest_dev(top, "tty", 5, 0) < 0 || symlink("pts/ptmx", path) < 0)
		return 4;
	(void)snprintf(path, sizeof(path), "%s/root", top);
	return chroot(path) < 0 || chdir("/") < 0 ? 5 : 0;
}

/* Runs in the root that the guest will have, before it starts; 0. */
static int (*guest_prepare)(void);

static inline int guest_child_main(void *arg)
{
	const struct guest_child *c = arg;
	char *argv[] = { (char[]){ "init-guard" }, NULL };
	/* The leak checker traces, which the filter forbids to PID 1 too. */
	char *env[] = { (char[]){ "SECRET=canary" },
			(char[]){ "ASAN_OPTIONS=detect_leaks=0" }, NULL };
	const char *command = getenv("GUEST_COMMAND");
	int rc;

	if (dup2(c->in, 0) < 0 || dup2(c->out, 1) < 0)
		_exit(111);
	if (command) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(112);
	}
	rc = guest_root(c->top);
	if (rc != 0)
		_exit(100 + rc);
	if (guest_prepare && guest_prepare() != 0)
		_exit(109);
	if (c->bad_workspace && mkdir("/workspace/theirs", 0700) < 0)
		_exit(110);
	execveat(c->exe, "", argv, env, AT_EMPTY_PATH);
	_exit(112);
}

static inline int guest_streams(enum guest_kind kind, int host[2], int child[2])
{
	int a[2], b[2];

	if (kind == GUEST_SOCKET) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, a) < 0)
			return -errno;
		host[0] = a[0];
		host[1] = fcntl(a[0], F_DUPFD_CLOEXEC, 3);
		child[0] = a[1];
		child[1] = fcntl(a[1], F_DUPFD_CLOEXEC, 3);
		return 0;
	}
	if (pipe2(a, O_CLOEXEC) < 0 || pipe2(b, O_CLOEXEC) < 0)
		return -errno;
	host[0] = a[0];
	child[1] = a[1];
	child[0] = b[0];
	host[1] = b[1];
	return 0;
}

/* Returns the directory that the guest's root is mounted on, inside only. Each
 * test has its own: one that ends removes it while others start theirs. */
static inline const char *guest_top(void)
{
	static char top[64];

	(void)snprintf(top, sizeof(top), GUEST_TOP ".%d", (int)getpid());
	return top;
}

/* Starts INIT_GUARD in namespaces of its own, the network's too: its self-test
 * listens at one name. Returns 0 or -errno; what fails in the child shows as
 * its exit. */
static inline int guest_start(struct guest *g, enum guest_kind kind,
			      bool bad_workspace)
{
	static _Alignas(16) uint8_t stack[256 * 1024];
	const char *path = getenv("INIT_GUARD");
	struct guest_child c = { .top = guest_top(),
				 .bad_workspace = bad_workspace };
	SCOPED_FD exe =
		open(path ? path : "build/init-guard", O_RDONLY | O_CLOEXEC);
	int host[2] = { -1, -1 }, child[2] = { -1, -1 }, rc;

	memset(g, 0, sizeof(*g));
	buf_init(&g->rx, 1024u * 1024);
	g->in = -1;
	g->out = -1;
	g->pid = -1; /* nobody: guest_wait() finds no child */
	if (exe < 0 && !getenv("GUEST_COMMAND"))
		return -errno;
	rc = guest_streams(kind, host, child);
	if (rc < 0)
		return rc;
	mkdir(c.top, 0700);
	c.exe = exe;
	c.in = child[0];
	c.out = child[1];
	g->pid = clone(guest_child_main, stack + sizeof(stack),
		       getenv("GUEST_COMMAND") ?
			       SIGCHLD :
			       CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS |
				       CLONE_NEWIPC | CLONE_NEWNET | SIGCHLD,
		       &c);
	rc = g->pid < 0 ? -errno : 0;
	close(child[0]);
	close(child[1]);
	g->in = host[0];
	g->out = host[1];
	return rc;
}

static inline void guest_done(struct guest *g)
{
	size_t i;

	for (i = 0; i < GUEST_CHANNELS; i++) {
		buf_done(&g->ch[i].out);
		buf_done(&g->ch[i].err);
	}
	buf_done(&g->rx);
	link_vec_free(g->report);
	g->report = NULL;
	fd_closep(&g->in);
	fd_closep(&g->out);
	(void)rmdir(guest_top());
}

/* Closes the link and waits; the exit code, 128+n, or -1 after the wait. */
static inline int guest_wait(struct guest *g, bool close_link)
{
	const uint64_t end = clock_ms() + GUEST_WAIT_MS;
	int status = 0;

	if (close_link) {
		fd_closep(&g->in);
		fd_closep(&g->out);
	}
	if (g->pid <= 0)
		return -1;
	while (waitpid(g->pid, &status, WNOHANG) == 0) {
		if (clock_ms() > end) {
			kill(g->pid, SIGKILL);
			waitpid(g->pid, &status, 0);
			return -1;
		}
		usleep(2000);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Sends and empties @b. */
static inline bool guest_send(struct guest *g, struct buf *b)
{
	struct slice s = buf_slice(b);
	bool good = true;
	ssize_t n;

	while (s.len > 0 && good) {
		n = write(g->out, s.ptr, s.len);
		good = n > 0;
		if (good) {
			s.ptr += n;
			s.len -= (size_t)n;
		}
	}
	buf_done(b);
	return good;
}

static inline bool guest_put_u32(struct guest *g, enum link_type type,
				 uint32_t channel, uint32_t v)
{
	struct buf b;

	buf_init(&b, 64);
	return link_put_u32(&b, type, channel, v) == 0 && guest_send(g, &b);
}

static inline bool guest_put(struct guest *g, enum link_type type,
			     uint32_t channel, const void *p, size_t len)
{
	struct buf b;

	buf_init(&b, 256u * 1024);
	return link_put(&b, type, channel, p, len) == 0 && guest_send(g, &b);
}

static inline void guest_output(struct guest *g, const struct link_frame *f)
{
	struct guest_channel *ch = &g->ch[f->channel];
	struct buf *b = f->type == LINK_STDOUT ? &ch->out : &ch->err;

	ch->bytes += f->payload.len;
	b->max = 64u * 1024 * 1024;
	if (!ch->discard && buf_append(b, f->payload.ptr, f->payload.len) < 0)
		g->bad = true;
	if (!ch->stalled && !guest_put_u32(g, LINK_CREDIT, f->channel,
					   (uint32_t)f->payload.len))
		g->bad = true;
}

static inline void guest_note(struct guest *g, const char *word,
			      struct slice text)
{
	const size_t have = strlen(g->log);

	(void)snprintf(g->log + have, sizeof(g->log) - have, "%s %.*s\n", word,
		       (int)text.len, (const char *)text.ptr);
}

static inline void guest_log(struct guest *g, const struct link_frame *f)
{
	struct slice text;
	uint8_t level;
	char word[8];

	if (link_get_text(f, &level, &text) < 0)
		return;
	(void)snprintf(word, sizeof(word), "%d", level);
	guest_note(g, word, text);
}

static inline void guest_frame(struct guest *g, const struct link_frame *f)
{
	struct guest_channel *ch = &g->ch[f->channel % GUEST_CHANNELS];
	struct slice text = { 0 };
	uint32_t v = 0;
	uint8_t level;

	switch (f->type) {
	case LINK_HELLO:
		g->hello = true;
		break;
	case LINK_PREPARED:
		g->prepared = true;
		break;
	case LINK_READY:
		link_vec_free(g->report);
		g->report = NULL;
		g->ready = link_get_ready(f, &g->report) == 0;
		g->bad |= !g->ready;
		break;
	case LINK_PONG:
		g->pong = true;
		break;
	case LINK_UNVAULTED:
		g->unvaulted = true;
		break;
	case LINK_FAIL:
		g->failed = true;
		if (link_get_text(f, &level, &text) == 0)
			(void)snprintf(g->fail_text, sizeof(g->fail_text),
				       "%d %.*s", level, (int)text.len,
				       (const char *)text.ptr);
		break;
	case LINK_LOG:
		guest_log(g, f);
		break;
	case LINK_AUDIT:
		g->bad |= link_get_audit(f, &text) < 0;
		guest_note(g, "audit", text);
		break;
	case LINK_STARTED:
		ch->started = true;
		break;
	case LINK_STDOUT:
	case LINK_STDERR:
		g->bad |= ch->over;
		guest_output(g, f);
		break;
	case LINK_CREDIT:
		g->bad |= link_get_u32(f, &v) < 0;
		ch->credit += v;
		break;
	case LINK_EXIT:
		g->bad |= ch->over || link_get_exit(f, &ch->exit) < 0;
		ch->over = true;
		break;
	default:
		g->bad = true;
	}
}

/* Serves what comes within @ms. False at the end of the link. */
static inline bool guest_step(struct guest *g, int ms)
{
	struct pollfd p = { .fd = g->in, .events = POLLIN };
	struct link_frame f;
	struct slice s;
	uint8_t *to;
	ssize_t n;

	if (poll(&p, 1, ms) <= 0)
		return true;
	to = buf_reserve(&g->rx, 256u * 1024);
	n = to ? read(g->in, to, 256u * 1024) : -1;
	if (n <= 0)
		return false;
	buf_commit(&g->rx, (size_t)n);
	for (;;) {
		s = buf_slice(&g->rx);
		if (link_parse(&s, &f, NULL) < 0)
			return true;
		guest_frame(g, &f);
		buf_consume(&g->rx, buf_len(&g->rx) - s.len);
	}
}

/* Serves until @flag, the end of the link, or the end of patience. */
static inline bool guest_until(struct guest *g, const bool *flag)
{
	const uint64_t end = clock_ms() + GUEST_WAIT_MS;

	while (!*flag && clock_ms() < end && guest_step(g, 100))
		;
	return *flag;
}

/* Without a right to set it, its host name stays as it is. */
static inline bool guest_assign(struct guest *g)
{
	const struct link_prepare p = { .flags = LINK_PREPARE_NAMELESS };
	static const char *const env[] = { "BOTH=assign", "ONE=1", NULL };
	const struct link_assign a = { .name = "otter-1",
				       .env = env,
				       .nproc = GUEST_NPROC,
				       .nofile = 512 };
	struct buf b;

	buf_init(&b, 4096);
	return link_put_prepare(&b, &p) == 0 && link_put_assign(&b, &a) == 0 &&
	       guest_send(g, &b);
}

/* Starts one and sees it to READY. */
static inline bool guest_up(struct guest *g, enum guest_kind kind)
{
	return guest_start(g, kind, false) == 0 && guest_until(g, &g->hello) &&
	       guest_assign(g) && guest_until(g, &g->ready);
}

/* guest_up(); where that cannot work here, says so as a test's result. */
static inline bool guest_possible(struct guest *g)
{
	int code;

	signal(SIGPIPE, SIG_IGN);
	if (getuid() != 0) {
		skip("needs root");
		return false;
	}
	if (guest_up(g, GUEST_SOCKET))
		return true;
	code = guest_wait(g, true);
	if (code > 100 && code < 110)
		skip("no mounts here (step %d)", code - 100);
	else
		ok(false, "init-guard starts (exit %d) %s", code, g->fail_text);
	guest_done(g);
	return false;
}

/* Opens the next channel. Its number, or 0 on failure. */
static inline uint32_t guest_exec(struct guest *g, const struct link_exec *x)
{
	struct buf b;

	buf_init(&b, 256u * 1024);
	if (link_put_exec(&b, ++g->last, x) < 0 || !guest_send(g, &b))
		return 0;
	return g->last;
}

static inline uint32_t guest_sh(struct guest *g, uint32_t flags,
				const char *script)
{
	const char *argv[] = { "/bin/sh", "-c", script, NULL };

	return guest_exec(g,
			  &(struct link_exec){ .flags = flags, .argv = argv });
}

/* The standard output so far as text. */
static inline const char *guest_text(struct guest *g, uint32_t id)
{
	static char text[65536];
	struct slice s = buf_slice(&g->ch[id].out);
	size_t n = s.len < sizeof(text) - 1 ? s.len : sizeof(text) - 1;

	if (n > 0)
		memcpy(text, s.ptr, n);
	text[n] = '\0';
	return text;
}

#endif
