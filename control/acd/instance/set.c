/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set.c - the set of instances: adding and removing one
 *
 * An instance is freed only while it is not live and nothing is under way for
 * it, since its address is the argument of every callback.
 */
#include "control/acd/instance/instance_impl.h"

#include <stdlib.h>
#include <string.h>

#include "control/acd/instance/command/command.h"

struct instance *instance_alloc(struct instances *is,
				const struct instance_record *r)
{
	struct instance *in = calloc(1, sizeof(*in));

	if (!in)
		return NULL;
	if (instance_record_copy(&in->rec, r) < 0) {
		free(in);
		return NULL;
	}
	in->is = is;
	in->link_fd = -1;
	LIST_INIT(&in->execs);
	TAILQ_INIT(&in->commands);
	LIST_INIT(&in->logs);
	LIST_INIT(&in->tasks);
	STAILQ_INIT(&in->waiters);
	return in;
}

void instance_free(struct instance *in)
{
	commands_free(in);
	instance_log_drop(in, false);
	instance_tasks_forget(in);
	loop_timer_free(in->ready_timer);
	treejob_forget(in->tree);
	instance_drowse_free(in);
	instance_disk_free(in);
	instance_home_free(in);
	instance_ports_free(in);
	instance_waiters_free(&in->waiters);
	run_options_done(&in->asked.options);
	run_options_done(&in->next.options);
	blueprint_done(&in->bp);
	instance_egress_free(in);
	fd_closep(&in->link_fd);
	free(in->paths);
	instance_record_done(&in->rec);
	free(in->image);
	free(in);
}

void instance_insert(struct instances *is, struct instance *in)
{
	struct instance *at;

	TAILQ_FOREACH (at, &is->all, link) {
		if (strcmp(in->rec.name, at->rec.name) < 0) {
			TAILQ_INSERT_BEFORE(at, in, link);
			return;
		}
	}
	TAILQ_INSERT_TAIL(&is->all, in, link);
}

void instance_forget(struct instance *in)
{
	TAILQ_REMOVE(&in->is->all, in, link);
	instance_wake(in, NULL);
	instance_free(in);
}
