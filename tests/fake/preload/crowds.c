/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crowds.c - scenes with threads, signals and descriptors
 */
#include "tests/fake/preload/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

#define THREADS 1000
#define CROWD 400
#define STACK (64 * 1024)
#define JUMPS 20

static int good, bad;

/* Both are known by then. */
static void *one_thread(void *arg)
{
	long i = (long)arg;
	int code = dial(i % 2 ? ALLOWED : DENIED);

	if (code == (i % 2 ? 0 : ECONNREFUSED))
		__atomic_add_fetch(&good, 1, __ATOMIC_RELAXED);
	else
		__atomic_add_fetch(&bad, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void start(pthread_t *t, int n, void *(*fn)(void *))
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (long i = 0; i < n; i++) {
		while (pthread_create(&t[i], &attr, fn, (void *)i))
			usleep(1000);
	}
	pthread_attr_destroy(&attr);
}

static void join(const pthread_t *t, int n)
{
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

void threads(void)
{
	static pthread_t t[THREADS];

	say(dial(ALLOWED));
	say(dial(DENIED));
	start(t, THREADS, one_thread);
	join(t, THREADS);
	printf("%d %d ", good, bad);
}

static int go;

/* To an address that nobody has asked for, all at once. */
static void *one_of_crowd(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		sched_yield();
	if (dial(ALLOWED) == 0)
		__atomic_add_fetch(&good, 1, __ATOMIC_RELAXED);
	return NULL;
}

void crowd(void)
{
	static pthread_t t[CROWD];

	start(t, CROWD, one_of_crowd);
	__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
	join(t, CROWD);
	printf("%d ", good);
}

static volatile sig_atomic_t handled, wrong;

static void on_alarm(int sig)
{
	int saved = errno;

	(void)sig;
	if (dial(DENIED) != ECONNREFUSED || dial(ALLOWED) != 0)
		wrong++;
	handled++;
	errno = saved;
}

void in_handler(void)
{
	const struct itimerval often = { { 0, 500 }, { 0, 500 } };
	const struct itimerval never = { 0 };
	struct sigaction sa = { .sa_handler = on_alarm,
				.sa_flags = SA_ONSTACK | SA_RESTART };
	static char small[16 * 1024];
	stack_t stack = { .ss_sp = small, .ss_size = sizeof(small) };

	sigaltstack(&stack, NULL);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (handled < 200) {
		if (dial(ALLOWED) != 0 || dial(DENIED) != ECONNREFUSED ||
		    dial(DENIED_LITERAL) != ECONNREFUSED)
			wrong++;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%d ", (int)wrong);
}

static int open_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static sigjmp_buf place;

static void on_alarm_leave(int sig)
{
	(void)sig;
	siglongjmp(place, 1);
}

/* Left by a signal while the gateway, which is slow, is waited for: the jump
 * leaves nothing behind. */
void jumps(void)
{
	const struct itimerval soon = { .it_value = { 0, 5000 } };
	struct sigaction sa = { .sa_handler = on_alarm_leave };
	volatile int jumped = 0, before;
	sigset_t set;

	sigaction(SIGALRM, &sa, NULL);
	before = open_descriptors();
	for (volatile int i = 0; i < JUMPS; i++) {
		volatile int fd = tcp(0);

		if (sigsetjmp(place, 1) == 0) {
			setitimer(ITIMER_REAL, &soon, NULL);
			connect_to(fd, SLOW, 2000 + i);
			for (;;)
				pause();
		}
		jumped++;
		close(fd);
	}
	sigprocmask(SIG_SETMASK, NULL, &set);
	printf("%d %d %d ", jumped, open_descriptors() - before,
	       sigismember(&set, SIGALRM));
}

/* The lowest descriptor that is free is the same before and after, whichever
 * of the standard ones is closed. Each address is asked for. */
void descriptors(void)
{
	static const char *const to[] = { DENIED, DENIED_TOO, DENIED_LITERAL };
	int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 100), same = 0;

	for (int closed = 0; closed < 3; closed++) {
		int high = fcntl(tcp(0), F_DUPFD_CLOEXEC, 50 + closed);
		int before, after, code;

		close(closed);
		before = dup(high);
		close(before);
		code = connect_to(high, to[closed], PORT);
		after = dup(high);
		close(after);
		same += before == after && code == ECONNREFUSED;
	}
	dprintf(out, "%d ", same);
	dup2(out, STDOUT_FILENO);
}

static int over;

static void *slowly(void *arg)
{
	connect_to(*(int *)arg, SLOW, PORT);
	__atomic_store_n(&over, 1, __ATOMIC_RELEASE);
	return NULL;
}

static int lowest(int from, int to)
{
	for (int fd = from; fd < to; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			return fd;
	}
	return -1;
}

/* The standard descriptors are closed: while an answer is waited for, the
 * shim's own is above them. */
void above(void)
{
	int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 100), seen = 0;
	int high = fcntl(tcp(0), F_DUPFD_CLOEXEC, 50);
	pthread_t t;

	for (int fd = 0; fd < 50; fd++)
		close(fd);
	if (pthread_create(&t, NULL, slowly, &high) != 0)
		return;
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		/* In this order: it begins below for a moment. */
		int at = lowest(3, 50);

		seen |= at >= 0 && lowest(0, 3) < 0;
		usleep(1000);
	}
	pthread_join(t, NULL);
	dprintf(out, "%d %d ", seen, lowest(0, 50));
	dup2(out, STDOUT_FILENO);
}
