/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h - ac-host: is it there, make it so, end it
 */
#ifndef CONTROL_CLI_HOST_HOST_H
#define CONTROL_CLI_HOST_HOST_H

#include <stdbool.h>

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"
#include "control/cli/wire/client.h"
#include "control/cli/host/outer.h"

/*
 * acd of our own build answers when this returns 0. When it does already,
 * that is one call and nothing else. Else everything missing is made:
 * packages, engine, images, container; steps longer than a second say so.
 * Interrupted at any point, the same call goes on from there.
 */
typedef int (*host_first_fn)(const struct cli *cli, const struct args *a,
			     struct err *err);
/* Where acd does not answer, @first (may be NULL) is asked with @a before
 * anything is made: its error is the result then. */
int host_ensure(const struct cli *cli, struct client *c, host_first_fn first,
		const struct args *a, struct err *err);

/* acd answers, of whatever build that speaks our API. -ENOTCONN: it does
 * not; the message says what to do. Never starts anything. */
int host_connect(const struct cli *cli, struct client *c, struct err *err);

/* A client of acd, after host_ensure() with @start, else host_connect(). */
int host_client(const struct cli *cli, bool start, struct client **ret,
		struct err *err);

/* A client of acd, after host_ensure() with @first and @a. */
int host_client_after(const struct cli *cli, host_first_fn first,
		      const struct args *a, struct client **ret,
		      struct err *err);

/* Waits until /v1/status says ready, showing its progress. @o may be NULL;
 * else a container that ended is noticed and its last words are told. */
int host_wait_ready(const struct cli *cli, struct client *c, struct outer *o,
		    struct err *err);

/* Waits until the container does not run any more, showing its progress.
 * -ETIMEDOUT: the message says what to do. */
int host_wait_stopped(const struct cli *cli, struct err *err);

/* Instances that run; -errno when acd does not answer. */
int host_live(struct client *c, struct err *err);

/* Free space under $AC_HOME; and with @images where the engine keeps them.
 * @o may be NULL. A store that is there wants little. -ENOSPC: the message says
 * where and how much. */
int host_check_space(const struct cli *cli, struct outer *o, bool images,
		     struct err *err);

#endif
