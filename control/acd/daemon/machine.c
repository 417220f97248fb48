/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.c - compares limits that are asked for with what this machine has
 */
#include "control/acd/daemon/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/shared/paths.h"
#include "lib/file.h"
#include "lib/str.h"

/* Host tasks of the sentry and the gofer, idle or busy, and of init-guard. */
#define TASKS_OWN 512u
/* For each process: one task that serves it, one that computes, and one more
 * for processes that begin before others have ended. */
#define TASKS_EACH 3u
/* With shared tasks: PID 1 of the sandbox, and what it starts. */
#define TASKS_SHARED 16u
#define INSIDE_MIN 16u

int machine_check_cpus(uint64_t milli, struct err *err)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	if (n <= 0 || milli <= (uint64_t)n * 1000)
		return 0;
	return err_set(err, -EINVAL,
		       "%g CPUs are more than this machine has: %ld",
		       (double)milli / 1000, n);
}

struct machine_tasks machine_tasks_of(uint64_t pids, unsigned int cpus,
				      uint64_t most)
{
	struct machine_tasks t;
	uint64_t room = most > TASKS_OWN ? (most - TASKS_OWN) / TASKS_EACH : 0;
	uint64_t each = TASKS_EACH + cpus;

	if (room < INSIDE_MIN)
		room = INSIDE_MIN;
	t.inside = pids && pids < room ? pids : room;
	t.outside = t.inside > (UINT64_MAX - TASKS_OWN) / each ?
			    UINT64_MAX :
			    TASKS_OWN + t.inside * each;
	if (t.outside > most && most >= TASKS_OWN)
		t.outside = most;
	return t;
}

static uint64_t smaller(uint64_t most, const char *text)
{
	char number[32];
	uint64_t n;

	snprintf(number, sizeof(number), "%.*s", (int)strcspn(text, "\n"),
		 text);
	/* "max", or no number: keep @most. */
	if (str_parse_u64(number, 1, UINT64_MAX, &n) < 0 || n > most)
		return most;
	return n;
}

/* Returns half of the tasks that ac-host may have. A pid must be free in the
 * PID namespaces above ours too; `ac start` passes the machine's maximum. */
static uint64_t tasks_most(void)
{
	static const char *const files[] = {
		"/proc/sys/kernel/threads-max",
		"/proc/sys/kernel/pid_max",
		"/sys/fs/cgroup/pids.max",
		"/sys/fs/cgroup/pids/pids.max",
	};
	const char *above = getenv(AC_ENV_PID_MAX);
	uint64_t most = UINT32_MAX;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		SCOPED_STR text = NULL;

		if (file_read(files[i], 64, &text, NULL) == 0)
			most = smaller(most, text);
	}
	return (above ? smaller(most, above) : most) / 2;
}

struct machine_tasks machine_tasks(uint64_t pids, bool shared)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t most = tasks_most();

	if (!shared)
		return machine_tasks_of(pids, cpus > 0 ? (unsigned int)cpus : 1,
					most);
	if (pids == 0 || pids > most - most / 4)
		pids = most - most / 4;
	return (struct machine_tasks){ .outside = pids + TASKS_SHARED };
}

static void warn_memory(json_t *list, uint64_t bytes)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	char want[32], have[32];
	uint64_t all;

	if (pages <= 0 || page <= 0)
		return;
	all = (uint64_t)pages * (uint64_t)page;
	if (bytes <= all)
		return;
	str_format_size(want, sizeof(want), bytes);
	str_format_size(have, sizeof(have), all);
	json_array_append_new(list, json_sprintf("a memory limit of %s is more "
						 "than this machine has: %s",
						 want, have));
}

static void warn_pids(json_t *list, uint64_t pids)
{
	uint64_t most = machine_tasks(pids, false).inside;

	if (pids <= most)
		return;
	json_array_append_new(
		list, json_sprintf("%llu processes are more than this machine "
				   "has room for in one sandbox: it gets %llu",
				   (unsigned long long)pids,
				   (unsigned long long)most));
}

json_t *machine_warnings(uint64_t memory, uint64_t pids)
{
	json_t *list = json_array();

	warn_memory(list, memory);
	warn_pids(list, pids);
	return list;
}
