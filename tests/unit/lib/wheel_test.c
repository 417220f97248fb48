/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wheel_test.c - the timer wheel against a plain list
 */
#include "lib/wheel.h"

#include "tests/unit/tap.h"

struct probe {
	struct wheel_timer timer; /* first */
	uint64_t due_ms, fired_ms;
	unsigned fired;
};

static uint64_t clock_now;
static struct wheel wheel;

static void probe_fn(struct wheel_timer *t)
{
	struct probe *p = (struct probe *)t;

	p->fired++;
	p->fired_ms = clock_now;
}

static void test_distances(void)
{
	static const uint64_t ms[] = {
		0,         1,         15,        16,         17,      1000,
		1023,      1024,      1025,      5000,       65535,   65536,
		65537,     600000,    4194303,   4194304,    4194305, 43200000,
		268435455, 268435456, 300000000, 1000000000,
	};

	for (size_t i = 0; i < ARRAY_SIZE(ms); i++) {
		struct probe p = { .timer.fn = probe_fn };
		unsigned rounds = 0;

		clock_now = 123456789 + i * 7;
		wheel_init(&wheel, clock_now);
		p.due_ms = clock_now + ms[i];
		wheel_set(&wheel, &p.timer, clock_now, ms[i]);
		while (p.fired == 0 && rounds++ < 2000) {
			int wait = wheel_wait(&wheel, clock_now);

			if (wait < 0)
				break;
			clock_now += (uint64_t)wait;
			wheel_run(&wheel, clock_now);
		}
		ok(p.fired == 1 && p.fired_ms >= p.due_ms &&
			   p.fired_ms <= p.due_ms + 2 * WHEEL_TICK_MS &&
			   rounds < 70,
		   "%llu ms: not early, not late, %u wake-ups",
		   (unsigned long long)ms[i], rounds);
		ok(wheel_wait(&wheel, clock_now) == -1, "then it sleeps");
	}
}

/* The same on each run. */
static unsigned dice(void)
{
	static uint64_t state = 4;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33);
}

/* Whatever is set, pushed back and cleared: each fires once, in its tick. */
static void test_random(void)
{
	enum { N = 2000 };
	static struct probe v[N];
	unsigned early = 0, late = 0, lost = 0, armed = 0;

	clock_now = 99999;
	wheel_init(&wheel, clock_now);
	for (size_t i = 0; i < N; i++)
		v[i] = (struct probe){ .timer.fn = probe_fn };
	for (unsigned step = 0; step < 20000; step++) {
		struct probe *p = &v[dice() % N];
		uint64_t ms = dice() % (1u << (dice() % 20 + 1));

		if (dice() % 4 == 0) {
			wheel_clear(&p->timer, &wheel);
			p->due_ms = 0;
		} else {
			wheel_set(&wheel, &p->timer, clock_now, ms);
			p->due_ms = clock_now + ms;
		}
		p->fired = 0;
		clock_now += dice() % 40;
		wheel_run(&wheel, clock_now);
		for (size_t i = 0; step % 50 == 0 && i < N; i++)
			late += v[i].due_ms && !v[i].fired &&
				v[i].due_ms + WHEEL_TICK_MS < clock_now;
	}
	for (size_t i = 0; i < N; i++)
		armed += v[i].timer.link != NULL;
	is_int(wheel.armed, armed, "what is armed is counted");
	clock_now += 1 << 21;
	wheel_run(&wheel, clock_now);
	for (size_t i = 0; i < N; i++) {
		early += v[i].fired && v[i].fired_ms < v[i].due_ms;
		lost += (v[i].due_ms != 0) != (v[i].fired == 1);
	}
	is_int(early, 0, "none was early");
	is_int(late, 0, "none was late");
	is_int(lost, 0, "none was lost, none fired that was cleared");
	is_int(wheel.armed, 0, "nothing is left");
}

static struct probe other;

static void again_fn(struct wheel_timer *t)
{
	struct probe *p = (struct probe *)t;

	wheel_clear(&other.timer, &wheel);
	if (++p->fired < 3)
		wheel_set(&wheel, t, clock_now, 0);
}

static void test_callbacks(void)
{
	struct probe p = { .timer.fn = again_fn };

	clock_now = 1000;
	wheel_init(&wheel, clock_now);
	other = (struct probe){ .timer.fn = probe_fn };
	/* Both in one slot; the one that is set last fires first. */
	wheel_set(&wheel, &other.timer, clock_now, 100);
	wheel_set(&wheel, &p.timer, clock_now, 100);
	clock_now += 200;
	wheel_run(&wheel, clock_now);
	is_int(other.fired, 0, "cleared by a neighbour's callback");
	is_int(p.fired, 1, "set anew from within: not in the same turn");
	for (unsigned i = 0; i < 4; i++) {
		clock_now += WHEEL_TICK_MS;
		wheel_run(&wheel, clock_now);
	}
	is_int(p.fired, 3, "but in the next ones");
	is_int(wheel.armed, 0, "nothing is left");
}

static void test_jump(void)
{
	struct probe p = { .timer.fn = probe_fn };

	clock_now = 5;
	wheel_init(&wheel, clock_now);
	clock_now = UINT64_C(1) << 45; /* a thousand years of nothing */
	wheel_run(&wheel, clock_now);
	wheel_set(&wheel, &p.timer, clock_now, 50);
	ok(wheel_wait(&wheel, clock_now) <= 64, "an empty wheel keeps up");
	clock_now += 66;
	wheel_run(&wheel, clock_now);
	is_int(p.fired, 1, "and fires");
	wheel_set(&wheel, &p.timer, clock_now, UINT64_MAX);
	ok(p.timer.link && wheel_wait(&wheel, clock_now) > 0,
	   "for ever is a time as well");
	wheel_clear(&p.timer, &wheel);
	wheel_clear(&p.timer, &wheel);
	is_int(wheel_wait(&wheel, clock_now), -1, "cleared twice is cleared");
}

int main(void)
{
	test_distances();
	test_random();
	test_callbacks();
	test_jump();
	return done_testing();
}
