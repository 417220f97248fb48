/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns.c - a scripted DNS server on the loopback, UDP and TCP
 */
#include "tests/fake/dns.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "lib/attr.h"

#define ASKED_MAX 4096
#define MSG_SIZE 65535
#define CHAIN_MAX 32

struct fake_dns {
	const struct fake_dns_record *records;
	pthread_t thread;
	pthread_mutex_t lock; /* over asked, n_asked */
	int udp, tcp, stop;
	char server[32];
	char asked[ASKED_MAX][256];
	unsigned n_asked, turn;
};

struct msg {
	uint8_t b[MSG_SIZE];
	size_t len;
};

static void put(struct msg *m, const void *p, size_t n)
{
	if (n > sizeof(m->b) - m->len)
		n = 0;
	memcpy(m->b + m->len, p, n);
	m->len += n;
}

static void put16(struct msg *m, unsigned v)
{
	uint8_t b[2] = { (uint8_t)(v >> 8), (uint8_t)v };

	put(m, b, 2);
}

static void put_name(struct msg *m, const char *name)
{
	while (*name) {
		size_t n = strcspn(name, ".");
		uint8_t len = (uint8_t)n;

		put(m, &len, 1);
		put(m, name, n);
		name += n + (name[n] == '.');
	}
	put(m, "", 1);
}

static void put_rr(struct msg *m, const char *name, unsigned type, uint32_t ttl,
		   const void *data, size_t len)
{
	put_name(m, name);
	put16(m, type);
	put16(m, 1);
	put16(m, ttl >> 16);
	put16(m, ttl & 0xffff);
	put16(m, (unsigned)len);
	put(m, data, len);
	m->b[7]++; /* answers; BIG sets its own number */
}

/* The records of @data that are of the family, or the @only'th alone. */
static void put_addresses(struct msg *m, const char *name,
			  const struct fake_dns_record *r, unsigned type,
			  int only)
{
	char text[1024], *save = NULL;
	uint8_t addr[16];
	int i = 0, family = type == 1 ? AF_INET : AF_INET6;

	snprintf(text, sizeof(text), "%s", r->data);
	for (char *p = strtok_r(text, " ", &save); p;
	     p = strtok_r(NULL, " ", &save), i++)
		if ((only < 0 || only == i) && inet_pton(family, p, addr) == 1)
			put_rr(m, name, type, r->ttl, addr, type == 1 ? 4 : 16);
}

static unsigned count_words(const char *s)
{
	unsigned n = 1;

	for (; *s; s++)
		n += *s == ' ';
	return n;
}

static void put_cname(struct msg *m, const char *name, const char *target,
		      uint32_t ttl)
{
	struct msg *tmp = calloc(1, sizeof(*tmp));

	if (!tmp)
		return;
	put_name(tmp, target);
	put_rr(m, name, 5, ttl, tmp->b, tmp->len);
	free(tmp);
}

static const struct fake_dns_record *find(struct fake_dns *d, const char *name,
					  unsigned type)
{
	const struct fake_dns_record *any = NULL;

	for (const struct fake_dns_record *r = d->records; r->name; r++) {
		if (strcasecmp(r->name, name) != 0)
			continue;
		any = r;
		if ((r->kind == FAKE_DNS_AAAA) == (type == 28))
			return r;
	}
	return any;
}

static void put_big(struct msg *m, const char *name, bool tcp)
{
	if (!tcp) {
		m->b[2] |= 2; /* TC */
		return;
	}
	for (unsigned i = 0; i < 700; i++) {
		uint8_t a[4] = { 198, 51, 100, (uint8_t)(i % 250 + 1) };

		put_rr(m, name, 1, 60, a, 4);
	}
	m->b[6] = 700 >> 8;
	m->b[7] = 700 & 0xff;
}

/* What @r says beyond addresses. Returns false: no answer. */
static bool misbehave(struct fake_dns *d, struct msg *m, const char *name,
		      const struct fake_dns_record *r, unsigned type, bool tcp)
{
	switch (r->kind) {
	case FAKE_DNS_SILENT:
		return false;
	case FAKE_DNS_FAIL:
		m->b[3] |= 2;
		return true;
	case FAKE_DNS_LOOP:
		put16(m, 0xc000 | (unsigned)m->len);
		put(m, "\0\1\0\1\0\0\0\74\0\4\306\63\144\1", 14);
		m->b[7]++;
		return true;
	case FAKE_DNS_BIG:
		if (type == 1)
			put_big(m, name, tcp);
		return true;
	case FAKE_DNS_NO_AAAA:
		if (type == 28)
			return false;
		break;
	case FAKE_DNS_WRONG_ID:
		m->b[0] ^= 0x55;
		break;
	case FAKE_DNS_WRONG_QUESTION:
		m->b[13] = 'z';
		break;
	case FAKE_DNS_STRANGER:
		put_cname(m, "stranger.test", r->name, 60);
		break;
	default:
		break;
	}
	if (type == 1)
		put_addresses(m, name, r, type,
			      r->kind == FAKE_DNS_FLIP ?
				      (int)(d->turn++ %
					    (unsigned)count_words(r->data)) :
				      -1);
	else if (r->kind == FAKE_DNS_AAAA)
		put_addresses(m, name, r, type, -1);
	return true;
}

/* The question's name; the length of the question section, 0: none. */
static size_t question(const uint8_t *q, size_t len, char name[256],
		       unsigned *type)
{
	size_t at = 12, out = 0;

	if (len < 12)
		return 0;
	while (at < len && q[at]) {
		size_t n = q[at];

		if (n > 63 || at + 1 + n >= len || out + n + 2 > 256)
			return 0;
		if (out)
			name[out++] = '.';
		memcpy(name + out, q + at + 1, n);
		out += n;
		at += 1 + n;
	}
	if (at + 5 > len)
		return 0;
	name[out] = 0;
	*type = (unsigned)q[at + 1] << 8 | q[at + 2];
	return at + 5 - 12;
}

static bool answer(struct fake_dns *d, const uint8_t *q, size_t len, bool tcp,
		   struct msg *m)
{
	const struct fake_dns_record *r;
	char name[256];
	unsigned type;
	size_t n = question(q, len, name, &type);

	if (n == 0)
		return false;
	pthread_mutex_lock(&d->lock);
	if (d->n_asked < ASKED_MAX)
		snprintf(d->asked[d->n_asked++], 256, "%s", name);
	pthread_mutex_unlock(&d->lock);
	m->len = 0;
	put(m, q, 2);
	put(m, "\x81\x80\0\1\0\0\0\0\0\0", 10);
	put(m, q + 12, n);
	for (unsigned i = 0;; i++) {
		r = find(d, name, type);
		if (!r) {
			m->b[3] |= 3;
			return true;
		}
		if (r->kind != FAKE_DNS_CNAME || i == CHAIN_MAX)
			break;
		put_cname(m, name, r->data, r->ttl);
		snprintf(name, sizeof(name), "%s", r->data);
	}
	if (r->kind == FAKE_DNS_CNAME)
		return true; /* a loop: many aliases and no address */
	return misbehave(d, m, name, r, type, tcp);
}

/* Off-path: other ids and a good question, as many as a race allows. */
static void forge(int fd, const struct msg *m, const struct sockaddr_in *to)
{
	struct msg *f = malloc(sizeof(*f));

	if (!f)
		return;
	for (unsigned i = 1; i <= 200; i++) {
		memcpy(f->b, m->b, m->len);
		f->b[0] = (uint8_t)(m->b[0] + i);
		f->b[m->len - 1] = 66; /* another address */
		sendto(fd, f->b, m->len, 0, (const struct sockaddr *)to,
		       sizeof(*to));
	}
	free(f);
}

static void serve_udp(struct fake_dns *d, struct msg *m)
{
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	const struct fake_dns_record *r;
	uint8_t q[4096];
	char name[256];
	unsigned type;
	ssize_t n = recvfrom(d->udp, q, sizeof(q), 0, (struct sockaddr *)&from,
			     &from_len);

	if (n <= 0 || !answer(d, q, (size_t)n, false, m))
		return;
	if (question(q, (size_t)n, name, &type) && (r = find(d, name, type)) &&
	    r->kind == FAKE_DNS_FORGED && type == 1)
		forge(d->udp, m, &from);
	sendto(d->udp, m->b, m->len, 0, (struct sockaddr *)&from, from_len);
}

static void serve_tcp(struct fake_dns *d, struct msg *m)
{
	SCOPED_FD fd = accept4(d->tcp, NULL, NULL, SOCK_CLOEXEC);
	struct timeval limit = { .tv_sec = 1 };
	uint8_t head[2], q[4096];
	size_t len;

	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	while (recv(fd, head, 2, MSG_WAITALL) == 2) {
		len = (size_t)head[0] << 8 | head[1];
		if (len > sizeof(q) ||
		    recv(fd, q, len, MSG_WAITALL) != (ssize_t)len ||
		    !answer(d, q, len, true, m))
			return;
		head[0] = (uint8_t)(m->len >> 8);
		head[1] = (uint8_t)m->len;
		if (send(fd, head, 2, MSG_NOSIGNAL | MSG_MORE) != 2 ||
		    send(fd, m->b, m->len, MSG_NOSIGNAL) < 0)
			return;
	}
}

static void *serve(void *arg)
{
	struct fake_dns *d = arg;
	struct msg *m = calloc(1, sizeof(*m));
	struct pollfd p[] = {
		{ .fd = d->udp, .events = POLLIN },
		{ .fd = d->tcp, .events = POLLIN },
		{ .fd = d->stop, .events = POLLIN },
	};

	while (m && poll(p, 3, -1) >= 0 && !p[2].revents) {
		if (p[0].revents)
			serve_udp(d, m);
		if (p[1].revents)
			serve_tcp(d, m);
	}
	free(m);
	return NULL;
}

static int sockets(struct fake_dns *d)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);

	d->udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	d->tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	d->stop = eventfd(0, EFD_CLOEXEC);
	if (d->udp < 0 || d->tcp < 0 || d->stop < 0 ||
	    bind(d->tcp, (struct sockaddr *)&a, len) < 0 ||
	    getsockname(d->tcp, (struct sockaddr *)&a, &len) < 0 ||
	    bind(d->udp, (struct sockaddr *)&a, len) < 0 ||
	    listen(d->tcp, 64) < 0)
		return -errno;
	snprintf(d->server, sizeof(d->server), "127.0.0.1:%u",
		 ntohs(a.sin_port));
	return 0;
}

static void dispose(struct fake_dns *d)
{
	fd_closep(&d->udp);
	fd_closep(&d->tcp);
	fd_closep(&d->stop);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

int fake_dns_start(const struct fake_dns_record *records, struct fake_dns **ret,
		   const char **ret_server)
{
	struct fake_dns *d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return -ENOMEM;
	d->records = records;
	pthread_mutex_init(&d->lock, NULL);
	rc = sockets(d);
	if (rc == 0)
		rc = -pthread_create(&d->thread, NULL, serve, d);
	if (rc < 0) {
		dispose(d);
		return rc;
	}
	*ret = d;
	*ret_server = d->server;
	return 0;
}

void fake_dns_stop(struct fake_dns *d)
{
	if (!d)
		return;
	eventfd_write(d->stop, 1);
	pthread_join(d->thread, NULL);
	dispose(d);
}

unsigned fake_dns_asked(struct fake_dns *d, const char *name)
{
	unsigned n = 0;

	pthread_mutex_lock(&d->lock);
	for (unsigned i = 0; i < d->n_asked; i++)
		n += !name || strcasecmp(d->asked[i], name) == 0;
	pthread_mutex_unlock(&d->lock);
	return n;
}
