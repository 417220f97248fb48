/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload.c - installs the shim that explains refused connections
 *
 * It is a convenience and no boundary: the agent can avoid it in many ways, and
 * then meets the gateway. So no failure here ends a start.
 *
 * glibc's loader takes it from a list of root's (ld.so(8)), which an empty
 * environment does not change. musl's has no such list, and an image may
 * replace our list by its own: there a variable names it.
 */
#include "init-guard/start/preload.h"

#include <string.h>

#include "lib/attr.h"
#include "lib/file.h"

#define LIST_MAX 4096u
#define ASAN "ASAN_OPTIONS="
/* ASan insists that its own library is loaded first, which is not the case with
 * any preloaded library. Nothing else is switched off. */
#define ASAN_ORDER "verify_asan_link_order"
#define ASAN_ENTRY_MAX 4096u

static bool any_of(const char *const *paths, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (access(paths[i], F_OK) == 0)
			return true;
	}
	return false;
}

/* The loaders named in programs (gcc's spec files). */
static bool is_musl(void)
{
	static const char *const glibc[] = { "/lib64/ld-linux-x86-64.so.2",
					     "/lib/ld-linux-aarch64.so.1" };
	static const char *const musl[] = { "/lib/ld-musl-x86_64.so.1",
					    "/lib/ld-musl-aarch64.so.1" };

	return !any_of(glibc, ARRAY_SIZE(glibc)) &&
	       any_of(musl, ARRAY_SIZE(musl));
}

static bool is_listed(void)
{
	SCOPED_STR text = NULL;

	return file_read(PRELOAD_LIST, LIST_MAX, &text, NULL) == 0 &&
	       strstr(text, PRELOAD_SO);
}

void preload_find(struct preload *p)
{
	*p = (struct preload){ .there = access(PRELOAD_SO, R_OK) == 0 };
	p->by_env = p->there && (is_musl() || !is_listed());
}

bool preload_asan(const char *old, char *out, size_t size)
{
	int n;

	if (strstr(old, ASAN_ORDER))
		return false;
	n = snprintf(out, size, ASAN "%s%s" ASAN_ORDER "=0", old,
		     *old ? ":" : "");
	return n > 0 && (size_t)n < size;
}

void preload_name(const struct preload *p, struct agent *ag, struct report *r)
{
	static char so[] = "LD_PRELOAD=" PRELOAD_SO;
	/* The leak check needs ptrace(2), which the filter refuses: each
	 * program would fail at its end. */
	static char plain[] = ASAN ASAN_ORDER "=0:detect_leaks=0";
	static char longer[ASAN_ENTRY_MAX]; /* borrowed by the environment */
	const char *old = env_value(ag->env, "ASAN_OPTIONS");
	const char *own = env_value(ag->env, "LD_PRELOAD");

	if (!p->there) {
		report_skip(r, "preload", "no " PRELOAD_SO);
		return;
	}
	if (p->by_env && own && !strstr(own, PRELOAD_SO)) {
		report_skip(r, "preload",
			    "LD_PRELOAD is set to something else");
		return;
	}
	report_ok(r, "preload");
	if (p->by_env)
		agent_default(ag, so);
	if (!old)
		agent_default(ag, plain);
	else if (preload_asan(old, longer, sizeof(longer)))
		agent_replace(ag, longer);
}
