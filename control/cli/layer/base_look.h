/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base_look.h - asks git, beside a start, what a layer begins with
 */
#ifndef CONTROL_CLI_LAYER_BASE_LOOK_H
#define CONTROL_CLI_LAYER_BASE_LOOK_H

#include "control/cli/core/cli.h"
#include "control/cli/layer/base.h"

/* A look that was begun. */
struct base_look {
	int fd; /* to the process that looks; -1: none */
};

#define BASE_LOOK_NONE   \
	{                \
		.fd = -1 \
	}

/*
 * Begins to look at the user's directory @dir, in a process of its own, which does
 * not outlive a few seconds of work. Waits until the commit is known, which
 * takes some 5 ms, but for 250 ms at most. No failure is told: without an answer there is no base.
 */
void base_look_begin(const struct cli *cli, int dir, struct base_look *ret);
/* Lets that process keep what it finds for the instance @name, whose layer is
 * @key, if the layer was begun after the look. Does not wait. */
void base_look_keep(struct base_look *look, const char *name,
		    const struct layer_key *key);
/* Ends a look that is not kept. */
void base_look_done(struct base_look *look); /* accepts BASE_LOOK_NONE */

/* The look itself, of the directory @dir: with the repository of ours in
 * @home. Calls @known, if it is not NULL, when the commit is known. Returns 0;
 * -ENOENT if git knows nothing of it; another negative errno. */
int base_look_now(const char *home, int dir, void (*known)(void *arg),
		  void *arg, struct base *ret) ATTR_WUR;

#endif
