/* SPDX-License-Identifier: Apache-2.0 */
/*
 * children.c - acd is PID 1: reaps all children
 */
#include "control/acd/daemon/children.h"

#include <stdbool.h>
#include <sys/wait.h>

struct child {
	pid_t pid;
	child_fn fn;
	void *arg;
};

/* One element for each sandbox, and some more (dockerd, one build): few enough
 * for an array that is searched from its start. */
struct children {
	struct child *v;
	size_t n, cap;
};

struct children *children_new(void)
{
	return calloc(1, sizeof(struct children));
}

void children_free(struct children *c)
{
	if (!c)
		return;
	free(c->v);
	free(c);
}

int children_watch(struct children *c, pid_t pid, child_fn fn, void *arg)
{
	if (pid <= 0)
		return -EINVAL;
	if (c->n == c->cap) {
		size_t cap = c->cap ? 2 * c->cap : 8;
		struct child *v = reallocarray(c->v, cap, sizeof(*v));

		if (!v)
			return -ENOMEM;
		c->v = v;
		c->cap = cap;
	}
	c->v[c->n++] = (struct child){ .pid = pid, .fn = fn, .arg = arg };
	return 0;
}

/* Removes @pid from the table. Returns false if it is not there. */
static bool child_take(struct children *c, pid_t pid, struct child *ret)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->v[i].pid != pid)
			continue;
		*ret = c->v[i];
		c->v[i] = c->v[--c->n];
		return true;
	}
	return false;
}

void children_forget(struct children *c, pid_t pid)
{
	struct child gone;

	child_take(c, pid, &gone);
}

void children_reap(struct children *c)
{
	struct child child;
	int status;
	pid_t pid;

	/* Removed first: the callback may watch or forget others, and the pid
	 * may be used again at once. */
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (child_take(c, pid, &child))
			child.fn(child.arg, pid, status);
}
