/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease_test.c - addresses for names, who asked for them, and what could
 * not be reached
 */
#include "ottergate/dns/lease.h"

#include <dlfcn.h>
#include <pthread.h>

#include "ottergate/policy/net/synthetic.h"
#include "tests/unit/ottergate/policies.h"
#include "tests/unit/tap.h"

static const char text[] =
	"version: 1\n"
	"agents:\n"
	"  - id: coder\n"
	"    match: { address: 172.20.0.7 }\n"
	"    allow:\n"
	"      - { id: ssh, names: [git.test, db.test], ports: [22],"
	" proto: tcp }\n"
	"      - { id: web, names: [www.test] }\n";
/* The same, without a name for plain TCP. */
static const char plain[] = "version: 1\n"
			    "agents:\n"
			    "  - id: coder\n"
			    "    match: { address: 172.20.0.7 }\n";

static struct policy *policies[2];
static struct agent_policy *tcp, *none; /* of the two */
static struct agent *agent;

static struct agent_policy *load(const char *yaml, struct policy **ret)
{
	struct agent_policy *const *agents;
	struct err err = { 0 };

	if (policy_of(yaml, ret, NULL, &err) < 0 ||
	    policy_agents(*ret, &agents) != 1) {
		printf("Bail out! %s\n", err.msg);
		exit(1);
	}
	return agents[0];
}

static struct agent *new_agent(void)
{
	struct addr a = addr_v4(0xac140007);
	struct agent *made = agent_new("coder", &a);

	if (!made)
		abort();
	return made;
}

static struct name nth(unsigned i)
{
	char s[32];

	snprintf(s, sizeof(s), "n%u.test", i);
	return name_of(s);
}

static bool stands_for(const struct agent_policy *p, const struct addr *a,
		       const char *want)
{
	struct name got = { 0 };

	return lease_name(agent, p, a, &got) && strcmp(got.s, want) == 0 &&
	       got.len == strlen(want);
}

static void test_names(void)
{
	struct name www = name_of("www.test"), evil = name_of("evil.test");
	struct name git = name_of("git.test"), none_yet;
	struct addr a = lease_take(agent, tcp, &www);
	struct addr b = lease_take(agent, tcp, &evil);
	struct addr c = lease_take(agent, tcp, &git);
	struct addr fixed = agent_policy_synthetic(tcp, &git), again;
	struct addr unknown = addr_v4(0xc6130001), own = addr_v4(0xac140035);

	ok(synthetic_has(&a) && synthetic_has(&b) && !addr_eq(&a, &b),
	   "allowed or not, each has its own of one range");
	again = lease_take(agent, tcp, &www);
	ok(addr_eq(&a, &again), "the same the next time");
	ok(addr_eq(&c, &fixed), "a name of a tcp rule has that of the policy");
	ok(stands_for(tcp, &a, "www.test") &&
		   stands_for(tcp, &b, "evil.test") &&
		   stands_for(tcp, &c, "git.test"),
	   "and back");
	ok(!lease_name(agent, tcp, &unknown, &none_yet) &&
		   !lease_name(agent, tcp, &own, &none_yet),
	   "others stand for nothing");
	struct agent *fresh = new_agent();

	ok(!lease_name(fresh, tcp, &a, &none_yet), "nothing is asked yet");
	again = lease_take(fresh, tcp, &www);
	ok(addr_eq(&a, &again), "a gateway that was started anew has the same");
	agent_unref(fresh);
}

/* A name whose home is where @taken has its own. */
static struct name same_home(const struct name *taken)
{
	uint32_t want = synthetic_home(taken) % 0x1fffe;

	for (unsigned i = 0; i < 4000000; i++) {
		struct name n = nth(i);

		if (synthetic_home(&n) % 0x1fffe == want)
			return n;
	}
	abort();
}

static void test_collision(void)
{
	struct name git = name_of("git.test"), other = same_home(&git);
	struct addr a = lease_take(agent, none, &other);
	struct addr fixed = agent_policy_synthetic(tcp, &git), b;

	ok(addr_eq(&a, &fixed), "its home, as long as nobody else has it");
	ok(stands_for(tcp, &a, "git.test"), "the policy's name is first");
	b = lease_take(agent, tcp, &other);
	ok(!addr_eq(&b, &fixed) && stands_for(tcp, &b, other.s),
	   "the next question brings another address");
	is_int(b.b[3], (uint8_t)(fixed.b[3] + 1), "the next one");
	b = lease_take(agent, tcp, &git);
	ok(addr_eq(&b, &fixed), "the policy's stays");
}

static void test_full(void)
{
	struct name first = nth(0), second = nth(1), got;
	struct agent *a = new_agent();
	struct addr at[3];
	unsigned known = 0;

	at[0] = lease_take(a, none, &first);
	at[1] = lease_take(a, none, &second);
	for (unsigned i = 2; i < LEASE_NAMES_MAX; i++) {
		struct name n = nth(i);

		lease_take(a, none, &n);
	}
	ok(lease_name(a, none, &at[0], &got) &&
		   lease_name(a, none, &at[1], &got),
	   "as many as there may be");
	lease_take(a, none, &first); /* now the second is the oldest */
	for (unsigned i = 0; i < 3 * LEASE_NAMES_MAX; i++) {
		struct name n = nth(LEASE_NAMES_MAX + i);

		at[2] = lease_take(a, none, &n);
		if (at[2].family == 4 && lease_name(a, none, &at[2], &got) &&
		    strcmp(got.s, n.s) == 0)
			known++;
		if (i == 0)
			ok(!lease_name(a, none, &at[1], &got) &&
				   lease_name(a, none, &at[0], &got) &&
				   strcmp(got.s, first.s) == 0,
			   "the one longest unasked made room");
	}
	is_int(known, 3 * LEASE_NAMES_MAX, "each that came had a place");
	agent_unref(a);
}

/* Names that all want one place: a sandbox may make them. */
static void test_crowd(void)
{
	struct agent *a = new_agent();
	unsigned had = 0, tries = 0;
	struct name seen;

	/* Within 1/512 of the range: places are near to each other. */
	for (unsigned i = 0; tries < 600; i++) {
		struct name n = nth(i);
		struct addr at;

		if (synthetic_home(&n) % 0x1fffe >= 256)
			continue;
		tries++;
		at = lease_take(a, none, &n);
		if (at.family == 0)
			continue;
		had += lease_name(a, none, &at, &seen) &&
		       strcmp(seen.s, n.s) == 0;
	}
	ok(had >= 256 && had <= 256 + LEASE_PLACES,
	   "%u have an address, the rest the gateway's own", had);
	agent_unref(a);
}

/* --- who asked ------------------------------------------------------------ */

static struct program prog(uint32_t pid, const char *exe)
{
	struct program p = { .pid = pid };

	snprintf(p.exe, sizeof(p.exe), "%s", exe);
	return p;
}

static const struct {
	const char *what;
	struct {
		unsigned at, pid;
		const char *exe;
	} asks[3];
	unsigned now;
	bool known;
	unsigned pid;
	const char *exe;
} askers[] = {
	{ "one", { { 0, 1, "/a" } }, 1, true, 1, "/a" },
	{ "at the end", { { 0, 1, "/a" } }, LEASE_ASKER_MS, true, 1, "/a" },
	{ "too late", { { 0, 1, "/a" } }, LEASE_ASKER_MS + 2, false, 0, "" },
	{ "nothing said", { { 0, 0, "" } }, 1, false, 0, "" },
	{ "the same again",
	  { { 0, 1, "/a" }, { 5000, 1, "/a" } },
	  9000,
	  true,
	  1,
	  "/a" },
	{ "two of one program",
	  { { 0, 1, "/a" }, { 10, 2, "/a" } },
	  20,
	  true,
	  0,
	  "/a" },
	{ "two programs",
	  { { 0, 1, "/a" }, { 10, 2, "/b" } },
	  20,
	  false,
	  0,
	  "" },
	{ "and one comes back",
	  { { 0, 1, "/a" }, { 10, 2, "/b" }, { 20, 1, "/a" } },
	  30,
	  false,
	  0,
	  "" },
	{ "one pid, two programs",
	  { { 0, 1, "/a" }, { 10, 1, "/b" } },
	  20,
	  false,
	  0,
	  "" },
	{ "the other is long gone",
	  { { 0, 1, "/a" }, { 7500, 2, "/b" } },
	  7600,
	  true,
	  2,
	  "/b" },
};

static void test_askers(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(askers); i++) {
		struct addr to = addr_v4(0xc6120100), other = addr_v4(1);
		struct agent *a = new_agent();
		struct program got = { 0 };
		bool known;

		for (size_t k = 0; k < 3 && askers[i].asks[k].exe; k++) {
			struct program p = prog(askers[i].asks[k].pid,
						askers[i].asks[k].exe);

			lease_ask(a, &to, 22, &p, 1000 + askers[i].asks[k].at);
		}
		known = lease_asker(a, &to, 22, 1000 + askers[i].now, &got);
		is_int(known, askers[i].known, "%s", askers[i].what);
		if (known) {
			is_int(got.pid, askers[i].pid, "%s: pid",
			       askers[i].what);
			is_str(got.exe, askers[i].exe, "%s: exe",
			       askers[i].what);
		}
		ok(!lease_asker(a, &to, 23, 1000 + askers[i].now, &got) &&
			   !lease_asker(a, &other, 22, 1000 + askers[i].now,
					&got),
		   "%s: nothing elsewhere", askers[i].what);
		agent_unref(a);
	}
}

static void test_many_askers(void)
{
	struct addr to = addr_v4(0xc6120100);
	struct agent *a = new_agent();
	struct program got, p = prog(7, "/usr/bin/x");
	unsigned known = 0;

	for (uint16_t port = 1; port <= 5000; port++)
		lease_ask(a, &to, port, &p, 1000);
	for (uint16_t port = 1; port <= 5000; port++)
		known += lease_asker(a, &to, port, 1001, &got);
	ok(known > 0 && known <= LEASE_ASKERS_MAX, "no more than there may be");
	agent_unref(a);
}

/* --- what could not be reached -------------------------------------------- */

static void test_failures(void)
{
	const struct lease_host www = { "www.test", { 0 }, 443 };
	const struct lease_host other_port = { "www.test", { 0 }, 444 };
	const struct lease_host other = { "ww.test", { 0 }, 443 };
	const struct lease_host v4 = { NULL, addr_v4(0xc6336401), 443 };
	const struct lease_host v4_other = { NULL, addr_v4(0xc6336402), 443 };
	const uint64_t end = 1000 + LEASE_FAILURE_MS;
	struct agent *a = new_agent(), *b = new_agent();

	is_int(lease_failure(a, &www, 1000), REASON_ALLOWED, "none is known");
	lease_reached(a, &www, REASON_ALLOWED, 1000);
	ok(!atomic_load(&a->leases), "what is reached takes no memory");
	lease_reached(a, &www, REASON_NO_ROUTE, 1000);
	lease_reached(a, &v4, REASON_CONNECT_TIMEOUT, 1000);
	is_int(lease_failure(a, &www, 1000), REASON_NO_ROUTE, "a name");
	is_int(lease_failure(a, &v4, 1000), REASON_CONNECT_TIMEOUT,
	       "an address");
	ok(lease_failure(a, &other_port, 1000) == REASON_ALLOWED &&
		   lease_failure(a, &other, 1000) == REASON_ALLOWED &&
		   lease_failure(a, &v4_other, 1000) == REASON_ALLOWED &&
		   lease_failure(b, &www, 1000) == REASON_ALLOWED,
	   "no other port, host or sandbox");
	is_int(lease_failure(a, &www, end), REASON_NO_ROUTE, "for so long");
	is_int(lease_failure(a, &www, end + 2), REASON_ALLOWED, "not longer");
	lease_reached(a, &www, REASON_CONNECT_REFUSED, 2000);
	is_int(lease_failure(a, &www, end + 2), REASON_CONNECT_REFUSED,
	       "the last one counts");
	lease_reached(a, &other, REASON_ALLOWED, 2001);
	is_int(lease_failure(a, &www, 2001), REASON_CONNECT_REFUSED,
	       "another that is reached is another");
	lease_reached(a, &www, REASON_ALLOWED, 2001);
	is_int(lease_failure(a, &www, 2001), REASON_ALLOWED,
	       "forgotten once it is reached");
	is_int(lease_failure(a, &v4, 2001), REASON_CONNECT_TIMEOUT,
	       "alone of all");
	agent_unref(a);
	agent_unref(b);
}

/* Another worker reaches the host as soon as the failure has left the lock. */
static struct agent *reached_after;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int pthread_mutex_unlock(pthread_mutex_t *lock)
{
	static int (*real)(pthread_mutex_t *);
	static const struct lease_host www = { "www.test", { 0 }, 443 };
	struct agent *a = reached_after;
	int rc;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	rc = real(lock);
	reached_after = NULL;
	if (a)
		lease_reached(a, &www, REASON_ALLOWED, 1000);
	return rc;
}

static void test_reached_at_once(void)
{
	const struct lease_host www = { "www.test", { 0 }, 443 };
	struct agent *a = new_agent();

	/* Its table is there, so the next lock is the failure's. */
	is_int(lease_failure(a, &www, 1000), REASON_ALLOWED, "none is known");
	lease_ask(a, &(struct addr){ .family = 4 }, 1, &(struct program){ 0 },
		  1000);
	reached_after = a;
	lease_reached(a, &www, REASON_NO_ROUTE, 1000);
	ok(!reached_after, "another worker reached it");
	is_int(lease_failure(a, &www, 1000), REASON_ALLOWED,
	       "a success takes back the failure before it");
	agent_unref(a);
}

static void test_many_failures(void)
{
	struct agent *a = new_agent();
	unsigned known = 0;

	for (unsigned i = 0; i < 5000; i++) {
		struct name n = nth(i);
		struct lease_host host = { n.s, { 0 }, 443 };

		lease_reached(a, &host, REASON_DNS_FAILED, 1000 + i);
		known += lease_failure(a, &host, 1000 + i) == REASON_DNS_FAILED;
	}
	is_int(known, 5000, "each is known at first");
	known = 0;
	for (unsigned i = 0; i < 5000; i++) {
		struct name n = nth(i);
		struct lease_host host = { n.s, { 0 }, 443 };

		known += lease_failure(a, &host, 6000) != REASON_ALLOWED;
	}
	is_int(known, LEASE_FAILURES_MAX, "then no more than there may be");
	agent_unref(a);
}

/* --- several workers ------------------------------------------------------ */

static void *hammer(void *arg)
{
	unsigned from = *(unsigned *)arg, wrong = 0;

	for (unsigned i = 0; i < 4000; i++) {
		struct name n = nth(from + i % 600), got;
		struct addr at = lease_take(agent, tcp, &n);
		struct program p = prog(from, "/x");

		wrong += !lease_name(agent, tcp, &at, &got) ||
			 strcmp(got.s, n.s) != 0;
		lease_ask(agent, &at, 443, &p, i);
		lease_asker(agent, &at, 443, i, &p);
		lease_reached(agent, &(struct lease_host){ n.s, { 0 }, 443 },
			      i % 2 ? REASON_ALLOWED : REASON_NO_ROUTE, i);
	}
	*(unsigned *)arg = wrong;
	return NULL;
}

static void test_threads(void)
{
	unsigned args[] = { 0, 300, 600 };
	pthread_t t[ARRAY_SIZE(args)];

	agent_unref(agent);
	agent = new_agent();
	for (size_t i = 0; i < ARRAY_SIZE(args); i++)
		if (pthread_create(&t[i], NULL, hammer, &args[i]) != 0)
			abort();
	for (size_t i = 0; i < ARRAY_SIZE(args); i++) {
		pthread_join(t[i], NULL);
		is_int(args[i], 0, "worker %zu: each name, and back", i);
	}
}

int main(void)
{
	tcp = load(text, &policies[0]);
	none = load(plain, &policies[1]);
	agent = new_agent();
	test_names();
	test_collision();
	test_full();
	test_crowd();
	test_askers();
	test_many_askers();
	test_failures();
	test_reached_at_once();
	test_many_failures();
	test_threads();
	agent_unref(agent);
	policy_unref(policies[0]);
	policy_unref(policies[1]);
	return done_testing();
}
