/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.c - execs through acd's API, and what they take
 *
 * usage: load exec SOCKET NAME COUNT GUEST COMMAND...
 *        load shell SOCKET NAME COUNT FLIGHT LINE
 *        load soak SOCKET NAME COUNT PER-MINUTE COMMAND...
 *
 * One line a sample on stdout, in microseconds.
 *
 * exec: call to first byte, call to EXIT, then the same two from inside: a
 * process that stays in the sandbox (guest.c) starts the same program at the
 * same time in the cheapest way there is. The two take turns, so that what
 * happens to the machine happens to both, and their difference is ours.
 *
 * shell: FLIGHT shells stay; a sample is one LINE written to one of them until
 * its answer of one line is back.
 *
 * soak: execs at an even pace; call to EXIT.
 */
#include <err.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/loop.h"
#include "tests/bench/sandbox/api.h"

#define FLIGHT_MAX 64u
#define WARM_UP 5u

static struct api kept[FLIGHT_MAX], once;

static uint64_t us_since(uint64_t start_ns)
{
	return (clock_ns() - start_ns) / 1000;
}

/* One exec; *ret_first is its first output, or its end when it is silent. */
static uint64_t exec_once(const char *sock, const char *name,
			  char *const argv[], uint64_t *ret_first)
{
	uint64_t start = clock_ns(), us;
	struct link_frame f;
	struct link_exit x = { 0 };

	*ret_first = 0;
	api_exec(&once, sock, name, argv, false);
	for (;;) {
		if (!api_frame(&once, &f))
			errx(1, "the exec was cut off");
		if (f.type == LINK_STDOUT && *ret_first == 0)
			*ret_first = us_since(start);
		if (f.type == LINK_EXIT)
			break;
	}
	us = us_since(start);
	if (link_get_exit(&f, &x) < 0 || link_exit_code(&x) != 0)
		errx(1, "the command failed: kind %d, value %u", (int)x.kind,
		     (unsigned)x.value);
	api_close(&once);
	if (*ret_first == 0)
		*ret_first = us;
	return us;
}

/* One line of output of a kept exec. */
static void line_read(struct api *a, char *line, size_t size)
{
	struct link_frame f;
	size_t len = 0;

	do {
		if (!api_frame(a, &f) || f.type == LINK_EXIT)
			errx(1, "a kept process ended");
		if (f.type == LINK_STDERR)
			errx(1, "a kept process says: %.*s", (int)f.payload.len,
			     (const char *)f.payload.ptr);
		if (f.type != LINK_STDOUT)
			continue;
		if (f.payload.len >= size - len)
			errx(1, "a kept process says too much");
		memcpy(line + len, f.payload.ptr, f.payload.len);
		len += f.payload.len;
	} while (len == 0 || line[len - 1] != '\n');
	line[len] = '\0';
}

static int mode_exec(const char *sock, const char *name, unsigned count,
		     char *const rest[])
{
	char *serve[32] = { rest[0], (char *)(uintptr_t) "serve" };
	char inside[128];
	uint64_t first, whole;
	size_t n;

	for (n = 1; n < 30 && rest[n]; n++)
		serve[n + 1] = rest[n];
	api_exec(&kept[0], sock, name, serve, true);
	for (unsigned i = 0; i < count + WARM_UP; i++) {
		whole = exec_once(sock, name, rest + 1, &first);
		api_input(&kept[0], "x");
		line_read(&kept[0], inside, sizeof(inside));
		if (i >= WARM_UP)
			printf("%llu %llu %s", (unsigned long long)first,
			       (unsigned long long)whole, inside);
	}
	api_close(&kept[0]);
	return 0;
}

static int mode_shell(const char *sock, const char *name, unsigned count,
		      char *const rest[])
{
	char *const shell[] = { (char *)(uintptr_t) "sh", NULL };
	const unsigned flight = (unsigned)strtoul(rest[0], NULL, 10);
	struct pollfd fds[FLIGHT_MAX];
	uint64_t at[FLIGHT_MAX];
	char line[256], answer[256];
	unsigned done = 0;

	if (flight < 1 || flight > FLIGHT_MAX || !rest[1])
		errx(2, "FLIGHT is 1 to %u, then a line", FLIGHT_MAX);
	snprintf(line, sizeof(line), "%s\n", rest[1]);
	for (unsigned i = 0; i < flight; i++) {
		api_exec(&kept[i], sock, name, shell, true);
		api_input(&kept[i], line);
		line_read(&kept[i], answer, sizeof(answer));
		fds[i] = (struct pollfd){ kept[i].fd, POLLIN, 0 };
	}
	for (unsigned i = 0; i < flight; i++) {
		at[i] = clock_ns();
		api_input(&kept[i], line);
	}
	while (done < count) {
		if (poll(fds, flight, -1) < 0)
			err(1, "poll");
		for (unsigned i = 0; i < flight && done < count; i++) {
			if (!fds[i].revents)
				continue;
			line_read(&kept[i], answer, sizeof(answer));
			printf("%llu\n", (unsigned long long)us_since(at[i]));
			done++;
			at[i] = clock_ns();
			api_input(&kept[i], line);
		}
	}
	return 0; /* the shells end with their connections */
}

static int mode_soak(const char *sock, const char *name, unsigned count,
		     char *const rest[])
{
	const unsigned pace = (unsigned)strtoul(rest[0], NULL, 10);
	uint64_t begin = clock_ns(), due, now, first;

	if (pace == 0)
		errx(2, "no pace");
	for (unsigned i = 0; i < count; i++) {
		due = begin + i * 60000000000ull / pace;
		now = clock_ns();
		if (due > now) {
			const struct timespec pause = {
				.tv_sec = (time_t)((due - now) / 1000000000),
				.tv_nsec = (long)((due - now) % 1000000000),
			};

			nanosleep(&pause, NULL);
		}
		printf("%llu\n", (unsigned long long)exec_once(
					 sock, name, rest + 1, &first));
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*fn)(const char *sock, const char *name, unsigned count,
			  char *const rest[]);
	} modes[] = {
		{ "exec", mode_exec },
		{ "shell", mode_shell },
		{ "soak", mode_soak },
	};

	for (size_t i = 0; argc >= 7 && i < ARRAY_SIZE(modes); i++) {
		if (strcmp(argv[1], modes[i].name) == 0)
			return modes[i].fn(argv[2], argv[3],
					   (unsigned)strtoul(argv[4], NULL, 10),
					   argv + 5);
	}
	errx(2, "usage: load exec|shell|soak SOCKET NAME COUNT ...");
}
