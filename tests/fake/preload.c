/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload.c - the gateway that net_proxy.so asks, as a child process
 */
#include "tests/fake/preload.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUT_MAX 2048
#define BUFFER (4 << 20) /* no question of a thousand threads is lost */
#define SLOW_US 60000

struct out {
	uint8_t *p;
};

static void put(struct out *o, const void *data, size_t len)
{
	memcpy(o->p, data, len);
	o->p += len;
}

static void put16(struct out *o, unsigned v)
{
	const uint8_t b[2] = { (uint8_t)(v >> 8), (uint8_t)v };

	put(o, b, 2);
}

static size_t question_len(const uint8_t *ask, size_t len)
{
	size_t at = 12;

	while (at < len && ask[at] != 0)
		at += 1u + ask[at];
	at += 5;
	return at <= len ? at - 12 : 0;
}

static void put_option(struct out *o, unsigned verdict, unsigned keep,
		       const char *name, const char *text)
{
	size_t n = strlen(name), t = strlen(text);
	const uint8_t head[2] = { 1, (uint8_t)verdict };
	const uint8_t name_len = (uint8_t)n;

	put16(o, 65313);
	put16(o, (unsigned)(7 + n + t));
	put(o, head, 2);
	put16(o, keep);
	put(o, &name_len, 1);
	put(o, name, n);
	put16(o, (unsigned)t);
	put(o, text, t);
}

/* The last byte of the option, if it has one behind the path: 1 and 2 ask how
 * it went. */
static unsigned when_of(const uint8_t *ask, size_t len)
{
	size_t at = 12 + question_len(ask, len) + 11 + 4;

	if (at + 9 > len || at + 9 + ask[at + 8] + 1u != len)
		return 0;
	return ask[len - 1];
}

/* Of a host that was allowed. */
static void put_allowed(struct out *o, enum gate_way way, unsigned when)
{
	const char *name = way == GATE_HIDDEN ? "hidden.example" :
						"failed.example";
	char text[128];

	snprintf(text, sizeof(text),
		 way == GATE_BRUSH ?
			 "ac: \x1b]0;%s\n" :
			 "ac: could not reach %s:8080 (connect-refused)\n",
		 name);
	if (way == GATE_CHANGED && when == 2)
		put_option(o, 2, GATE_KEEP, name, text);
	else
		put_option(o, 1, way == GATE_HIDDEN ? 0 : GATE_KEEP, name,
			   (when > 0 && way != GATE_CHANGED) ||
					   way == GATE_RASH ?
				   text :
				   "");
}

static const char *deny_words(enum gate_way way)
{
	static char longest[513] = "ac: ";

	if (way == GATE_MUTE)
		return "";
	if (way == GATE_ESCAPE)
		return "ac: \x1b[31mblocked\n";
	if (way != GATE_WORDY)
		return "ac: blocked denied.example:8080 (not-allowed: no rule "
		       "allows it)\n"
		       "allow it with: ac policy allow x denied.example:8080\n";
	memset(longest + 4, 'w', 506);
	longest[200] = '\n';
	longest[511] = '\n';
	longest[510] = '.';
	return longest;
}

static void put_options(struct out *o, enum gate_way way, unsigned when)
{
	switch (way) {
	case GATE_ALLOW:
	case GATE_ALLOW_TOO:
		put_option(o, 1, GATE_KEEP, "allowed.example", "");
		break;
	case GATE_PASS:
		put_option(o, 0, GATE_KEEP, "", "");
		break;
	case GATE_TWICE:
		put_option(o, 1, GATE_KEEP, "a.example", "");
		put_option(o, 2, GATE_KEEP, "a.example", "ac: no\n");
		break;
	case GATE_BARE:
	case GATE_REFUSED:
		break;
	case GATE_FAILED:
	case GATE_RASH:
	case GATE_BRUSH:
	case GATE_LOST:
	case GATE_HIDDEN:
	case GATE_CHANGED:
		put_allowed(o, way, when);
		break;
	default:
		put_option(o, 2, way == GATE_FORGET ? 0 : GATE_KEEP,
			   way == GATE_MUTE     ? "" :
			   way == GATE_DENY_TOO ? "too.example" :
						  "denied.example",
			   deny_words(way));
	}
}

static void put_opt(struct out *o, enum gate_way way, unsigned when)
{
	static const uint8_t head[] = { 0, 0, 41, 4, 0xd0, 0, 0, 0, 0 };
	uint8_t *len_at;
	size_t len;

	put(o, head, sizeof(head));
	len_at = o->p;
	put16(o, 0);
	put_options(o, way, when);
	if (way == GATE_SHORT)
		o->p -= 20;
	len = (size_t)(o->p - len_at - 2);
	len_at[0] = (uint8_t)(len >> 8);
	len_at[1] = (uint8_t)len;
	if (way == GATE_LONG) {
		memset(o->p, 0, 900);
		o->p += 900;
	}
}

size_t gate_answer(enum gate_way way, const uint8_t *ask, size_t len,
		   uint8_t *out)
{
	/* A name that is a pointer, SOA IN, TTL 5, 4 bytes of data. */
	static const uint8_t soa[] = { 0xc0, 12, 0, 6, 0, 1, 0, 0,
				       0,    5,  0, 4, 1, 2, 3, 4 };
	size_t q = question_len(ask, len);
	struct out o = { out };

	put(&o, ask, 2);
	put16(&o, 0x8180 | (way == GATE_REFUSED ? 5 : 0));
	put16(&o, 1);
	put16(&o, 0);
	put16(&o, way == GATE_SOA);
	put16(&o, 1);
	put(&o, ask + 12, q);
	if (way == GATE_QUESTION)
		out[13] ^= 1;
	for (size_t i = 13; way == GATE_CASE && i < 12 + q - 4; i++) {
		if (out[i] >= 'a' && out[i] <= 'z')
			out[i] &= 0xdf;
	}
	if (way == GATE_SOA)
		put(&o, soa, sizeof(soa));
	put_opt(&o, way, when_of(ask, len));
	if (way == GATE_FOREIGN)
		out[0] ^= 1;
	return (size_t)(o.p - out);
}

/* Where the answer must not come from. */
static void send_elsewhere(const uint8_t *out, size_t n,
			   const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	sendto(fd, out, n, 0, (const void *)to, sizeof(*to));
	close(fd);
}

static void serve_one(int fd, enum gate_way way, struct gate_seen *seen)
{
	uint8_t ask[512], out[OUT_MAX];
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	ssize_t n = recvfrom(fd, ask, sizeof(ask), 0, (void *)&from, &from_len);
	bool after;
	size_t len;

	if (n < 17)
		return;
	after = when_of(ask, (size_t)n) == 2;
	__atomic_add_fetch(after ? &seen->after[way] : &seen->asks[way], 1,
			   __ATOMIC_SEQ_CST);
	if (!after) {
		memcpy(seen->last, ask, (size_t)n);
		seen->last_len = (unsigned)n;
	}
	if (way == GATE_SILENT || (way == GATE_LOST && after))
		return;
	if (way == GATE_SLOW)
		usleep(SLOW_US);
	len = gate_answer(way, ask, (size_t)n, out);
	if (way == GATE_ELSEWHERE) {
		send_elsewhere(out, len, &from);
		return;
	}
	if (way == GATE_LATER) {
		out[0] ^= 1;
		sendto(fd, out, len, 0, (void *)&from, from_len);
		sendto(fd, "x", 1, 0, (void *)&from, from_len);
		out[0] ^= 1;
	}
	sendto(fd, out, len, 0, (void *)&from, from_len);
}

static int listen_at(const char *range, int octet)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_port = htons(53) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const int buffer = BUFFER;
	char text[32];

	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer));
	snprintf(text, sizeof(text), "%s%d", range, octet);
	inet_pton(AF_INET, text, &sa.sin_addr);
	if (fd >= 0 && bind(fd, (void *)&sa, sizeof(sa)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* First of all at the processor, where that is permitted: the shim waits for
 * an answer for 200 ms, however busy the machine is with other tests. */
static void serve(struct pollfd *p, struct gate_seen *seen)
{
	const struct sched_param first = { .sched_priority = 1 };

	sched_setscheduler(0, SCHED_FIFO, &first);
	__atomic_store_n(&seen->serving, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		if (poll(p, 2ul * GATE_MAX, -1) < 0)
			continue;
		for (int i = 0; i < 2 * GATE_MAX; i++) {
			if (p[i].revents)
				serve_one(p[i].fd,
					  (enum gate_way)(i % GATE_MAX + 1),
					  seen);
		}
	}
}

int gate_start(struct gate *g)
{
	struct pollfd p[2 * GATE_MAX];
	bool good = true;

	g->seen = mmap(NULL, sizeof(*g->seen), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (g->seen == MAP_FAILED)
		return -errno;
	for (int i = 0; i < 2 * GATE_MAX; i++) {
		p[i].fd = listen_at(i < GATE_MAX ? GATE_NAMES : GATE_LITERALS,
				    i % GATE_MAX + 1);
		p[i].events = POLLIN;
		good = good && p[i].fd >= 0;
	}
	g->pid = good ? fork() : -1;
	if (g->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(p, g->seen);
	}
	for (int i = 0; i < 2 * GATE_MAX; i++)
		close(p[i].fd);
	while (g->pid > 0 &&
	       !__atomic_load_n(&g->seen->serving, __ATOMIC_SEQ_CST))
		usleep(1000);
	return g->pid > 0 ? 0 : -EADDRNOTAVAIL;
}

void gate_stop(struct gate *g)
{
	kill(g->pid, SIGKILL);
	waitpid(g->pid, NULL, 0);
	munmap(g->seen, sizeof(*g->seen));
}
