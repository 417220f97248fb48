/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch_into.c - whose repository gets the commits
 *
 * A repository in a directory that an instance works in itself (live) may have a
 * .git/config, and hooks, of the agent's. Nothing in it is run by a fetch
 * (git_run.c), but the user's next git command would; so none is fetched into.
 */
#include "control/cli/cmd/fetch_into.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Returns true if the instance writes in the user's directory itself. */
static bool is_live(const json_t *rec)
{
	return strcmp(json_text(rec, "workspace_mode"), "live") == 0;
}

/* Directories that instances write in; ids[i] is of names[i]. */
struct live {
	struct dir_id *ids;
	const char **names; /* borrowed */
	size_t n;
};

static void live_add(struct live *l, const char *name, struct dir_id id)
{
	l->ids[l->n] = id;
	l->names[l->n++] = name;
}

static struct dir_id id_of(const json_t *obj, const char *dev, const char *ino)
{
	return (struct dir_id){
		(dev_t)json_integer_value(json_object_get(obj, dev)),
		(ino_t)json_integer_value(json_object_get(obj, ino))
	};
}

static void live_of(struct live *l, const json_t *rec)
{
	const json_t *mounts = json_object_get(rec, "mounts");
	const char *name = json_text(rec, "name");
	struct dir_id last = id_of(rec, "workspace_dev", "workspace_ino");
	struct stat st;

	/* The directory that was last written to, also if it is a copy now, wherever it is now, and the one that
	 * has its name. */
	if (last.ino != 0)
		live_add(l, name, last);
	if (is_live(rec) && stat(json_text(rec, "workspace"), &st) == 0)
		live_add(l, name, (struct dir_id){ st.st_dev, st.st_ino });
	for (size_t i = 0; i < json_array_size(mounts); i++) {
		const json_t *m = json_array_get(mounts, i);

		if (strcmp(json_text(m, "mode"), "ro") != 0)
			live_add(l, name, id_of(m, "dev", "ino"));
	}
}

static int live_read(struct live *l, const json_t *instances)
{
	size_t all = json_array_size(instances), most = 1;

	for (size_t i = 0; i < all; i++)
		most += 2 + json_array_size(json_object_get(
				    json_array_get(instances, i), "mounts"));
	l->ids = calloc(most, sizeof(*l->ids));
	l->names = calloc(most, sizeof(*l->names));
	if (!l->ids || !l->names)
		return -ENOMEM;
	for (size_t i = 0; i < all; i++)
		live_of(l, json_array_get(instances, i));
	return 0;
}

int fetch_into_check(int fd, const char *path, const json_t *instances,
		     struct err *err)
{
	struct live l = { 0 };
	ssize_t by = live_read(&l, instances);

	if (by == 0)
		by = dirwalk_above(fd, l.ids, l.n);
	if (by < 0)
		err_set(err, (int)by, "%s: %s", path, err_text((int)by));
	else if ((size_t)by < l.n)
		by = err_set(err, -EPERM,
			     "the instance '%s' writes in %s itself, so the "
			     "git configuration there may be its own: fetch "
			     "into a clone that no instance writes in (--into)",
			     l.names[by], path);
	else
		by = 0;
	free(l.ids);
	free(l.names);
	return (int)by;
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
