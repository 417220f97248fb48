/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps_impl.h - shared by steps.c and step_life.c
 */
#ifndef CONTROL_ACD_INSTALL_STEPS_IMPL_H
#define CONTROL_ACD_INSTALL_STEPS_IMPL_H

#include <stdbool.h>
#include <sys/queue.h>

#include "control/acd/install/step_policy.h"
#include "control/acd/install/steps.h"
#include "control/acd/net/veth.h"
#include "lib/buf.h"

enum step_state {
	STEP_READING,
	STEP_QUEUED,
	STEP_BINDING,
	STEP_MAKING,
	STEP_RUNNING,
	STEP_UNBINDING,
	STEP_REMOVING,
};

struct step {
	LIST_ENTRY(step) link;
	struct steps *ss; /* NULL: acd ends; only a callback is owed */
	enum step_state state;
	int fd; /* -1: the connection has ended */
	struct loop_io *io;
	struct loop_timer *timer;
	struct buf in;
	char *image, *id;
	char agent[STEP_AGENT_MAX + 1];
	char *address; /* NULL: none */
	char *netns; /* NULL: not begun */
	char *group; /* NULL: none */
	struct veth veth;
	struct step_limits limits;
	struct gate_client *follow;
	struct buf policy;
	bool calling; /* the gateway owes an answer */
	bool bound, heard, unheard; /* answer and lines of bind and unbind */
	unsigned tries;
	struct strv refused;
	bool oom;
};

struct steps {
	struct steps_spec spec;
	int fd;
	struct loop_io *io;
	LIST_HEAD(step_list, step) all;
	unsigned n;
};

/* ---- steps.c ---- */

/* Frees @s with its address; it has no network any more. */
void step_free(struct step *s);
/* The same for a step at its end: starts one that waits for it. */
void step_over(struct step *s);
void step_conn_close(struct step *s);

/* ---- step_life.c ---- */

/* Begins: policy, then network, then the answer. Later calls report what goes
 * wrong to ac-step. */
void step_start(struct step *s);
/* Answers with the reason, and takes back what the step has. */
void step_refuse(struct step *s, const struct err *err);
/* Takes back what the step has, and frees it in the end. Does nothing while the
 * gateway owes an answer, which leads here. */
void step_undo(struct step *s);
/* The connection has ended while that is under way: nothing is told. */
void step_hurry(struct step *s);
/* Its timer. */
void step_look(struct step *s);

#endif
