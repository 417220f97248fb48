/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine_test.c - how many tasks of the host a sandbox may have
 */
#include "control/acd/daemon/machine.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/shared/paths.h"
#include "lib/attr.h"
#include "tests/unit/tap.h"

#define ROOMY (UINT64_C(1) << 21)

/* gVisor takes two for a process, and at worst one for each CPU beside it. */
static void test_cost(void)
{
	static const uint64_t pids[] = { 1, 64, 256, 512, 1024, 4096 };
	static const unsigned int cpus[] = { 1, 2, 8, 64 };

	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		for (size_t k = 0; k < ARRAY_SIZE(cpus); k++) {
			struct machine_tasks t =
				machine_tasks_of(pids[i], cpus[k], ROOMY);

			is_int(t.inside, pids[i], "%u CPUs: as asked", cpus[k]);
			ok(t.outside >= pids[i] * (1 + cpus[k]) + 100,
			   "%llu processes are met inside, never outside",
			   (unsigned long long)pids[i]);
		}
}

static void test_room(void)
{
	static const uint64_t most[] = { 2048, 16384, 32768, ROOMY };

	for (size_t i = 0; i < ARRAY_SIZE(most); i++) {
		struct machine_tasks many =
			machine_tasks_of(UINT64_C(4194304), 2, most[i]);
		struct machine_tasks none = machine_tasks_of(0, 2, most[i]);

		ok(many.outside <= most[i], "no more than its part");
		ok(many.inside * 2 + 100 < most[i],
		   "and inside what that can carry: %llu",
		   (unsigned long long)many.inside);
		is_int(none.inside, many.inside, "no limit is that one");
		is_int(none.outside, many.outside, "outside as well");
	}
	ok(machine_tasks_of(0, 2, 16384).inside >= 4096,
	   "4,096 fit where half of 32,768 is had");
	ok(machine_tasks_of(9, 2, 10).inside == 9 &&
		   machine_tasks_of(9, 2, 10).outside > 100,
	   "a machine that tells nonsense starts sandboxes all the same");
	ok(machine_tasks_of(UINT64_MAX, 64, UINT64_MAX).outside > ROOMY,
	   "no number comes round");
}

static void test_here(void)
{
	uint64_t before = machine_tasks(0, false).inside;
	struct machine_tasks t;

	setenv(AC_ENV_PID_MAX, "8192\n", 1);
	t = machine_tasks(4000, false);
	ok(t.outside <= 4096 && t.inside < 2048 && t.inside > 512,
	   "a PID has to be had above, too: %llu",
	   (unsigned long long)t.inside);
	t = machine_tasks(4000, true);
	ok(t.outside < 4096 && t.outside > 2048, "with crun as well: %llu",
	   (unsigned long long)t.outside);
	is_int(machine_tasks(64, true).inside, 0,
	       "the kernel's own count of a user is not asked there");
	ok(machine_tasks(64, true).outside >= 64 &&
		   machine_tasks(64, true).outside < 100,
	   "the group's limit is the agent's");
	setenv(AC_ENV_PID_MAX, "many", 1);
	is_int(machine_tasks(0, false).inside, before,
	       "no number says nothing");
	unsetenv(AC_ENV_PID_MAX);
}

static void test_said(void)
{
	uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES);
	json_t *none = machine_warnings(1u << 24, 16);
	json_t *all = machine_warnings(pages << 20, UINT64_C(4194304));

	is_int(json_array_size(none), 0, "what is there is given in silence");
	is_int(json_array_size(all), 2, "what is not is told");
	ok(strstr(json_string_value(json_array_get(all, 1)), "it gets ") !=
		   NULL,
	   "%s", json_string_value(json_array_get(all, 1)));
	json_decref(none);
	json_decref(all);
}

int main(void)
{
	test_cost();
	test_room();
	test_here();
	test_said();
	return done_testing();
}
