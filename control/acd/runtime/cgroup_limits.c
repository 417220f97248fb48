/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup_limits.c - what a sandbox may use, and what it uses
 */
#include "control/acd/runtime/cgroup_impl.h"

#include <stdio.h>
#include <string.h>

#include "lib/file.h"
#include "lib/str.h"

#define PERIOD_US 100000u
#define QUOTA_MIN_US 1000u /* the kernel's minimum */
#define V1_NO_LIMIT (1ull << 60) /* v1 writes about 2^63 for no limit */

/* Returns @value as text, or @none for 0. */
static const char *number(char *out, size_t size, uint64_t value,
			  const char *none)
{
	if (value == 0)
		return none;
	snprintf(out, size, "%llu", (unsigned long long)value);
	return out;
}

/* Without a limit, a missing file is no error. */
static int optional(int rc, uint64_t value)
{
	return value == 0 && (rc == -ENOENT || rc == -ENODEV) ? 0 : rc;
}

/* The sum of memory and swap must never be less than memory. So one of the two
 * orders works, depending on the direction of the change. */
static int memory1_set(const char *id, uint64_t bytes)
{
	char text[32];
	const char *v = number(text, sizeof(text), bytes, "-1");
	int rc = cgroup_put(CGROUP_MEMORY, id, "memory.limit_in_bytes", v);
	int swap =
		cgroup_put(CGROUP_MEMORY, id, "memory.memsw.limit_in_bytes", v);

	if (rc == -EINVAL && swap == 0)
		rc = cgroup_put(CGROUP_MEMORY, id, "memory.limit_in_bytes", v);
	/* Kernels without swap accounting lack this file. */
	return rc == 0 && swap != -ENOENT ? swap : rc;
}

static int memory2_set(const char *id, uint64_t bytes)
{
	char text[32];
	int rc = cgroup_put(CGROUP_MEMORY, id, "memory.swap.max",
			    bytes ? "0" : "max");

	if (rc < 0 && rc != -ENOENT)
		return rc;
	return cgroup_put(CGROUP_MEMORY, id, "memory.max",
			  number(text, sizeof(text), bytes, "max"));
}

static int cpu_set(const char *id, uint64_t milli)
{
	uint64_t us = milli ? milli * (PERIOD_US / 1000) : 0;
	char text[64], quota[32];
	int rc;

	if (milli > UINT32_MAX)
		return -ERANGE;
	if (us && us < QUOTA_MIN_US)
		us = QUOTA_MIN_US;
	if (cgroups.v2) {
		snprintf(text, sizeof(text), "%s %u",
			 number(quota, sizeof(quota), us, "max"), PERIOD_US);
		return cgroup_put(CGROUP_CPU, id, "cpu.max", text);
	}
	snprintf(text, sizeof(text), "%u", PERIOD_US);
	rc = cgroup_put(CGROUP_CPU, id, "cpu.cfs_period_us", text);
	if (rc < 0)
		return rc;
	return cgroup_put(CGROUP_CPU, id, "cpu.cfs_quota_us",
			  number(quota, sizeof(quota), us, "-1"));
}

static int refused(struct err *err, int rc, const char *what)
{
	if (rc == -ENOENT || rc == -ENODEV)
		return err_set(err, -ENOTSUP,
			       "limit of %s: this machine's cgroups have no "
			       "controller for it",
			       what);
	return err_set(err, rc, "limit of %s: %s", what, err_text(rc));
}

int cgroup_limits_set(const char *id, const struct cgroup_limits *l,
		      struct err *err)
{
	char text[32];
	int rc = cgroups.v2 ? memory2_set(id, l->memory) :
			      memory1_set(id, l->memory);

	rc = optional(rc, l->memory);
	if (rc < 0)
		return refused(err, rc, "memory");
	rc = optional(cpu_set(id, l->cpu_milli), l->cpu_milli);
	if (rc < 0)
		return refused(err, rc, "cpus");
	rc = optional(cgroup_put(CGROUP_PIDS, id, "pids.max",
				 number(text, sizeof(text), l->pids, "max")),
		      l->pids);
	return rc < 0 ? refused(err, rc, "pids") : 0;
}

static int must_exist(const char *id, struct err *err)
{
	struct cgroup_path p;
	int rc = cgroup_path(&p, CGROUP_MEMORY, id, "");

	if (rc == 0 && access(p.text, F_OK) < 0)
		rc = -errno;
	return rc < 0 ? err_set(err, rc, "cgroup %s: %s", id, err_text(rc)) : 0;
}

/* Returns the bytes in use that the kernel cannot just drop. */
static int memory_used(const char *id, uint64_t *ret)
{
	uint64_t cache = 0;
	int rc = cgroup_take_u64(
		CGROUP_MEMORY, id,
		cgroups.v2 ? "memory.current" : "memory.usage_in_bytes", ret);

	if (rc == 0 && cgroup_take_key(CGROUP_MEMORY, id, "memory.stat",
				       cgroups.v2 ? "inactive_file" :
						    "total_inactive_file",
				       &cache) == 0)
		*ret -= cache < *ret ? cache : *ret;
	return rc;
}

int cgroup_set(const char *id, const struct cgroup_limits *l, struct err *err)
{
	uint64_t used = 0;
	int rc = must_exist(id, err);

	if (rc < 0)
		return rc;
	/* v1 would search for memory for a long time and then refuse; v2 would
	 * kill. */
	if (l->memory && memory_used(id, &used) == 0 && used > l->memory)
		return err_set(err, -EBUSY,
			       "limit of memory: %llu bytes are in use",
			       (unsigned long long)used);
	return cgroup_limits_set(id, l, err);
}

static int cpu_used(const char *id, uint64_t *ret_ns)
{
	uint64_t us = 0;
	int rc;

	if (!cgroups.v2)
		return cgroup_take_u64(CGROUP_CPUACCT, id, "cpuacct.usage",
				       ret_ns);
	rc = cgroup_take_key(CGROUP_CPU, id, "cpu.stat", "usage_usec", &us);
	*ret_ns = us * 1000;
	return rc;
}

int cgroup_stats(const char *id, struct runtime_stats *ret, struct err *err)
{
	const char *max = cgroups.v2 ? "memory.max" : "memory.limit_in_bytes";
	uint64_t cpu = 0, memory = 0, limit = 0, pids = 0;
	int rc = must_exist(id, err);

	if (rc < 0)
		return rc;
	/* Without a controller nothing is counted. */
	rc = optional(cpu_used(id, &cpu), 0);
	if (rc == 0)
		rc = optional(memory_used(id, &memory), 0);
	if (rc == 0)
		rc = optional(cgroup_take_u64(CGROUP_MEMORY, id, max, &limit),
			      0);
	if (rc == 0)
		rc = optional(cgroup_take_u64(CGROUP_PIDS, id, "pids.current",
					      &pids),
			      0);
	if (rc < 0)
		return err_set(err, rc, "cgroup %s: %s", id, err_text(rc));
	ret->cpu_ns = cpu;
	ret->memory = memory;
	ret->memory_limit = limit < V1_NO_LIMIT ? limit : 0;
	ret->pids = pids;
	return 0;
}

uint64_t cgroup_oom_kills(const char *id)
{
	uint64_t n = 0;

	cgroup_take_key(CGROUP_MEMORY, id,
			cgroups.v2 ? "memory.events" : "memory.oom_control",
			"oom_kill", &n);
	return n;
}

uint64_t cgroup_tasks_refused(const char *id)
{
	uint64_t n = 0;

	cgroup_take_key(CGROUP_PIDS, id, "pids.events", "max", &n);
	return n;
}

/* Returns write_bytes of /proc/PID/io, the bytes that @pid has written to disks
 * in its life, or 0 if they are unknown. */
static uint64_t written_by(uint64_t pid)
{
	static const char key[] = "\nwrite_bytes: ";
	SCOPED_STR text = NULL;
	char path[48], *at;
	uint64_t n = 0;

	snprintf(path, sizeof(path), "/proc/%llu/io", (unsigned long long)pid);
	if (file_read(path, 4096, &text, NULL) < 0)
		return 0;
	at = strstr(text, key);
	if (!at)
		return 0;
	at += strlen(key);
	at[strcspn(at, "\n")] = '\0';
	return str_parse_u64(at, 0, UINT64_MAX, &n) < 0 ? 0 : n;
}

/* Reads the pids of the sandbox's group. It is below acd's "ac", or below the
 * engine's "docker" if the nested engine started the sandbox. */
static int procs_take(const char *id, char **ret)
{
	int rc = cgroup_take(CGROUP_MEMORY, id, "cgroup.procs", ret);
	SCOPED_STR path = NULL;

	if (rc != -ENOENT)
		return rc;
	path = str_printf("%s/../docker/%s/cgroup.procs",
			  cgroup_dir(CGROUP_MEMORY), id);
	return path ? file_read(path, 1024 * 1024, ret, NULL) : -ENOMEM;
}

/* Adds @pid to @w, in rising order; keeps the CGROUP_WRITERS lowest. */
static void writer_add(struct cgroup_writers *w, uint64_t pid)
{
	size_t at = w->n;

	for (; at > 0 && w->of[at - 1].pid > pid; at--)
		if (at < CGROUP_WRITERS)
			w->of[at] = w->of[at - 1];
	if (at == CGROUP_WRITERS)
		return;
	w->of[at] = (struct cgroup_writer){ .pid = pid };
	w->n += w->n < CGROUP_WRITERS;
}

void cgroup_written(const char *id, pid_t writer, struct cgroup_writers *ret)
{
	SCOPED_STR pids = NULL;
	char *save = NULL;

	ret->n = 0;
	if (procs_take(id, &pids) < 0)
		return;
	/* v2 does not sort. @writer may have ended and its pid be another
	 * process's: it counts only if the group has it. */
	for (char *line = strtok_r(pids, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		uint64_t pid;

		if (str_parse_u64(line, 2, INT32_MAX, &pid) < 0)
			continue;
		if (writer > 0 && pid == (uint64_t)writer) {
			ret->n = 0;
			writer_add(ret, pid);
			break;
		}
		writer_add(ret, pid);
	}
	for (size_t i = 0; i < ret->n; i++)
		ret->of[i].bytes = written_by(ret->of[i].pid);
}
