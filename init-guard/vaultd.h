/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vaultd.h - vaultd: its place, its start, its end
 *
 * Nothing of this exists in a sandbox that no credential is granted to.
 */
#ifndef INIT_GUARD_VAULTD_H
#define INIT_GUARD_VAULTD_H

#include "init-guard/agent.h"
#include "init-guard/report.h"
#include "init-guard/wire.h"

struct vaultd {
	pid_t pid; /* 0: no vault, or it is over */
	int listener, log_fd; /* -1 */
	struct loop_io *io;
	struct wire *wire;
	bool deaf; /* in the middle of a line that is too long */
	uint64_t lost; /* lines that the host was not told of */
	size_t len; /* of what is no whole line yet */
	char line[LINK_TEXT_MAX];
};

/* A struct vaultd is vaultd_init()ed before all else. */
void vaultd_init(struct vaultd *v);
/*
 * With a grant in the agent's assignment: checks that the vault's programs
 * are as they must be, makes the socket, adds to git's file and to the
 * agent's environment. Before the filter and before capabilities go. A
 * grant where setuid programs cannot work is an error.
 */
int vaultd_prepare(struct vaultd *v, struct agent *ag, struct report *r,
		   struct err *err) ATTR_WUR;
/*
 * Starts vaultd, hands it the grant, wipes ours, waits until it serves. Under
 * the filter, without capabilities to give. One that does not say so within
 * 5 s is ended, which is an error. What it writes goes to the host; lines that
 * the host leaves unread (1 MiB of the link wait) or that are too long are
 * counted, and the count goes before the next line.
 */
int vaultd_start(struct vaultd *v, struct agent *ag, struct loop *loop,
		 struct wire *wire, struct report *r, struct err *err) ATTR_WUR;
/* @pid is gone: when it was vaultd's, says so to the host. */
void vaultd_reaped(struct vaultd *v, pid_t pid, int status);
void vaultd_done(struct vaultd *v);

/* git's configuration for the hosts of a grant. Pure. -EBADMSG, -ENOBUFS. */
int vaultd_gitconfig(struct slice grant, struct buf *out) ATTR_WUR;

#endif
