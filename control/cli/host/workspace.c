/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace.c - passes the user's directory to a sandbox
 *
 * acd cannot see the user's files, and must not open the user's paths. So it
 * gets a descriptor: a detached copy of the directory's mount, made by
 * open_tree(2), which needs CAP_SYS_ADMIN. Without it, the outer engine runs a
 * helper container that sees this one directory. The engine opens the path
 * again by name, so the helper compares what it got with what was judged here.
 */
#include "control/cli/host/workspace.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/cli/core/args.h"
#include "control/cli/host/outer.h"
#include "control/shared/mount_send.h"
#include "lib/str.h"

#define HELPER "/usr/libexec/ac/ac-mount"

/* Opens $AC_HOME, or the nearest directory above it: then *ret_there is
 * false. */
static int home_open(const char *home, bool *ret_there)
{
	SCOPED_STR path = str_printf("%s", home);
	int fd = -ENOENT;

	*ret_there = true;
	while (path && *path && fd == -ENOENT) {
		char *slash = strrchr(path, '/');

		fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 || errno != ENOENT || !slash)
			return fd < 0 ? -errno : fd;
		fd = -ENOENT;
		*ret_there = false;
		*slash = '\0';
	}
	if (!path)
		return -ENOMEM;
	fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Returns what messages call it. */
static const char *kind_of(const struct workspace *ws)
{
	return ws->to ? "mount" : "workspace";
}

/* Compares both ways, by the identity of the descriptors. */
static int check_home(const struct workspace *ws, const char *home,
		      struct err *err)
{
	bool there;
	SCOPED_FD fd = home_open(home, &there);
	int rc = fd < 0 ? fd : dirwalk_contains(ws->walk.fd, fd);

	if (rc == 0 && there)
		rc = dirwalk_contains(fd, ws->walk.fd);
	if (rc < 0)
		return err_set(err, rc,
			       "cannot tell whether %s %s has ac's own state "
			       "(%s) in it: %s",
			       kind_of(ws), ws->path, home, err_text(rc));
	if (rc > 0)
		return err_set(err, -EPERM,
			       "%s %s would show ac's own state (%s) to the "
			       "agent: choose a directory beside it",
			       kind_of(ws), ws->path, home);
	return 0;
}

/* Checks a directory that was opened as @given. */
static int judge(const struct cli *cli, const char *given, struct workspace *ws,
		 struct err *err)
{
	struct stat st;
	int rc = dirwalk_name(ws->walk.fd, &ws->path);

	if (rc < 0)
		return err_set(err, rc, "%s %s: %s", kind_of(ws), given,
			       err_text(rc));
	if (fstat(ws->walk.fd, &st) < 0)
		return err_sys(err, "%s %s", kind_of(ws), given);
	ws->uid = st.st_uid;
	ws->gid = st.st_gid;
	return check_home(ws, cli->home, err);
}

int workspace_parse(const struct cli *cli, const char *text,
		    struct workspace *ret, struct err *err)
{
	SCOPED_STR given = str_printf("%s", text);
	int rc;

	*ret = (struct workspace)WORKSPACE_NONE;
	if (!given)
		return err_nomem(err);
	given[args_dir_mode(given, &ret->mode)] = '\0';
	/* A copy needs no more. */
	ret->read_only = *ret->mode && strcmp(ret->mode, "live") != 0;
	rc = dirwalk_open(given, DIRWALK_FOLLOW, &ret->walk);
	if (rc == -ENOTDIR)
		return err_set(err, rc, "workspace %s is not a directory",
			       given);
	if (rc < 0)
		return err_set(err, rc, "workspace %s: %s", given,
			       err_text(rc));
	rc = judge(cli, given, ret, err);
	if (rc == 0 && ret->walk.linked)
		say_info(cli, "workspace: %s is %s", given, ret->path);
	return rc;
}

int workspace_recorded(const struct cli *cli, const char *path,
		       struct workspace *ret, struct err *err)
{
	int rc;

	*ret = (struct workspace)WORKSPACE_NONE;
	rc = dirwalk_open(path, DIRWALK_NO_LINKS, &ret->walk);
	if (rc == -ELOOP)
		return err_set(err, rc,
			       "the workspace %s leads through a link since it "
			       "was given; if that is meant, give it again "
			       "(--workspace)",
			       path);
	if (rc < 0)
		return err_set(err, rc, "the workspace %s: %s", path,
			       err_text(rc));
	return judge(cli, path, ret, err);
}

int workspace_mount(const struct cli *cli, const char *path, const char *to,
		    struct workspace *ret, struct err *err)
{
	int rc;

	*ret = (struct workspace)WORKSPACE_NONE;
	ret->to = to;
	rc = dirwalk_open(path, DIRWALK_NO_LINKS, &ret->walk);
	if (rc == -ENOENT)
		return err_set(
			err, rc,
			"mount %s (%s): there is no such directory: make "
			"it, or take it out of the blueprint's mounts",
			path, to);
	if (rc == -ENOTDIR)
		return err_set(err, rc, "mount %s (%s) is not a directory",
			       path, to);
	if (rc == -ELOOP)
		return err_set(err, rc,
			       "mount %s (%s) leads through a link, which an "
			       "agent could have made: write the path without "
			       "it into the blueprint",
			       path, to);
	if (rc < 0)
		return err_set(err, rc, "mount %s (%s): %s", path, to,
			       err_text(rc));
	return judge(cli, path, ret, err);
}

void workspace_done(struct workspace *ws)
{
	dirwalk_done(&ws->walk);
	free(ws->path);
	ws->path = NULL;
}

/* ---- turns ---- */

/* Directories that instances can write; ids[i] is of names[i]. */
struct writable {
	struct dir_id *ids;
	const char **names; /* borrowed */
	size_t n;
};

static void writable_add(struct writable *w, const char *name, struct dir_id id)
{
	w->ids[w->n] = id;
	w->names[w->n++] = name;
}

/* Adds the live mounts of its last run: the directories, wherever they are
 * now. */
static void writable_mounts(struct writable *w, const json_t *rec)
{
	const json_t *list = json_object_get(rec, "mounts");
	const char *name = json_text(rec, "name");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *m = json_array_get(list, i);
		json_int_t dev = json_integer_value(json_object_get(m, "dev"));
		json_int_t ino = json_integer_value(json_object_get(m, "ino"));

		if (strcmp(json_text(m, "mode"), "ro") != 0)
			writable_add(w, name,
				     (struct dir_id){ (dev_t)dev, (ino_t)ino });
	}
}

/* Adds the directory that acd last mounted writable for @rec, wherever it is
 * now, and the one with the recorded name, if it is writable. */
static void writable_of(struct writable *w, const json_t *rec)
{
	const char *path = json_text(rec, "workspace");
	const char *name = json_text(rec, "name");
	json_int_t dev, ino;
	struct stat st;

	dev = json_integer_value(json_object_get(rec, "workspace_dev"));
	ino = json_integer_value(json_object_get(rec, "workspace_ino"));
	if (ino != 0)
		writable_add(w, name,
			     (struct dir_id){ (dev_t)dev, (ino_t)ino });
	if (strcmp(json_text(rec, "workspace_mode"), "live") == 0 &&
	    stat(path, &st) == 0)
		writable_add(w, name, (struct dir_id){ st.st_dev, st.st_ino });
	writable_mounts(w, rec);
}

static int writable_read(struct writable *w, const json_t *instances)
{
	size_t all = json_array_size(instances), most = 1, i;

	for (i = 0; i < all; i++)
		most += 2 + json_array_size(json_object_get(
				    json_array_get(instances, i), "mounts"));
	w->ids = calloc(most, sizeof(*w->ids));
	w->names = calloc(most, sizeof(*w->names));
	if (!w->ids || !w->names)
		return -ENOMEM;
	for (i = 0; i < all; i++)
		writable_of(w, json_array_get(instances, i));
	return 0;
}

int workspace_writer(int fd, const json_t *instances, const char **ret)
{
	struct writable w = { 0 };
	ssize_t by = writable_read(&w, instances);

	if (by == 0)
		by = dirwalk_above(fd, w.ids, w.n);
	*ret = by >= 0 && (size_t)by < w.n ? w.names[by] : NULL;
	free(w.ids);
	free(w.names);
	return by < 0 ? (int)by : 0;
}

/* Returns the index of the instance that could choose where @turn leads, w->n
 * for none. A ".." that ends in the same workspace is harmless. */
static ssize_t turn_chosen(const struct workspace *ws,
			   const struct dirwalk_turn *turn,
			   const struct writable *w)
{
	ssize_t by = dirwalk_above(turn->fd, w->ids, w->n), end;

	if (by < 0 || by == (ssize_t)w->n || turn->link)
		return by;
	end = dirwalk_above(ws->walk.fd, &w->ids[by], 1);
	return end < 0 ? end : end == 0 ? (ssize_t)w->n : by;
}

int workspace_check_turns(const struct workspace *ws, const json_t *instances,
			  struct err *err)
{
	struct writable w = { 0 };
	int rc = ws->walk.n_turns > 0 ? writable_read(&w, instances) : 0;

	for (size_t i = 0; rc == 0 && w.n > 0 && i < ws->walk.n_turns; i++) {
		const struct dirwalk_turn *turn = &ws->walk.turns[i];
		ssize_t by = turn_chosen(ws, turn, &w);

		if (by < 0)
			rc = err_set(err, (int)by, "workspace %s: %s", ws->path,
				     err_text((int)by));
		else if (by < (ssize_t)w.n)
			rc = err_set(err, -EPERM,
				     "the way to workspace %s goes by %s "
				     "that the instance '%s' can change; give "
				     "the path without it, or --follow if that "
				     "is what you mean",
				     ws->path, turn->link ? "a link" : "a '..'",
				     w.names[by]);
	}
	free(w.ids);
	free(w.names);
	return rc == -ENOMEM ? err_nomem(err) : rc;
}

/* ---- to acd ---- */

/* Reads acd's answer: {"ok": true} or {"error": …}. */
static int check_answer(const char *answer, struct err *err)
{
	json_t *v = json_loads(answer, 0, NULL);
	bool good = json_is_true(json_object_get(v, "ok"));
	const char *why = json_text(json_object_get(v, "error"), "message");
	int rc = good ? 0 :
			err_set(err, -EPROTO,
				"acd did not take the directory: %s",
				*why ? why : answer);

	json_decref(v);
	return rc;
}

static int send_by_helper(const struct cli *cli, const char *instance,
			  const struct workspace *ws, struct err *err)
{
	char id[MOUNT_ID_MAX];
	const char *const argv[] = { HELPER,
				     "/run/ac/mount.sock",
				     instance,
				     "/workspace",
				     ws->read_only ? "ro" : "rw",
				     mount_id_text(ws->walk.fd, id),
				     ws->to,
				     NULL };
	SCOPED_STR run_dir = str_printf("%s/run", cli->home);
	SCOPED_STR answer = NULL;
	struct outer_info info;
	struct outer *o = NULL;
	int rc = run_dir ? outer_open(&o, err) : err_nomem(err);

	if (rc == 0)
		rc = outer_inspect(o, cli->host, &info, err);
	if (rc == 0 && !info.running)
		rc = err_set(err, -ENOTCONN, "%s is not running", cli->host);
	if (rc == 0)
		rc = outer_helper(o, info.image, ws->path, run_dir, argv,
				  &answer, err);
	outer_close(o);
	if (rc > 0)
		return err_set(err, -EIO, "%s",
			       answer && *answer ?
				       answer :
				       "ac-mount failed without a message");
	return rc < 0 ? rc : check_answer(answer, err);
}

int workspace_send(const struct cli *cli, const char *instance,
		   const struct workspace *ws, struct err *err)
{
	char answer[MOUNT_ANSWER_MAX];
	int rc = mount_send(cli->mount_sock, instance, ws->to, ws->walk.fd,
			    ws->read_only, answer, err);

	if (rc == -EPERM)
		rc = send_by_helper(cli, instance, ws, err);
	else if (rc == 0)
		rc = check_answer(answer, err);
	return rc < 0 ? err_wrap(err, "%s %s", kind_of(ws), ws->path) : 0;
}
