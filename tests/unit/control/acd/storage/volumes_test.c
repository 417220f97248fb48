/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volumes_test.c - volumes on disk: there as a whole or not at all
 */
#include "control/acd/storage/volumes.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/acd/storage/treejob.h"
#include "control/shared/volume.h"
#include "lib/file.h"
#include "tests/unit/step.h"
#include "tests/unit/tap.h"

static char root[] = "/tmp/ac-volumes-XXXXXX";
static char dir[64];

static char *path_of(const char *leaf)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, leaf);
	return path;
}

static void open_again(struct loop *loop)
{
	struct err err = { 0 };

	volumes_close();
	is_int(volumes_open(dir, getuid(), getgid(), &err), 0, "opened %s",
	       err.msg);
	if (loop)
		volumes_sweep(loop);
}

static void test_create(void)
{
	struct volume v = { 0 };
	struct strv names = { 0 };
	struct err err = { 0 };
	struct stat st;

	is_int(volume_find("cache", &v, &err), -ENOENT, "%s", err.msg);
	is_str(err.word, VOLUME_MISSING, "with a word");
	is_int(volume_create("cache", &err), 0, "made %s", err.msg);
	is_int(volume_create("a9", &err), 0, "and another %s", err.msg);
	open_again(NULL);
	is_int(volume_find("cache", &v, &err), 0, "found %s", err.msg);
	is_str(v.name, "cache", "by its name");
	ok(v.created_at > 1600000000, "and when it was made");
	ok(stat(path_of("cache/data"), &st) == 0 && S_ISDIR(st.st_mode) &&
		   (st.st_mode & 07777) == 0700,
	   "its data are its owner's alone");
	ok(volume_bytes("cache") < 65536, "it is empty");
	ok(volume_bytes("missing") == UINT64_MAX, "none has no size");
	is_int(volumes_names(&names, &err), 0, "listed %s", err.msg);
	ok(names.n == 2 && strcmp(names.v[0], "a9") == 0 &&
		   strcmp(names.v[1], "cache") == 0,
	   "both, sorted");
	strv_done(&names);
}

static void test_refused(void)
{
	static const char *const bad[] = { "",     "c",      ".new-1", "..",
					   "a/b",  "../up",  "-x",     "a b",
					   "none", "a\nbcd", NULL };
	struct volume v = { 0 };
	struct err err = { 0 };

	for (size_t i = 0; bad[i]; i++) {
		is_int(volume_create(bad[i], &err), -EINVAL, "%s", err.msg);
		ok(volume_find(bad[i], &v, &err) < 0, "nor found: %s", err.msg);
	}
	is_int(volume_create("cache", &err), -EEXIST, "%s", err.msg);
	is_int(volume_create("CACHE", &err), -EEXIST, "%s", err.msg);
}

/* The sandbox owns data; the user might do this to the rest. */
static void test_links(void)
{
	struct volume v = { 0 };
	struct err err = { 0 };
	uid_t uid;
	gid_t gid;
	int fd;

	ok(symlink("cache", path_of("link")) == 0, "a link to a volume");
	is_int(volume_find("link", &v, &err), -ELOOP, "is none: %s", err.msg);
	ok(mkdir(path_of("odd"), 0700) == 0 &&
		   symlink("/", path_of("odd/data")) == 0,
	   "a link for data");
	is_int(volume_data_open("odd", &uid, &gid, &err), -ELOOP,
	       "is not followed: %s", err.msg);
	unlink(path_of("odd/data"));
	rmdir(path_of("odd"));
	unlink(path_of("link"));
	fd = volume_data_open("cache", &uid, &gid, &err);
	ok(fd >= 0 && uid == getuid() && gid == getgid(),
	   "the real one is opened %s", err.msg);
	close(fd);
}

static int seen;

static void on_removed(void *arg, const struct err *err)
{
	(void)arg;
	seen = err ? err->code : 1;
}

/* What a sandbox can leave there: links out, and what root made. */
static void test_remove(struct loop *loop)
{
	const char *paths[2] = { NULL };
	struct treejob *job = NULL;
	struct strv names = { 0 };
	struct err err = { 0 };
	SCOPED_STR gone = NULL;
	char *again = NULL;
	char outside[64], inside[256];

	snprintf(outside, sizeof(outside), "%s/outside", root);
	is_int(file_replace(outside, "kept", 4, 0600), 0, "a file outside");
	ok(symlink(outside, path_of("cache/data/file")) == 0 &&
		   symlink(root, path_of("cache/data/dir")) == 0,
	   "links to it");
	is_int(volume_take("cache", &err), 0, "taken away %s", err.msg);
	ok(access(path_of("cache"), F_OK) < 0, "at once");
	is_int(volume_take("cache", &err), -ENOENT, "only once: %s", err.msg);
	is_int(volume_create("cache", &err), -EBUSY, "its name is not free: %s",
	       err.msg);
	is_int(volume_take_undo("cache"), 0, "put back");
	ok(access(path_of("cache/data/file"), F_OK) == 0, "whole");
	is_int(volume_take("cache", &err), 0, "taken again %s", err.msg);
	is_int(volume_drop("cache", &gone, &err), 0, "and dropped %s", err.msg);
	is_int(volume_drop("cache", &again, &err), -ENOENT, "once, too: %s",
	       err.msg);
	is_int(volume_create("cache", &err), 0, "the name is free %s", err.msg);
	snprintf(inside, sizeof(inside), "%s", gone);
	paths[0] = gone;
	is_int(treejob_start(loop, paths, on_removed, NULL, &job, &err), 0,
	       "its files are removed %s", err.msg);
	STEP_UNTIL(loop, seen != 0);
	is_int(seen, 1, "all");
	ok(access(inside, F_OK) < 0, "they are gone");
	ok(access(outside, F_OK) == 0, "but not what the links lead to");
	is_int(volumes_names(&names, &err), 0, "listed");
	is_int(names.n, 2, "two are there");
	strv_done(&names);
}

/* acd was killed in between. */
static void test_sweep(struct loop *loop)
{
	SCOPED_STR gone = NULL;
	struct strv names = { 0 };
	struct err err = { 0 };

	is_int(volume_take("a9", &err), 0, "taken away %s", err.msg);
	open_again(NULL);
	is_int(volumes_taken(&names), 0, "the next acd finds it");
	ok(names.n == 1 && strcmp(names.v[0], "a9") == 0, "by its name");
	strv_done(&names);
	is_int(volume_drop("a9", &gone, &err), 0, "dropped %s", err.msg);
	ok(mkdir(path_of(".new-0"), 0700) == 0, "and one half made");
	open_again(loop);
	STEP_UNTIL(loop, access(gone, F_OK) < 0 &&
				 access(path_of(".new-0"), F_OK) < 0);
	ok(access(gone, F_OK) < 0, "the next acd removes it");
	ok(access(path_of(".new-0"), F_OK) < 0, "that too");
	is_int(volumes_names(&names, &err), 0, "listed");
	ok(names.n == 1 && strcmp(names.v[0], "cache") == 0, "the other stays");
	strv_done(&names);
}

int main(void)
{
	struct loop *loop = loop_new();

	signal(SIGCHLD, SIG_IGN);
	if (!mkdtemp(root))
		return 1;
	snprintf(dir, sizeof(dir), "%s/volumes", root);
	open_again(NULL);
	test_create();
	test_refused();
	test_links();
	test_remove(loop);
	test_sweep(loop);
	/* The child of the sweep ends after its work, and its job is freed when
	 * acd sees that. SIGCHLD is ignored, so this waits for all. */
	while (waitpid(-1, NULL, 0) >= 0 || errno == EINTR)
		continue;
	step(loop);
	volumes_close();
	loop_free(loop);
	file_remove_tree(root);
	return done_testing();
}
