/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns_world.h - port 53 over real sockets of the loopback
 *
 * Policy, table, limits and audit are the test's own: 127.0.0.1 and .2 are
 * sandboxes, nothing else is. A test program includes it once.
 */
#ifndef TESTS_UNIT_OTTERGATE_DNS_DNS_WORLD_H
#define TESTS_UNIT_OTTERGATE_DNS_DNS_WORLD_H

#include "ottergate/dns/server.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include "ottergate/dns/message.h"
#include "ottergate/dns/lease.h"
#include "ottergate/policy/presume.h"
#include "ottergate/policy/net/synthetic.h"
#include "ottergate/conn/worker_impl.h"
#include "tests/unit/ottergate/round.h"

#define HEAD "\x12\x34\x01\0\0\1\0\0\0\0\0\0"
#define IN_A "\0\0\1\0\1"
#define BYTES(s) s, sizeof(s) - 1

static struct agent agents[2];
static struct table_entry entries[2];
static struct limits limits;
static unsigned asked, audited, limit_at;
static unsigned asks, asks_limit_at; /* of programs */
static unsigned packets, packets_max; /* of packets_of alone */
static const struct usage *packets_of;
static bool audit_on, audit_full;
static struct audit_record last;
static uint64_t expires;
static int ring; /* any address will do */

const struct table_entry *table_find(const struct table *t,
				     const struct addr *source)
{
	(void)t;
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		if (memcmp(source->b, agents[i].address.b, 4) == 0)
			return &entries[i];
	return NULL;
}

/* Those of the test are there all the time. */
struct agent *agent_ref(struct agent *a)
{
	return a;
}

void agent_unref(struct agent *a)
{
	(void)a;
}

uint64_t table_generation(const struct table *t)
{
	(void)t;
	return 7;
}

const struct limits *agent_policy_limits(const struct agent_policy *a)
{
	(void)a;
	return &limits;
}

uint32_t agent_policy_dns_ttl(const struct agent_policy *a)
{
	(void)a;
	return 60;
}

uint64_t agent_policy_expires(const struct agent_policy *a)
{
	(void)a;
	return expires;
}

uint64_t agent_policy_left(const struct agent_policy *a, uint64_t wall_ms,
			   uint64_t now_ms)
{
	(void)a;
	(void)now_ms;
	return expires == 0             ? UINT64_MAX :
	       expires * 1000 > wall_ms ? expires * 1000 - wall_ms :
					  0;
}

struct addr agent_policy_synthetic(const struct agent_policy *a,
				   const struct name *name)
{
	(void)a;
	return strcmp(name->s, "tcp.test") == 0 ? addr_v4(0xc6120001) :
						  (struct addr){ .family = 0 };
}

const struct name *agent_policy_synthetic_name(const struct agent_policy *a,
					       const struct addr *addr)
{
	static const struct name name = { 8, "tcp.test" };
	struct addr one = addr_v4(0xc6120001);

	(void)a;
	return addr_eq(addr, &one) ? &name : NULL;
}

/* What is at port 22 is denied. */
enum presumption presume(const struct agent_policy *a, const struct place *at,
			 struct verdict *ret)
{
	(void)a;
	*ret = (struct verdict){ .reason = REASON_NOT_ALLOWED };
	return at->port == 22 ? PRESUME_DENY : PRESUME_ALLOW;
}

enum reason usage_told(struct usage *u, const struct limits *l, uint64_t now_ms)
{
	(void)u;
	(void)l;
	(void)now_ms;
	return REASON_ALLOWED;
}

enum reason usage_ask(struct usage *u, uint64_t now_ms)
{
	(void)u;
	(void)now_ms;
	asks++;
	return asks_limit_at && asks >= asks_limit_at ? REASON_LIMIT_DNS :
							REASON_ALLOWED;
}

/* The tests flood, too. */
bool usage_packet(struct usage *u, const struct limits *l, uint64_t now_ms)
{
	(void)l;
	(void)now_ms;
	if (u != packets_of)
		return true;
	packets++;
	return packets <= packets_max;
}

enum reason usage_dns(struct usage *u, const struct limits *l, uint64_t now_ms)
{
	(void)u;
	(void)l;
	(void)now_ms;
	asked++;
	return limit_at && asked >= limit_at ? REASON_LIMIT_DNS :
					       REASON_ALLOWED;
}

struct verdict decide(const struct agent_policy *a, const struct request *rq)
{
	static const struct rule rule = { .id = "some-rule" };
	bool allow = strcmp(rq->name->s, "ok.test") == 0;

	(void)a;
	return (struct verdict){
		.allow = allow,
		.reason = allow ? REASON_ALLOWED : REASON_NOT_ALLOWED,
		.rule = allow ? &rule : NULL,
	};
}

bool audit_wants(const struct audit_ring *r, enum audit_event e)
{
	(void)r;
	return audit_on && e == AUDIT_DNS;
}

bool audit_put(struct audit_ring *r, const struct audit_record *rec)
{
	(void)r;
	last = *rec;
	audited++;
	return !audit_full;
}

struct world {
	struct worker w;
	struct worker_opts opts;
	struct listener udp, tcp;
	struct sockaddr_in to;
};

static inline int bound(int type, struct sockaddr_in *a)
{
	int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*a);

	a->sin_family = AF_INET;
	a->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0)
		abort();
	if (bind(fd, (struct sockaddr *)a, len) < 0 ||
	    getsockname(fd, (struct sockaddr *)a, &len) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* One port for both: the kernel chose it for one, and it may be somebody's of
 * the other kind. */
static inline void bound_pair(struct world *x)
{
	for (int tries = 0; tries < 100; tries++) {
		x->to.sin_port = 0;
		x->udp.ev.fd = bound(SOCK_DGRAM, &x->to);
		x->tcp.ev.fd = bound(SOCK_STREAM, &x->to);
		if (x->udp.ev.fd >= 0 && x->tcp.ev.fd >= 0)
			return;
		close(x->udp.ev.fd);
	}
	abort();
}

static inline void world_init(struct world *x)
{
	static char id[] = "agent-1";

	*x = (struct world){ .opts.self = addr_v4(0xac140035) };
	for (size_t i = 0; i < ARRAY_SIZE(agents); i++) {
		agents[i].id = id;
		agents[i].address = addr_v4(0x7f000001 + (uint32_t)i);
		entries[i].agent = &agents[i];
	}
	asked = audited = limit_at = asks = asks_limit_at = 0;
	packets = packets_max = 0;
	packets_of = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(agents); i++)
		agents[i].cpu_ns = 0;
	audit_on = audit_full = false;
	expires = 0;
	round_init(&x->w, &x->opts);
	x->w.audit = (struct audit_ring *)&ring;
	x->udp.ev.fn = dns_udp_ready;
	x->tcp.ev.fn = dns_tcp_accept;
	bound_pair(x);
	if (listen(x->tcp.ev.fd, 128) < 0 ||
	    worker_watch(&x->w, &x->udp.ev) < 0 ||
	    worker_watch(&x->w, &x->tcp.ev) < 0)
		abort();
}

static inline void world_done(struct world *x)
{
	dns_tcp_end(&x->w);
	round_done(&x->w);
	fd_closep(&x->udp.ev.fd);
	fd_closep(&x->tcp.ev.fd);
	for (size_t i = 0; i < ARRAY_SIZE(agents); i++) {
		leases_free(atomic_load(&agents[i].leases));
		agents[i].leases = NULL;
	}
}

static inline uint64_t counted(struct world *x, enum counter c)
{
	return atomic_load(&x->w.counters[c]);
}

/* A client at 127.0.0.@host. */
static inline int client(struct world *x, int type, unsigned host)
{
	struct sockaddr_in from = { .sin_family = AF_INET }, to = x->to;
	socklen_t len = sizeof(to);
	struct timeval limit = { .tv_usec = 200000 };
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	from.sin_addr.s_addr = htonl(0x7f000000 + host);
	if (type == SOCK_DGRAM)
		getsockname(x->udp.ev.fd, (struct sockaddr *)&to, &len);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (bind(fd, (struct sockaddr *)&from, sizeof(from)) < 0 ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		abort();
	return fd;
}

#endif
