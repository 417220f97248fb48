/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch_into.c - whose repository gets the commits
 *
 * A repository in a directory that an instance works in itself (live) may have a
 * .git/config, and hooks, of the agent's. Nothing in it is run by a fetch
 * (git_run.c), but the user's next git command would; so none is fetched into.
 */
#include "control/cli/cmd/fetch_into.h"

#include <string.h>

/* Returns true if the instance writes in the user's directory itself. */
static bool is_live(const json_t *rec)
{
	return strcmp(json_text(rec, "workspace_mode"), "live") == 0;
}

int fetch_into_check(int fd, const char *path, const json_t *instances,
		     struct err *err)
{
	const char *by = NULL;
	int rc = workspace_writer(fd, instances, &by);

	if (rc < 0)
		return err_set(err, rc, "%s: %s", path, err_text(rc));
	if (by)
		return err_set(err, -EPERM,
			       "the instance '%s' writes in %s itself, so the "
			       "git configuration there may be its own: fetch "
			       "into a clone that no instance writes in "
			       "(--into)",
			       by, path);
	return 0;
}

/* Refuses what has nothing to fetch, or no place for it. */
static int check_record(const json_t *rec, struct err *err)
{
	const char *name = json_text(rec, "name");
	const char *dir = json_text(rec, "workspace");

	if (!*dir)
		return err_set(
			err, -EINVAL,
			"'%s' has a workspace of its own: say which "
			"repository gets its commits (ac fetch %s --into "
			"DIR)",
			name, name);
	if (is_live(rec))
		return err_set(err, -EINVAL,
			       "'%s' works in your directory itself: its "
			       "commits are there already (%s)",
			       name, dir);
	if (strcmp(json_text(rec, "workspace_mode"), "copy") != 0)
		return err_set(err, -EINVAL,
			       "'%s' cannot write in %s, so it has no commits "
			       "there; for another repository of it say -w DIR "
			       "--into DIR",
			       name, dir);
	return 0;
}

/* Opens --into. Where another message would speak of a workspace, it is ours. */
static int into_open(const struct cli *cli, const char *into,
		     const json_t *instances, struct workspace *ret,
		     struct err *err)
{
	int rc = workspace_parse(cli, into, ret, err);

	if (rc == -EPERM)
		return err_set(err, rc,
			       "--into %s: ac's own state (%s) is there, in "
			       "which instances write: give a repository of "
			       "yours elsewhere",
			       into, cli->home);
	if (rc < 0)
		return err_set(err, rc, "--into %s: %s", into, err_text(rc));
	rc = workspace_check_turns(ret, instances, err);
	if (rc == -EPERM)
		return err_set(err, rc,
			       "the way to --into %s goes by a link or a '..' "
			       "that an instance can change: give the path "
			       "without it (%s)",
			       into, ret->path);
	return rc;
}

int fetch_into_open(const struct cli *cli, const json_t *rec, const char *into,
		    const json_t *instances, struct workspace *ret,
		    struct err *err)
{
	int rc;

	*ret = (struct workspace)WORKSPACE_NONE;
	rc = into ? into_open(cli, into, instances, ret, err) :
		    check_record(rec, err);
	if (rc == 0 && !into)
		rc = workspace_recorded(cli, json_text(rec, "workspace"), ret,
					err);
	return rc < 0 ? rc :
			fetch_into_check(ret->walk.fd, ret->path, instances,
					 err);
}
