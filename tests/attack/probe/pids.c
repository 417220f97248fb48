/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pids.c - numbers of processes that come round
 *
 * usage: pids SECONDS
 *
 * What vaultd's judgement rests upon: a descriptor of /proc/PID is of that one
 * process, and is worth nothing when another has its number. A child is opened
 * there and ended; then children are born and ended until its number comes
 * round. Prints "there 1" and "gone 0": what is to be read through the descriptor
 * before and after its end; then "reused DESCRIPTOR NEW", the same when another
 * has the number, and through its name; or "not reused N": so many children had
 * other numbers in that time.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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

static pid_t born(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		for (;;)
			pause();
	}
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

int main(int argc, char **argv)
{
	const time_t until = time(NULL) + (argc > 1 ? atoi(argv[1]) : 60);
	const pid_t old = born();
	unsigned long n = 0;
	char name[64];
	pid_t pid;
	int dir;

	(void)snprintf(name, sizeof(name), "/proc/%d", old);
	dir = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (old < 0 || dir < 0 || !readable(dir, "stat")) {
		puts("no process to begin with");
		return 1;
	}
	puts("there 1");
	end(old);
	printf("gone %d\n", readable(dir, "stat"));
	while (time(NULL) < until) {
		n++;
		pid = fork();
		if (pid == 0)
			_exit(0);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		/* The one before it: the next is it, if nobody else is. */
		if (pid != old - 1)
			continue;
		pid = born();
		if (pid == old) {
			(void)snprintf(name, sizeof(name), "/proc/%d/stat",
				       old);
			printf("reused %d %d\n", readable(dir, "stat"),
			       readable(AT_FDCWD, name));
			end(pid);
			return 0;
		}
		end(pid);
	}
	printf("not reused %lu\n", n);
	return 0;
}
