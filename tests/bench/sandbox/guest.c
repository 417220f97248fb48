/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest.c - what a process costs the sandbox's own kernel
 *
 * usage: guest hello | guest serve COMMAND...
 *
 * hello says one line and ends: the smallest program that there is to start.
 * serve starts COMMAND for each byte on its stdin, by vfork and execve, and
 * tells how long its first byte took and how long its end, in microseconds.
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

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void sample(char *const argv[])
{
	uint64_t start = now_us(), first, whole;
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
		dup2(end[1],
		     STDOUT_FILENO); /* NOLINT(clang-analyzer-unix.Vfork) */
		execve(argv[0], argv, environ);
		_exit(127);
	}
	/* NOLINTEND(clang-analyzer-*) */
	close(end[1]);
	if (read(end[0], byte, sizeof(byte)) < 0)
		err(1, "read");
	first = now_us() - start;
	if (waitpid(pid, &status, 0) < 0 || status != 0)
		errx(1, "%s failed", argv[0]);
	whole = now_us() - start;
	close(end[0]);
	printf("%llu %llu\n", (unsigned long long)first,
	       (unsigned long long)whole);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char byte;

	if (argc == 2 && strcmp(argv[1], "hello") == 0)
		return write(STDOUT_FILENO, "x\n", 2) == 2 ? 0 : 1;
	if (argc < 3 || strcmp(argv[1], "serve") != 0)
		errx(2, "usage: guest hello | guest serve COMMAND...");
	while (read(STDIN_FILENO, &byte, 1) == 1)
		sample(argv + 2);
	return 0;
}
