/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.h - running execs, each on a channel of the link
 *
 * A channel reports everything by frames; EXIT is the last one.
 */
#ifndef INIT_GUARD_RUN_CHANNEL_H
#define INIT_GUARD_RUN_CHANNEL_H

#include <sys/resource.h>

#include "init-guard/start/agent.h"
#include "init-guard/run/linger.h"
#include "init-guard/run/stdio.h"
#include "init-guard/wire.h"

struct channel;

struct channels {
	struct loop *loop;
	struct wire *wire;
	const struct agent *agent;
	struct linger linger;
	uint32_t last; /* highest number opened so far */
	struct stdio spare; /* pipes made ahead for the next exec */
	struct channel *slot[LINK_CHANNELS_MAX]; /* NULL: free */
};

/* Initialises @c; all other arguments are borrowed until channels_done(). */
void channels_init(struct channels *c, struct loop *loop, struct wire *wire,
		   const struct agent *agent);
/* Frees all channels; their processes continue. */
void channels_done(struct channels *c);
/* Prepares what the next exec needs. */
void channels_warm_up(struct channels *c);

/* Handles one frame of a channel, EXEC included. Returns 0 or -EBADMSG if acd
 * may not send it; the link must end then. A failed exec returns 0 and sends an
 * EXIT frame. */
int channels_frame(struct channels *c, const struct link_frame *f) ATTR_WUR;
/* Answers an EXEC by EXIT NOEXEC @error (a positive errno) without running it.
 * Returns 0 or -EBADMSG. */
int channels_refuse(struct channels *c, const struct link_frame *f,
		    int error) ATTR_WUR;
/* Continues output when the link has room again. */
void channels_resume(struct channels *c);
/* Called for each reaped child; ignores children that are no channel's. */
void channels_reaped(struct channels *c, pid_t pid, int status,
		     const struct rusage *usage);

#endif
