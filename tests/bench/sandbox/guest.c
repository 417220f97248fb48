/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest.c - what a process costs the sandbox's own kernel
 *
 * usage: guest hello | guest serve COMMAND... | guest turns COUNT COMMAND...
 *
 * hello says one line and ends: the smallest program that there is to start.
 * serve starts COMMAND for each byte on its stdin, by vfork and execve, and
 * tells how long its first byte took and how long its end, in microseconds.
 * turns starts itself (hello) and COMMAND in turns, each with git's question to
 * a credential helper on its stdin, and tells how long the ends took.
 * It is static and small: a copy of its address space costs nothing.
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GIT_HOST "git.bench.test" /* of helper.bash */

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

struct sample {
	uint64_t first, whole; /* microseconds */
};

/* @in: its stdin, -1: ours. */
static struct sample sample(char *const argv[], int in)
{
	uint64_t start = now_us();
	struct sample s;
	char byte[64];
	int end[2], status;
	pid_t pid;

	if (pipe2(end, O_CLOEXEC) < 0)
		err(1, "pipe");
	/* NOLINTBEGIN(clang-analyzer-*): vfork() is what is to be measured */
	pid = vfork();
	if (pid < 0)
		err(1, "vfork");
	if (pid == 0) {
		if (in >= 0)
			dup2(in, STDIN_FILENO);
		dup2(end[1],
		     STDOUT_FILENO); /* NOLINT(clang-analyzer-unix.Vfork) */
		execve(argv[0], argv, environ);
		_exit(127);
	}
	/* NOLINTEND(clang-analyzer-*) */
	close(end[1]);
	if (read(end[0], byte, sizeof(byte)) < 0)
		err(1, "read");
	s.first = now_us() - start;
	if (waitpid(pid, &status, 0) < 0 || status != 0)
		errx(1, "%s failed", argv[0]);
	s.whole = now_us() - start;
	close(end[0]);
	return s;
}

static void say(uint64_t a, uint64_t b)
{
	printf("%llu %llu\n", (unsigned long long)a, (unsigned long long)b);
	fflush(stdout);
}

static void serve(char *const argv[])
{
	struct sample s;
	char byte;

	while (read(STDIN_FILENO, &byte, 1) == 1) {
		s = sample(argv, -1);
		say(s.first, s.whole);
	}
}

/* What git says to a helper, as a pipe that has it all. */
static int question(void)
{
	static const char text[] = "protocol=https\nhost=" GIT_HOST "\n\n";
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0 ||
	    write(fds[1], text, sizeof(text) - 1) != sizeof(text) - 1)
		err(1, "pipe");
	close(fds[1]);
	return fds[0];
}

static uint64_t asked(char *const argv[])
{
	int in = question();
	uint64_t us = sample(argv, in).whole;

	close(in);
	return us;
}

static void turns(char *self, unsigned long count, char *const argv[])
{
	char word[] = "hello";
	char *const hello[] = { self, word, NULL };
	uint64_t floor;

	for (unsigned long i = 0; i < count; i++) {
		floor = asked(hello);
		say(floor, asked(argv));
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "hello") == 0)
		return write(STDOUT_FILENO, "x\n", 2) == 2 ? 0 : 1;
	if (argc >= 4 && strcmp(argv[1], "turns") == 0)
		turns(argv[0], strtoul(argv[2], NULL, 10), argv + 3);
	else if (argc >= 3 && strcmp(argv[1], "serve") == 0)
		serve(argv + 2);
	else
		errx(2, "usage: guest hello | guest serve COMMAND... | "
			"guest turns COUNT COMMAND...");
	return 0;
}
