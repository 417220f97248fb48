/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.c - wishes beyond what this machine has
 */
#include "control/acd/machine.h"

#include <stdio.h>
#include <unistd.h>

#include "lib/str.h"

int machine_check_cpus(uint64_t milli, struct err *err)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	if (n <= 0 || milli <= (uint64_t)n * 1000)
		return 0;
	return err_set(err, -EINVAL,
		       "%g CPUs are more than this machine has: %ld",
		       (double)milli / 1000, n);
}

bool machine_warn_memory(uint64_t bytes, char *out, size_t size)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	char want[32], have[32];
	uint64_t all;

	if (pages <= 0 || page <= 0)
		return false;
	all = (uint64_t)pages * (uint64_t)page;
	if (bytes <= all)
		return false;
	str_format_size(want, sizeof(want), bytes);
	str_format_size(have, sizeof(have), all);
	snprintf(out, size,
		 "a memory limit of %s is more than this machine has: %s", want,
		 have);
	return true;
}
