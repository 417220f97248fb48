/* SPDX-License-Identifier: Apache-2.0 */
/*
 * undo.c - wishes that are taken back when no run came of them
 *
 * What a request wished for stays with an instance, but not when the run it
 * came for was refused: then every later one would be, too. So the record as
 * it was before the last change is kept until a run has begun. Of one that was
 * made for a run nobody tried to start nothing is left; one whose start failed
 * stays, with the reason and the log of that.
 */
#include "control/acd/instance/instance_impl.h"

#include <dirent.h>
#include <string.h>

int instance_remember(struct instance *in, const struct instance_record *r)
{
	struct instance_record *before = calloc(1, sizeof(*before));

	if (!before || instance_record_copy(before, r) < 0) {
		free(before);
		return -ENOMEM;
	}
	instance_settled(in);
	in->before = before;
	return 0;
}

void instance_settled(struct instance *in)
{
	in->is_new = false;
	if (!in->before)
		return;
	instance_record_done(in->before);
	free(in->before);
	in->before = NULL;
}

static void swap(char **a, char **b)
{
	char *c = *a;

	*a = *b;
	*b = c;
}

/* Gives the wishes @r what has happened to the instance, which is in @now. */
static void happened(struct instance_record *r, struct instance_record *now)
{
	swap(&r->reason, &now->reason);
	swap(&r->address, &now->address);
	swap(&r->cmd_json, &now->cmd_json);
	swap(&r->container_id, &now->container_id);
	r->state = now->state;
	r->exit_code = now->exit_code;
	r->created_at = now->created_at;
	r->started_at = now->started_at;
	r->finished_at = now->finished_at;
	r->touched_at = now->touched_at;
	r->detached = now->detached;
	r->tty = now->tty;
	r->runs = now->runs;
}

int instance_undo(struct instance *in, struct err *err)
{
	struct instance_record r = { 0 }, now = { 0 };
	int ret = 0;

	if (!in->before)
		return 0;
	if (instance_record_copy(&r, in->before) < 0 ||
	    instance_record_copy(&now, &in->rec) < 0)
		ret = err_nomem(err);
	if (ret == 0) {
		happened(&r, &now);
		ret = instance_update(in, &r, err);
	}
	if (ret == 0)
		instance_settled(in);
	instance_record_done(&r);
	instance_record_done(&now);
	return ret;
}

void instance_set_new(struct instance *in)
{
	in->is_new = true;
}

/* A directory that cannot be read may have anything in it. */
static bool has_files(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *e;
	unsigned n = 0;

	if (!dir)
		return errno != ENOENT;
	while (n == 0 && (e = readdir(dir)))
		n += strcmp(e->d_name, ".") != 0 &&
		     strcmp(e->d_name, "..") != 0;
	closedir(dir);
	return n > 0;
}

bool instance_is_new(const struct instance *in)
{
	SCOPED_STR path = in->is_new ? instance_path(in, "workspace") : NULL;

	return path && !has_files(path);
}
