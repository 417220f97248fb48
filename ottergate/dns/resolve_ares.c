/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve_ares.c - one question to the upstream servers, by c-ares
 *
 * c-ares is driven from outside: its sockets are in the worker's epoll
 * (level-triggered, because c-ares decides how far it reads), its timeouts are
 * one timer of the wheel. It ends a lookup when it likes, so a lookup that is
 * no longer needed forgets its owner and is freed at its end.
 *
 * Trust: the owner of a name may control what a server answers. The chain of
 * aliases must be one path that begins at the asked name, of at most
 * RESOLVE_CNAMES_MAX host names; a record outside that path fails the answer
 * (D8, D10, N13). Forged answers have to guess a random id and a random port;
 * where c-ares supports it, each question has its own port and mixed case.
 * Neither search domains nor /etc/hosts are used.
 */
#include "ottergate/dns/resolve_ares.h"

#include <ares.h>
#include <pthread.h>
#include <string.h>
#include <sys/queue.h>

#include "lib/buf.h"
#include "ottergate/conn/worker.h"

#define TRY_MS 1200 /* for one server, at first; c-ares raises it */
#define TRIES 3
#define SERVERS_TEXT_MAX 4096u

struct sock { /* one of c-ares' own */
	struct ev ev; /* first: the handler casts back */
	struct upstream *upstream;
	LIST_ENTRY(sock) link;
};

LIST_HEAD(socks, sock);

struct upstream {
	struct worker *worker;
	struct ares_channeldata *channel;
	struct wheel_timer timer;
	struct socks socks;
	size_t n_lookups;
};

struct upstream_lookup {
	struct upstream *upstream;
	struct upstream_share *share; /* NULL: no account */
	upstream_fn fn; /* NULL: forgotten */
	void *arg;
	struct name name;
};

/* --- reading an answer
 * ----------------------------------------------------- */

/* Aliases as c-ares lists them, in canonical form. */
struct link {
	struct name from, to;
};

static bool name_eq(const struct name *a, const struct name *b)
{
	return a->len == b->len && memcmp(a->s, b->s, a->len) == 0;
}

static int link_read(const struct ares_addrinfo_cname *c, struct link *ret)
{
	if (!c->alias || !c->name ||
	    name_canon(slice_str(c->alias), &ret->from) < 0 ||
	    name_canon(slice_str(c->name), &ret->to) < 0)
		return -EIO;
	return 0;
}

/* Follows the path from the asked name, in whatever order the records are; each
 * must be a step of it. A name with two aliases, a loop or a record of another
 * name leaves steps over. */
static int aliases_read(const struct ares_addrinfo_cname *c,
			const struct name *asked, struct upstream_answer *ret)
{
	struct link links[RESOLVE_CNAMES_MAX];
	const struct name *at = asked;
	size_t n = 0;

	for (; c; c = c->next, n++) {
		if (n == RESOLVE_CNAMES_MAX)
			return -ELOOP;
		if (link_read(c, &links[n]) < 0)
			return -EIO;
		if (c->ttl >= 0 && (uint32_t)c->ttl < ret->ttl)
			ret->ttl = (uint32_t)c->ttl;
	}
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < n && !name_eq(&links[k].from, at))
			k++;
		if (k == n)
			return -EIO;
		ret->aliases[i] = links[k].to;
		at = &ret->aliases[i];
		links[k].from.len = 0; /* used */
	}
	ret->n_aliases = (uint8_t)n;
	return 0;
}

static void addrs_read(const struct ares_addrinfo_node *n,
		       struct upstream_answer *ret)
{
	for (; n && ret->n < RESOLVE_ADDRS_MAX; n = n->ai_next) {
		struct addr a = addr_of(n->ai_addr);

		if (a.family == 0)
			continue;
		if (n->ai_ttl >= 0 && (uint32_t)n->ai_ttl < ret->ttl)
			ret->ttl = (uint32_t)n->ai_ttl;
		ret->addrs[ret->n++] = a;
	}
}

static int code_of(int status)
{
	switch (status) {
	case ARES_SUCCESS:
		return 0;
	case ARES_ENODATA:
	case ARES_ENOTFOUND:
		return -ENOENT;
	case ARES_ETIMEOUT:
		return -ETIMEDOUT;
	default:
		return -EIO;
	}
}

void upstream_share_drop(struct upstream_share *s)
{
	if (!s || --s->refs > 0)
		return;
	usage_looked_up(&s->agent->usage);
	agent_unref(s->agent);
	free(s);
}

static void lookup_done(void *arg, int status, int timeouts,
			struct ares_addrinfo *ai)
{
	struct upstream_lookup *l = arg;
	struct upstream_answer answer = { .ttl = UINT32_MAX };

	(void)timeouts;
	l->upstream->n_lookups--;
	upstream_share_drop(l->share);
	if (l->fn) {
		answer.code = code_of(status);
		if (answer.code == 0 && ai)
			answer.code =
				aliases_read(ai->cnames, &l->name, &answer);
		if (answer.code == 0 && ai)
			addrs_read(ai->nodes, &answer);
		if (answer.code == 0 && answer.n == 0)
			answer.code = -ENOENT;
		l->fn(l->arg, &answer);
	}
	if (ai)
		ares_freeaddrinfo(ai);
	free(l);
}

/* --- c-ares in the worker's loop ----------------------------------------- */

static void timer_set(struct upstream *u)
{
	struct worker *w = u->worker;
	struct timeval tv;

	if (ares_timeout(u->channel, NULL, &tv))
		wheel_set(&w->wheel, &u->timer, w->now_ms,
			  (uint64_t)tv.tv_sec * 1000 +
				  (uint64_t)tv.tv_usec / 1000 + 1);
	else
		wheel_clear(&u->timer, &w->wheel);
}

static void timer_due(struct wheel_timer *timer)
{
	struct upstream *u =
		(struct upstream *)((char *)timer -
				    offsetof(struct upstream, timer));

	ares_process_fd(u->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	timer_set(u);
}

static void sock_ready(struct worker *w, struct ev *ev, uint32_t events)
{
	struct sock *s = (struct sock *)ev;
	struct upstream *u = s->upstream;
	int fd = ev->fd;

	(void)w;
	if (fd < 0)
		return; /* closed earlier in this round */
	ares_process_fd(
		u->channel,
		events & (EPOLLIN | EPOLLERR | EPOLLHUP) ? fd : ARES_SOCKET_BAD,
		events & EPOLLOUT ? fd : ARES_SOCKET_BAD);
	timer_set(u);
}

static struct sock *sock_find(struct upstream *u, int fd)
{
	struct sock *s;

	LIST_FOREACH (s, &u->socks, link)
		if (s->ev.fd == fd)
			return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->ev = (struct ev){ .fn = sock_ready, .fd = -1 };
	s->upstream = u;
	LIST_INSERT_HEAD(&u->socks, s, link);
	return s;
}

/* c-ares announces what it waits for on @fd; neither means that it is about to
 * close it, which removes it from the epoll. If a socket cannot be watched, its
 * lookup times out. */
static void sock_state(void *arg, ares_socket_t fd, int readable, int writable)
{
	struct upstream *u = arg;
	struct sock *s = sock_find(u, fd);
	struct epoll_event e = {
		.events = (readable ? EPOLLIN : 0u) |
			  (writable ? EPOLLOUT : 0u),
		.data.ptr = s,
	};

	if (!s)
		return;
	if (e.events == 0) {
		LIST_REMOVE(s, link);
		s->ev.fd = -1;
		worker_free_later(u->worker, s);
		return;
	}
	epoll_ctl(u->worker->epfd, s->ev.fd < 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD,
		  fd, &e);
	s->ev.fd = fd;
}

/* --- start and end ------------------------------------------------------- */

static void library_init(void)
{
	ares_library_init(ARES_LIB_INIT_ALL);
}

static int servers_set(struct upstream *u, const char *const *servers,
		       struct err *err)
{
	struct buf text;
	int rc = 0, status;

	buf_init(&text, SERVERS_TEXT_MAX);
	for (size_t i = 0; servers[i] && rc >= 0; i++)
		rc = buf_printf(&text, "%s%s", i ? "," : "", servers[i]);
	if (rc >= 0)
		rc = buf_put_u8(&text, 0);
	if (rc < 0) {
		buf_done(&text);
		return err_set(err, rc, "too many DNS servers");
	}
	status = ares_set_servers_ports_csv(u->channel,
					    (const char *)buf_slice(&text).ptr);
	buf_done(&text);
	if (status != ARES_SUCCESS)
		return err_set(err, -EINVAL, "DNS servers: %s",
			       ares_strerror(status));
	return 0;
}

static int channel_new(struct upstream *u, struct err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static char lookups[] = "b"; /* DNS only, no hosts file */
	struct ares_options o = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
		.timeout = TRY_MS,
		.tries = TRIES,
		.ndots = 0,
		.domains = NULL,
		.ndomains = 0,
		.lookups = lookups,
		.sock_state_cb = sock_state,
		.sock_state_cb_data = u,
	};
	int status, mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS |
			   ARES_OPT_TRIES | ARES_OPT_NDOTS | ARES_OPT_DOMAINS |
			   ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB;

#ifdef ARES_FLAG_DNS0x20
	o.flags |= ARES_FLAG_DNS0x20;
#endif
#ifdef ARES_OPT_UDP_MAX_QUERIES
	o.udp_max_queries = 1;
	mask |= ARES_OPT_UDP_MAX_QUERIES;
#endif
#ifdef ARES_OPT_QUERY_CACHE
	o.qcache_max_ttl = 0; /* resolve.c has a bounded cache */
	mask |= ARES_OPT_QUERY_CACHE;
#endif
	pthread_once(&once, library_init);
	status = ares_init_options(&u->channel, &o, mask);
	if (status != ARES_SUCCESS)
		return err_set(err, status == ARES_ENOMEM ? -ENOMEM : -EIO,
			       "start the resolver: %s", ares_strerror(status));
	return 0;
}

int upstream_new(struct worker *w, const char *const *servers,
		 struct upstream **ret, struct err *err)
{
	struct upstream *u = calloc(1, sizeof(*u));
	int rc;

	if (!u)
		return err_nomem(err);
	u->worker = w;
	u->timer.fn = timer_due;
	LIST_INIT(&u->socks);
	rc = channel_new(u, err);
	if (rc == 0 && servers && servers[0])
		rc = servers_set(u, servers, err);
	if (rc < 0) {
		upstream_free(u);
		return rc;
	}
	*ret = u;
	return 0;
}

void upstream_free(struct upstream *u)
{
	if (!u)
		return;
	/* Ends the remaining lookups, with ARES_EDESTRUCTION; their owners have
	 * forgotten them. */
	if (u->channel)
		ares_destroy(u->channel);
	wheel_clear(&u->timer, &u->worker->wheel);
	free(u);
}

int upstream_ask(struct upstream *u, const struct name *name, int family,
		 struct upstream_share *share, upstream_fn fn, void *arg,
		 struct upstream_lookup **ret)
{
	/* NOSORT: dial.c orders the addresses itself, and c-ares would connect
	 * a socket to each address for it. */
	const struct ares_addrinfo_hints hints = {
		.ai_flags = ARES_AI_NOSORT,
		.ai_family = family,
		.ai_socktype = SOCK_STREAM,
	};
	struct upstream_lookup *l;

	*ret = NULL;
	if (u->n_lookups == (size_t)2 * RESOLVE_PENDING_MAX)
		return -ENOSPC;
	l = malloc(sizeof(*l));
	if (!l)
		return -ENOMEM;
	*l = (struct upstream_lookup){
		.upstream = u,
		.share = share,
		.fn = fn,
		.arg = arg,
		.name = *name,
	};
	if (share)
		share->refs++;
	u->n_lookups++;
	*ret = l;
	ares_getaddrinfo(u->channel, name->s, NULL, &hints, lookup_done, l);
	timer_set(u);
	return 0;
}

void upstream_forget(struct upstream_lookup *l)
{
	if (l)
		l->fn = NULL;
}
