/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hibernate.c - the memory of a sandbox goes to the disk, and comes back
 *
 * Theory of operation: for pause.c it is a freeze, by other calls of the
 * runtime. The session stays: what is sent meanwhile waits in it, and sending
 * something is what wakes the sandbox. So no command for it has to know that it
 * hibernates.
 *
 * The files are root's, in a directory beside the instances' (a quota of the
 * instance does not count them), and live as long as the sandbox; an acd that
 * starts removes what it finds. They have what the sandbox's memory has:
 * surrogates, and the key that makes them, which is worth something only until
 * the run, and those that go on from its memory (snapshot/memory.c), end; and
 * what its user has put there, such as a variable.
 */
#include "control/acd/instance/instance_impl.h"

#include <unistd.h>

#include "control/acd/storage/snapshot_impl.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/str.h"

static char *sleep_path(const struct instances *is)
{
	return str_printf("%s/.asleep", is->dir);
}

int instance_hibernate_ask(struct instance *in, runtime_done_fn fn, void *arg)
{
	struct runtime *rt = in->is->rt;
	SCOPED_STR dir = sleep_path(in->is);
	int rc = dir ? file_mkdir_p(dir, 0700) : -ENOMEM;

	if (rc == 0 && !in->session)
		rc = -ENOTCONN;
	if (rc < 0)
		return rc;
	session_sleep(in->session);
	return rt->ops->hibernate(rt, in->rec.container_id, dir, fn, arg);
}

/* Until the runtime has answered, nothing ends the session but its peer. */
void instance_hibernate_answered(struct instance *in, int link_fd)
{
	if (in->session)
		session_wake(in->session, link_fd);
	else if (link_fd >= 0)
		close(link_fd);
}

void instance_used(void *arg)
{
	struct instance *in = arg;

	if (in->freeze.kept)
		in->freeze.used = true;
	else if (in->freeze.asleep && in->freeze.wanted &&
		 in->freeze.broken.code == 0)
		instance_freeze_end(in);
}

bool instance_hibernate_is_over(const struct instance *in)
{
	return in->freeze.asleep && in->freeze.frozen && !in->freeze.busy;
}

void instance_hibernate_break(struct instance *in, bool now)
{
	struct runtime *rt = in->is->rt;

	if ((in->freeze.asleep || in->freeze.memory) && in->freeze.busy &&
	    (now || !in->freeze.frozen) && rt->ops->hibernate_break)
		rt->ops->hibernate_break(rt, in->rec.container_id);
}

bool instance_hibernate_keep(struct instance *in, bool on)
{
	bool used = in->freeze.used;

	if (in->rec.state != INSTANCE_HIBERNATED ||
	    !instance_hibernate_is_over(in))
		return false;
	in->freeze.kept = on;
	in->freeze.used = false;
	if (!on && used)
		instance_used(in);
	return true;
}

void instances_hibernate_begin(struct instances *is)
{
	SCOPED_STR dir = sleep_path(is);

	if (dir && access(dir, F_OK) == 0 && snapshot_trash(is->dir, dir) < 0)
		log_error("%s cannot be moved away", dir);
}

static int hibernate_refusal(const struct instance *in, struct err *err)
{
	const struct runtime_ops *ops = in->is->rt->ops;
	const char *name = in->rec.name;
	int rc = instance_pause_refusal(in, err);

	if (rc < 0)
		return rc;
	if (!ops->hibernate ||
	    !ops->hibernates(in->is->rt, in->rec.container_id))
		return err_set(err, -ENOTSUP,
			       "'%s' cannot hibernate: only a sandbox of runsc "
			       "that the engine does not run can (not with "
			       "isolation crun, runtime docker or GPUs)",
			       name);
	if (in->rec.state == INSTANCE_PAUSED)
		return err_set(err, -EBUSY,
			       "'%s' is paused: `ac resume %s` first", name,
			       name);
	if (in->freeze.held || instance_files_busy(in))
		return err_set(err, -EBUSY,
			       "the files of '%s' are being copied: try again "
			       "in a moment",
			       name);
	return 0;
}

int instance_hibernate(struct instance *in, instance_fn fn, void *arg,
		       struct err *err)
{
	int rc = hibernate_refusal(in, err);

	if (rc < 0)
		return rc;
	in->freeze.asleep = true;
	in->freeze.memory = false;
	rc = instance_freeze_ask(in, true, fn, arg, err);
	if (rc < 0 && !in->freeze.frozen)
		in->freeze.asleep = false;
	return rc;
}
