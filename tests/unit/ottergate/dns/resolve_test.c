/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve_test.c - the resolver against a scripted server
 */
#include "ottergate/dns/resolve.h"

#include "tests/fake/dns.h"
#include "tests/unit/ottergate/round.h"

#define TEN                                                             \
	"198.51.100.1 198.51.100.2 198.51.100.3 198.51.100.4 "          \
	"198.51.100.5 198.51.100.6 198.51.100.7 198.51.100.8 10.0.0.1 " \
	"198.51.100.10"

static const struct fake_dns_record records[] = {
	{ "a.test", "198.51.100.1", FAKE_DNS_A, 300 },
	{ "dual.test", "198.51.100.1", FAKE_DNS_A, 300 },
	{ "dual.test", "2001:db8::1 2001:db8::2", FAKE_DNS_AAAA, 300 },
	{ "six.test", "2001:db8::1", FAKE_DNS_AAAA, 300 },
	{ "ten.test", TEN, FAKE_DNS_A, 300 },
	{ "zero.test", "198.51.100.1 10.0.0.1", FAKE_DNS_FLIP, 0 },
	{ "short.test", "198.51.100.1", FAKE_DNS_A, 1 },
	{ "long.test", "198.51.100.1", FAKE_DNS_A, 999999 },
	{ "c1.test", "c2.test", FAKE_DNS_CNAME, 60 },
	{ "c2.test", "a.test", FAKE_DNS_CNAME, 60 },
	{ "d1.test", "d2.test", FAKE_DNS_CNAME, 60 },
	{ "d2.test", "d3.test", FAKE_DNS_CNAME, 60 },
	{ "d3.test", "d4.test", FAKE_DNS_CNAME, 60 },
	{ "d4.test", "d5.test", FAKE_DNS_CNAME, 60 },
	{ "d5.test", "d6.test", FAKE_DNS_CNAME, 60 },
	{ "d6.test", "d7.test", FAKE_DNS_CNAME, 60 },
	{ "d7.test", "d8.test", FAKE_DNS_CNAME, 60 },
	{ "d8.test", "d9.test", FAKE_DNS_CNAME, 60 },
	{ "d9.test", "a.test", FAKE_DNS_CNAME, 60 },
	{ "loop.test", "pool.test", FAKE_DNS_CNAME, 60 },
	{ "pool.test", "loop.test", FAKE_DNS_CNAME, 60 },
	{ "blank.test", "not a name.test", FAKE_DNS_CNAME, 60 },
	{ "not a name.test", "198.51.100.1", FAKE_DNS_A, 60 },
	{ "stranger.name.test", "198.51.100.1", FAKE_DNS_STRANGER, 60 },
	{ "wrongid.test", "198.51.100.66", FAKE_DNS_WRONG_ID, 60 },
	{ "question.test", "198.51.100.66", FAKE_DNS_WRONG_QUESTION, 60 },
	{ "forged.test", "198.51.100.1", FAKE_DNS_FORGED, 60 },
	{ "pointer.test", "", FAKE_DNS_LOOP, 60 },
	{ "big.test", "", FAKE_DNS_BIG, 60 },
	{ "silent.test", "", FAKE_DNS_SILENT, 60 },
	{ "noaaaa.test", "198.51.100.1", FAKE_DNS_NO_AAAA, 60 },
	{ "fail.test", "", FAKE_DNS_FAIL, 60 },
	{ "many.test", "198.51.100.1", FAKE_DNS_A, 60 },
	{ 0 },
};

static struct fake_dns *dns;
static struct worker w;

struct got {
	bool done;
	unsigned calls;
	int code;
	uint8_t n, n_aliases;
	struct addr addrs[RESOLVE_ADDRS_MAX];
	struct name aliases[RESOLVE_CNAMES_MAX];
};

static void on_resolved(void *arg, const struct resolved *res)
{
	struct got *g = arg;

	g->done = true;
	g->calls++;
	g->code = res->code;
	g->n = res->n;
	g->n_aliases = res->n_aliases;
	memcpy(g->addrs, res->addrs, sizeof(g->addrs));
	for (unsigned i = 0; i < res->n_aliases; i++)
		g->aliases[i] = res->aliases[i];
}

static struct name name_of(const char *s)
{
	struct name n = { .len = 0 };

	if (name_canon(slice_str(s), &n) < 0)
		abort();
	return n;
}

static struct got ask(const char *s, uint64_t ms)
{
	struct name n = name_of(s);
	struct resolve_query *q;
	struct got g = { .code = 1 };
	int rc = resolver_ask(w.resolver, NULL, &n, on_resolved, &g, &q);

	if (!ok(rc == 0 && !g.done, "%s is asked, with no call from within", s))
		return g;
	if (!round_until(&w, &g.done, ms))
		resolver_cancel(q);
	return g;
}

struct ask_case {
	const char *name;
	int code;
	unsigned n, aliases;
};

static const struct ask_case ask_cases[] = {
	{ "a.test", 0, 1, 0 },
	{ "dual.test", 0, 3, 0 },
	{ "six.test", 0, 1, 0 },
	{ "ten.test", 0, 10, 0 },
	{ "c1.test", 0, 1, 2 },
	{ "d2.test", 0, 1, 8 },
	{ "d1.test", -ELOOP, 0, 0 },
	{ "loop.test", -ENOENT, 0, 0 },
	{ "blank.test", -EIO, 0, 0 },
	{ "stranger.name.test", -EIO, 0, 0 },
	{ "forged.test", 0, 1, 0 },
	{ "pointer.test", -EIO, 0, 0 },
	{ "big.test", 0, RESOLVE_ADDRS_MAX, 0 },
	{ "noaaaa.test", 0, 1, 0 },
	{ "fail.test", -EIO, 0, 0 },
	{ "nothing.test", -ENOENT, 0, 0 },
	{ "many", -ENOENT, 0, 0 }, /* no search domain is added */
};

static void test_answers(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(ask_cases); i++) {
		const struct ask_case *c = &ask_cases[i];
		uint64_t begun = clock_ms();
		struct got g = ask(c->name, GIVE_UP_MS);

		is_int(g.code, c->code, "%s: code", c->name);
		is_int(g.n, c->n, "%s: addresses", c->name);
		if (c->code == 0)
			is_int(g.n_aliases, c->aliases, "%s: aliases", c->name);
		ok(clock_ms() - begun < RESOLVE_TIMEOUT_MS, "%s: at once",
		   c->name);
	}
	is_int(fake_dns_asked(dns, "many.test"), 0,
	       "nobody asked for more than was asked");
}

static void test_details(void)
{
	struct name asked = name_of("c1.test");
	struct got g = ask("c1.test", GIVE_UP_MS);
	char text[ADDR_TEXT_MAX];

	is_str(g.aliases[0].s, "c2.test", "the chain in its order");
	is_str(g.aliases[1].s, "a.test", "to its end");
	is_str(addr_text(&g.addrs[0], text), "198.51.100.1", "the address");
	is_int(fake_dns_asked(dns, asked.s), 2, "A and AAAA, then the cache");
	g = ask("forged.test", GIVE_UP_MS);
	is_str(addr_text(&g.addrs[0], text), "198.51.100.1",
	       "the true answer, not a forged one (D10)");
}

/* What nobody answers in a way that may be believed ends in time. */
static void test_timeouts(void)
{
	static const char *const names[] = { "silent.test", "wrongid.test",
					     "question.test" };
	struct got g[ARRAY_SIZE(names)] = { 0 };
	struct resolve_query *q;
	uint64_t begun = clock_ms();

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct name n = name_of(names[i]);

		resolver_ask(w.resolver, NULL, &n, on_resolved, &g[i], &q);
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		round_until(&w, &g[i].done, GIVE_UP_MS);
		is_int(g[i].n, 0, "%s: no address", names[i]);
		ok(g[i].done && g[i].code < 0, "%s: code %d", names[i],
		   g[i].code);
	}
	ok(clock_ms() - begun >= RESOLVE_TIMEOUT_MS - 100,
	   "after five seconds, all at once");
}

static void test_cache(void)
{
	struct name zero = name_of("zero.test"), shrt = name_of("short.test"),
		    lng = name_of("long.test"), no = name_of("absent.test");
	const struct resolved *res;
	struct got g = ask("zero.test", GIVE_UP_MS);

	is_int(g.n, 1, "a flipping name");
	ok(resolver_cached(w.resolver, &zero, &res) && res->n == 1 &&
		   addr_eq(&res->addrs[0], &g.addrs[0]),
	   "TTL 0 is kept all the same (N12)");
	ask("short.test", GIVE_UP_MS);
	ask("long.test", GIVE_UP_MS);
	ask("absent.test", GIVE_UP_MS);
	w.now_ms += 4000;
	ok(resolver_cached(w.resolver, &no, &res) && res->code == -ENOENT,
	   "a failure is kept");
	w.now_ms += 2000;
	ok(!resolver_cached(w.resolver, &no, &res), "for five seconds");
	w.now_ms += 23000;
	ok(resolver_cached(w.resolver, &shrt, &res), "a short TTL is 30 s");
	w.now_ms += 2000;
	ok(!resolver_cached(w.resolver, &shrt, &res), "and no more");
	w.now_ms += 3500 * 1000;
	ok(resolver_cached(w.resolver, &lng, &res), "a long one is an hour");
	w.now_ms += 100 * 1000;
	ok(!resolver_cached(w.resolver, &lng, &res), "and no more");
}

struct nested {
	struct got got;
	struct resolve_query *other;
};

static void on_nested(void *arg, const struct resolved *res)
{
	struct nested *n = arg;

	on_resolved(&n->got, res);
	resolver_cancel(n->other);
	n->other = NULL;
}

static void test_coalescing(void)
{
	struct name n = name_of("many.test");
	struct resolve_query *q[10];
	struct got g = { 0 };
	struct nested nested = { 0 };

	for (unsigned i = 0; i < 9; i++)
		resolver_ask(w.resolver, NULL, &n, on_resolved, &g, &q[i]);
	resolver_ask(w.resolver, NULL, &n, on_nested, &nested, &q[9]);
	resolver_ask(w.resolver, NULL, &n, on_resolved, &g, &nested.other);
	resolver_cancel(q[3]);
	round_until(&w, &nested.got.done, GIVE_UP_MS);
	is_int(g.calls, 8, "all but those who cancelled are told, once");
	is_int(nested.got.calls, 1, "one cancelled another meanwhile");
	is_int(fake_dns_asked(dns, "many.test"), 2, "and one question sent");
}

static void test_bounds(void)
{
	static struct resolve_query *q[RESOLVE_PENDING_MAX + 1];
	struct got g = { 0 };
	struct name dead = name_of("dead.absent"), other = name_of("o.absent");
	struct resolve_query *beside = NULL;
	char text[32];
	unsigned i, n = 0;

	for (i = 0; i < ARRAY_SIZE(q); i++)
		if (resolver_ask(w.resolver, NULL, &dead, on_resolved, &g,
				 &q[i]) < 0)
			break;
	is_int(i, ARRAY_SIZE(q), "any number waits for one name");
	is_int(resolver_ask(w.resolver, NULL, &other, on_resolved, &g, &beside),
	       0, "and that keeps nobody from asking for another");
	resolver_cancel(beside);
	while (i-- > 0)
		resolver_cancel(q[i]);
	for (i = 0; i < ARRAY_SIZE(q); i++) {
		struct name name;

		snprintf(text, sizeof(text), "n%u.absent", i);
		name = name_of(text);
		if (resolver_ask(w.resolver, NULL, &name, on_resolved, &g,
				 &q[i]) < 0)
			break;
	}
	is_int(i, RESOLVE_PENDING_MAX, "so many may wait");
	while (i-- > 0)
		resolver_cancel(q[i]);
	is_int(g.calls, 0, "all are cancelled");
	for (i = 0; i < RESOLVE_CACHE_MAX + 100 && n < 100; i++) {
		struct name name;
		struct resolve_query *one;

		snprintf(text, sizeof(text), "m%u.absent", i);
		name = name_of(text);
		if (resolver_ask(w.resolver, NULL, &name, on_resolved, &g,
				 &one) < 0)
			n++;
		else
			resolver_cancel(one);
	}
	is_int(n, 100, "no more names than the cache holds, all unanswered");
}

static struct resolve_query *kept[LIMIT_LOOKUPS];

/* How many names of its own @agent may ask for. */
static unsigned ask_until_refused(struct agent *agent, const char *prefix,
				  int *ret_why)
{
	struct got g = { 0 };
	unsigned n = 0;
	char text[32];

	for (*ret_why = 0; *ret_why == 0; n += *ret_why == 0) {
		struct resolve_query *q;
		struct name name;

		snprintf(text, sizeof(text), "%s%u.absent", prefix, n);
		name = name_of(text);
		*ret_why = resolver_ask(w.resolver, agent, &name, on_resolved,
					&g, &q);
		/* Nobody waits any more, and yet the question is out. */
		if (*ret_why == 0 && n % 2)
			resolver_cancel(q);
		else if (*ret_why == 0)
			kept[n / 2 % ARRAY_SIZE(kept)] = q;
	}
	for (unsigned i = 0; i < (n + 1) / 2; i++)
		resolver_cancel(kept[i]);
	return n;
}

/* Names without an answer, asked for by two, leave a third its place. */
static void test_shares(void)
{
	struct addr none = { .family = 0 };
	struct agent *a = agent_new("a", &none), *b = agent_new("b", &none),
		     *c = agent_new("c", &none);
	struct name known = name_of("a.test"), asked = name_of("p0.absent");
	struct resolve_query *q = NULL;
	struct got g = { 0 };
	int why;

	ask("a.test", GIVE_UP_MS);
	is_int(ask_until_refused(a, "p", &why), LIMIT_LOOKUPS,
	       "one sandbox has its share");
	is_int(why, -EDQUOT, "and is refused for that");
	is_int(ask_until_refused(b, "q", &why), LIMIT_LOOKUPS,
	       "so has a second one");
	is_int(resolver_ask(w.resolver, a, &known, on_resolved, &g, &q), 0,
	       "what is known costs nothing");
	resolver_cancel(q);
	is_int(resolver_ask(w.resolver, a, &asked, on_resolved, &g, &q), 0,
	       "nor does what is asked already");
	resolver_cancel(q);
	is_int(ask_until_refused(c, "r", &why), LIMIT_LOOKUPS,
	       "a third one asks as if it were alone");
	for (unsigned i = 0; i < 400 && atomic_load(&a->usage.lookups); i++)
		round_run(&w, 20);
	is_int(atomic_load(&a->usage.lookups), 0, "an answer gives it back");
	for (unsigned i = 0; i < 400 && atomic_load(&c->usage.lookups); i++)
		round_run(&w, 20);
	agent_unref(a);
	agent_unref(b);
	agent_unref(c);
}

int main(void)
{
	const char *servers[2] = { NULL };
	static struct worker_opts opts;
	struct err err = { 0 };

	if (!ok(fake_dns_start(records, &dns, &servers[0]) == 0, "a server"))
		return done_testing();
	round_init(&w, &opts);
	if (ok(resolver_new(&w, servers, &w.resolver, &err) == 0,
	       "a resolver")) {
		test_answers();
		test_details();
		test_timeouts();
		test_coalescing();
		test_shares();
		test_bounds();
		round_end(&w);
		resolver_free(w.resolver);
		resolver_new(&w, servers, &w.resolver, &err);
		test_cache();
		round_end(&w);
		resolver_free(w.resolver);
	}
	servers[0] = "no address";
	ok(resolver_new(&w, servers, &w.resolver, &err) < 0,
	   "servers that make no sense: %s", err.msg);
	round_done(&w);
	fake_dns_stop(dns);
	return done_testing();
}
