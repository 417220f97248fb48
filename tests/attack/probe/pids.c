/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pids.c - numbers of processes that come round
 *
 * usage: pids SECONDS CLIENT QUESTION FIRST SECOND
 *	  pids SECONDS
 *
 * What vaultd's judgement rests upon: a descriptor of /proc/PID is of that one
 * process, and is worth nothing when another has its number. A child is opened
 * there; it runs CLIENT as git does, with the file QUESTION as its input and
 * FIRST as its output, and ends. Then numbers are taken, by threads, until its
 * number comes round; who has it then is an orphan, and runs CLIENT with SECOND
 * as its output. Prints "there 1" and "gone 0": what is to be read through the
 * descriptor before and after the end of the first; "reused DESCRIPTOR NEW
 * TAKEN", the same when another has the number, and through its name; and
 * "asked" when that one is over. "not reused TAKEN": in that time no one had it.
 * With SECONDS alone numbers are taken, which is all.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int readable(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	char text[512];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (fd >= 0)
		close(fd);
	return n > 0;
}

static void reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void ask(const char *client, const char *question, const char *out)
{
	int in = open(question, O_RDONLY);
	int to = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (in >= 0 && to >= 0 && dup2(in, 0) == 0 && dup2(to, 1) == 1)
		execl(client, client, "get", (char *)NULL);
	_exit(126);
}

/* A child that runs the client once it is told. */
static pid_t first_born(char **argv, int go[2])
{
	pid_t pid;
	char c;

	if (pipe(go) < 0)
		return -1;
	pid = fork();
	if (pid != 0)
		return pid;
	close(go[1]);
	if (read(go[0], &c, 1) == 1)
		ask(argv[2], argv[3], argv[4]);
	_exit(1);
}

/*
 * Whose child is to have the number: born before, since it must end for the
 * child to be an orphan. For each byte it has a child and says its number; "y"
 * ends it, else the child ends.
 */
static void parent_main(char **argv, int in, int out)
{
	pid_t pid;
	char c;

	while (read(in, &c, 1) == 1) {
		pid = fork();
		if (pid == 0) {
			while (getppid() != 1)
				usleep(500);
			ask(argv[2], argv[3], argv[5]);
		}
		if (write(out, &pid, sizeof(pid)) != sizeof(pid) ||
		    read(in, &c, 1) != 1 || c != 'y') {
			kill(pid, SIGKILL);
			reap(pid);
			continue;
		}
		break;
	}
	_exit(0);
}

struct parent {
	pid_t pid;
	int to, from;
};

/* @over: what the orphan keeps open until it has ended. */
static struct parent parent_born(char **argv, int over)
{
	int to[2], from[2];
	struct parent p = { .pid = -1 };

	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		return p;
	p = (struct parent){ fork(), to[1], from[0] };
	if (p.pid != 0)
		return p;
	close(over);
	close(to[1]);
	close(from[0]);
	parent_main(argv, to[0], from[1]);
	return p;
}

/* The number of a child of the parent's. */
static pid_t parent_child(const struct parent *p)
{
	pid_t pid = -1;

	if (write(p->to, "", 1) != 1 ||
	    read(p->from, &pid, sizeof(pid)) != sizeof(pid))
		return -1;
	return pid;
}

#define TAKERS 64

/* A thread of the kernel's alone, without what pthread_create() makes for one:
 * it has nothing to do. */
static int taker_main(void *arg)
{
	(void)arg;
	return 0;
}

/* The number of a thread that ends at once; it takes one as a process does, and
 * is born sooner. Nobody waits for it but who needs its place. -1: none. */
static pid_t number_take(unsigned long n)
{
	static char stacks[TAKERS][4096] __attribute__((aligned(16)));
	static _Atomic pid_t there[TAKERS]; /* 0 once the thread has ended */
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
			  CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
	size_t i = n % TAKERS;
	pid_t number;

	for (int k = 0; k < 10000 && there[i]; k++)
		usleep(200);
	there[i] = 1;
	number = clone(taker_main, stacks[i] + sizeof(stacks[i]), flags, NULL,
		       NULL, NULL, &there[i]);
	if (number < 0)
		there[i] = 0;
	return number;
}

/* Takes numbers, at least one, until the next is @want, if nobody else does. */
static int come_round(pid_t want, time_t until, unsigned long *n)
{
	do {
		pid_t number = number_take(++*n);

		if (number < 0)
			return 0;
		if (number == want - 1)
			return 1;
	} while (time(NULL) < until);
	return 0;
}

static int second_asks(struct parent *p, pid_t old, int dir, int over[2],
		       time_t until)
{
	unsigned long n = 0;
	char name[64];

	(void)snprintf(name, sizeof(name), "/proc/%d/stat", old);
	while (come_round(old, until, &n)) {
		if (parent_child(p) != old) {
			(void)!write(p->to, "n", 1);
			continue;
		}
		printf("reused %d %d %lu\n", readable(dir, "stat"),
		       readable(AT_FDCWD, name), n);
		(void)!write(p->to, "y", 1);
		reap(p->pid);
		close(over[1]);
		(void)!read(over[0], name, 1); /* the end of who has it */
		puts("asked");
		return 0;
	}
	printf("not reused %lu\n", n);
	return 1;
}

int main(int argc, char **argv)
{
	const time_t until = time(NULL) + (argc > 1 ? atoi(argv[1]) : 60);
	unsigned long n = 0;
	int go[2], over[2], dir;
	struct parent p;
	char name[64];
	pid_t old;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 6) {
		while (come_round(-1, until, &n))
			;
		return 0;
	}
	if (pipe(over) < 0)
		return 1;
	(void)fcntl(over[0], F_SETFD, FD_CLOEXEC);
	p = parent_born(argv, over[0]);
	/* The number before it must be free for come_round(). */
	(void)come_round(-1, time(NULL), &n);
	old = first_born(argv, go);
	(void)snprintf(name, sizeof(name), "/proc/%d", old);
	dir = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p.pid < 0 || old < 0 || dir < 0 || !readable(dir, "stat")) {
		puts("no process to begin with");
		return 1;
	}
	puts("there 1");
	(void)!write(go[1], "", 1);
	reap(old);
	/* gVisor answers who waits for a process a moment before it is gone. */
	for (int i = 0; i < 3000 && readable(dir, "stat"); i++)
		usleep(10000);
	printf("gone %d\n", readable(dir, "stat"));
	return second_asks(&p, old, dir, over, until);
}
