/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h - moves one path of the user's directory from one state to another
 *
 * To apply is to move from the old state to the new one, to undo the way back. A
 * path that is in neither was changed by somebody else and is left alone; one
 * that is there already needs nothing. So both can be repeated after an end at any
 * moment.
 */
#ifndef CONTROL_CLI_LAYER_STATE_H
#define CONTROL_CLI_LAYER_STATE_H

#include "control/cli/layer/blob.h"
#include "control/cli/layer/tree.h"

struct state {
	enum spot_kind kind; /* SPOT_NONE, SPOT_FILE, SPOT_DIR, SPOT_LINK */
	uint16_t mode; /* 0777, of a file or a directory */
	int64_t mtime; /* ns since the epoch; 0: the time of the move */
	struct blob_id blob; /* of a file, and of its copy */
	char letter; /* 'o' or 'n': which copy */
	uint32_t number; /* of it, in the directory of the apply */
	const char *target; /* of a link */
};

struct step {
	const char *path;
	struct state old, now; /* before, and as applied */
	bool theirs; /* the user had changed the old one */
	bool twin; /* another step has the same path: one makes room for the
		    * other */
	/* The new one is the user's and the agent's, merged. */
	bool merged;
	struct state brought; /* the agent's version in it, if merged */
	struct state was; /* that was brought before; SPOT_NONE: none was */
};

enum move { MOVE_DONE, MOVE_ALREADY, MOVE_LEFT };

struct mover {
	int root; /* of the user's directory */
	int copies; /* directory of the copies */
};

#define STATE_TEMP_MAX 48u

/*
 * Moves @s->path to @s->now, or back to @s->old if @back. A new file is made
 * under the name @temp beside it, which is removed first if it is there, and
 * renamed: the path has either state at any moment. Returns an enum move, or a
 * negative errno: then the path has the state that it had.
 */
int state_move(const struct mover *m, const struct step *s, bool back,
	       const char *temp) ATTR_WUR;

/* For tests: called before and after each change of a name, with its path. A
 * negative result ends the move at once and is returned, with no clean-up, as if
 * the program were killed. NULL: no longer. */
void state_hook(int (*fn)(void *arg, const char *path), void *arg);

#endif
