/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eb.c - load generator and sink of the gateway's bench: epoll, one thread
 *
 *	eb sink ADDR PORT
 *	eb conn FROM ADDR PORT NAME CLIENTS SECONDS [pq] [connect=HOST:PORT]
 *	eb open FROM ADDR PORT NAME RATE SECONDS [connect=HOST:PORT]
 *	eb bulk FROM ADDR PORT NAME FLOWS SECONDS [connect=HOST:PORT]
 *	eb hold FROM ADDR PORT NAME COUNT [slow] [connect=HOST:PORT]
 *
 * The client says a canned ClientHello and what the sink answers to it
 * depends on the name in it: "bulk…" is sent bytes without end, "hold…"
 * nothing and is kept, "denied…" ends it, everything else 100 bytes, after which the client
 * resets the connection: no handshake's arithmetic hides the proxy, and no
 * TIME_WAIT uses up the ports. `open` starts connections by a fixed schedule
 * and counts from the time each was meant to start, so that a slow proxy
 * cannot slow its questioner. `hold slow` sends a byte of the hello a second.
 * Results are one JSON object on stdout.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ANSWER 100
#define SAMPLES_MAX 4000000u
#define EVENTS 256

enum sink_kind { SINK_NEW, SINK_DONE, SINK_BULK, SINK_HOLD };

struct client {
	int fd;
	uint8_t phase; /* 0 connecting, 1 CONNECT sent, 2 hello sent */
	uint16_t sent, got;
	uint64_t began;
};

static struct sockaddr_in from, to;
static uint8_t hello[2048];
static size_t hello_len;
static char preface[256];
static size_t preface_len;
static uint32_t *samples; /* microseconds */
static size_t n_samples;
static uint64_t n_done, n_errors;
static int ep;
static char scratch[256 * 1024];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
}

static uint8_t *put16(uint8_t *p, size_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
	return p + 2;
}

/* A TLS 1.3 hello for @name; @pad bytes of key share make it as long as a
 * post-quantum one. */
static void hello_make(const char *name, size_t pad)
{
	uint8_t *p = hello + 5 + 4, *ext, *end;
	size_t n = strlen(name);

	p = put16(p, 0x0303);
	memset(p, 0x5a, 32); /* random */
	p += 32;
	*p++ = 0; /* session id */
	p = put16(p, 4); /* cipher suites */
	p = put16(put16(p, 0x1301), 0x1302);
	*p++ = 1; /* compression: null */
	*p++ = 0;
	ext = p;
	p = put16(p + 2, 0); /* server_name */
	p = put16(put16(p, n + 5), n + 3);
	*p++ = 0;
	p = put16(p, n);
	memcpy(p, name, n);
	p += n;
	p = put16(put16(p, 43), 3); /* supported_versions */
	*p++ = 2;
	p = put16(p, 0x0304);
	p = put16(put16(p, 10), 4); /* groups */
	p = put16(put16(p, 2), 29);
	p = put16(put16(p, 13), 4); /* signature algorithms */
	p = put16(put16(p, 2), 0x0403);
	p = put16(put16(p, 51), 6 + pad); /* key share */
	p = put16(put16(put16(p, 4 + pad), 29), pad);
	memset(p, 0x33, pad);
	end = p + pad;
	put16(ext, (size_t)(end - ext) - 2);
	hello[0] = 22;
	put16(hello + 1, 0x0301);
	put16(hello + 3, (size_t)(end - hello) - 5);
	hello[5] = 1;
	hello[6] = 0;
	put16(hello + 7, (size_t)(end - hello) - 9);
	hello_len = (size_t)(end - hello);
}

static void add(int fd, uint32_t events, void *ptr)
{
	struct epoll_event ev = { .events = events, .data.ptr = ptr };

	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) < 0)
		die("epoll_ctl");
}

static struct sockaddr_in address(const char *ip, const char *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)atoi(port)) };

	if (inet_pton(AF_INET, ip, &a.sin_addr) != 1) {
		fprintf(stderr, "eb: bad address %s\n", ip);
		exit(2);
	}
	return a;
}

/* --- sink ------------------------------------------------------------------ */

struct served {
	int fd;
	enum sink_kind kind;
};

static void served_end(struct served *s)
{
	close(s->fd);
	free(s);
}

static void served_bulk(struct served *s)
{
	while (send(s->fd, scratch, sizeof(scratch), MSG_NOSIGNAL) > 0)
		;
	if (errno != EAGAIN)
		served_end(s);
}

static void served_ready(struct served *s)
{
	ssize_t n;

	if (s->kind == SINK_BULK) {
		served_bulk(s);
		return;
	}
	n = recv(s->fd, scratch, 4096, 0);
	if (n <= 0) {
		if (n == 0 || errno != EAGAIN)
			served_end(s);
		return;
	}
	if (s->kind != SINK_NEW)
		return;
	if (memmem(scratch, (size_t)n, "denied.", 7)) {
		fprintf(stderr, "eb: a denied name arrived\n");
		_exit(3);
	}
	if (memmem(scratch, (size_t)n, "bulk.", 5)) {
		s->kind = SINK_BULK;
		served_bulk(s);
	} else if (memmem(scratch, (size_t)n, "hold.", 5)) {
		s->kind = SINK_HOLD;
	} else {
		s->kind = SINK_DONE;
		if (send(s->fd, scratch, ANSWER, MSG_NOSIGNAL) < 0)
			served_end(s);
	}
}

static void sink(struct sockaddr_in *at)
{
	int one = 1, lfd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct epoll_event ev[EVENTS];

	setsockopt(lfd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(lfd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (bind(lfd, (struct sockaddr *)at, sizeof(*at)) < 0 ||
	    listen(lfd, 8192) < 0)
		die("listen");
	add(lfd, EPOLLIN, NULL);
	for (;;) {
		int n = epoll_wait(ep, ev, EVENTS, -1);

		for (int i = 0; i < n; i++) {
			struct served *s = ev[i].data.ptr;

			if (s) {
				served_ready(s);
				continue;
			}
			for (;;) {
				int fd =
					accept4(lfd, NULL, NULL, SOCK_NONBLOCK);

				if (fd < 0)
					break;
				s = calloc(1, sizeof(*s));
				s->fd = fd;
				add(fd, EPOLLIN | EPOLLOUT | EPOLLET, s);
			}
		}
	}
}

/* --- clients ----------------------------------------------------------------*/

static struct client *client_start(struct client *c, uint64_t began)
{
	int one = 1;

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (c->fd < 0)
		die("socket");
	setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one,
		   sizeof(one));
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (bind(c->fd, (struct sockaddr *)&from, sizeof(from)) < 0)
		die("bind");
	if (connect(c->fd, (struct sockaddr *)&to, sizeof(to)) < 0 &&
	    errno != EINPROGRESS)
		die("connect");
	c->phase = 0;
	c->sent = c->got = 0;
	c->began = began;
	add(c->fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, c);
	return c;
}

static void client_reset(struct client *c)
{
	struct linger l = { .l_onoff = 1 };

	setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(c->fd);
	c->fd = -1;
}

static void sample(uint64_t us)
{
	if (n_samples < SAMPLES_MAX)
		samples[n_samples++] = (uint32_t)us;
}

/* Says what is next to say. False: the connection is broken. */
static bool client_say(struct client *c)
{
	if (c->phase == 0 && preface_len > 0) {
		if (send(c->fd, preface, preface_len, MSG_NOSIGNAL) < 0)
			return errno == EAGAIN || errno == ENOTCONN;
		c->phase = 1;
	} else if (c->phase == 0) {
		if (send(c->fd, hello, hello_len, MSG_NOSIGNAL) < 0)
			return errno == EAGAIN || errno == ENOTCONN;
		c->phase = 2;
	}
	return true;
}

/* 1: the answer is complete, 0: not yet, -1: broken. */
static int client_ready(struct client *c, uint32_t events)
{
	ssize_t n;

	if (!client_say(c))
		return -1;
	if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP)))
		return 0;
	n = recv(c->fd, scratch, sizeof(scratch), 0);
	if (n < 0)
		return errno == EAGAIN ? 0 : -1;
	if (n == 0)
		return -1;
	if (c->phase == 1) {
		if (n < 12 || memcmp(scratch + 8, " 200", 4) != 0)
			return -1;
		if (send(c->fd, hello, hello_len, MSG_NOSIGNAL) < 0)
			return -1;
		c->phase = 2;
		return 0;
	}
	c->got = (uint16_t)(c->got + n);
	return c->got >= ANSWER;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static uint32_t quantile(double q)
{
	return n_samples ? samples[(size_t)(q * (double)(n_samples - 1))] : 0;
}

static void report(uint64_t began, uint64_t bytes)
{
	double s = (double)(now_us() - began) / 1e6;

	qsort(samples, n_samples, sizeof(*samples), by_value);
	printf("{\"n\": %llu, \"errors\": %llu, \"seconds\": %.3f, "
	       "\"rate\": %.1f, \"p50_us\": %u, \"p99_us\": %u, "
	       "\"bytes\": %llu}\n",
	       (unsigned long long)n_done, (unsigned long long)n_errors, s,
	       (double)n_done / s, quantile(0.5), quantile(0.99),
	       (unsigned long long)bytes);
}

static void settle(struct client *c, int rc)
{
	if (rc > 0) {
		n_done++;
		sample(now_us() - c->began);
	} else {
		n_errors++;
	}
	client_reset(c);
}

static int closed_loop(size_t count, double seconds)
{
	struct client *all = calloc(count, sizeof(*all));
	uint64_t began = now_us(), end = began + (uint64_t)(seconds * 1e6);
	struct epoll_event ev[EVENTS];

	for (size_t i = 0; i < count; i++)
		client_start(&all[i], now_us());
	while (now_us() < end) {
		int n = epoll_wait(ep, ev, EVENTS, 100);

		for (int i = 0; i < n; i++) {
			struct client *c = ev[i].data.ptr;
			int rc = client_ready(c, ev[i].events);

			if (rc == 0)
				continue;
			settle(c, rc);
			client_start(c, now_us());
		}
	}
	report(began, 0);
	return 0;
}

static int open_loop(double rate, double seconds)
{
	uint64_t began = now_us(), due = began, seq = 0, live = 0;
	uint64_t total = (uint64_t)(rate * seconds);
	struct epoll_event ev[EVENTS];

	while (seq < total || (live > 0 && now_us() < due + 3000000u)) {
		while (seq < total && due <= now_us()) {
			client_start(calloc(1, sizeof(struct client)), due);
			seq++;
			live++;
			due = began + (uint64_t)((double)seq * 1e6 / rate);
		}
		int n = epoll_wait(ep, ev, EVENTS, live || seq < total ? 0 : 1);

		for (int i = 0; i < n; i++) {
			struct client *c = ev[i].data.ptr;
			int rc = client_ready(c, ev[i].events);

			if (rc == 0)
				continue;
			settle(c, rc);
			free(c);
			live--;
		}
	}
	n_errors += live;
	report(began, 0);
	return 0;
}

static int bulk(size_t count, double seconds)
{
	struct client *all = calloc(count, sizeof(*all));
	uint64_t began = now_us(), end = began + (uint64_t)(seconds * 1e6);
	struct epoll_event ev[EVENTS];
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		client_start(&all[i], began);
	while (now_us() < end) {
		int n = epoll_wait(ep, ev, EVENTS, 100);

		for (int i = 0; i < n; i++) {
			struct client *c = ev[i].data.ptr;
			ssize_t got;

			if (c->phase < 2) {
				if (client_ready(c, ev[i].events) < 0)
					n_errors++;
				if (c->phase < 2)
					continue;
			}
			/* A few reads each, then the others' turn: what is
			 * left comes with the next edge or the next round. */
			while ((got = recv(c->fd, scratch, sizeof(scratch),
					   MSG_TRUNC)) > 0) {
				bytes += (uint64_t)got;
				if (now_us() >= end)
					break;
			}
			if (got == 0)
				n_errors++;
		}
	}
	n_done = count;
	report(began, bytes);
	return 0;
}

/* Connections that stay: says "ready N" and waits for the end of stdin. */
static int hold(size_t count, bool slow)
{
	struct client *all = calloc(count, sizeof(*all));
	struct epoll_event ev[EVENTS];
	size_t up = 0;

	for (size_t i = 0; i < count; i++) {
		client_start(&all[i], now_us());
		for (int n = 1; n > 0;) {
			n = epoll_wait(ep, ev, EVENTS, 0);
			for (int k = 0; k < n && !slow; k++) {
				struct client *c = ev[k].data.ptr;

				if (client_ready(c, ev[k].events) < 0)
					n_errors++;
			}
		}
		if (i % 100 == 99)
			usleep(2000);
	}
	usleep(500000);
	for (int n = 1; n > 0;) {
		n = epoll_wait(ep, ev, EVENTS, 0);
		for (int k = 0; k < n && !slow; k++)
			if (client_ready(ev[k].data.ptr, ev[k].events) < 0)
				n_errors++;
	}
	for (size_t i = 0; i < count; i++)
		up += slow || all[i].phase == 2;
	printf("ready %zu\n", up);
	fflush(stdout);
	fcntl(0, F_SETFL, O_NONBLOCK);
	for (;;) {
		char c;

		for (size_t i = 0; slow && i < count; i++) {
			if (all[i].sent < hello_len &&
			    send(all[i].fd, hello + all[i].sent, 1,
				 MSG_NOSIGNAL | MSG_DONTWAIT) == 1) {
				all[i].sent++;
			} else if (errno != EAGAIN) {
				client_reset(&all[i]);
				client_start(&all[i], now_us());
			}
		}
		usleep(slow ? 1000000 : 50000);
		if (read(0, &c, 1) == 0)
			break;
	}
	report(now_us() - 1, 0);
	return 0;
}

int main(int argc, char **argv)
{
	struct rlimit rl;
	bool pq = false, slow = false;

	getrlimit(RLIMIT_NOFILE, &rl);
	rl.rlim_cur = rl.rlim_max;
	setrlimit(RLIMIT_NOFILE, &rl);
	ep = epoll_create1(0);
	samples = malloc(SAMPLES_MAX * sizeof(*samples));
	if (argc == 4 && strcmp(argv[1], "sink") == 0) {
		from = address(argv[2], argv[3]);
		sink(&from); /* until it is killed */
	}
	if (argc < 7) {
		fprintf(stderr, "usage: see the head of eb.c\n");
		return 2;
	}
	from = address(argv[2], "0");
	to = address(argv[3], argv[4]);
	for (int i = 7; i < argc; i++) {
		pq |= strcmp(argv[i], "pq") == 0;
		slow |= strcmp(argv[i], "slow") == 0;
		if (strncmp(argv[i], "connect=", 8) == 0)
			preface_len = (size_t)snprintf(
				preface, sizeof(preface),
				"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n",
				argv[i] + 8, argv[i] + 8);
	}
	hello_make(argv[5], pq ? 1250 : 32);
	if (strcmp(argv[1], "hold") == 0)
		return hold((size_t)atol(argv[6]), slow);
	if (argc < 8)
		return 2;
	if (strcmp(argv[1], "conn") == 0)
		return closed_loop((size_t)atol(argv[6]), atof(argv[7]));
	if (strcmp(argv[1], "open") == 0)
		return open_loop(atof(argv[6]), atof(argv[7]));
	if (strcmp(argv[1], "bulk") == 0)
		return bulk((size_t)atol(argv[6]), atof(argv[7]));
	return 2;
}
