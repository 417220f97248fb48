/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits_test.c - limits hold, whoever counts at the same time
 */
#include "ottergate/policy/limits.h"

#include <pthread.h>

#include "tests/unit/tap.h"

#define HOUR UINT64_C(3600000)
#define THREADS 4
#define ROUNDS 20000

/* A monotonic clock that begins in the middle of some hour. */
#define T0 (HOUR * 5 + 1000000)

static ATTR_PRINTF(1, 2) struct name name_of(const char *fmt, ...)
{
	struct name ret = { 0 };
	va_list ap;

	va_start(ap, fmt);
	ret.len = (uint8_t)vsnprintf(ret.s, sizeof(ret.s), fmt, ap);
	va_end(ap);
	return ret;
}

static void test_conns(void)
{
	const struct limits l = { .conns = 3, .half_open = 2 };
	struct usage u;

	usage_init(&u);
	is_int(usage_open(&u, &l, T0), REASON_ALLOWED, "first");
	is_int(usage_open(&u, &l, T0), REASON_ALLOWED, "second");
	is_int(usage_open(&u, &l, T0), REASON_LIMIT_HALF_OPEN,
	       "a third half-open one is refused");
	is_int(atomic_load(&u.conns), 2, "and not counted");
	usage_request(&u);
	is_int(usage_open(&u, &l, T0), REASON_ALLOWED, "room by a request");
	usage_request(&u);
	is_int(usage_open(&u, &l, T0), REASON_LIMIT_CONNS, "a fourth");
	usage_close(&u, false);
	is_int(usage_open(&u, &l, T0), REASON_ALLOWED, "room by an end");
	usage_close(&u, true);
	usage_close(&u, true);
	usage_close(&u, false);
	is_int(atomic_load(&u.conns), 0, "all are gone");
	is_int(atomic_load(&u.half_open), 0, "half-open ones too");
	usage_done(&u);
}

/* A kept connection is no way around the rate: each line of the audit costs
 * one of the same tokens. */
static void test_memory(void)
{
	const struct limits l = { .memory = 1 << 20 }, any = { .memory = 0 };
	struct usage u;

	usage_init(&u);
	is_int(usage_room(&u, &l), ROOM_FREE, "nothing is held");
	usage_hold(&u, 0, 1 << 19);
	is_int(usage_room(&u, &l), ROOM_SCARCE, "half of it");
	is_int(usage_open(&u, &l, T0), REASON_ALLOWED, "one more may come");
	usage_hold(&u, 1 << 19, 1 << 20);
	is_int(usage_room(&u, &l), ROOM_NONE, "all of it");
	is_int(usage_room(&u, &any), ROOM_FREE, "unless there is no limit");
	is_int(usage_open(&u, &l, T0), REASON_LIMIT_MEMORY, "no more");
	is_int(atomic_load(&u.conns), 1, "and it is not counted");
	usage_hold(&u, 1 << 20, 100);
	is_int(usage_open(&u, &l, T0), REASON_ALLOWED, "room again");
	for (unsigned i = 0; i < LIMIT_LOOKUPS; i++)
		usage_lookup(&u);
	ok(!usage_lookup(&u), "as many lookups as may be");
	is_int(atomic_load(&u.memory),
	       100 + LIMIT_LOOKUPS * LIMIT_MEMORY_LOOKUP, "are counted");
	for (unsigned i = 0; i < LIMIT_LOOKUPS; i++)
		usage_looked_up(&u);
	is_int(atomic_load(&u.memory), 100, "and are not any more");
	usage_done(&u);
}

static void test_again(void)
{
	const struct limits l = { .new_conns = 10 };
	struct usage u;
	unsigned n = 0;

	usage_init(&u);
	is_int(usage_open(&u, &l, T0), REASON_ALLOWED, "one connection");
	usage_request(&u);
	while (n < 100 && usage_again(&u, &l, T0) == REASON_ALLOWED)
		n++;
	is_int(n, 19, "its further requests use up the burst");
	is_int(usage_open(&u, &l, T0), REASON_LIMIT_RATE,
	       "which is that of new connections");
	atomic_store(&u.killed, true);
	is_int(usage_again(&u, &l, T0 + 60000), REASON_LIMIT_KILLED,
	       "a killed sandbox has none");
	is_int(usage_inspected(&u, "api", 0, T0), REASON_LIMIT_KILLED,
	       "and none by a rule without a limit");
	usage_close(&u, false);
	usage_done(&u);
}

static void test_rate(void)
{
	const struct limits l = { .new_conns = 10 };
	unsigned burst = 0, later = 0;
	struct usage u;

	usage_init(&u);
	for (int i = 0; i < 100; i++)
		burst += usage_open(&u, &l, T0) == REASON_ALLOWED;
	is_int(burst, 20, "a burst of two seconds' worth");
	is_int(atomic_load(&u.conns), 20, "only these are open");
	is_int(usage_open(&u, &l, T0 + 99), REASON_LIMIT_RATE, "not yet");
	is_int(usage_open(&u, &l, T0 + 100), REASON_ALLOWED, "100 ms later");
	for (unsigned ms = 100; ms <= 10100; ms += 5)
		later += usage_open(&u, &l, T0 + ms) == REASON_ALLOWED;
	is_int(later, 100, "ten a second from then on");
	is_int(usage_open(&u, &l, T0 + HOUR), REASON_ALLOWED, "an hour later");
	usage_done(&u);
}

static void test_dns(void)
{
	const struct limits l = { .dns_qps = 5 };
	unsigned n = 0;
	struct usage u;

	usage_init(&u);
	for (int i = 0; i < 50; i++)
		n += usage_dns(&u, &l, T0) == REASON_ALLOWED;
	is_int(n, 10, "questions in a burst");
	is_int(usage_dns(&u, &l, T0), REASON_LIMIT_DNS, "then none");
	is_int(atomic_load(&u.dns_queries), 51, "all are counted");
	usage_done(&u);
}

/* What a program asks before it connects is no business of the policy. */
static void test_asks(void)
{
	const struct limits l = { .dns_qps = 5,
				  .new_conns = 5,
				  .on_limit = LIMIT_KILL };
	unsigned n = 0, told = 0;
	struct usage u;

	usage_init(&u);
	for (unsigned i = 0; i < 3 * LIMIT_ASKS; i++)
		n += usage_ask(&u, T0) == REASON_ALLOWED;
	is_int(n, 2 * LIMIT_ASKS, "asks in a burst, then none");
	is_int(usage_ask(&u, T0 + 1000), REASON_ALLOWED, "a second later");
	for (unsigned i = 0; i < 50; i++)
		told += usage_told(&u, &l, T0) == REASON_ALLOWED;
	is_int(told, 10, "denials of these, as many as new connections");
	is_int(usage_told(&u, &l, T0), REASON_LIMIT_RATE, "then none");
	ok(!atomic_load(&u.killed), "nothing of it kills");
	is_int(atomic_load(&u.dns_queries), 0, "nor is counted as DNS");
	for (unsigned i = 0; i < 10; i++)
		is_int(usage_dns(&u, &l, T0), REASON_ALLOWED,
		       "question %u is answered", i);
	for (unsigned i = 0; i < 10; i++)
		is_int(usage_open(&u, &l, T0), REASON_ALLOWED,
		       "connection %u is made", i);
	is_int(usage_dns(&u, &l, T0), REASON_LIMIT_DNS, "one too many");
	is_int(usage_ask(&u, T0 + 1000), REASON_LIMIT_KILLED,
	       "who is cut off need not ask");
	usage_done(&u);
}

static void test_bandwidth(void)
{
	const struct limits l = { .down = 1000000 };
	uint64_t now = T0, moved = 0;
	struct usage u;

	usage_init(&u);
	is_int(usage_bytes(&u, &l, false, 200000, now), 0, "within the burst");
	is_int(usage_bytes(&u, &l, false, 150000, now), 101,
	       "100 ms too much: rest");
	is_int(usage_bytes(&u, &l, true, 1 << 30, now), 0,
	       "the other direction is free");
	usage_done(&u);

	usage_init(&u);
	while (now < T0 + 10000) {
		int rest = usage_bytes(&u, &l, false, 65536, now);

		moved += 65536;
		now += (uint64_t)(rest > 0 ? rest : 0);
		if (rest < 0)
			break;
	}
	ok(moved > 9900000 && moved < 10500000,
	   "10 s at 1 MB/s move 10 MB (%llu)", (unsigned long long)moved);
	is_int(atomic_load(&u.total_down), moved, "all counted");
	usage_done(&u);
}

static void test_huge(void)
{
	const struct limits fast = { .up = UINT64_MAX };
	const struct limits slow = { .up = 1 };
	struct usage u;

	usage_init(&u);
	is_int(usage_bytes(&u, &fast, true, UINT64_C(1) << 60, T0), 0,
	       "a rate beyond all is none");
	is_int(usage_bytes(&u, &slow, true, 1000000, T0), 60000,
	       "a long rest is cut to a minute");
	usage_done(&u);
}

static void test_volume(void)
{
	static const struct {
		const char *what;
		enum on_limit on_limit;
		int bytes;
		enum reason open, dns;
	} rows[] = {
		{ "throttle", LIMIT_THROTTLE, 60000, REASON_LIMIT_VOLUME,
		  REASON_ALLOWED },
		{ "deny", LIMIT_DENY, -EDQUOT, REASON_LIMIT_VOLUME,
		  REASON_ALLOWED },
		{ "kill", LIMIT_KILL, -ECONNABORTED, REASON_LIMIT_KILLED,
		  REASON_LIMIT_KILLED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct limits l = { .volume_up = 1000,
					  .on_limit = rows[i].on_limit };
		const char *what = rows[i].what;
		struct usage u;

		usage_init(&u);
		is_int(usage_bytes(&u, &l, true, 999, T0), 0, "%s: below",
		       what);
		is_int(usage_rested(&u, &l, true, T0), 0, "%s: may go on",
		       what);
		is_int(usage_bytes(&u, &l, true, 1, T0), rows[i].bytes,
		       "%s: used", what);
		is_int(usage_rested(&u, &l, true, T0), rows[i].bytes,
		       "%s: still used", what);
		is_int(usage_open(&u, &l, T0), rows[i].open, "%s: open", what);
		is_int(usage_dns(&u, &l, T0), rows[i].dns, "%s: dns", what);
		if (rows[i].on_limit != LIMIT_KILL)
			is_int(usage_bytes(&u, &l, true, 999, T0 + HOUR), 0,
			       "%s: the next hour", what);
		usage_done(&u);
	}
}

static void test_rest_ends_with_hour(void)
{
	const struct limits l = { .volume_up = 1 };
	struct usage u;

	usage_init(&u);
	is_int(usage_bytes(&u, &l, true, 5, HOUR * 6 - 250), 250,
	       "a rest ends with the hour");
	usage_done(&u);
}

static void test_kill(void)
{
	const struct limits l = { .conns = 1, .on_limit = LIMIT_KILL };
	const struct name n = name_of("a.example"), none = { 0 };
	struct usage u;

	usage_init(&u);
	is_int(usage_open(&u, &l, T0), REASON_ALLOWED, "one");
	is_int(usage_open(&u, &l, T0), REASON_LIMIT_CONNS, "the limit");
	is_int(usage_open(&u, &l, T0), REASON_LIMIT_KILLED, "kills");
	is_int(usage_name(&u, &l, &n, NULL, 0, T0), REASON_LIMIT_KILLED,
	       "names too");
	is_int(usage_name(&u, &l, &none, NULL, 0, T0), REASON_LIMIT_KILLED,
	       "and addresses");
	is_int(usage_rested(&u, &l, true, T0), -ECONNABORTED, "what rests");
	is_int(usage_bytes(&u, &l, true, 1, T0), -ECONNABORTED,
	       "and what is open");
	usage_done(&u);
}

static void test_names(void)
{
	const struct limits l = { .new_names = 10, .new_subdomains = 3 };
	const struct rule web = { .id = "web" }, api = { .id = "api" };
	struct name n;
	unsigned allowed = 0;
	struct usage u;

	usage_init(&u);
	for (unsigned i = 0; i < 5; i++) {
		n = name_of("n%u.web.example", i);
		allowed += usage_name(&u, &l, &n, &web, 1, T0) ==
			   REASON_ALLOWED;
	}
	is_int(allowed, 3, "three below one wildcard");
	n = name_of("n%u.web.example", 0);
	is_int(usage_name(&u, &l, &n, &web, 1, T0), REASON_ALLOWED,
	       "a known one again");
	n = name_of("x%u.api.example", 0);
	is_int(usage_name(&u, &l, &n, &api, 1, T0), REASON_ALLOWED,
	       "another wildcard has its own");
	for (unsigned i = 0; i < 20; i++) {
		n = name_of("exact%u.example", i);
		allowed += usage_name(&u, &l, &n, &web, 0, T0) ==
			   REASON_ALLOWED;
	}
	is_int(allowed, 3 + 6, "ten names in all");
	n = name_of("n%u.web.example", 4);
	is_int(usage_name(&u, &l, &n, &web, 1, T0 + HOUR), REASON_ALLOWED,
	       "the next hour begins anew");
	for (unsigned i = 0; i < 20; i++) {
		n = name_of("late%u.example", i);
		allowed += usage_name(&u, &l, &n, &web, 0, T0 + HOUR) ==
			   REASON_ALLOWED;
	}
	is_int(allowed, 9 + 9, "and is used");
	n = name_of("back.example");
	is_int(usage_name(&u, &l, &n, &web, 0, T0), REASON_LIMIT_NAMES,
	       "a clock that lags does not begin it anew");
	usage_done(&u);
}

static void test_names_many(void)
{
	const struct limits l = { .new_names = 1000000 };
	const struct limits none = { 0 };
	unsigned allowed = 0, again = 0;
	struct name n;
	struct usage u;

	usage_init(&u);
	for (unsigned i = 0; i < 20000; i++) {
		n = name_of("n%u.example", i);
		allowed += usage_name(&u, &l, &n, NULL, 0, T0) ==
			   REASON_ALLOWED;
	}
	is_int(allowed, NAMES_SEEN_MAX, "the table is bounded");
	for (unsigned i = 0; i < NAMES_SEEN_MAX; i++) {
		n = name_of("n%u.example", i);
		again += usage_name(&u, &l, &n, NULL, 0, T0) == REASON_ALLOWED;
	}
	is_int(again, NAMES_SEEN_MAX, "and forgets none");
	n = name_of("new%u.example", 0);
	is_int(usage_name(&u, &none, &n, NULL, 0, T0), REASON_ALLOWED,
	       "without a limit it is not asked");
	usage_done(&u);
}

static void test_wildcards_many(void)
{
	const struct limits l = { .new_subdomains = 1 };
	unsigned allowed = 0;
	struct usage u;

	usage_init(&u);
	for (unsigned i = 0; i < 2 * NAMES_WILDCARDS_MAX; i++) {
		struct name n = name_of("a.w%u.example", i);
		char id[16];
		const struct rule r = { .id = id };

		snprintf(id, sizeof(id), "w%u", i);
		allowed += usage_name(&u, &l, &n, &r, 1, T0) == REASON_ALLOWED;
	}
	is_int(allowed, NAMES_WILDCARDS_MAX + 1,
	       "wildcards past the table share one counter");
	usage_done(&u);
}

struct race {
	struct usage *u;
	const struct limits *l;
	unsigned opened, named;
};

static void *race_thread(void *arg)
{
	struct race *r = arg;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct name n = name_of("n%u.example", i % 500);

		if (usage_open(r->u, r->l, T0) == REASON_ALLOWED) {
			r->opened++;
			usage_request(r->u);
			usage_close(r->u, false);
		}
		usage_bytes(r->u, r->l, true, 3, T0 + i % 2 * HOUR);
		r->named += usage_name(r->u, r->l, &n, NULL, 0, T0) ==
			    REASON_ALLOWED;
	}
	return NULL;
}

static void test_threads(void)
{
	const struct limits l = { .conns = 2,
				  .new_conns = 1000,
				  .volume_up = UINT64_C(1) << 40,
				  .new_names = 100 };
	struct race race[THREADS];
	pthread_t thread[THREADS];
	unsigned opened = 0;
	struct usage u;

	usage_init(&u);
	for (unsigned i = 0; i < THREADS; i++) {
		race[i] = (struct race){ .u = &u, .l = &l };
		pthread_create(&thread[i], NULL, race_thread, &race[i]);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		opened += race[i].opened;
	}
	is_int(atomic_load(&u.conns), 0, "every open was closed");
	is_int(atomic_load(&u.half_open), 0, "half-open ones too");
	ok(opened <= 2000, "the bucket let no more than its burst (%u)",
	   opened);
	is_int(atomic_load(&u.total_up), 3 * THREADS * ROUNDS, "no lost byte");
	for (unsigned i = 1; i < THREADS; i++)
		ok(race[i].named > 0, "thread %u had names", i);
	usage_done(&u);
}

static void test_threads_names(void)
{
	const struct limits l = { .new_names = 100 };
	struct race race[THREADS];
	pthread_t thread[THREADS];
	unsigned known = 0;
	struct usage u;

	usage_init(&u);
	for (unsigned i = 0; i < THREADS; i++) {
		race[i] = (struct race){ .u = &u, .l = &l };
		pthread_create(&thread[i], NULL, race_thread, &race[i]);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (unsigned i = 0; i < 500; i++) {
		struct name n = name_of("n%u.example", i);

		known += usage_name(&u, &l, &n, NULL, 0, T0) == REASON_ALLOWED;
	}
	is_int(known, 100, "as many names as one thread could have had");
	usage_done(&u);
}

static void test_packets(void)
{
	struct limits l = { .dns_qps = 200 };
	struct usage u;
	unsigned n = 0;

	usage_init(&u);
	for (unsigned i = 0; i < 4 * LIMIT_DNS_PACKETS; i++)
		n += usage_packet(&u, &l, T0);
	is_int(n, 2 * LIMIT_DNS_PACKETS, "packets of two seconds in a burst");
	is_int(usage_dns(&u, &l, T0), REASON_ALLOWED,
	       "which are no questions yet");
	is_int(usage_packet(&u, &l, T0 + 1000), true, "then as time allows");
	usage_done(&u);
	l.dns_qps = 1000000;
	usage_init(&u);
	n = 0;
	for (unsigned i = 0; i < 4 * LIMIT_DNS_PACKETS; i++)
		n += usage_packet(&u, &l, T0);
	is_int(n, 4 * LIMIT_DNS_PACKETS,
	       "a policy that allows more questions gets their packets");
	usage_done(&u);
}

int main(void)
{
	test_conns();
	test_memory();
	test_rate();
	test_again();
	test_dns();
	test_asks();
	test_bandwidth();
	test_huge();
	test_volume();
	test_rest_ends_with_hour();
	test_kill();
	test_names();
	test_names_many();
	test_wildcards_many();
	test_threads();
	test_threads_names();
	test_packets();
	return done_testing();
}
