/* SPDX-License-Identifier: Apache-2.0 */
/*
 * static.c - system calls by number, with no library between
 *
 * usage: static tcp|uring ADDRESS PORT
 *
 * What comes in by stdin is sent, what is answered goes to stdout. No shim in
 * the sandbox can see this program; built by the probe itself, with -static.
 * Exit code: 0, or 100 and the error's number on stderr.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
static long call(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long rc;

	__asm__ volatile("syscall"
			 : "=a"(rc)
			 : "0"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return rc;
}
#else
static long call(long n, long a, long b, long c, long d, long e, long f)
{
	long rc = syscall(n, a, b, c, d, e, f);

	return rc < 0 ? -errno : rc;
}
#endif

static void die(const char *what, long rc)
{
	fprintf(stderr, "%ld %s\n", -rc, what);
	exit(100);
}

static long must(const char *what, long rc)
{
	if (rc < 0)
		die(what, rc);
	return rc;
}

/* One connect request through a ring of one entry. */
static void connect_uring(int fd, const struct sockaddr_in *to)
{
	struct io_uring_params p = { 0 };
	long ring = must("io_uring_setup",
			 call(SYS_io_uring_setup, 4, (long)&p, 0, 0, 0, 0));
	size_t sq_len = p.sq_off.array + p.sq_entries * sizeof(uint32_t);
	size_t cq_len =
		p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
	char *sq = mmap(NULL, sq_len, PROT_READ | PROT_WRITE, MAP_SHARED,
			(int)ring, IORING_OFF_SQ_RING);
	char *cq = mmap(NULL, cq_len, PROT_READ | PROT_WRITE, MAP_SHARED,
			(int)ring, IORING_OFF_CQ_RING);
	struct io_uring_sqe *sqe = mmap(NULL, p.sq_entries * sizeof(*sqe),
					PROT_READ | PROT_WRITE, MAP_SHARED,
					(int)ring, IORING_OFF_SQES);
	struct io_uring_cqe *cqe;

	if (sq == MAP_FAILED || cq == MAP_FAILED || sqe == MAP_FAILED)
		die("mmap", -errno);
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_CONNECT;
	sqe->fd = fd;
	sqe->addr = (uint64_t)(uintptr_t)to;
	sqe->off = sizeof(*to);
	*(uint32_t *)(void *)(sq + p.sq_off.array) = 0;
	__atomic_store_n((uint32_t *)(void *)(sq + p.sq_off.tail), 1,
			 __ATOMIC_RELEASE);
	must("io_uring_enter", call(SYS_io_uring_enter, ring, 1, 1,
				    IORING_ENTER_GETEVENTS, 0, 0));
	cqe = (struct io_uring_cqe *)(void *)(cq + p.cq_off.cqes);
	must("connect", cqe->res);
}

int main(int argc, char **argv)
{
	static char data[65536];
	struct sockaddr_in to = { .sin_family = AF_INET };
	long fd, n;

	if (argc != 4 || inet_pton(AF_INET, argv[2], &to.sin_addr) != 1)
		return 2;
	to.sin_port = htons((uint16_t)atoi(argv[3]));
	fd = must("socket", call(SYS_socket, AF_INET, SOCK_STREAM, 0, 0, 0, 0));
	if (strcmp(argv[1], "uring") == 0)
		connect_uring((int)fd, &to);
	else
		must("connect",
		     call(SYS_connect, fd, (long)&to, sizeof(to), 0, 0, 0));
	while ((n = call(SYS_read, 0, (long)data, sizeof(data), 0, 0, 0)) > 0)
		must("write", call(SYS_write, fd, (long)data, n, 0, 0, 0));
	n = must("read", call(SYS_read, fd, (long)data, sizeof(data), 0, 0, 0));
	must("write", call(SYS_write, 1, (long)data, n, 0, 0, 0));
	return 0;
}
