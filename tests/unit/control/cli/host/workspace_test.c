/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace_test.c - --workspace: what is judged is what is opened
 */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/cli/host/workspace.h"
#include "control/shared/json.h"
#include "control/shared/mount_send.h"
#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static char top[] = "/tmp/cli_workspace_test.XXXXXX";
static char at[PATH_MAX];

/* top and @rest, until the next call. */
static const char *in(const char *rest)
{
	snprintf(at, sizeof(at), "%s/%s", top, rest);
	return at;
}

static int parse(const char *text, const char *home, struct workspace *ret,
		 struct err *err)
{
	SCOPED_STR copy = strdup(home);
	const struct cli cli = { .home = copy, .quiet = true };

	workspace_done(ret);
	memset(err, 0, sizeof(*err));
	return workspace_parse(&cli, text, ret, err);
}

/* ---- $AC_HOME ---- */

static void test_home(void)
{
	SCOPED_WORKSPACE ws = WORKSPACE_NONE;
	SCOPED_STR sub = strdup(in("home/run"));
	SCOPED_STR home = strdup(in("home"));
	struct err err;

	is_int(parse(home, sub, &ws, &err), -EPERM,
	       "what holds AC_HOME is refused: %s", err.msg);
	is_int(parse(sub, sub, &ws, &err), -EPERM, "AC_HOME is refused");
	is_int(parse(sub, home, &ws, &err), -EPERM, "what is in it is refused");
	is_int(parse("/", home, &ws, &err), -EPERM, "/ is refused");
	is_int(parse("/tmp/../", home, &ws, &err), -EPERM,
	       "/ by another name too");
	is_int(parse(in("none:ro"), "/nowhere", &ws, &err), -ENOENT,
	       "one that is not there");
	is_int(parse(in("home/:ro"), "/nowhere", &ws, &err), 0, "read-only");
	ok(ws.read_only, "is read-only");
	is_str(ws.mode, "ro", "as its mode says");
	is_str(ws.path, home, "without the suffix");
	is_int(parse(home, in("hom"), &ws, &err), 0,
	       "a name that only begins alike");
	is_int(parse(top, in("later/ac"), &ws, &err), -EPERM,
	       "what will hold AC_HOME is refused");
	is_int(parse(home, in("later/ac"), &ws, &err), 0, "beside it is not");
	is_int(parse("/dev/null", "/nowhere", &ws, &err), -ENOTDIR,
	       "no directory");
}

static void test_links(void)
{
	SCOPED_WORKSPACE ws = WORKSPACE_NONE;
	SCOPED_STR home = strdup(in("home"));
	SCOPED_STR deep = strdup(in("proj/a/b"));
	struct err err;

	is_int(parse(in("proj/to-home"), home, &ws, &err), -EPERM,
	       "a link to AC_HOME is refused");
	is_int(parse(in("proj/to-home/run"), home, &ws, &err), -EPERM,
	       "and what is below it");
	is_int(parse(in("proj/rel"), home, &ws, &err), 0,
	       "another is followed: %s", err.msg);
	is_str(ws.path, deep, "to where it leads");
	ok(ws.walk.linked, "which is told");
	is_int(parse(in("proj/abs/b"), home, &ws, &err), 0,
	       "an absolute one: %s", err.msg);
	is_str(ws.path, deep, "too");
	is_int(parse(in("proj/a/../a/./b/"), home, &ws, &err), 0, "by ..: %s",
	       err.msg);
	ok(!ws.walk.linked, "no link was followed");
	is_str(ws.path, deep, "to the same");
	is_int(parse(in("proj/loop"), home, &ws, &err), -ELOOP,
	       "a link to itself");
	is_int(parse(in("proj/file/x"), home, &ws, &err), -ENOTDIR,
	       "below a file");
}

/* A directory that a blueprint shows, opened and judged as a workspace is. */
static void test_mount(void)
{
	SCOPED_STR home = strdup(in("home"));
	SCOPED_STR deep = strdup(in("proj/a/b"));
	const struct cli cli = { .home = home, .quiet = true };
	const struct {
		const char *path;
		int code;
		const char *says;
	} cases[] = {
		{ "proj/a/b", 0, "" },
		{ "proj/rel", -ELOOP, "/proj/rel (/mnt/x) leads through a " },
		{ "proj/abs/b", -ELOOP, "leads through a link" },
		{ "proj/none", -ENOENT, "there is no such directory: make it" },
		{ "proj/file", -ENOTDIR, "is not a directory" },
		{ "home", -EPERM, "would show ac's own state" },
		{ "home/run/in", -EPERM, "would show ac's own state" },
		{ "", -EPERM, "would show ac's own state" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		SCOPED_WORKSPACE ws = WORKSPACE_NONE;
		struct err err = { 0 };

		is_int(workspace_mount(&cli, in(cases[i].path), "/mnt/x", &ws,
				       &err),
		       cases[i].code, "mount '%s'", cases[i].path);
		ok(strstr(err.msg, cases[i].says) &&
			   (!err.code || str_starts(err.msg, "mount ")),
		   "says: %s", err.msg);
		if (!err.code)
			is_str(ws.path, deep, "it is this one");
	}
}

static void test_recorded(void)
{
	SCOPED_STR home = strdup(in("home"));
	const struct cli cli = { .home = home, .quiet = true };
	SCOPED_WORKSPACE good = WORKSPACE_NONE;
	SCOPED_WORKSPACE bad = WORKSPACE_NONE;
	SCOPED_WORKSPACE below = WORKSPACE_NONE;
	struct err err = { 0 };

	is_int(workspace_recorded(&cli, in("proj/a:ro"), &good, &err), 0,
	       "a recorded name has no suffix");
	is_int(workspace_recorded(&cli, in("proj/rel"), &bad, &err), -ELOOP,
	       "a link in the place of the recorded directory: %s", err.msg);
	is_int(workspace_recorded(&cli, in("proj/abs/b"), &below, &err), -ELOOP,
	       "or above it");
}

/* ---- a directory that becomes a link between the steps ---- */

struct swap {
	const char *when; /* before this component is opened */
	unsigned done;
};

static void swap_now(void *arg, const char *name)
{
	struct swap *s = arg;

	if (strcmp(name, s->when) != 0 || s->done++ > 0)
		return;
	ok(chdir(top) == 0 && rename("proj/sub", "proj/was") == 0 &&
		   rename("proj/trap", "proj/sub") == 0,
	   "swapped before %s", name);
}

static void swap_back(void)
{
	ok(rename("proj/sub", "proj/trap") == 0 &&
		   rename("proj/was", "proj/sub") == 0,
	   "and back");
}

static void test_swap(void)
{
	static const char *const when[] = { "proj", "sub", "in" };
	SCOPED_STR home = strdup(in("home"));
	struct dir_id run, got;
	SCOPED_FD fd = open(in("home/run"), O_PATH | O_CLOEXEC);

	ok(dirwalk_id(fd, &run) == 0, "what must not be seen");
	for (size_t i = 0; i < ARRAY_SIZE(when); i++) {
		SCOPED_WORKSPACE ws = WORKSPACE_NONE;
		struct swap s = { .when = when[i] };
		struct err err;
		int rc;

		dirwalk_hook(swap_now, &s);
		rc = parse(in("proj/sub/in"), home, &ws, &err);
		dirwalk_hook(NULL, NULL);
		if (i < 2)
			is_int(rc, -EPERM, "the link to AC_HOME is refused");
		else
			is_int(rc, 0, "the directory was opened before");
		ok(rc < 0 || (dirwalk_id(ws.walk.fd, &got) == 0 &&
			      got.ino != run.ino),
		   "AC_HOME was not opened");
		swap_back();
	}
	/* The name says it after the judgement, and is not asked again. */
	{
		SCOPED_WORKSPACE ws = WORKSPACE_NONE;
		struct swap s = { .when = "now" };
		char before[MOUNT_ID_MAX], after[MOUNT_ID_MAX];
		struct err err;

		is_int(parse(in("proj/sub/in"), home, &ws, &err), 0, "judged");
		mount_id_text(ws.walk.fd, before);
		swap_now(&s, "now");
		is_str(mount_id_text(ws.walk.fd, after), before,
		       "a later swap changes nothing");
		fd_closep(&fd);
		fd = open(in("proj/sub/in"), O_PATH | O_CLOEXEC);
		ok(strcmp(mount_id_text(fd, after), before) != 0,
		   "while the name leads elsewhere");
		swap_back();
	}
}

/* ---- who chose the way ---- */

static int turns(const char *path, const char *workspace, bool ro,
		 struct err *err)
{
	SCOPED_STR home = strdup(in("home"));
	SCOPED_JSON list = json_pack("[{s:s}, {s:s, s:s, s:s}]", "name", "none",
				     "name", "worker", "workspace",
				     in(workspace), "workspace_mode",
				     ro ? "copy" : "live");
	SCOPED_WORKSPACE ws = WORKSPACE_NONE;
	int rc = parse(in(path), home, &ws, err);

	return rc < 0 ? 1 : workspace_check_turns(&ws, list, err);
}

/* Its directory has another name now: acd says which one it was. */
static void test_renamed(void)
{
	SCOPED_STR home = strdup(in("home"));
	SCOPED_WORKSPACE ws = WORKSPACE_NONE;
	SCOPED_JSON list = NULL;
	struct stat st = { 0 };
	struct err err;

	is_int(stat(in("proj"), &st), 0, "the directory");
	list = json_pack("[{s:s, s:s, s:s, s:I, s:I}]", "name", "worker",
			 "workspace", in("gone"), "workspace_mode", "live",
			 "workspace_dev", (json_int_t)st.st_dev,
			 "workspace_ino", (json_int_t)st.st_ino);
	is_int(parse(in("proj/rel"), home, &ws, &err), 0, "a link in it");
	is_int(workspace_check_turns(&ws, list, &err), -EPERM,
	       "is still one that the instance can change");
	ok(strstr(err.msg, "'worker' can change") != NULL, "%s", err.msg);
	json_object_set_new(json_array_get(list, 0), "workspace_mode",
			    json_string("ro"));
	is_int(workspace_check_turns(&ws, list, &err), -EPERM,
	       "also when it was given read-only since then");
	json_object_del(json_array_get(list, 0), "workspace");
	is_int(workspace_check_turns(&ws, list, &err), -EPERM,
	       "or it has another workspace now");
	json_object_set_new(json_array_get(list, 0), "workspace_ino",
			    json_integer(0));
	is_int(workspace_check_turns(&ws, list, &err), 0,
	       "one that was never bound has written nothing");
	json_object_set_new(json_array_get(list, 0), "mounts",
			    json_pack("[{s:s, s:I, s:I}]", "mode", "was_live",
				      "dev", (json_int_t)st.st_dev, "ino",
				      (json_int_t)st.st_ino));
	is_int(workspace_check_turns(&ws, list, &err), -EPERM,
	       "nor is a mount that was live once forgotten");
}

static const struct {
	const char *path, *workspace;
	bool ro;
	int want;
	const char *what;
} ways[] = {
	{ "proj/rel", "proj", false, -EPERM, "a link in a workspace" },
	{ "proj/a/up", "proj", false, -EPERM, "or below it" },
	{ "proj/abs/b", "proj", false, -EPERM, "or on the way" },
	{ "proj/rel", "proj", true, 0, "not in one that is read-only" },
	{ "proj/a/b", "proj", false, 0, "a directory in it without a link" },
	{ "proj/rel", "proj/a", false, 0, "a link beside it" },
	{ "link/a", "proj", false, 0, "a link to it that is the user's" },
	{ "proj/a/b/..", "proj", false, 0, ".. that stays in it" },
	{ "proj/a/b/../../../beside", "proj", false, -EPERM,
	  ".. that leaves it" },
	{ "proj/../beside", "proj", false, 0, ".. of itself" },
};

static void test_turns(void)
{
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		is_int(turns(ways[i].path, ways[i].workspace, ways[i].ro, &err),
		       ways[i].want, "%s: %s", ways[i].what, ways[i].path);
	turns("proj/rel", "proj", false, &err);
	ok(strstr(err.msg, "'worker'") && strstr(err.msg, "--follow"),
	   "names who and what helps: %s", err.msg);
}

/* ---- bind mounts ---- */

static bool bind(const char *from, const char *to)
{
	SCOPED_STR source = strdup(in(from));

	return mount(source, in(to), NULL, MS_BIND, NULL) == 0;
}

static void test_mounts(void)
{
	SCOPED_STR home = strdup(in("home"));
	SCOPED_WORKSPACE ws = WORKSPACE_NONE;
	struct err err;

	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		skip("mounts need root");
		return;
	}
	if (!ok(bind("home/run", "beside/x y") && bind("", "all") &&
			bind("beside", "proj/a/b") && bind("home", "ac"),
		"bind mounts"))
		return;
	is_int(parse(in("beside/x y"), home, &ws, &err), -EPERM,
	       "a bind mount of what is in AC_HOME");
	is_int(parse(in("all"), home, &ws, &err), -EPERM,
	       "one of what AC_HOME is in");
	is_int(parse(in("all/home"), home, &ws, &err), -EPERM,
	       "AC_HOME below one");
	is_int(parse(in("all/beside"), home, &ws, &err), 0,
	       "what is beside it below one: %s", err.msg);
	is_int(parse(in("proj"), home, &ws, &err), 0,
	       "what another is mounted in: %s", err.msg);
	is_int(parse(home, in("ac"), &ws, &err), -EPERM,
	       "AC_HOME, itself a bind mount, by its other name");
}

int main(void)
{
	static const char *const dirs[] = { "home/run/in", "proj/a/b",
					    "proj/a:ro",   "proj/sub/in",
					    "beside/x y",  "all",
					    "ac" };
	static const char *const links[][2] = {
		{ "../home", "proj/to-home" },   { "a/b", "proj/rel" },
		{ "../../beside", "proj/a/up" }, { "loop", "proj/loop" },
		{ "../home/run", "proj/trap" },  { "proj", "link" },
	};
	SCOPED_STR abs = NULL;
	bool made;

	if (!mkdtemp(top) || chdir(top) < 0)
		return 1;
	abs = strdup(in("proj/a"));
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		file_mkdir_p(in(dirs[i]), 0700);
	made = symlink(abs, "proj/abs") == 0;
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		made &= symlink(links[i][0], links[i][1]) == 0;
	made &= close(open("proj/file", O_CREAT | O_CLOEXEC, 0600)) == 0;
	ok(made, "a tree");
	test_home();
	test_links();
	test_mount();
	test_recorded();
	test_swap();
	test_turns();
	test_renamed();
	test_mounts();
	umount2(in("ac"), MNT_DETACH);
	umount2(in("proj/a/b"), MNT_DETACH);
	umount2(in("all"), MNT_DETACH);
	umount2(in("beside/x y"), MNT_DETACH);
	ok(chdir("/") == 0 && file_remove_tree(top) == 0, "and away");
	return done_testing();
}
