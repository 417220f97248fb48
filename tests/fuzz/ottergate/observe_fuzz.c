/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe_fuzz.c - any log is refused, or gives a policy that loads
 * without a fault of form
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ottergate/policy/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool cond)
{
	if (!cond)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("learned", MFD_CLOEXEC);
	FILE *out = fdopen(fd, "w");
	char path[64];
	const char *const paths[] = { path, NULL };
	struct policy *p = NULL;
	struct err err = { 0 };
	FILE *in;
	int rc;

	if (size == 0) {
		fclose(out);
		return 0;
	}
	/* Read only: fmemopen() does not write to it. */
	in = fmemopen((void *)(uintptr_t)data, size, "r");
	must(in && out);
	rc = policy_from_audit(in, NULL, out, &err);
	fclose(in);
	if (rc < 0) {
		must(err.code == rc && err.msg[0]);
	} else {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		must(policy_load(paths, &p, NULL, &err) == 0);
		policy_unref(p);
	}
	fclose(out);
	return 0;
}
