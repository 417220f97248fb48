/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace.c - the user's directory on its way into a sandbox
 *
 * acd cannot see the user's files, and must not open paths of his. So it
 * gets a descriptor: a detached copy of the mount that the directory is on,
 * made by open_tree(2). That takes CAP_SYS_ADMIN; who has not got it lets
 * the outer engine do it, in a container that sees this one directory.
 */
#include "control/cli/workspace.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "control/cli/outer.h"
#include "control/shared/mount_send.h"
#include "lib/file.h"
#include "lib/str.h"

#define HELPER "/usr/libexec/ac/ac-mount"

/* @inner is @outer or below it. */
static bool contains(const char *outer, const char *inner)
{
	size_t len = strlen(outer);

	return strncmp(outer, inner, len) == 0 &&
	       (inner[len] == '\0' || inner[len] == '/');
}

int workspace_parse(const char *text, const char *home, struct workspace *ret,
		    struct err *err)
{
	SCOPED_STR given = str_printf("%s", text);
	char home_real[PATH_MAX];
	struct stat st;
	size_t len;

	if (!given)
		return err_set(err, -ENOMEM, "out of memory");
	memset(ret, 0, sizeof(*ret));
	ret->read_only = str_ends(given, ":ro");
	if (ret->read_only || str_ends(given, ":rw")) {
		len = strlen(given);
		given[len - 3] = '\0';
	}
	if (!realpath(given, ret->path))
		return err_sys(err, "--workspace %s", given);
	if (stat(ret->path, &st) < 0)
		return err_sys(err, "--workspace %s", ret->path);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, -ENOTDIR,
			       "--workspace %s is not a "
			       "directory",
			       ret->path);
	if (!realpath(home, home_real))
		snprintf(home_real, sizeof(home_real), "%s", home);
	if (strcmp(ret->path, "/") == 0 || contains(ret->path, home_real) ||
	    contains(home_real, ret->path))
		return err_set(err, -EPERM,
			       "--workspace %s would show ac's own "
			       "state (%s) to the agent: choose a directory "
			       "beside it",
			       ret->path, home_real);
	ret->uid = st.st_uid;
	ret->gid = st.st_gid;
	return 0;
}

/* What acd answered: {"ok": true} or {"error": …}. */
static int check_answer(const char *answer, struct err *err)
{
	json_t *v = json_loads(answer, 0, NULL);
	bool good = json_is_true(json_object_get(v, "ok"));
	const char *why = json_text(json_object_get(v, "error"), "message");
	int rc = good ? 0 :
			err_set(err, -EPROTO,
				"acd did not take the workspace:"
				" %s",
				*why ? why : answer);

	json_decref(v);
	return rc;
}

static int send_by_helper(const struct cli *cli, const char *instance,
			  const struct workspace *ws, struct err *err)
{
	const char *const argv[] = {
		HELPER,       "/run/ac/mount.sock",        instance,
		"/workspace", ws->read_only ? "ro" : "rw", NULL
	};
	SCOPED_STR run_dir = str_printf("%s/run", cli->home);
	SCOPED_STR answer = NULL;
	struct outer_info info;
	struct outer *o = NULL;
	int rc = run_dir ? outer_open(&o, err) :
			   err_set(err, -ENOMEM, "out of memory");

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
				       "ac-mount failed without a word");
	return rc < 0 ? rc : check_answer(answer, err);
}

int workspace_send(const struct cli *cli, const char *instance,
		   const struct workspace *ws, struct err *err)
{
	char answer[MOUNT_ANSWER_MAX];
	int rc = mount_send(cli->mount_sock, instance, ws->path, ws->read_only,
			    answer, err);

	if (rc == -EPERM)
		rc = send_by_helper(cli, instance, ws, err);
	else if (rc == 0)
		rc = check_answer(answer, err);
	return rc < 0 ? err_wrap(err, "workspace %s", ws->path) : 0;
}
