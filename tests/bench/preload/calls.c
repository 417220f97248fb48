/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - what net_proxy.so adds to a call, and to an exec
 *
 *	calls KIND ADDRESS PORT [ROUNDS]
 *	calls exec PROGRAM [ROUNDS]
 *	calls count KIND ADDRESS PORT N
 *
 * Runs with the shim in it (LD_PRELOAD) and takes turns between its hook and
 * the C library's own function: many rounds of a few calls each, the order
 * swapped from round to round. KIND: tcp (connect), udp (connect), sendto.
 * exec: PROGRAM started with LD_PRELOAD and without it. Prints a line of the
 * minimum and the median without and with the shim, and of the median of the
 * rounds' differences, in nanoseconds a call. count: N calls and nothing else,
 * for an instruction counter.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 400
#define ROUNDS_MAX 100000
#define BATCH 16 /* calls of a round, each on a socket of its own */

typedef int (*connect_fn)(int, const struct sockaddr *, socklen_t);
typedef ssize_t (*sendto_fn)(int, const void *, size_t, int,
			     const struct sockaddr *, socklen_t);

static connect_fn connects[2];
static sendto_fn sends[2];
static struct sockaddr_in peer = { .sin_family = AF_INET };

static void die(const char *what)
{
	fprintf(stderr, "calls: %s\n", what);
	exit(1);
}

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void find(void *from, const char *name, void *fn)
{
	void *p = dlsym(from, name);

	if (!p)
		die(dlerror());
	memcpy(fn, &p, sizeof(p));
}

/* [0] of the C library, [1] whatever a program gets. */
static void find_both(bool alone)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY);

	if (!libc)
		die(dlerror());
	find(libc, "connect", &connects[0]);
	find(libc, "sendto", &sends[0]);
	find(RTLD_DEFAULT, "connect", &connects[1]);
	find(RTLD_DEFAULT, "sendto", &sends[1]);
	if (!alone && connects[0] == connects[1])
		die("the shim is not here: set LD_PRELOAD");
}

static int socket_of(const char *kind)
{
	const struct linger reset = { .l_onoff = 1 };
	bool tcp = strcmp(kind, "tcp") == 0;
	int fd = socket(AF_INET, tcp ? SOCK_STREAM : SOCK_DGRAM, 0);

	if (fd < 0)
		die("no socket");
	if (tcp) /* no port is left in TIME-WAIT */
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	return fd;
}

/* One round by @which: nanoseconds a call. */
static int64_t calls(const char *kind, int which)
{
	int fd[BATCH];
	int64_t t;

	for (int i = 0; i < BATCH; i++)
		fd[i] = socket_of(kind);
	t = now();
	if (strcmp(kind, "sendto") == 0) {
		for (int i = 0; i < BATCH; i++)
			sends[which](fd[i], "x", 1, 0, (void *)&peer,
				     sizeof(peer));
	} else {
		for (int i = 0; i < BATCH; i++)
			connects[which](fd[i], (void *)&peer, sizeof(peer));
	}
	t = now() - t;
	for (int i = 0; i < BATCH; i++)
		close(fd[i]);
	return t / BATCH;
}

static int64_t spawn(const char *program, int which)
{
	const char *path = getenv("LD_PRELOAD");
	char preload[4096], *with[] = { preload, NULL }, *without[] = { NULL };
	char *argv[] = { (char *)(uintptr_t)program, NULL };
	int64_t t = now();
	int status;
	pid_t pid;

	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", path ? path : "");
	if (posix_spawn(&pid, program, NULL, NULL, argv,
			which ? with : without) != 0)
		die("cannot start the program");
	waitpid(pid, &status, 0);
	return now() - t;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t median(int64_t *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), compare);
	return v[n / 2];
}

static void measure(const char *kind, const char *what, int rounds)
{
	int64_t *v[3], middle[2];

	if (rounds < 1 || rounds > ROUNDS_MAX)
		die("rounds?");
	for (int i = 0; i < 3; i++) {
		v[i] = calloc((size_t)rounds, sizeof(**v));
		if (!v[i])
			die("no memory");
	}
	for (int i = -1; i < rounds; i++) { /* the first one warms up */
		int64_t t[2];

		for (int k = 0; k < 2; k++) {
			int which = (i + k) & 1;

			t[which] = strcmp(kind, "exec") == 0 ?
					   spawn(what, which) :
					   calls(kind, which);
		}
		for (int k = 0; k < 3 && i >= 0; k++)
			v[k][i] = k < 2 ? t[k] : t[1] - t[0];
	}
	middle[0] = median(v[0], rounds);
	middle[1] = median(v[1], rounds);
	printf("%lld %lld %lld %lld %lld\n", (long long)v[0][0],
	       (long long)middle[0], (long long)v[1][0], (long long)middle[1],
	       (long long)median(v[2], rounds));
}

static void aim(const char *address, const char *port)
{
	peer.sin_port = htons((uint16_t)atoi(port));
	if (inet_pton(AF_INET, address, &peer.sin_addr) != 1)
		die("no address");
}

int main(int argc, char **argv)
{
	if (argc == 6 && strcmp(argv[1], "count") == 0) {
		int fd = socket_of(argv[2]);

		find_both(true);
		aim(argv[3], argv[4]);
		for (int n = atoi(argv[5]); n > 0; n--)
			connects[1](fd, (void *)&peer, sizeof(peer));
		return 0;
	}
	if (argc >= 3 && strcmp(argv[1], "exec") == 0) {
		measure("exec", argv[2], argc > 3 ? atoi(argv[3]) : ROUNDS);
		return 0;
	}
	if (argc < 4)
		die("calls KIND ADDRESS PORT [ROUNDS]");
	find_both(false);
	aim(argv[2], argv[3]);
	measure(argv[1], "", argc > 4 ? atoi(argv[4]) : ROUNDS);
	return 0;
}
