/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known.c - whether there is anything at a path that the user named
 *
 * A path that is there and has no changes is no mistake; one that is nowhere is
 * most often a slip of the pen. git is asked last: it knows what both sides have
 * deleted.
 */
#include "control/cli/layer/known.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "control/cli/core/git_run.h"

#define GIT_MS 5000u
#define ANSWER_MAX (64u * 1024) /* one name, quoted by git */

/* Returns true if the path is among the changes, or in a directory that was deleted
 * as a whole, of which nothing is listed. */
static bool is_change(const struct stage *s, const char *path)
{
	if (layer_path_is_git(path))
		return s->set.git > 0;
	return layer_set_find(&s->set, path) ||
	       layer_set_gone_above(&s->set, path);
}

/* A git that fails knows nothing: most directories are in no repository. */
static int is_in_commit(int root, const char *path)
{
	static const char *const literal[] = { "GIT_LITERAL_PATHSPECS=1",
					       NULL };
	const char *const args[] = { "ls-tree", "--name-only", "HEAD",
				     "--",      path,          NULL };
	const struct git_call call = { .dir = root,
				       .args = args,
				       .in = -1,
				       .env = literal,
				       .timeout_ms = GIT_MS,
				       .out_max = ANSWER_MAX };
	struct git_said said = { .out = NULL };
	int rc = git_run(&call, &said, NULL);
	bool found = rc == 0 && said.code == 0 && said.out_len > 0;

	free(said.out);
	return rc == -ENOMEM || rc == -EINTR ? rc : found;
}

int known_path(const struct stage *stage, int root, const char *path)
{
	struct stat st;

	/* A way through the user's own links leads to a path that exists. */
	if (is_change(stage, path) ||
	    fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	return is_in_commit(root, path);
}
