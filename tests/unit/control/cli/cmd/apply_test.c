/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_test.c - the commands diff and apply, against an acd that sends archives
 */
#include "control/cli/cmd/apply.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "control/cli/cmd/diff.h"
#include "control/shared/json.h"
#include "lib/sock.h"
#include "tests/unit/control/cli/layer/world.h"

static struct world w, other; /* "bob"'s changes, and "eve"'s */
static char sock[100], home[100], said[100];

/* ---- acd ---- */

static int answer(int fd, int status, const void *body, size_t len)
{
	char head[128];
	int n = snprintf(head, sizeof(head),
			 "HTTP/1.1 %d X\r\nContent-Length: %zu\r\n\r\n", status,
			 len);
	int rc = fd_write_all(fd, head, (size_t)n);

	return rc < 0 ? rc : fd_write_all(fd, body, len);
}

static int answer_record(int fd, const char *name)
{
	SCOPED_STR mode =
		str_printf("%s", strcmp(name, "live") == 0 ? "live" : "copy");
	SCOPED_STR body = NULL;
	struct stat st;

	if (!mode || stat(w.user, &st) < 0)
		return -ENOENT;
	body = str_printf(
		"{\"name\":\"%s\",\"workspace\":\"%s\","
		"\"workspace_mode\":\"%s\",\"layer_dev\":%lld,"
		"\"layer_ino\":%lld,\"layer_since_ns\":%lld}",
		name, w.user, mode,
		(long long)st.st_dev + (strcmp(name, "rebooted") == 0),
		(long long)st.st_ino + (strcmp(name, "moved") == 0),
		strcmp(mode, "copy") == 0 ? (long long)w.key.since : 0LL);
	return body ? answer(fd, 200, body, strlen(body)) : -ENOMEM;
}

static int answer_any(int fd, const char *request)
{
	static const char missing[] = "{\"error\":{\"code\":\"not_found\","
				      "\"message\":\"there is no such\"}}";
	static const char version[] = "{\"api\":1,\"build\":\"x\"}";
	static const char *const names[] = { "bob", "eve", "live", "moved",
					     "rebooted" };

	if (str_starts(request, "GET /v1/version "))
		return answer(fd, 200, version, strlen(version));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		SCOPED_STR record =
			str_printf("GET /v1/instances/%s ", names[i]);
		SCOPED_STR changes =
			str_printf("GET /v1/instances/%s/changes ", names[i]);
		const struct buf *b = i == 1 ? &other.archive : &w.archive;

		if (record && str_starts(request, record))
			return answer_record(fd, names[i]);
		if (changes && str_starts(request, changes))
			return answer(fd, 200, buf_slice(b).ptr, buf_len(b));
	}
	return answer(fd, 404, missing, strlen(missing));
}

static void serve_one(int fd)
{
	char request[8192];
	size_t len = 0;

	for (;;) {
		ssize_t n = read(fd, request + len, sizeof(request) - 1 - len);

		if (n <= 0)
			return;
		len += (size_t)n;
		request[len] = '\0';
		if (!strstr(request, "\r\n\r\n"))
			continue;
		if (answer_any(fd, request) < 0)
			return;
		len = 0;
	}
}

static pid_t serve(void)
{
	int at = sock_unix_listen(sock, 0600, 8);
	pid_t pid = fork();

	if (pid != 0) {
		close(at);
		return pid;
	}
	fd_nonblock(at, 0);
	for (;;) {
		SCOPED_FD fd = accept(at, NULL, NULL);

		if (fd < 0)
			_exit(0);
		fd_nonblock(fd, 0);
		serve_one(fd);
	}
}

/* ---- a call ---- */

/* Calls a command in a process of its own, with no terminal. Returns its exit code;
 * what it printed is in @said. */
static int call(int (*cmd)(const struct cli *cli, const struct args *a,
			   struct err *err),
		const struct args *a, bool json)
{
	char host[] = "h", volume[] = "h-docker";
	const struct cli cli = { .home = home,
				 .host = host,
				 .volume = volume,
				 .sock = sock,
				 .json = json };
	struct err err = { 0 };
	int status = 0, rc;
	pid_t acd = serve(), pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int fd = open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		int null = open("/dev/null", O_RDONLY);

		dup2(null, 0);
		dup2(fd, 1);
		dup2(fd, 2);
		setvbuf(stdout, NULL, _IONBF, 0);
		rc = cmd(&cli, a, &err);
		if (rc < 0)
			fprintf(stderr, "error: %s\n", err.msg);
		_exit(rc < 0 ? 100 : rc > 99 ? 99 : rc);
	}
	waitpid(pid, &status, 0);
	kill(acd, SIGKILL);
	waitpid(acd, NULL, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool has(const char *part)
{
	SCOPED_STR text = NULL;
	bool found = file_read(said, 1 << 20, &text, NULL) == 0 &&
		     strstr(text, part) != NULL;

	if (!found)
		printf("# not said: %s\n# but: %s\n", part, text ? text : "");
	return found;
}

static struct args words(const char *one, const char *two)
{
	return (struct args){ .words = { one, two }, .n_words = two ? 2 : 1 };
}

/* ---- tests ---- */

static void make(void)
{
	world_write(&w, "a.c", "1\n2\n3\n", 0644);
	world_write(&w, "mine", "x\n", 0644);
	world_write(&w, "plain", "x\n", 0644);
	world_write(&w, "gone", "x\n", 0644);
	world_mkdir(&w, "b");
	world_write(&w, "b/x", "x\n", 0644);
	world_since(&w);
	world_write(&w, "mine", "edited\n", 0644);
	world_file(&w, "a.c", "1\nX\n3\n");
	world_file(&w, "mine", "theirs\n");
	world_file(&w, "sub/new\n", "n\n");
	world_file(&w, ".git/hooks/pre-commit", "evil\n");
	world_gone(&w, "gone");
	world_gone(&w, "b");
	world_other(&w, "pipe", CHANGE_FIFO);
	if (changes_end(&w.archive) < 0)
		printf("# no archive\n");
	world_file(&other, "a.c", "1\nY\n3\n");
	world_file(&other, "Makefile", "all:\n");
	if (changes_end(&other.archive) < 0)
		printf("# no archive\n");
}

static void test_diff(void)
{
	struct args a = words("bob", NULL);

	is_int(call(cmd_diff, &a, false), 0, "diff");
	ok(has("diff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n"
	       "@@ -1,3 +1,3 @@\n 1\n-2\n+X\n 3\n"),
	   "a patch");
	ok(has("+++ \"b/sub/new\\n\"\n"), "a name is quoted");
	ok(has("ac: 1 change in .git: these are never applied; commits come by "
	       "`ac fetch bob`\nac:   .git/hooks/pre-commit\n"),
	   ".git is counted and named");
	ok(has("ac: 1 file of bob left out, and never applied:\n"
	       "ac:   pipe (a FIFO)\n"),
	   "so is a FIFO");
	a.given.has[ARG_STAT] = true;
	is_int(call(cmd_diff, &a, false), 0, "diff --stat");
	ok(has("a.c         |     2 +-\n"), "figures");
	ok(has(" 5 files changed, 3 insertions(+), 4 deletions(-)\n"),
	   "totals");
	a = words("bob", "a.c");
	is_int(call(cmd_diff, &a, true), 0, "diff --json");
	ok(has("{\"files\":[{\"path\":\"a.c\",\"kind\":\"changed\","
	       "\"directory\":false,\"added\":1,\"removed\":1,"
	       "\"binary\":false,\"old_size\":6,"
	       "\"new_size\":6,\"risky\":null,\"conflict\":null,"
	       "\"merge\":null}],\"left_out\":[]}\n"),
	   "one file");
	a = words("bob", NULL);
	is_int(call(cmd_diff, &a, true), 0, "diff --json of all");
	ok(has("\"left_out\":[{\"path\":\".git/hooks/pre-commit\","
	       "\"reason\":\"git\"},{\"path\":\"pipe\",\"reason\":"
	       "\"fifo\"}]}\n"),
	   "names what is never applied");
	a = words("bob", "/etc");
	is_int(call(cmd_diff, &a, false), 100, "a path outside");
	ok(has("is not in the workspace"), "is refused");
	a = words("bob", "eve");
	is_int(call(cmd_diff, &a, false), 0, "two instances");
	ok(has("-X\n+Y\n"), "of what both have changed");
	ok(has("+++ /dev/null\n@@ -1 +0,0 @@\n-n\n"), "what one has made");
	ok(has("+++ b/Makefile\n"), "and the other");
	a = words("live", NULL);
	is_int(call(cmd_diff, &a, false), 100, "a live workspace");
	ok(has("works in your directory itself (live)"), "has no changes");
	a = words("moved", NULL);
	is_int(call(cmd_diff, &a, false), 0, "another directory");
	ok(has("another directory than the one"), "is named");
	ok(has("-2\n+X\n"), "and the changes are shown");
}

/* A path that is nowhere is a mistake; one without changes is none. */
static void test_paths(void)
{
	struct args a = words("bob", "nosuch");

	is_int(call(cmd_diff, &a, false), 100,
	       "diff of a path that is nowhere");
	ok(has("'nosuch' matches no file: it is neither among the changes of "
	       "bob nor in "),
	   "is refused, by its name");
	is_int(call(cmd_apply, &a, false), 100, "and apply of one");
	ok(has("'nosuch' matches no file"), "too");
	a = words("bob", "a.c/nosuch");
	is_int(call(cmd_apply, &a, false), 100, "nothing is below a file");
	a = words("bob", "plain");
	is_int(call(cmd_apply, &a, false), 0, "a file without changes");
	ok(has("nothing to apply"), "has none");
	is_int(call(cmd_diff, &a, false), 0, "nor a difference");
	a = words("bob", ".git/config");
	is_int(call(cmd_apply, &a, false), 0, "what is in .git is told of");
	a = words("bob", "eve");
	a.cmd = (char *[]){ (char[]){ "Makefile" } };
	a.n_cmd = 1;
	is_int(call(cmd_diff, &a, false), 0, "what only one of two has");
	a.cmd = (char *[]){ (char[]){ "nosuch" } };
	is_int(call(cmd_diff, &a, false), 100, "what neither has");
	ok(has("'nosuch' matches no file"), "is refused");
}

static void test_dry_run(void)
{
	struct args a = words("bob", NULL);

	a.given.has[ARG_DRY_APPLY] = true;
	is_int(call(cmd_apply, &a, false), 1, "--dry-run with a conflict");
	ok(has("would change  a.c\n"), "a change");
	ok(has("would make    \"sub/new\\n\"\n"), "a new file");
	ok(has("would delete  gone\n"), "a deletion");
	ok(has("conflict      mine (you have changed it too)\n"), "a conflict");
	ok(has("ac: nothing was changed: the same command without --dry-run "
	       "applies this\n"),
	   "and last that nothing was done");
	is_str(world_read(&w, "gone"), "x\n", "nothing is done");
	is_int(call(cmd_apply, &a, true), 1, "--dry-run --json");
	ok(has("\"dry_run\":true,\"applied\":0,"), "says so");
}

static void test_apply(void)
{
	struct args a = words("eve", NULL);
	struct spot spot;

	is_int(call(cmd_apply, &a, false), 1, "what runs code");
	ok(has("Makefile (make)") && has("nothing was applied"),
	   "is refused without a terminal");
	is_str(world_read(&w, "Makefile"), "(none)", "and not there");
	a = words("moved", NULL);
	is_int(call(cmd_apply, &a, false), 100, "another directory");
	ok(has("another directory than the one"), "is refused");
	a = words("rebooted", "a.c");
	a.given.has[ARG_DRY_APPLY] = true;
	if (tree_look(w.root, ".", &spot) == 0 && spot.born != 0)
		is_int(call(cmd_apply, &a, false), 0,
		       "another number of the device is the same one");
	a = words("bob", "b/x");
	is_int(call(cmd_apply, &a, false), 100, "a file of a directory");
	ok(has("b as a whole was deleted: `ac apply bob b` applies that"),
	   "that is gone as a whole");
	is_str(world_read(&w, "b/x"), "x\n", "it stays");
	a = words("bob", NULL);
	is_int(call(cmd_apply, &a, true), 1, "apply --json");
	ok(has("\"dry_run\":false,\"applied\":4,"), "says that it was done");
	ok(has("\"applied\":4,\"conflicts\":1,\"merged\":0,"
	       "\"merged_with_conflicts\":0,\"git\":1,"),
	   "figures");
	ok(has("\"beside\":[{\"path\":\"mine.ac-bob\"}],\"left\":[],"
	       "\"left_out\":[{\"path\":\".git/hooks/pre-commit\","),
	   "what is beside, and what is left out");
	is_str(world_read(&w, "a.c"), "1\nX\n3\n", "it is applied");
	is_str(world_read(&w, "mine"), "edited\n", "the user's stays");
	is_str(world_read(&w, ".git"), "(none)", "no .git");
	a = words("bob", "a.c");
	is_int(call(cmd_apply, &a, false), 0, "again");
	ok(has("nothing to apply"), "there is nothing");
	a = words("bob", NULL);
	a.given.has[ARG_UNDO] = true;
	is_int(call(cmd_apply, &a, false), 0, "--undo");
	is_str(world_read(&w, "a.c"), "1\n2\n3\n", "it is taken back");
	is_str(world_read(&w, "sub"), "(none)", "with its directory");
	is_str(world_read(&w, "mine.ac-bob"), "(none)", "and what was beside");
	is_int(call(cmd_apply, &a, false), 100, "--undo again");
	ok(has("there is no apply of bob to take back"), "has nothing");
	a = words("bob", "a.c");
	a.given.has[ARG_UNDO] = true;
	is_int(call(cmd_apply, &a, false), 99, "--undo of a path is usage");
}

static char *state_file(const char *name)
{
	return str_printf("%s/instances/bob/apply/%s", home, name);
}

/* An apply that was killed, whose layer the user has discarded since. */
static void test_discarded(void)
{
	struct args a = words("bob", NULL);
	SCOPED_STR done = state_file("last/done");
	SCOPED_STR journal = state_file("last/journal");
	SCOPED_STR written = state_file("written");
	SCOPED_STR before = NULL;
	SCOPED_STR after = NULL;

	is_int(call(cmd_apply, &a, false), 1, "apply");
	is_str(world_read(&w, "a.c"), "1\nX\n3\n", "it is applied");
	ok(done && journal && written && unlink(done) == 0,
	   "but not to its end");
	is_int(file_read(written, 1 << 20, &before, NULL), 0, "it is noted");
	w.key.since++;
	is_int(call(cmd_apply, &a, false), 100, "of another layer");
	ok(has("discarded since: `ac apply bob --undo` takes it back"),
	   "it is not finished");
	ok(access(journal, F_OK) == 0, "nor forgotten");
	a.given.has[ARG_UNDO] = true;
	is_int(call(cmd_apply, &a, false), 0, "--undo");
	is_str(world_read(&w, "a.c"), "1\n2\n3\n", "takes it back");
	is_int(file_read(written, 1 << 20, &after, NULL), 0, "what is noted");
	is_str(after, before, "is of no other layer");
	a.given.has[ARG_UNDO] = false;
	is_int(call(cmd_apply, &a, false), 1, "apply, as ever");
	a.given.has[ARG_UNDO] = true;
	is_int(call(cmd_apply, &a, false), 0, "and back");
	w.key.since--;
}

int main(void)
{
	if (!world_begin(&w) || !world_begin(&other))
		return 1;
	snprintf(home, sizeof(home), "%s/home", w.top);
	snprintf(sock, sizeof(sock), "%s/acd", w.top);
	snprintf(said, sizeof(said), "%s/said", w.top);
	if (mkdir(home, 0700) < 0)
		return 1;
	setlinebuf(stdout);
	make();
	test_diff();
	test_paths();
	test_dry_run();
	test_apply();
	test_discarded();
	world_end(&w);
	world_end(&other);
	return done_testing();
}
