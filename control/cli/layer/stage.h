/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage.h - receives the changes of a workspace into a private directory
 *
 * $AC_HOME/instances/NAME/apply has one directory for each `ac diff` or `ac apply`
 * that runs, "stage.XXXXXX", locked by flock(2), and "last", that of the last
 * apply. In it the files have numbers: n1, n2 … are the agent's.
 */
#ifndef CONTROL_CLI_LAYER_STAGE_H
#define CONTROL_CLI_LAYER_STAGE_H

#include <stdint.h>

#include "control/cli/layer/written.h"
#include "control/cli/layer/set.h"
#include "lib/err.h"

#define STAGE_NAME_MAX 24u

struct stage {
	int base; /* descriptor of the directory apply */
	int dir; /* of its own directory in it */
	char name[STAGE_NAME_MAX]; /* of that; "": it is not this one's */
	char *path; /* of apply */
	struct layer_set set;
	struct layer_set git; /* those in a .git, for their names; of more than
			       * LAYER_ITEMS_MAX, that many */
	uint32_t last; /* number of the last file */
	uint64_t most; /* larger files are not kept, only their digests; their
			* number is 0. 0: all are kept */
	/* while it receives */
	struct changes_reader *reader;
	struct blob_writer writer;
	int fd; /* of the file that comes; -1: it is not kept */
	bool comes; /* one does */
	uint64_t looked; /* bytes since the room was looked at */
};

#define STAGE_NONE                              \
	{                                       \
		.base = -1, .dir = -1, .fd = -1 \
	}

/* Makes the directory @path (…/apply), if it is missing, and one of its own in
 * it. Removes those that a killed program has left. Returns 0 or a negative errno
 * with @err; the caller calls stage_done() in any case. */
int stage_open(const char *path, struct stage *ret, struct err *err);
/* Removes its own directory, unless stage_keep() has taken it. */
void stage_done(struct stage *s); /* accepts STAGE_NONE */
#define SCOPED_STAGE ATTR_CLEANUP(stage_done) struct stage

/* Takes a piece of the archive. Returns 0 or a negative errno with @err. */
int stage_feed(struct stage *s, struct slice piece, struct err *err);
/* Ends the archive, and sorts the set. Returns as above. */
int stage_finish(struct stage *s, struct err *err);

/* Counts a change in a .git, and keeps its path. Returns 0 or -ENOMEM. */
int stage_add_git(struct stage *s, const struct change *c) ATTR_WUR;

/* Makes a new file with the next number. Returns its descriptor, which the caller
 * owns, or a negative errno. */
int stage_new_file(struct stage *s, char kind, uint32_t *ret_number);
/* Opens the file @number for reading: 'n', new, or 'o', old. */
int stage_file(int dir, char kind, uint32_t number);
/* Makes its directory "last", in place of the one before. Returns 0 or a negative
 * errno. */
int stage_keep(struct stage *s);

/*
 * Makes deletions of what an opaque directory hides in the user's directory @root,
 * but for what the user has made after @since (ns since the epoch), which the
 * sandbox never saw. @written is what earlier
 * applies have made. Returns 0 or a negative errno.
 */
int stage_spread(struct stage *s, int root, int64_t since,
		 const struct written *written);

#endif
