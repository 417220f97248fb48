/* SPDX-License-Identifier: Apache-2.0 */
/*
 * written.h - what `ac apply` has brought to the user's directory
 *
 * A file whose ctime is later than the layer was changed by the user, or by an
 * earlier apply. The file apply/written tells these apart, by the identity that the
 * file had when it was in place.
 *
 * It also has the agent's version that was brought: the user has decided about that
 * one, and what becomes of it afterwards is the user's.
 */
#ifndef CONTROL_CLI_LAYER_WRITTEN_H
#define CONTROL_CLI_LAYER_WRITTEN_H

#include <stddef.h>

#include "control/cli/layer/set.h"
#include "control/cli/layer/state.h"
#include "control/cli/layer/tree.h"

/* Which layer, over which directory. */
struct layer_key {
	int64_t since; /* ns since the epoch; 0: there is no layer */
	int64_t dev, ino; /* of the directory, as acd has them */
};

struct written_file {
	char *path; /* owned */
	uint64_t ino,
		size; /* a device may have another number after a reboot */
	int64_t ctime; /* ns since the epoch */
	/* The agent's version that was brought, if one was. */
	bool brought;
	enum spot_kind kind; /* SPOT_NONE: it was deleted */
	bool runs;
	uint8_t sum[BLOB_SUM]; /* of a file */
	char *target; /* of a link, owned; else NULL */
};

struct written { /* zeroed: empty */
	struct written_file *v;
	size_t n, cap;
	size_t sorted; /* those that were read, sorted by path */
};

void written_done(struct written *k); /* accepts zeroed */
#define SCOPED_WRITTEN ATTR_CLEANUP(written_done) struct written

/* Reads the file in the directory @base. One of another layer, and none, is
 * empty. Returns 0 or a negative errno. */
int written_load(int base, const struct layer_key *key,
		 struct written *ret) ATTR_WUR;
/* Returns true if @spot is what was read for @path. */
bool written_has(const struct written *k, const char *path,
		 const struct spot *spot);
/* Returns what was read for @path, borrowed, or NULL. */
const struct written_file *written_get(const struct written *k,
				       const char *path);
/* Returns true if what was read says that this version of @it was brought. */
bool written_brought(const struct written *k, const struct layer_item *it);
/* Notes @spot for @path, and the version @brought (NULL: none), in place of older
 * ones; a @spot with nothing in it removes the identity. Takes effect with
 * written_save(). Returns 0, -ENOMEM or -E2BIG. */
int written_put(struct written *k, const char *path, const struct spot *spot,
		const struct state *brought) ATTR_WUR;
/* Writes the file, atomically. Returns 0 or a negative errno. */
int written_save(struct written *k, int base,
		 const struct layer_key *key) ATTR_WUR;

#endif
