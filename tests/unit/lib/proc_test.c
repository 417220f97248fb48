/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_test.c - what a child inherits, and how failures come back
 */
#include "lib/proc.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/unit/tap.h"

#define SH(script) ((const char *const[]){ "sh", "-c", (script), NULL })

static struct proc_opts opts_of(const char *const *argv)
{
	return (struct proc_opts){ .argv = argv, .fd = { -1, 1, 2 } };
}

static void check_out(const struct proc_opts *opts, const char *want,
		      const char *what)
{
	struct err err = { 0 };
	SCOPED_STR out = NULL;
	int rc = proc_capture(opts, 4096, &out, &err);

	if (!ok(rc == 0, "%s: %d %s", what, rc, err.msg))
		return;
	is_str(out, want, "%s", what);
}

static void test_codes(void)
{
	static const struct {
		const char *script;
		int want;
	} cases[] = {
		{ "exit 0", 0 },          { "exit 7", 7 },
		{ "exit 255", 255 },      { "kill -TERM $$", 143 },
		{ "kill -KILL $$", 137 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct proc_opts o = opts_of(SH(cases[i].script));
		struct err err = { 0 };

		is_int(proc_run(&o, &err), cases[i].want, "%s",
		       cases[i].script);
	}
}

static void test_failures(void)
{
	struct err err = { 0 };
	struct proc_opts o = opts_of(
		(const char *const[]){ "no-such-program-here", "x", NULL });
	pid_t pid = 99;

	is_int(proc_spawn(&o, &pid, &err), -ENOENT, "no program");
	is_int(pid, 99, "the result is untouched");
	is_str(err.msg, "start no-such-program-here: No such file or directory",
	       "and says so");
	o.argv = (const char *const[]){ "/etc/passwd", NULL };
	is_int(proc_run(&o, &err), -EACCES, "not a program");
	o.argv = SH("exit 3");
	o.cwd = "/no/such/dir";
	is_int(proc_run(&o, NULL), -ENOENT, "no directory");
	o.cwd = NULL;
	o.fd[1] = 9999;
	is_int(proc_run(&o, &err), -EBADF, "no descriptor");
	o.argv = (const char *const[]){ NULL };
	is_int(proc_run(&o, &err), -EINVAL, "no argument at all");
	is_int(waitpid(-1, NULL, WNOHANG), -1, "no child is left");
}

static void test_inherit(void)
{
	struct proc_opts o = opts_of(SH("echo \"$A:$HOME\"; pwd"));
	SCOPED_FD leak = open("/dev/null", O_RDONLY); /* not cloexec */

	o.env = (const char *const[]){ "A=b c", "PATH=/bin:/usr/bin", NULL };
	o.cwd = "/usr";
	check_out(&o, "b c:\n/usr\n", "environment and directory");
	setenv("A", "mine", 1);
	o = opts_of(SH("echo $A"));
	check_out(&o, "mine\n", "the environment inherited");
	/* opendir() of ls takes one itself. */
	o = opts_of((const char *const[]){ "ls", "/proc/self/fd", NULL });
	check_out(&o, "0\n1\n2\n3\n", "no descriptor above 2");
	o = opts_of(SH("cat; readlink /proc/self/fd/0"));
	check_out(&o, "/dev/null\n", "-1 is /dev/null");
	o = opts_of(SH("test \"$(cut -d' ' -f6 /proc/$$/stat)\" = $$ && "
		       "echo own"));
	o.new_session = 1;
	check_out(&o, "own\n", "a session of its own");
	ok(leak >= 0, "a descriptor was there to leak");
}

static void test_signals(void)
{
	struct proc_opts o =
		opts_of(SH("grep -E '^Sig(Blk|Ign)' /proc/self/status"));
	sigset_t set, old, now;

	signal(SIGUSR1, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, &old);
	check_out(&o, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n",
		  "mask and dispositions are reset");
	sigprocmask(SIG_SETMASK, &old, &now);
	ok(sigismember(&now, SIGUSR2) == 1 && sigismember(&now, SIGINT) == 0,
	   "our own mask is as it was");
	signal(SIGUSR1, SIG_DFL);
}

static void test_capture(void)
{
	struct proc_opts o = opts_of(SH("printf abcdef; exit 3"));
	struct err err = { 0 };
	SCOPED_STR a = NULL;
	SCOPED_STR b = NULL;
	SCOPED_STR c = NULL;
	SCOPED_STR d = NULL;
	char *none = NULL;

	is_int(proc_capture(&o, 6, &a, &err), 3, "exit code");
	is_str(a, "abcdef", "and the output");
	is_int(proc_capture(&o, 4, &b, &err), 3, "cut");
	is_str(b, "abcd", "to the maximum");
	is_int(proc_capture(&o, 0, &c, &err), 3, "a maximum of 0");
	is_str(c, "", "keeps nothing");
	o.argv = SH("head -c 3000000 /dev/zero | tr '\\0' x");
	is_int(proc_capture(&o, 100000, &d, &err), 0, "much output");
	is_int(d ? strlen(d) : 0, 100000, "a child is never stuck");
	o.argv = SH("printf 'a\\000b'");
	is_int(proc_capture(&o, 9, &none, &err), -EBADMSG, "a NUL");
	o.argv = (const char *const[]){ "no-such-program-here", NULL };
	is_int(proc_capture(&o, 9, &none, &err), -ENOENT, "no program");
	ok(!none, "failures return nothing");
}

/* "sleep" is a grandchild that holds the output open. */
static void test_timeout(void)
{
	struct proc_opts o = opts_of(SH("sleep 60; exit 3"));
	struct err err = { 0 };
	char *none = NULL;
	SCOPED_STR out = NULL;

	o.timeout_ms = 50;
	is_int(proc_run(&o, &err), -ETIMEDOUT, "run: %s", err.msg);
	is_int(proc_capture(&o, 9, &none, &err), -ETIMEDOUT, "capture");
	o.argv = SH("exec >/dev/null; sleep 60");
	is_int(proc_capture(&o, 9, &none, &err), -ETIMEDOUT,
	       "closed its output and goes on");
	o.argv = SH("while :; do echo y; done");
	is_int(proc_capture(&o, 9, &none, &err), -ETIMEDOUT, "writes for ever");
	ok(!none, "failures return nothing");
	is_int(waitpid(-1, NULL, WNOHANG), -1, "no child is left");
	o.timeout_ms = 60000;
	o.argv = SH("sleep 0.1; exit 3");
	is_int(proc_run(&o, &err), 3, "in time");
	o.argv = SH("sleep 0.1; echo hi; exit 3");
	is_int(proc_capture(&o, 9, &out, &err), 3, "captured in time");
	is_str(out, "hi\n", "all of it");
}

/*
 * All ways in which sources may overlap with 0, 1, 2, and with those closed
 * in the parent. In a process of its own, which has lost its own output.
 */
static int shuffle_child(int result)
{
	struct proc_opts o = opts_of(SH("read x; echo \"$x\"; echo err >&2"));
	int in[2], out[2], err[2];
	char text[16] = "";

	if (pipe(in) < 0 || pipe(out) < 0 || pipe(err) < 0)
		return 1;
	if (write(in[1], "in\n", 3) != 3)
		return 2;
	/* 0 <- 2, 1 <- 0, 2 <- 1: a cycle */
	if (dup2(in[0], 2) < 0 || dup2(out[1], 0) < 0 || dup2(err[1], 1) < 0)
		return 3;
	o.fd[0] = 2;
	o.fd[1] = 0;
	o.fd[2] = 1;
	if (proc_run(&o, NULL) != 0)
		return 4;
	if (read(out[0], text, sizeof(text)) != 3 ||
	    memcmp(text, "in\n", 3) != 0)
		return 5;
	if (read(err[0], text, sizeof(text)) != 4 ||
	    memcmp(text, "err\n", 4) != 0)
		return 6;
	/* The parent's 0-2 closed: the error pipe is among them. */
	close(0);
	close(1);
	close(2);
	o.argv = (const char *const[]){ "no-such-program-here", NULL };
	o.fd[0] = o.fd[1] = o.fd[2] = -1;
	if (proc_run(&o, NULL) != -ENOENT)
		return 7;
	o.argv = SH("test -e /proc/self/fd/2 && exit 9");
	if (proc_run(&o, NULL) != 9)
		return 8;
	return write(result, "k", 1) == 1 ? 0 : 9;
}

static void test_shuffle(void)
{
	int fd[2], status = 0;
	pid_t pid;

	if (!ok(pipe2(fd, O_CLOEXEC) == 0, "a pipe"))
		return;
	pid = fork();
	if (pid == 0)
		_exit(shuffle_child(fd[1]));
	waitpid(pid, &status, 0);
	is_int(proc_code(status), 0, "0, 1, 2 in a cycle, and closed");
	close(fd[0]);
	close(fd[1]);
}

static int old_kernel(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { ARRAY_SIZE(code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0 ? -errno :
								       0;
}

static void test_old_kernel(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		struct proc_opts o =
			opts_of(SH("test \"$(ls /proc/self/fd | wc -l)\" = 4"));

		if (open("/dev/null", O_RDONLY) < 0 || old_kernel() < 0)
			_exit(77);
		_exit(proc_run(&o, NULL));
	}
	waitpid(pid, &status, 0);
	if (proc_code(status) == 77)
		skip("no seccomp filter here");
	else
		is_int(proc_code(status), 0, "no leak without close_range()");
}

static void test_die_with_parent(void)
{
	int fd[2];
	char byte;
	pid_t pid;

	if (!ok(pipe2(fd, O_CLOEXEC) == 0, "a pipe"))
		return;
	pid = fork();
	if (pid == 0) {
		struct proc_opts o = opts_of(SH("exec sleep 60"));
		pid_t child;

		o.die_with_parent = 1;
		o.fd[1] = fd[1]; /* held open for as long as it lives */
		o.fd[2] = -1;
		_exit(proc_spawn(&o, &child, NULL) < 0);
	}
	close(fd[1]);
	waitpid(pid, NULL, 0);
	alarm(10);
	is_int(read(fd[0], &byte, 1), 0, "the child dies with its parent");
	alarm(0);
	close(fd[0]);
}

int main(void)
{
	/* A directory that only root may search would turn ENOENT to EACCES. */
	setenv("PATH", "/usr/bin:/bin", 1);
	test_codes();
	test_failures();
	test_inherit();
	test_signals();
	test_capture();
	test_timeout();
	test_shuffle();
	test_old_kernel();
	test_die_with_parent();
	return done_testing();
}
