/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - a blocking client of runs, for conversations of api_world.h,
 * and what acd says of whether a run may start
 *
 * A test program includes it once.
 */
#ifndef TESTS_UNIT_CONTROL_ACD_API_RUN_CLIENT_H
#define TESTS_UNIT_CONTROL_ACD_API_RUN_CLIENT_H

#include "tests/unit/control/acd/api/api_world.h"

static bool refuse_runs;

int acd_may_run(const struct acd *acd, const char *isolation, struct err *err,
		const char **ret_code)
{
	(void)acd;
	(void)isolation;
	if (!refuse_runs)
		return 0;
	*ret_code = "runtime_refused";
	return err_set(err, -EPERM, "this runtime is not safe");
}

/* Sends a request to be upgraded; the connection, past its 101, which is in
 * *ret_head until the next call. */
static inline int upgrade_head(const char *path, const char *body,
			       const char **ret_head)
{
	static char got[1024];
	char head[1024];
	size_t n = 0;
	int fd = dial();

	snprintf(head, sizeof(head),
		 "POST %s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
		 "Upgrade: ac-link/1\r\nContent-Length: %zu\r\n\r\n%s",
		 path, strlen(body), body);
	say(fd, head);
	/* The head byte by byte: frames follow at once. */
	for (;;) {
		check(n < sizeof(got) - 1 && recv(fd, got + n, 1, 0) == 1);
		got[++n] = '\0';
		if (strstr(got, "\r\n\r\n"))
			break;
	}
	check(strstr(got, "HTTP/1.1 101") == got);
	if (ret_head)
		*ret_head = got;
	return fd;
}

static inline int upgrade(const char *path, const char *body)
{
	return upgrade_head(path, body, NULL);
}

/* Reads one frame into @mem. */
static inline struct link_frame frame(int fd, uint8_t *mem, size_t size)
{
	struct link_frame f;
	struct slice in;
	size_t n = 0, need = LINK_HEADER;

	for (;;) {
		check(need <= size);
		while (n < need) {
			ssize_t got = recv(fd, mem + n, need - n, 0);

			check(got > 0);
			n += (size_t)got;
		}
		in = slice_of(mem, n);
		if (link_parse(&in, &f, &need) == 0)
			return f;
	}
}

/* Frames up to EXIT, then the end; the exit code. */
static inline int frames_to_exit(int fd, uint64_t *ret_output)
{
	static uint8_t mem[LINK_HEADER + LINK_PAYLOAD_MAX];
	struct buf b = { .max = 64 };
	struct link_frame f;
	struct link_exit x;

	for (;;) {
		f = frame(fd, mem, sizeof(mem));
		if (f.type == LINK_EXIT)
			break;
		if (f.type != LINK_STDOUT)
			continue;
		*ret_output += f.payload.len;
		check(link_put_u32(&b, LINK_CREDIT, 1,
				   (uint32_t)f.payload.len) == 0);
		put(fd, buf_slice(&b).ptr, buf_len(&b));
		buf_consume(&b, buf_len(&b));
	}
	check(link_get_exit(&f, &x) == 0);
	check(recv(fd, mem, 1, 0) <= 0);
	close(fd);
	return link_exit_code(&x);
}

static inline void say_frame(int fd, enum link_type type, const char *text)
{
	struct buf b = { .max = 1024 };

	check(link_put(&b, type, 1, text, strlen(text)) == 0);
	put(fd, buf_slice(&b).ptr, buf_len(&b));
	buf_done(&b);
}

#endif
