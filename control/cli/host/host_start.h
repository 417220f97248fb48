/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_start.h - makes everything that acd needs to answer
 */
#ifndef CONTROL_CLI_HOST_HOST_START_H
#define CONTROL_CLI_HOST_HOST_START_H

#include <stdbool.h>

#include "control/cli/core/cli.h"
#include "control/cli/wire/client.h"

struct host_probe {
	bool up; /* acd answers */
	bool api; /* … and speaks our API */
	bool same; /* … and is of our build */
	bool stopping; /* … but is stopping */
};

/* Asks acd, with one call. Returns 0, also, with up = false, if nothing listens
 * or the answer breaks off or is unusable: acd is down, starting or stopping.
 * Fails with -ETIMEDOUT, -EACCES or like client_call(), with @err; *ret is all
 * false then. */
int host_probe(struct client *c, struct host_probe *ret, struct err *err);

/*
 * Starts ac-host, with acd of our build, and waits until it is ready: makes
 * $AC_HOME, checks like host_start_check(), builds the image, replaces an older
 * ac-host. May take minutes; one `ac` at a time does it, others wait. If
 * instances run in an ac-host of another build, it stays, and this returns 0;
 * -EBUSY if it does not speak our API. Returns 0 or a negative errno with @err.
 */
int host_start(const struct cli *cli, struct client *c, struct err *err);

/* Waits for the lock of $AC_HOME, which one `ac` holds that changes containers;
 * the caller closes *ret_fd, which gives it back. Returns 0 or a negative errno
 * with @err. */
int host_lock(const struct cli *cli, int *ret_fd, struct err *err);

/* Checks what would make a start fail, before anything is installed, built or
 * stopped: variables and config.yaml, an engine that the user may not use, a
 * full disk. Returns 0 or a negative errno with @err. */
int host_start_check(const struct cli *cli, struct err *err);

/* Returns true if the variable RUNSC=PATH names another file than the one
 * copied to $AC_HOME/runtime/runsc (by size and time), or RUNSC= is empty and
 * there is a copy. Without the variable the copy stays: false. */
bool host_runsc_changed(const struct cli *cli);

#endif
