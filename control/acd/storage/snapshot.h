/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.h - copies of the files of an instance, kept beside it
 *
 *	INSTANCES/NAME                         an instance
 *	INSTANCES/.snapshots/NAME/TAG/         a snapshot: complete, or not there
 *		meta.json                      what is known of it
 *		home/ workspace/ layer/upper/  those that the instance had
 *		memory/                        if it was asked for
 *	INSTANCES/.snapshots/NAME/.new         one that is being made
 *	INSTANCES/.forks/NAME:NEW              a fork that is being made
 *	INSTANCES/NAME/.restored               what a restore puts in its place
 *	INSTANCES/.trash/                      what is to be removed
 *
 * Names of instances and tags begin with a letter or a digit, so none of these
 * is one. Functions that are a treejob_work run in a child.
 */
#ifndef CONTROL_ACD_STORAGE_SNAPSHOT_H
#define CONTROL_ACD_STORAGE_SNAPSHOT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "control/acd/storage/treehash.h"
#include "control/shared/paths.h"
#include "lib/err.h"

#define SNAPSHOT_TAG_MAX AC_NAME_MAX /* name_check_tag() */
#define SNAPSHOT_KEPT 5u /* of those without a tag of the user's */
#define SNAPSHOTS_MAX 64u /* of one instance */
/* What a restore has replaced. */
#define SNAPSHOT_BEFORE "before-restore"

/* Strings are owned; NULL if unset. */
struct snapshot_meta {
	char *instance, *tag;
	int64_t created_ns; /* since the epoch */
	bool named; /* the user chose the tag: it does not expire */
	bool running; /* it was made while the instance ran */
	bool memory; /* it has the memory of its sandbox */
	char *blueprint;
	/* As in struct instance_record. */
	char *workspace;
	bool workspace_ro, workspace_copy;
	int64_t layer_since_ns, layer_dev, layer_ino;
	/* Known when it is complete. */
	struct treehash hash;
};

void snapshot_meta_done(struct snapshot_meta *m); /* accepts zeroed */
/* Writes a tag for a snapshot at @ns since the epoch: sorted, they are in the
 * order of time. */
void snapshot_auto_tag(int64_t ns, char ret[SNAPSHOT_TAG_MAX + 1]);

/* Return a new path, or NULL without memory. @instances: the directory of all
 * instances; @tag NULL: where those of @name are. */
char *snapshot_path(const char *instances, const char *name, const char *tag);
/* Of a fork of @name that will be @to: no other has it. */
char *snapshot_fork_path(const char *instances, const char *name,
			 const char *to);
/* What copies that were cut short have left, by an earlier acd, is moved to one
 * directory, where nothing new is made. _trash() moves @path, if it is there; _all()
 * the forks, and the snapshots that are not complete. Return 0 or a negative
 * errno. */
char *snapshot_trash_path(const char *instances);
int snapshot_trash(const char *instances, const char *path);
int snapshot_trash_all(const char *instances, struct err *err);
/* Removes that directory; @what: the directory of all instances. A
 * treejob_work. */
int snapshot_sweep(const void *what, struct err *err);

/* Reads the meta.json of the snapshot in @dir; the caller owns *ret. Returns 0;
 * -ENOENT if there is none; -EUCLEAN if it cannot be read; another negative
 * errno. */
int snapshot_load(const char *dir, struct snapshot_meta *ret, struct err *err);
/* Calls @fn for each snapshot in @dir, where those of an instance are, until it
 * fails; one that cannot be read is left out. @m is released after the call.
 * Returns 0, also without @dir, what @fn returned, or a negative errno. */
int snapshot_each(const char *dir,
		  int (*fn)(void *arg, const struct snapshot_meta *m),
		  void *arg);
/* Returns what the API shows of @m, a new reference; NULL without memory. */
json_t *snapshot_json(const struct snapshot_meta *m);

/* What snapshot_copy() reads. */
struct snapshot_copy {
	const char *from; /* of an instance, a snapshot or a fork */
	const char *to; /* replaced if it exists */
	const char *check; /* meta.json of @from has to hold: a name for people;
			    * NULL: do not look */
};

/* Returns where the memory of the snapshot in @dir is, or NULL without
 * memory. */
char *snapshot_memory_path(const char *dir);
/* Copies the trees of an instance, or of a snapshot, to a new directory, which
 * gets the owner and mode of @from. A treejob_work. Returns 0; -EUCLEAN if @from
 * is not what it was when the snapshot was made; another negative errno. After a
 * failure @to is gone, or is replaced by the next call. */
int snapshot_copy(const void *copy, struct err *err);

/* What snapshot_keep() reads. */
struct snapshot_keep {
	const char *instances;
	const char
		*from; /* a directory with trees, which becomes the snapshot */
	const struct snapshot_meta *meta; /* without hash */
	bool replace; /* a snapshot of that tag goes */
};

/* Makes a snapshot of @from by renaming it. A treejob_work. Returns 0, -EEXIST if
 * the tag is taken, or another negative errno; @from is as it was, then. */
int snapshot_keep(const void *keep, struct err *err);
/* Removes the oldest of the snapshots in the directory @what that expire, but for
 * SNAPSHOT_KEPT. A treejob_work. Returns 0: what cannot be removed stays. */
int snapshots_expire(const void *what, struct err *err);

/* Removes the snapshot in the directory @what: it is whole or not there. A
 * treejob_work. Returns 0, -ENOENT, or another negative errno. */
int snapshot_remove(const void *what, struct err *err);

/* Puts the trees in @dir/.restored, which snapshot_copy() has made complete, in
 * place of those in @dir; those are in @dir/.restored/old then. Works again
 * after it was cut short. Only renames. Returns 0 or a negative errno. */
int snapshot_swap(const char *dir, struct err *err);
#define SNAPSHOT_RESTORED ".restored"
#define SNAPSHOT_RESTORED_NEW ".restored.new"

#endif
