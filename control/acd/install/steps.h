/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps.h - gives the steps of image builds a network and a policy
 */
#ifndef CONTROL_ACD_INSTALL_STEPS_H
#define CONTROL_ACD_INSTALL_STEPS_H

#include "control/acd/install/step_net.h"
#include "control/acd/daemon/children.h"
#include "control/acd/egress/gate_client.h"
#include "control/acd/storage/store.h"
#include "lib/err.h"
#include "lib/loop.h"
#include "lib/str.h"

struct steps;

/* The control group of a step: functions of cgroup.h, or a test's. */
struct steps_groups {
	/* Makes one with @memory bytes. Returns 0, or a negative errno with
	 * @err, and there is none. */
	int (*create)(const char *id, uint64_t memory, struct err *err);
	int (*files)(const char *id, struct strv *ret);
	uint64_t (*oom_kills)(const char *id);
	int (*kill)(const char *id);
	int (*remove)(const char *id); /* -EBUSY: it has a process */
};

struct steps_spec {
	struct loop *loop;
	struct children *children;
	struct store *store; /* for addresses */
	struct gate_client *gate;
	const char *sock; /* where ac-step asks: AC_STEP_SOCK */
	const char *gate_sock; /* the gateway's */
	const struct strv *runsc; /* its command for a step, up to `run` */
	bool (*has_packages)(void); /* a preset of the machine's registries */
	step_net_fn net_make, net_remove;
	struct steps_groups groups;
};

/* Listens for ac-step (step_ask.h). @spec is copied, what it points to is
 * borrowed. Returns NULL with @err on failure. */
struct steps *steps_new(const struct steps_spec *spec, struct err *err);
/* Closes all connections, so steps that run are ended by their ac-step. To be
 * called before the gateway's client is freed. NULL is fine. */
void steps_free(struct steps *s);

#endif
