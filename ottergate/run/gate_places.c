/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_places.c - `check` with the addresses of the name
 *
 * A connection is judged twice: by its name, and by each address of the name. A
 * check of the name alone would say "allowed" where no address is. The name is
 * resolved here and now, by the servers that the gateway uses, so this is for a
 * program that exits, not for the gateway.
 */
#include "ottergate/run/gate_impl.h"

#include <ares.h>
#include <poll.h>
#include <string.h>

#include "lib/jsonw.h"
#include "ottergate/policy/load.h"
#include "ottergate/dns/resolve.h"

#define TRY_MS 1500
#define TRIES 2
#define TEXT_MAX (64u * 1024)

struct places {
	struct addr v[RESOLVE_ADDRS_MAX];
	size_t n;
	enum reason lookup; /* REASON_ALLOWED: addresses were found */
	bool done;
};

/* --- the look-up ---------------------------------------------------------- */

static void on_found(void *arg, int status, int timeouts,
		     struct ares_addrinfo *ai)
{
	struct places *p = arg;

	(void)timeouts;
	p->done = true;
	for (const struct ares_addrinfo_node *i = ai ? ai->nodes : NULL;
	     i && p->n < ARRAY_SIZE(p->v); i = i->ai_next) {
		struct addr a = addr_of(i->ai_addr);

		if (a.family != 0)
			p->v[p->n++] = a;
	}
	if (p->n == 0)
		p->lookup = status == ARES_ENOTFOUND || status == ARES_ENODATA ?
				    REASON_NO_ADDRESS :
				    REASON_DNS_FAILED;
	ares_freeaddrinfo(ai);
}

static void wait_all(struct ares_channeldata *channel, const struct places *p)
{
	while (!p->done) {
		ares_socket_t socks[ARES_GETSOCK_MAXNUM];
		struct pollfd fds[ARES_GETSOCK_MAXNUM];
		struct timeval tv = { .tv_sec = 1 }, most = { .tv_sec = 1 };
		unsigned bits = (unsigned)ares_getsock(channel, socks,
						       ARES_GETSOCK_MAXNUM);
		nfds_t n = 0;

		/* ARES_GETSOCK_WRITABLE() shifts an int into its sign bit. */
		for (unsigned i = 0; i < ARES_GETSOCK_MAXNUM; i++) {
			short ev = 0;

			if (bits & (1u << i))
				ev |= POLLIN;
			if (bits & (1u << (i + ARES_GETSOCK_MAXNUM)))
				ev |= POLLOUT;
			if (ev)
				fds[n++] = (struct pollfd){ .fd = socks[i],
							    .events = ev };
		}
		tv = *ares_timeout(channel, &most, &tv);
		poll(fds, n, (int)(tv.tv_sec * 1000 + tv.tv_usec / 1000 + 1));
		for (nfds_t i = 0; i < n; i++)
			ares_process_fd(
				channel,
				fds[i].revents ? fds[i].fd : ARES_SOCKET_BAD,
				fds[i].revents & POLLOUT ? fds[i].fd :
							   ARES_SOCKET_BAD);
		ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	}
}

static bool servers_set(struct ares_channeldata *channel,
			const struct strv *servers)
{
	struct buf text;
	bool good = true;

	if (servers->n == 0)
		return true;
	buf_init(&text, TEXT_MAX);
	for (size_t i = 0; i < servers->n && good; i++)
		good = buf_printf(&text, "%s%s", i ? "," : "", servers->v[i]) >=
		       0;
	good = good && buf_put_u8(&text, 0) >= 0 &&
	       ares_set_servers_ports_csv(channel,
					  (const char *)buf_slice(&text).ptr) ==
		       ARES_SUCCESS;
	buf_done(&text);
	return good;
}

/* DNS only, no search domains, no hosts file, like resolve_ares.c. */
static void look_up(const struct name *name, const struct strv *servers,
		    struct places *p)
{
	static char lookups[] = "b";
	struct ares_options o = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
		.timeout = TRY_MS,
		.tries = TRIES,
		.lookups = lookups,
	};
	const struct ares_addrinfo_hints hints = {
		.ai_flags = ARES_AI_NOSORT,
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
	};
	struct ares_channeldata *channel;

	p->lookup = REASON_DNS_FAILED;
	if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS ||
	    ares_init_options(&channel, &o,
			      ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS |
				      ARES_OPT_TRIES | ARES_OPT_NDOTS |
				      ARES_OPT_DOMAINS | ARES_OPT_LOOKUPS) !=
		    ARES_SUCCESS)
		return;
	if (servers_set(channel, servers)) {
		p->lookup = REASON_ALLOWED;
		ares_getaddrinfo(channel, name->s, NULL, &hints, on_found, p);
		wait_all(channel, p);
	}
	ares_destroy(channel);
}

/* The same sources as in dial.c: a service's address, `hosts:`; a proxy
 * resolves by itself. */
static void places_find(const struct agent_policy *a,
			const struct check_target *t, const struct verdict *v,
			const struct strv *servers, struct places *p)
{
	const struct addr *known = NULL;
	size_t n;

	if (t->name.len == 0) {
		p->v[p->n++] = t->addr;
		return;
	}
	if (v->service) {
		p->v[p->n++] = v->service->service_ip;
		return;
	}
	n = agent_policy_hosts(a, &t->name, &known);
	for (size_t i = 0; i < n && p->n < ARRAY_SIZE(p->v); i++)
		p->v[p->n++] = known[i];
	if (n == 0 && agent_policy_upstream(a, &t->name))
		p->lookup = REASON_DENIED_BY_PROXY; /* unknown here */
	else if (n == 0)
		look_up(&t->name, servers, p);
}

/* --- the answer ----------------------------------------------------------- */

/* Like dial.c: allowed if one of them is a server's and none a metadata
 * service's. */
static enum reason places_judge(const struct agent_policy *a,
				const struct verdict *v, const struct places *p,
				struct jsonw *w)
{
	enum reason first_bad = REASON_ALLOWED;
	bool good = false, metadata = false;
	char text[ADDR_TEXT_MAX];

	jsonw_open(w, "addresses", '[');
	for (size_t i = 0; i < p->n; i++) {
		enum reason why = decide_address(a, v, &p->v[i]);

		good |= why == REASON_ALLOWED;
		metadata |= addr_classify(&p->v[i]) == ADDR_METADATA;
		if (first_bad == REASON_ALLOWED)
			first_bad = why;
		jsonw_open(w, NULL, '{');
		jsonw_str(w, "address", addr_text(&p->v[i], text));
		jsonw_bool(w, "allow", why == REASON_ALLOWED);
		jsonw_str(w, "reason", reason_code(why));
		jsonw_str(
			w, "class",
			addr_class_name(agent_policy_addr_class(a, &p->v[i])));
		jsonw_close(w, '}');
	}
	jsonw_close(w, ']');
	if (metadata && !v->service)
		return REASON_BUILTIN_ADDRESS;
	return good ? REASON_ALLOWED : first_bad;
}

int gate_places(const struct agent_policy *a, const struct check_target *t,
		const struct strv *servers, struct verdict *v, struct buf *out)
{
	struct places p = { .lookup = REASON_ALLOWED };
	enum reason why;
	struct buf text, first;
	struct jsonw w;
	int rc;

	buf_init(&text, TEXT_MAX);
	buf_init(&first, TEXT_MAX);
	places_find(a, t, v, servers, &p);
	jsonw_init(&w, &text);
	jsonw_open(&w, NULL, '{');
	jsonw_str(&w, "lookup",
		  p.lookup == REASON_ALLOWED ? NULL : reason_code(p.lookup));
	why = places_judge(a, v, &p, &w);
	jsonw_close(&w, '}');
	if (why != REASON_ALLOWED) {
		v->allow = false;
		v->reason = why;
	}
	rc = w.rc < 0 ? w.rc : verdict_json(a, t, v, &first);
	/* Joins two objects: one without its end, the other without its
	 * beginning. */
	if (rc >= 0)
		rc = buf_append(out, buf_slice(&first).ptr,
				buf_len(&first) - 1);
	if (rc >= 0)
		rc = buf_put_u8(out, ',');
	if (rc >= 0)
		rc = buf_append(out, buf_slice(&text).ptr + 1,
				buf_len(&text) - 1);
	buf_done(&first);
	buf_done(&text);
	return rc;
}
