/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault.h - starts and watches vaultd
 *
 * A sandbox without credentials has none of this.
 */
#ifndef INIT_GUARD_START_VAULT_H
#define INIT_GUARD_START_VAULT_H

#include "init-guard/start/agent.h"
#include "init-guard/start/report.h"
#include "init-guard/wire.h"

struct vaultd {
	pid_t pid; /* 0: no vault, or it has ended */
	int listener, log_fd; /* -1 */
	struct loop_io *io;
	struct wire *wire;
	bool deaf; /* skipping the rest of a line that is too long */
	uint64_t lost; /* lines that were not sent to acd */
	size_t len; /* bytes of the incomplete line */
	char line[LINK_TEXT_MAX];
};

/* Initialises @v; must come first. */
void vaultd_init(struct vaultd *v);
/*
 * If the agent's assignment has a grant: verifies the vault's programs, makes
 * the socket, and extends git's configuration and the agent's environment. Call
 * it before the filter is loaded and capabilities are dropped. Returns 0, or a
 * negative errno with @err, also if there is a grant but setuid programs cannot
 * work.
 */
int vaultd_prepare(struct vaultd *v, struct agent *ag, struct report *r,
		   struct err *err) ATTR_WUR;
/*
 * Starts vaultd under the filter and without capabilities, passes it the grant,
 * wipes our copy, and waits until it serves. One that is not ready within 5 s
 * is killed, which is an error. Its lines are sent to acd; lines that are too
 * long, or that acd leaves unread (1 MiB waits on the link), are counted, and
 * the count is sent before the next line. Returns 0, or a negative errno with
 * @err.
 */
int vaultd_start(struct vaultd *v, struct agent *ag, struct loop *loop,
		 struct wire *wire, struct report *r, struct err *err) ATTR_WUR;
/* Called for each reaped child: if it was vaultd, tells acd. */
void vaultd_reaped(struct vaultd *v, pid_t pid, int status);
/* Closes everything. */
void vaultd_done(struct vaultd *v);

/* Appends git's configuration for the hosts of @grant. Returns 0, -EBADMSG or
 * -ENOBUFS. No side effects. */
int vaultd_gitconfig(struct slice grant, struct buf *out) ATTR_WUR;

#endif
