/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault.c - starts and watches vaultd
 *
 * Theory of operation: root makes the socket, in a directory of root's that
 * only group 990 may enter, before any process of the agent exists, and passes
 * it on listening. vaultd becomes uid 990 before it execs, so it never has a
 * right to lose; the grant comes through a pipe that is filled before it runs,
 * so neither side waits for the other.
 *
 * If vaultd dies, the sandbox continues without credentials, and acd is told:
 * its socket then refuses all connections, and no process could start another.
 */
#include "init-guard/start/vault.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "init-guard/start/etc.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "vault/grant.h"
#include "vault/paths.h"

#define STACK_SIZE (32u * 1024)
#define START_MS 5000
#define BACKLOG 128
/* If acd does not read, lines are dropped before the link is affected. */
#define LOG_ROOM (1024u * 1024)

#define SETID_MODE (S_IFREG | 06755)
#define PLAIN_MODE (S_IFREG | 0755)

static _Alignas(16) uint8_t child_stack[STACK_SIZE];

void vaultd_init(struct vaultd *v)
{
	*v = (struct vaultd){ .listener = -1, .log_fd = -1 };
}

/* ---- its programs ---- */

static int program_check(const char *path, mode_t mode, uid_t id,
			 struct err *err)
{
	struct statvfs fs;
	struct stat st;

	if (lstat(path, &st) < 0 || statvfs(path, &fs) < 0)
		return err_sys(err, "the vault's %s", path);
	if (st.st_mode != mode || st.st_uid != id || st.st_gid != id)
		return err_set(err, -EPERM,
			       "the vault's %s has mode %o and owner %u", path,
			       (unsigned int)st.st_mode,
			       (unsigned int)st.st_uid);
	if (id != 0 && (fs.f_flag & ST_NOSUID))
		return err_set(err, -EPERM,
			       "%s lies on a file system without setuid", path);
	return 0;
}

static int programs_check(struct err *err)
{
	static const char *const clients[] = { VAULT_GIT, VAULT_GH,
					       VAULT_GLAB };
	int rc = program_check(VAULT_DAEMON, PLAIN_MODE, 0, err);
	size_t i;

	for (i = 0; rc == 0 && i < ARRAY_SIZE(clients); i++)
		rc = program_check(clients[i], SETID_MODE, VAULT_ID, err);
	if (rc == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 0)
		rc = err_set(err, -EPERM,
			     "credentials need a runtime with setuid "
			     "programs (runsc); this one has no_new_privs");
	return rc;
}

/* ---- its socket ---- */

static int socket_make(struct err *err)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX,
				  .sun_path = VAULT_SOCKET };
	SCOPED_FD fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1;

	if (fd < 0)
		return err_sys(err, "the vault's socket");
	/* EEXIST is a failure: only we make it, once. */
	if (mkdir(VAULT_DIR, 0700) < 0)
		return err_sys(err, "make " VAULT_DIR);
	/* The modes are set while root owns them: later it lacks the right. */
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0 ||
	    bind(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0 ||
	    chmod(VAULT_SOCKET, 0600) < 0 ||
	    chown(VAULT_SOCKET, VAULT_ID, VAULT_ID) < 0 ||
	    listen(fd, BACKLOG) < 0 || chmod(VAULT_DIR, 0710) < 0 ||
	    chown(VAULT_DIR, 0, VAULT_ID) < 0)
		return err_sys(err, "make " VAULT_SOCKET);
	return fd_take(&fd);
}

/* ---- what the agent uses ---- */

/* The first, empty helper removes earlier ones; useHttpPath lets the audit name
 * the repository. Remotes by ssh become https: the sandbox has no key. */
static int git_host_put(struct buf *out, const char *host)
{
	return buf_printf(out,
			  "[credential \"https://%s\"]\n"
			  "\thelper =\n"
			  "\thelper = " VAULT_GIT "\n"
			  "\tuseHttpPath = true\n"
			  "[url \"https://%s/\"]\n"
			  "\tinsteadOf = git@%s:\n"
			  "\tinsteadOf = ssh://git@%s/\n",
			  host, host, host, host);
}

int vaultd_gitconfig(struct slice grant, struct buf *out)
{
	struct grant g;
	int rc = grant_get(grant, &g);
	uint16_t h;
	size_t i;

	if (rc < 0)
		return rc;
	for (i = 0; i < g.n; i++) {
		if (!(g.v[i].uses & GRANT_GIT))
			continue;
		for (h = 0; rc >= 0 && h < g.v[i].n_hosts; h++)
			rc = git_host_put(out, g.v[i].hosts[h]);
	}
	grant_done(&g);
	return rc < 0 ? rc : 0;
}

static bool has_wrapper(struct slice grant)
{
	bool found = false;
	struct grant g;
	size_t i;

	if (grant_get(grant, &g) < 0)
		return false;
	for (i = 0; i < g.n; i++)
		found |= (g.v[i].uses & (GRANT_GH | GRANT_GLAB)) != 0;
	grant_done(&g);
	return found;
}

static int git_write(const struct agent *ag, struct slice grant,
		     struct err *err)
{
	struct buf text;
	int rc;

	buf_init(&text, 4 * LINK_VAULT_MAX + 4096);
	rc = vaultd_gitconfig(grant, &text);
	if (rc < 0)
		err_set(err, rc, "the vault's grant: %s", err_text(rc));
	else
		rc = etc_git(ag->env, buf_slice(&text), err);
	buf_done(&text);
	return rc;
}

/* A login shell sets PATH again: the profile puts AC_VAULT_BIN before it. */
static void path_extend(struct agent *ag)
{
	static char path[PATH_MAX * 2];
	static char bin[] = "AC_VAULT_BIN=" VAULT_BIN;
	const char *old = env_value(ag->env, "PATH");

	agent_default(ag, bin);
	if ((size_t)snprintf(path, sizeof(path), "PATH=" VAULT_BIN ":%s",
			     old ? old : "/usr/bin:/bin") < sizeof(path))
		agent_replace(ag, path);
}

int vaultd_prepare(struct vaultd *v, struct agent *ag, struct report *r,
		   struct err *err)
{
	const struct slice grant =
		slice_of(ag->assign.vault, ag->assign.vault_len);
	int rc;

	if (grant.len == 0)
		return 0;
	rc = programs_check(err);
	if (rc == 0)
		rc = git_write(ag, grant, err);
	if (rc < 0)
		return rc;
	v->listener = socket_make(err);
	if (v->listener < 0)
		return err->code;
	if (has_wrapper(grant))
		path_extend(ag);
	report_ok(r, "vault");
	return 0;
}

/* ---- vaultd ---- */

struct child {
	int fd[4]; /* become 0 to 3 */
	int error;
};

/* On borrowed memory, like exec.c: system calls only. */
static int child_main(void *arg)
{
	static char name[] = VAULT_DAEMON;
	char *argv[] = { name, NULL }, *env[] = { NULL };
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct none[2] = { 0 };
	struct child *c = arg;
	sigset_t set;
	int i;

	/* Each is above its final number, so none is overwritten too early. */
	for (i = 0; i < 4; i++) {
		if (dup2(c->fd[i], i) < 0)
			goto fail;
	}
	if (setsid() < 0 ||
	    syscall(SYS_setresgid, VAULT_ID, VAULT_ID, VAULT_ID) < 0 ||
	    syscall(SYS_setresuid, VAULT_ID, VAULT_ID, VAULT_ID) < 0 ||
	    syscall(SYS_capset, &head, none) < 0)
		goto fail;
	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	execve(name, argv, env);
fail:
	c->error = errno;
	_exit(127);
}

/* Returns a pipe that holds the grant and then ends. */
static int grant_pipe(const struct agent *ag, struct err *err)
{
	SCOPED_FD in = -1;
	SCOPED_FD out = -1;
	int end[2];

	if (pipe2(end, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_sys(err, "a pipe for the grant");
	in = end[0];
	out = end[1];
	if (write(out, ag->assign.vault, ag->assign.vault_len) !=
	    (ssize_t)ag->assign.vault_len)
		return err_sys(err, "a pipe for the grant");
	if (fcntl(in, F_SETFL, 0) < 0)
		return err_sys(err, "a pipe for the grant");
	return fd_take(&in);
}

/* Duplicates our descriptors above 3, so that no dup2() overwrites another. */
static int child_fds(struct child *c, int grant_fd, int listener, int log_fd,
		     struct err *err)
{
	const int from[4] = { grant_fd, log_fd, log_fd, listener };
	int i;

	for (i = 0; i < 4; i++) {
		c->fd[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 10);
		if (c->fd[i] < 0)
			return err_sys(err, "descriptors of vaultd");
	}
	return 0;
}

static int child_start(struct vaultd *v, const struct agent *ag, int log_fd,
		       struct err *err)
{
	struct child c = { .fd = { -1, -1, -1, -1 } };
	SCOPED_FD grant = grant_pipe(ag, err);
	pid_t pid = -1;
	int rc, i;

	if (grant < 0)
		return err->code;
	rc = child_fds(&c, grant, v->listener, log_fd, err);
	if (rc == 0) {
		pid = clone(child_main, child_stack + STACK_SIZE,
			    CLONE_VM | CLONE_VFORK | SIGCHLD, &c);
		if (pid < 0)
			rc = err_sys(err, "clone for vaultd");
	}
	for (i = 0; i < 4; i++)
		fd_closep(&c.fd[i]);
	if (rc < 0)
		return rc;
	if (c.error != 0) {
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		return err_set(err, -c.error, "start " VAULT_DAEMON ": %s",
			       err_text(-c.error));
	}
	v->pid = pid;
	return 0;
}

/* Reads up to the end of a line, of its output, or until @end_ms. */
static size_t first_line(const struct vaultd *v, char *text, size_t max,
			 uint64_t end_ms)
{
	struct pollfd p = { .fd = v->log_fd, .events = POLLIN };
	size_t len = 0;
	uint64_t now;
	ssize_t n;

	while (len < max && !memchr(text, '\n', len)) {
		now = clock_ms();
		if (now >= end_ms)
			break;
		if (poll(&p, 1, (int)(end_ms - now)) <= 0)
			continue;
		n = read(v->log_fd, text + len, max - len);
		if (n == 0)
			break;
		len += n > 0 ? (size_t)n : 0;
	}
	return len;
}

/* One that hangs still holds the grant: kill it. */
static void start_undo(struct vaultd *v)
{
	const pid_t pid = v->pid;

	v->pid = 0;
	if (kill(pid, SIGKILL) < 0)
		return; /* it is reaped like any other process */
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Reads the first line. Anything but VAULT_READY_LINE is the reason why it does
 * not serve. */
static int ready_wait(struct vaultd *v, struct err *err)
{
	static const char ready[] = VAULT_READY_LINE "\n";
	char text[256] = "";
	const size_t n =
		first_line(v, text, sizeof(text) - 1, clock_ms() + START_MS);

	if (n == sizeof(ready) - 1 && memcmp(text, ready, n) == 0)
		return 0;
	start_undo(v);
	text[n] = '\0';
	return err_set(err, -EPERM, "vaultd does not serve: %.*s",
		       (int)strcspn(text, "\n"), n > 0 ? text : "no output");
}

static void text_send(struct vaultd *v, enum log_level level, const char *text)
{
	wire_check(v->wire, link_put_text(wire_out(v->wire), LINK_LOG, 0,
					  (uint8_t)level, text));
}

/* Lost lines are counted; the count is sent before the next one. */
static void line_send(struct vaultd *v)
{
	char text[LINK_TEXT_MAX + 8];
	int rc = -EINVAL;

	if (v->deaf || buf_len(wire_out(v->wire)) > LOG_ROOM) {
		v->lost++;
		return;
	}
	if (v->lost > 0) {
		(void)snprintf(text, sizeof(text),
			       "vault: %" PRIu64 " lines were lost", v->lost);
		text_send(v, LOG_LVL_WARN, text);
		v->lost = 0;
	}
	if (v->line[0] == '{')
		rc = link_put_audit(wire_out(v->wire),
				    slice_of(v->line, v->len));
	if (rc != -EINVAL) {
		wire_check(v->wire, rc);
	} else {
		(void)snprintf(text, sizeof(text), "vault: %.*s", (int)v->len,
			       v->line);
		text_send(v, LOG_LVL_WARN, text);
	}
	wire_flush(v->wire);
}

static void log_byte(struct vaultd *v, char c)
{
	if (c == '\n') {
		if (v->len > 0)
			line_send(v);
		v->len = 0;
		v->deaf = false;
	} else if (v->len == sizeof(v->line)) {
		v->deaf = true;
	} else {
		v->line[v->len++] = c;
	}
}

static void log_ready(void *arg, uint32_t events)
{
	struct vaultd *v = arg;
	char chunk[4096];
	ssize_t n, i;

	(void)events;
	n = read(v->log_fd, chunk, sizeof(chunk));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	for (i = 0; i < n; i++)
		log_byte(v, chunk[i]);
	if (n > 0)
		return;
	loop_del(v->io);
	v->io = NULL;
	fd_closep(&v->log_fd);
}

int vaultd_start(struct vaultd *v, struct agent *ag, struct loop *loop,
		 struct wire *wire, struct report *r, struct err *err)
{
	SCOPED_FD out = -1;
	int end[2], rc;

	(void)r;
	if (v->listener < 0)
		return 0;
	if (pipe2(end, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_sys(err, "a pipe for vaultd");
	v->log_fd = end[0];
	out = end[1];
	v->wire = wire;
	rc = child_start(v, ag, out, err);
	explicit_bzero(ag->assign.vault, ag->assign.vault_len);
	fd_closep(&out);
	fd_closep(&v->listener);
	if (rc == 0)
		rc = ready_wait(v, err);
	if (rc < 0)
		return rc;
	v->io = loop_add(loop, v->log_fd, EPOLLIN, log_ready, v);
	return v->io ? 0 : err_nomem(err);
}

void vaultd_reaped(struct vaultd *v, pid_t pid, int status)
{
	if (v->pid == 0 || pid != v->pid)
		return;
	v->pid = 0;
	if (!v->wire)
		return;
	v->deaf = false;
	v->len = (size_t)snprintf(v->line, sizeof(v->line),
				  "vaultd is over (%d): the sandbox continues "
				  "without credentials",
				  proc_code(status));
	wire_check(v->wire,
		   link_put(wire_out(v->wire), LINK_UNVAULTED, 0, NULL, 0));
	line_send(v);
	v->len = 0;
}

void vaultd_done(struct vaultd *v)
{
	loop_del(v->io);
	fd_closep(&v->listener);
	fd_closep(&v->log_fd);
	vaultd_init(v);
}
