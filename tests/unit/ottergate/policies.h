/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policies.h - policies from texts, for tests
 */
#ifndef TESTS_UNIT_OTTERGATE_POLICIES_H
#define TESTS_UNIT_OTTERGATE_POLICIES_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/file.h"
#include "ottergate/policy/load.h"

/* The text as a file of its own, whose name no message shows but as "f". */
static inline int policy_of(const char *text, struct policy **ret,
			    struct lint *lint, struct err *err)
{
	char dir[] = "/tmp/otter_policies.XXXXXX";
	const char *const paths[] = { "f", NULL };
	int cwd = open(".", O_PATH | O_CLOEXEC), rc = -EIO;

	if (cwd >= 0 && mkdtemp(dir) && chdir(dir) == 0) {
		rc = file_write_atomic("f", text, strlen(text), 0600);
		if (rc == 0)
			rc = policy_load(paths, ret, lint, err);
		unlink("f");
		if (fchdir(cwd) < 0)
			rc = -errno;
		rmdir(dir);
	}
	if (cwd >= 0)
		close(cwd);
	return rc;
}

static inline int agent_of_text(struct policy *p, const char *text,
				struct agent_policy **ret, struct lint *lint,
				struct err *err)
{
	return policy_load_agent(p, text, strlen(text), "a", ret, lint, err);
}

static inline struct name name_of(const char *s)
{
	struct name n = { 0 };

	if (name_canon(slice_str(s), &n) < 0)
		n.len = 0;
	return n;
}

#endif
