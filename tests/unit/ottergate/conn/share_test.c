/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_test.c - who gets how much of a worker
 *
 * The clocks are the test's: a task costs as many nanoseconds as it says, so
 * what is counted is work, not time.
 */
#include "ottergate/conn/share.h"

#include "ottergate/conn/table.h"
#include "tests/unit/tap.h"

#define UNIT 20000u /* ns of a usual task: ten in a quantum */
#define TASKS 64u

static uint64_t wall, cpu;
static unsigned cpu_reads;

static uint64_t read_wall(void)
{
	return wall;
}

static uint64_t read_cpu(void)
{
	cpu_reads++;
	return cpu;
}

static const struct share_clocks clocks = { read_wall, read_cpu };

struct job {
	struct task task; /* first: the handler casts back */
	uint64_t costs; /* ns */
	uint64_t halted; /* ns in which the thread does not run */
	unsigned again; /* times that it queues itself */
	unsigned runs;
	unsigned at; /* the number of its last run, of all */
};

static struct shares *ss;
static struct agent *agents[3];
static unsigned ran;
static bool elsewhere; /* another worker serves the first agent meanwhile */

static void job_run(struct worker *w, struct task *t)
{
	struct job *j = (struct job *)t;

	(void)w;
	j->runs++;
	j->at = ++ran;
	cpu += j->costs;
	if (elsewhere)
		atomic_fetch_add(&agents[0]->cpu_ns, j->costs);
	wall += j->costs + j->halted;
	if (j->again > 0) {
		j->again--;
		task_queue(ss, t);
	}
}

static void job_init(struct job *j, struct agent *a, uint64_t costs,
		     unsigned again)
{
	*j = (struct job){ .costs = costs, .again = again };
	task_init(ss, &j->task, a, job_run);
	task_queue(ss, &j->task);
}

static void up(void)
{
	static const char *const ids[] = { "a", "b", "c" };

	wall = 1000000000;
	cpu = 500000000;
	ran = cpu_reads = 0;
	ss = shares_new(&clocks);
	for (uint32_t i = 0; i < 3; i++) {
		struct addr at = addr_v4(0xac140002 + i);

		agents[i] = agent_new(ids[i], &at);
	}
}

static void down(void)
{
	shares_free(ss);
	for (unsigned i = 0; i < 3; i++)
		agent_unref(agents[i]);
}

static void rounds(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		shares_run(ss, NULL);
}

static uint64_t paid(unsigned i)
{
	return atomic_load(&agents[i]->cpu_ns);
}

static void test_alone(void)
{
	struct job j;

	up();
	job_init(&j, agents[0], UNIT, 999);
	ok(shares_wait(ss), "what is queued keeps the worker awake");
	rounds(1);
	ok(j.runs >= 10 && j.runs <= 20, "a round is bounded");
	rounds(100);
	ok(j.runs == 1000, "one alone has all rounds, whatever it owes");
	ok(!shares_wait(ss), "and none when it has done all");
	task_done(&j.task);
	down();
}

/* A sandbox with 64 connections against one with a single one. */
static void test_many_against_one(void)
{
	struct job many[TASKS], one;
	unsigned sum = 0;

	up();
	for (unsigned i = 0; i < TASKS; i++)
		job_init(&many[i], agents[0], UNIT, 1000);
	job_init(&one, agents[1], UNIT, 1000);
	rounds(100);
	for (unsigned i = 0; i < TASKS; i++)
		sum += many[i].runs;
	ok(one.runs > sum * 9 / 10 && one.runs < sum * 11 / 10,
	   "both have half, not a connection each its part");
	ok(paid(0) == (uint64_t)sum * UNIT && paid(1) == one.runs * UNIT,
	   "and pay what they have used");
	for (unsigned i = 0; i < TASKS; i++)
		task_done(&many[i].task);
	task_done(&one.task);
	down();
}

static void test_small_request(void)
{
	struct job many[TASKS], one;

	up();
	for (unsigned i = 0; i < TASKS; i++)
		job_init(&many[i], agents[0], UNIT, 1000);
	rounds(50);
	for (unsigned i = 0; i < 20; i++) {
		unsigned before = ran;

		job_init(&one, agents[1], UNIT, 0);
		rounds(1);
		if (one.at != before + 1)
			break;
		task_done(&one.task);
		rounds(5);
	}
	ok(one.at > 0 && one.runs == 1, "a small request is served first");
	task_done(&one.task);
	for (unsigned i = 0; i < TASKS; i++)
		task_done(&many[i].task);
	down();
}

/* Empties its queue all the time, to be taken for one that is seldom there. */
static void test_flicker(void)
{
	struct job flick, one;
	unsigned turns = 0;

	up();
	job_init(&one, agents[1], UNIT, 100000);
	job_init(&flick, agents[0], 9 * UNIT, 0);
	for (unsigned i = 0; i < 400; i++) {
		rounds(1);
		if (!flick.task.link) {
			turns++;
			task_queue(ss, &flick.task);
		}
	}
	ok(turns > 0 && paid(0) <= paid(1) * 11 / 10,
	   "who comes and goes has no more than who stays");
	task_done(&flick.task);
	task_done(&one.task);
	down();
}

/* Work that cannot be divided: a handshake of 50 quanta. */
static void test_debt(void)
{
	struct job big, one;

	up();
	job_init(&big, agents[0], 50u * SHARE_QUANTUM_NS, 1);
	job_init(&one, agents[1], UNIT, 100000);
	rounds(1);
	ok(big.runs == 1, "it is done");
	rounds(20);
	ok(big.runs == 1, "and waited for");
	ok(one.runs > 200, "while the other is served");
	rounds(200);
	ok(big.runs == 2, "until it is paid");
	task_done(&big.task);
	/* A new connection is no new sandbox. */
	job_init(&big, agents[0], UNIT, 0);
	rounds(20);
	ok(big.runs == 0, "what is owed outlives the connection");
	task_done(&big.task);
	task_done(&one.task);
	down();
}

static void test_halted(void)
{
	struct job j, other;

	up();
	job_init(&other, agents[1], UNIT, 49);
	rounds(20);
	job_init(&j, agents[0], UNIT, 0);
	j.halted = 40000000;
	rounds(1);
	ok(j.runs == 1 && paid(0) <= UNIT + SHARE_READ_NS,
	   "a turn that was halted does not pay for that");
	ok(cpu_reads <= 4, "the CPU clock is read seldom");
	task_done(&j.task);
	task_done(&other.task);
	down();
}

/* Another worker, which gives agent 0 all of its core. */
static void test_workers(void)
{
	struct job a, b;

	up();
	job_init(&a, agents[0], UNIT, 100000);
	job_init(&b, agents[1], UNIT, 100000);
	elsewhere = true;
	rounds(400);
	elsewhere = false;
	ok(a.runs * 3 <= b.runs, "who fills one worker gives way on the other");
	ok(a.runs * 8 > b.runs, "but has something of each");
	task_done(&a.task);
	task_done(&b.task);
	down();
}

static void test_bill(void)
{
	struct share_bill bill;
	struct job a, b;

	up();
	share_bill_begin(ss, &bill);
	for (unsigned i = 0; i < 30; i++)
		share_bill_add(&bill, i < 20 ? agents[0] : agents[1]);
	share_bill_add(&bill, NULL);
	wall += 31u * UNIT;
	cpu += 31u * UNIT;
	share_bill_end(ss, &bill);
	ok(paid(0) == 20u * UNIT && paid(1) == 10u * UNIT,
	   "packets are paid for by those who sent them");
	job_init(&a, agents[0], UNIT, 0);
	job_init(&b, agents[2], UNIT, 0);
	rounds(1);
	ok(a.at == 2 && b.at == 1, "and count against connections");
	task_done(&a.task);
	task_done(&b.task);
	down();
}

static void end_other(struct worker *w, struct task *t)
{
	struct job *j = (struct job *)t;

	(void)w;
	j->runs++;
	task_done(&j[1].task); /* its neighbour in memory, queued behind it */
}

static bool none(void *arg, const struct agent *a)
{
	(void)arg;
	(void)a;
	return false;
}

static void test_ends(void)
{
	struct job j[3];

	up();
	for (unsigned i = 0; i < 3; i++)
		job_init(&j[i], agents[0], UNIT, 0);
	j[0].task.fn = end_other;
	task_queue(ss, &j[0].task);
	rounds(2);
	ok(j[0].runs == 1 && j[1].runs == 0 && j[2].runs == 1,
	   "a task that is done meanwhile is not called");
	task_done(&j[0].task);
	task_done(&j[0].task);
	shares_purge(ss, none, NULL);
	ok(atomic_load(&agents[0]->refs) == 2, "a share with tasks stays");
	task_done(&j[2].task);
	shares_purge(ss, none, NULL);
	ok(atomic_load(&agents[0]->refs) == 1, "and goes with its sandbox");
	ok(!shares_spent(ss), "outside of a turn nothing is spent");
	down();
}

int main(void)
{
	test_alone();
	test_many_against_one();
	test_small_request();
	test_flicker();
	test_debt();
	test_halted();
	test_workers();
	test_bill();
	test_ends();
	return done_testing();
}
