/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover.c - what copies that were cut short have left, when acd starts
 *
 * Forks and restores that were complete are finished. All else is moved away at
 * once, so that no new copy can have its place, and then removed by a child.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "control/acd/instance/snapshot/task.h"
#include "lib/file.h"
#include "lib/log.h"

/* An instance whose record was made, and whose files are still where they were
 * copied to. */
static void fork_finish(struct instances *is, const char *leaf)
{
	const char *name = strchr(leaf, ':');
	SCOPED_STR from = str_printf("%s/.forks/%s", is->dir, leaf);
	SCOPED_STR to = NULL;
	struct stat st;

	if (!name || !instance_find(is, name + 1))
		return;
	to = str_printf("%s/%s", is->dir, name + 1);
	if (!from || !to || lstat(to, &st) == 0)
		return;
	if (rename(from, to) < 0)
		log_error("finish the fork '%s': %s", name + 1,
			  err_text(-errno));
}

static void forks_finish(struct instances *is)
{
	SCOPED_STR forks = str_printf("%s/.forks", is->dir);
	SCOPED_DIR d = forks ? opendir(forks) : NULL;
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] != '.')
			fork_finish(is, e->d_name);
	}
}

static void swept(void *arg, const struct err *err)
{
	struct instances *is = arg;

	is->sweep = NULL;
	if (err)
		log_error("%s", err->msg);
}

void instances_snapshots_begin(struct instances *is)
{
	SCOPED_STR trash = snapshot_trash_path(is->dir);
	SCOPED_STR memory = str_printf("%s/.memory", is->dir);
	struct instance *in;
	struct err err = { 0 };

	forks_finish(is);
	instances_hibernate_begin(is);
	if (!trash || !memory)
		return;
	if (snapshot_trash(is->dir, memory) < 0)
		log_error("%s cannot be moved away", memory);
	TAILQ_FOREACH (in, &is->all, link) {
		SCOPED_STR half = instance_path(in, SNAPSHOT_RESTORED_NEW);

		if (half && snapshot_trash(is->dir, half) < 0)
			log_error("%s cannot be moved away", half);
		instance_restore_recover(in);
	}
	if (snapshot_trash_all(is->dir, &err) < 0)
		log_error("%s", err.msg);
	if (access(trash, F_OK) == 0 &&
	    treejob_run(is->loop, snapshot_sweep, is->dir, swept, is,
			&is->sweep, &err) < 0)
		log_error("%s", err.msg);
}
