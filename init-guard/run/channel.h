/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.h - execs in flight: one channel of the link each
 *
 * A channel makes itself known by its frames only; it is gone after EXIT.
 */
#ifndef INIT_GUARD_CHANNEL_H
#define INIT_GUARD_CHANNEL_H

#include <sys/resource.h>

#include "init-guard/agent.h"
#include "init-guard/linger.h"
#include "init-guard/stdio.h"
#include "init-guard/wire.h"

struct channel;

struct channels {
	struct loop *loop;
	struct wire *wire;
	const struct agent *agent;
	struct linger linger;
	uint32_t last; /* highest number ever opened */
	struct stdio spare; /* made while nobody waits for it */
	struct channel *slot[LINK_CHANNELS_MAX]; /* NULL: free */
};

/* All but @c are borrowed. */
void channels_init(struct channels *c, struct loop *loop, struct wire *wire,
		   const struct agent *agent);
void channels_done(struct channels *c); /* leaves the processes alone */
/* Makes ahead what the next exec needs. */
void channels_warm_up(struct channels *c);

/*
 * Serves one frame of a channel, EXEC included. -EBADMSG when the host may
 * not send it; a failed exec is no failure here but an EXIT frame.
 */
int channels_frame(struct channels *c, const struct link_frame *f) ATTR_WUR;
/* Answers an EXEC with EXIT NOEXEC @error (positive errno) instead. */
int channels_refuse(struct channels *c, const struct link_frame *f,
		    int error) ATTR_WUR;
/* The link has room again. */
void channels_resume(struct channels *c);
/* A child was reaped; not every child is a channel's. */
void channels_reaped(struct channels *c, pid_t pid, int status,
		     const struct rusage *usage);

#endif
