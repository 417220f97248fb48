/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h - finds, starts and stops ac-host
 */
#ifndef CONTROL_CLI_HOST_HOST_H
#define CONTROL_CLI_HOST_HOST_H

#include <stdbool.h>

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"
#include "control/cli/wire/client.h"
#include "control/cli/host/outer.h"

/* A check before anything is made. Returns 0, or a negative errno with @err. */
typedef int (*host_first_fn)(const struct cli *cli, const struct args *a,
			     struct err *err);

/* Returns 0 if an acd answers that speaks our API, of any build. Returns
 * -ENOTCONN with advice if none answers, -EPROTO for another API. Never starts
 * anything. */
int host_connect(const struct cli *cli, struct client *c, struct err *err);

/*
 * Makes a client of acd, which the caller frees: without @start after
 * host_connect(); else one of this build. If that answers, it is one call. Else
 * makes what is missing (packages, engine, images, the outer container), with
 * progress for steps longer than a second. If it is interrupted, the same call
 * continues. Returns 0 or a negative errno with @err.
 */
int host_client(const struct cli *cli, bool start, struct client **ret,
		struct err *err);

/* The same with a start. If acd does not answer, @first is called with @a before
 * anything is made; its failure is returned. */
int host_client_after(const struct cli *cli, host_first_fn first,
		      const struct args *a, struct client **ret,
		      struct err *err);

/* Waits until /v1/status reports ready, with progress. Unless @o is NULL, an
 * end of the outer container is noticed and its last output shown. Returns 0,
 * -ETIMEDOUT, or another negative errno with @err. */
int host_wait_ready(const struct cli *cli, struct client *c, struct outer *o,
		    struct err *err);

/* Waits until the outer container has ended, with progress. Returns 0 (also
 * without an engine), -ETIMEDOUT with advice, or another negative errno. */
int host_wait_stopped(const struct cli *cli, struct err *err);

/* Returns how many instances run, or a negative errno if acd does not
 * answer. */
int host_live(struct client *c, struct err *err);

/* Checks the free space of $AC_HOME and, with @images, of the engine's
 * directory. @o may be NULL. An existing store needs little. Returns 0, or
 * -ENOSPC with place and size in @err. */
int host_check_space(const struct cli *cli, struct outer *o, bool images,
		     struct err *err);

#endif
