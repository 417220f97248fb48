/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dial_test.c - dialling in a namespace of its own
 *
 * The policy is that of dial_world.h, the resolver is the real one. Where no
 * namespace may be made, all is skipped.
 *
 * The time is the test's own. It stands still, so that no timer can help, where
 * a dial must need none; elsewhere it passes while nothing happens.
 */
#include "ottergate/conn/dial.h"

#include "ottergate/policy/limits.h"
#include "ottergate/dns/resolve.h"
#include "tests/fake/dns.h"
#include "tests/unit/ottergate/conn/dial_world.h"
#include "tests/unit/ottergate/netns.h"

static bool v6;
static int good, good6, full; /* listeners */

static const struct fake_dns_record records[] = {
	{ "a.test", "198.51.100.1", FAKE_DNS_A, 60 },
	{ "alias.test", "bad-alias.test", FAKE_DNS_CNAME, 60 },
	{ "bad-alias.test", "198.51.100.1", FAKE_DNS_A, 60 },
	{ "fail.test", "", FAKE_DNS_FAIL, 60 },
	{ "silent.test", "", FAKE_DNS_SILENT, 60 },
	{ 0 },
};

struct dial_case {
	const char *what;
	const char *name;
	const char *addrs; /* of hosts.test, or a literal */
	enum reason why;
	const char *peer;
	unsigned min_ms, max_ms; /* none: it waits for no timer */
};

/* .9 takes no more connections and answers nothing; .10 refuses; 203.0.113.1
 * cannot be reached. */
static const struct dial_case dial_cases[] = {
	{ "one address", "hosts.test", "198.51.100.1", REASON_ALLOWED,
	  "198.51.100.1", 0, 0 },
	{ "refused", "hosts.test", "198.51.100.10", REASON_CONNECT_REFUSED, "",
	  0, 0 },
	{ "the next at once", "hosts.test", "198.51.100.10 198.51.100.1",
	  REASON_ALLOWED, "198.51.100.1", 0, 0 },
	{ "unreachable", "hosts.test", "203.0.113.1", REASON_NO_ROUTE, "", 0,
	  0 },
	{ "unreachable, then good", "hosts.test", "203.0.113.1 198.51.100.1",
	  REASON_ALLOWED, "198.51.100.1", 0, 0 },
	{ "silent, then good", "hosts.test", "198.51.100.9 198.51.100.1",
	  REASON_ALLOWED, "198.51.100.1", 240, 600 },
	{ "silent, refused, good", "hosts.test",
	  "198.51.100.9 198.51.100.10 198.51.100.1", REASON_ALLOWED,
	  "198.51.100.1", 240, 600 },
	{ "silent", "hosts.test", "198.51.100.9", REASON_CONNECT_TIMEOUT, "",
	  CONNECT_MS, CONNECT_MS + 600 },
	{ "silent, and refused later", "hosts.test",
	  "198.51.100.9 198.51.100.10", REASON_CONNECT_REFUSED, "", CONNECT_MS,
	  CONNECT_MS + 600 },
	{ "refused, and silent later", "hosts.test",
	  "198.51.100.10 198.51.100.9", REASON_CONNECT_REFUSED, "", CONNECT_MS,
	  3000 },
	{ "unreachable, and silent later", "hosts.test",
	  "203.0.113.1 198.51.100.9", REASON_CONNECT_TIMEOUT, "", CONNECT_MS,
	  3000 },
	{ "refused, then unreachable", "hosts.test",
	  "198.51.100.10 203.0.113.1", REASON_CONNECT_REFUSED, "", 0, 0 },
	{ "unreachable, then refused", "hosts.test",
	  "203.0.113.1 198.51.100.10", REASON_CONNECT_REFUSED, "", 0, 0 },
	{ "private", "hosts.test", "10.0.0.1", REASON_BUILTIN_ADDRESS, "", 0,
	  0 },
	{ "denied, then private", "hosts.test", "198.51.100.66 10.0.0.1",
	  REASON_DENY_ADDRESS, "", 0, 0 },
	{ "private and good (N14)", "hosts.test", "10.0.0.1 198.51.100.1",
	  REASON_ALLOWED, "198.51.100.1", 0, 0 },
	{ "good and metadata (N14)", "hosts.test",
	  "198.51.100.1 169.254.169.254", REASON_BUILTIN_ADDRESS, "", 0, 0 },
	{ "resolved", "a.test", "", REASON_ALLOWED, "198.51.100.1", 0, 0 },
	{ "cached", "a.test", "", REASON_ALLOWED, "198.51.100.1", 0, 0 },
	{ "no such name", "absent.test", "", REASON_NO_ADDRESS, "", 0, 0 },
	{ "no such name, cached", "absent.test", "", REASON_NO_ADDRESS, "", 0,
	  0 },
	{ "no answer from the servers", "fail.test", "", REASON_DNS_FAILED, "",
	  0, 0 },
	{ "an alias", "alias.test", "", REASON_ALLOWED, "198.51.100.1", 0, 0 },
	{ "a literal", "", "198.51.100.1", REASON_ALLOWED, "198.51.100.1", 0,
	  0 },
	{ "a private literal", "", "10.0.0.1", REASON_BUILTIN_ADDRESS, "", 0,
	  0 },
};

static const char *hosts_set(const char *addrs)
{
	static char text[512];
	char *save = NULL;

	snprintf(text, sizeof(text), "%s", addrs);
	n_hosts = 0;
	for (char *p = strtok_r(text, " ", &save); p;
	     p = strtok_r(NULL, " ", &save))
		hosts[n_hosts++] = ip(p);
	return addrs;
}

static void test_cases(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(dial_cases); i++) {
		const struct dial_case *c = &dial_cases[i];
		uint64_t begun = w.now_ms, took;
		struct caller caller;

		rounds.step_ms = c->max_ms ? STEP_MS : 0;
		hosts_set(c->addrs);
		if (!ok(begin(&caller, c->name, *c->name ? "" : c->addrs) ==
					0 &&
				caller.calls == 0,
			"%s: no call from within", c->what))
			continue;
		round_until(&w, &caller.done, GIVE_UP_MS);
		took = w.now_ms - begun;
		check(&caller, c->what, c->why, c->peer);
		ok(took >= c->min_ms && took <= c->max_ms, "%s: %ums", c->what,
		   (unsigned)took);
	}
}

static void test_rules(void)
{
	struct caller c;

	rule.cname_strict = true;
	begin(&c, "alias.test", "");
	round_until(&w, &c.done, GIVE_UP_MS);
	check(&c, "an alias of a strict rule (N15)", REASON_DENY_ADDRESS, "");
	rule = (struct rule){ .service = true,
			      .service_ip = ip("198.51.100.1") };
	service = &rule;
	begin(&c, "absent.test", "");
	round_until(&w, &c.done, GIVE_UP_MS);
	check(&c, "a service", REASON_ALLOWED, "198.51.100.1");
	rule = (struct rule){ .service = false };
	service = NULL;
}

static void test_one_registration(void)
{
	unsigned before = rounds.watched;
	struct caller c;

	hosts_set("198.51.100.1");
	begin(&c, "hosts.test", "");
	round_until(&w, &c.done, GIVE_UP_MS);
	is_int(rounds.watched - before, 1, "one registration");
	is_int(c.events, 0, "the caller sees no event of the connect");
	check(&c, "registered once", REASON_ALLOWED, "198.51.100.1");
}

/* A socket that the caller had before may have left an event in this round: it
 * says nothing about the new one. */
static void test_stale_event(void)
{
	struct caller c;

	hosts_set("198.51.100.1");
	begin(&c, "hosts.test", "");
	c.ev.fn(&w, &c.ev, EPOLLERR | EPOLLHUP);
	c.ev.fn(&w, &c.ev, EPOLLOUT);
	ok(!c.done && c.ev.fd >= 0, "an event of this round is none of ours");
	round_until(&w, &c.done, GIVE_UP_MS);
	check(&c, "the next round's is", REASON_ALLOWED, "198.51.100.1");
}

static void test_families(void)
{
	uint64_t begun;
	struct caller c;

	if (!v6) {
		skip("no IPv6 in this namespace");
		return;
	}
	hosts_set("2001:db8::1 198.51.100.1");
	begin(&c, "hosts.test", "");
	round_until(&w, &c.done, GIVE_UP_MS);
	check(&c, "IPv4 is preferred", REASON_ALLOWED, "198.51.100.1");
	hosts_set("198.51.100.9 198.51.100.9 198.51.100.9 2001:db8::1");
	begun = w.now_ms;
	rounds.step_ms = STEP_MS;
	begin(&c, "hosts.test", "");
	round_until(&w, &c.done, GIVE_UP_MS);
	rounds.step_ms = 0;
	check(&c, "the other family is next", REASON_ALLOWED, "2001:db8::1");
	ok(w.now_ms - begun < 450, "before the second of the same");
}

static void test_cancel(void)
{
	static const char *const names[] = { "hosts.test", "silent.test" };
	struct caller c;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		hosts_set("198.51.100.9 198.51.100.9");
		begin(&c, names[i], "");
		for (unsigned k = 0; k < i * 15; k++)
			round_run(&w, 20);
		dial_cancel(c.dial);
		ok(c.ev.fd == -1 && c.ev.fn == on_event, "%s is cancelled",
		   names[i]);
		round_run(&w, 20);
		is_int(c.calls, 0, "with no call");
	}
	hosts_set("10.0.0.1");
	begin(&c, "hosts.test", "");
	dial_cancel(c.dial);
	round_run(&w, 0);
	is_int(c.calls, 0, "a cancelled denial is not told");
	hosts_set("198.51.100.1");
	begin(&c, "hosts.test", "");
	c.cancel_within = true;
	round_until(&w, &c.done, GIVE_UP_MS);
	check(&c, "a cancel from within", REASON_ALLOWED, "198.51.100.1");
	dial_cancel(NULL);
}

/* --- an upstream proxy ------------------------------------------------------ */

struct proxy_case {
	const char *what;
	const char *answer; /* NULL: none; "" closes */
	enum reason why;
};

static const struct proxy_case proxy_cases[] = {
	{ "200", "HTTP/1.1 200 OK\r\n\r\nhello", REASON_ALLOWED },
	{ "200 with fields", "HTTP/1.0 200\r\nA: b\r\n\r\nhello",
	  REASON_ALLOWED },
	{ "403", "HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno",
	  REASON_DENIED_BY_PROXY },
	{ "407", "HTTP/1.1 407 No\r\n\r\n", REASON_DENIED_BY_PROXY },
	{ "no HTTP", "220 mail\r\n", REASON_CONNECT_FAILED },
	{ "its end", "", REASON_CONNECT_FAILED },
	{ "nothing", NULL, REASON_CONNECT_TIMEOUT },
};

/* The proxy's side: reads the request, answers byte by byte. */
static void serve(struct caller *c, const char *answer, const char *request)
{
	SCOPED_FD fd = -1;
	char got[512] = "";
	uint64_t end = clock_ms() + GIVE_UP_MS;

	while (fd < 0 && clock_ms() < end) {
		round_run(&w, 10);
		fd = accept4(good, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	}
	while (recv(fd, got, sizeof(got) - 1, 0) < 0 && clock_ms() < end)
		round_run(&w, 10);
	is_str(got, request, "the request");
	if (!answer) {
		rounds.step_ms = STEP_MS;
		round_until(&w, &c->done, GIVE_UP_MS);
		rounds.step_ms = 0;
		return;
	}
	for (const char *p = answer; *p; p++) {
		/* The tunnel's first bytes come along with the head's last. */
		size_t n = strncmp(p, "\n\r\nhello", 8) == 0 ? 8 : 1;

		send(fd, p, n, MSG_NOSIGNAL);
		round_run(&w, 1);
		p += n - 1;
	}
	fd_closep(&fd);
	round_until(&w, &c->done, GIVE_UP_MS);
}

static void drain_accepts(void)
{
	int fd;

	while ((fd = accept4(good, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		close(fd);
}

static void test_proxy(void)
{
	static char host[] = "198.51.100.1", auth[] = "Basic eDp5";
	char want[256], rest[16] = "";
	struct caller c;

	drain_accepts();
	proxy = (struct upstream_proxy){ host, port, auth };
	use_proxy = true;
	snprintf(want, sizeof(want),
		 "CONNECT absent.test:%u HTTP/1.1\r\nHost: absent.test:%u\r\n"
		 "Proxy-Authorization: Basic eDp5\r\n\r\n",
		 port, port);
	for (size_t i = 0; i < ARRAY_SIZE(proxy_cases); i++) {
		const struct proxy_case *p = &proxy_cases[i];

		begin(&c, "absent.test", "");
		serve(&c, p->answer, want);
		if (p->why == REASON_ALLOWED) {
			recv(c.ev.fd, rest, sizeof(rest) - 1, MSG_DONTWAIT);
			is_str(rest, "hello", "the tunnel's bytes are there");
		}
		check(&c, p->what, p->why, "198.51.100.1");
	}
	begin(&c, "", "10.0.0.1");
	round_until(&w, &c.done, GIVE_UP_MS);
	check(&c, "a private literal by proxy", REASON_BUILTIN_ADDRESS, "");
	snprintf(host, sizeof(host), "127.0.0.1");
	begin(&c, "absent.test", "");
	round_until(&w, &c.done, GIVE_UP_MS);
	check(&c, "a proxy on the loopback", REASON_BUILTIN_ADDRESS, "");
	snprintf(host, sizeof(host), "a.test");
	begin(&c, "absent.test", "");
	snprintf(rest, sizeof(rest), "%s", "");
	serve(&c, "HTTP/1.1 200 OK\r\n\r\n", want);
	check(&c, "a proxy by name", REASON_ALLOWED, "198.51.100.1");
	use_proxy = false;
}

/* --- the place --------------------------------------------------------------- */

static int listen_at(const char *text, uint16_t at, int backlog)
{
	struct addr a = ip(text);
	struct sockaddr_storage ss;
	socklen_t len = addr_sockaddr(&a, at, &ss);
	int fd = socket(ss.ss_family,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&ss, len) < 0 ||
	    listen(fd, backlog) < 0)
		return -1;
	return fd;
}

/* A listener whose queue is full, so that the kernel drops what comes. */
static bool fill(void)
{
	struct addr a = ip("198.51.100.9");
	struct sockaddr_storage ss;
	socklen_t len = addr_sockaddr(&a, port, &ss);

	full = listen_at("198.51.100.9", port, 0);
	for (unsigned i = 0; i < 2; i++) {
		int fd = socket(AF_INET,
				SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

		/* Stays open for as long as this test runs. */
		if (fd < 0 || (connect(fd, (struct sockaddr *)&ss, len) < 0 &&
			       errno != EINPROGRESS))
			return false;
	}
	return full >= 0;
}

static bool place_init(void)
{
	struct sockaddr_in a = { 0 };
	socklen_t len = sizeof(a);

	good = listen_at("198.51.100.1", 0, 128);
	if (good < 0 || getsockname(good, (struct sockaddr *)&a, &len) < 0)
		return false;
	port = ntohs(a.sin_port);
	if (v6)
		good6 = listen_at("2001:db8::1", port, 128);
	return good6 >= 0 && fill();
}

/* So many names are out that another is not looked up; what is known is. */
static void test_lookups(void)
{
	struct caller c;

	is_int(atomic_load(&agent.usage.lookups), 0, "none is out");
	atomic_store(&agent.usage.lookups, LIMIT_LOOKUPS);
	begin(&c, "other.test", "");
	round_until(&w, &c.done, GIVE_UP_MS);
	check(&c, "one name too many", REASON_LIMIT_LOOKUPS, "");
	begin(&c, "a.test", "");
	round_until(&w, &c.done, GIVE_UP_MS);
	check(&c, "a name that is known", REASON_ALLOWED, "198.51.100.1");
	atomic_store(&agent.usage.lookups, 0);
	is_int(atomic_load(&agent.refs), 0, "no reference is left");
}

int main(void)
{
	const char *servers[2] = { NULL };
	struct fake_dns *dns = NULL;
	struct err err = { 0 };
	int rc = netns_enter(&v6);

	if (rc < 0) {
		skip("no network namespace here: %s", err_text(rc));
		return done_testing();
	}
	round_init(&w, &opts);
	rounds.own_time = true;
	if (ok(place_init() &&
		       fake_dns_start(records, &dns, &servers[0]) == 0 &&
		       resolver_new(&w, servers, &w.resolver, &err) == 0,
	       "listeners, DNS, resolver")) {
		test_cases();
		rounds.step_ms = 0;
		test_lookups();
		test_rules();
		test_one_registration();
		test_stale_event();
		test_families();
		test_cancel();
		test_proxy();
		round_end(&w);
		resolver_free(w.resolver);
	}
	round_done(&w);
	fake_dns_stop(dns);
	return done_testing();
}
