/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_test.c - what NAME[:TAG] means, what --remove prints, the
 * order of a list, and what Ctrl-C says
 */
#include "control/cli/cmd/snapshot/snapshot.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "control/cli/core/version.h"
#include "lib/file.h"
#include "lib/str.h"
#include "tests/fake/engine.h"
#include "tests/unit/tap.h"

static const struct {
	const char *word;
	int code;
	const char *name, *tag;
} cases[] = {
	{ "one", 0, "one", NULL },
	{ "one:two", 0, "one", "two" },
	{ "one:", -EINVAL, NULL, NULL },
	{ ":two", -EINVAL, NULL, NULL },
	{ "a:b:c", -EINVAL, NULL, NULL }, /* "a:b" is no name */
	{ "../x:t", -EINVAL, NULL, NULL },
	{ "one:../../x", 0, "one", "../../x" }, /* acd refuses the tag */
};

static void test_words(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct snapshot_word w = { 0 };
		struct err err = { 0 };
		int rc = snapshot_word_parse(cases[i].word, &w, &err);

		is_int(rc, cases[i].code, "%s: %s", cases[i].word, err.msg);
		if (rc < 0)
			continue;
		is_str(w.name, cases[i].name, "its name");
		is_str(w.tag, cases[i].tag, "its tag");
	}
}

/* ---- against a fake acd ---- */

/* All of one second, as acd lists them: in no order. */
#define ROW(name, tag, ns)                          \
	"{\"instance\":\"" name "\",\"tag\":\"" tag \
	"\",\"created_at\":1700000000,\"created_ns\":1700000000" ns "}"
static const char list[] =
	"{\"snapshots\":[" ROW("two", "a", "000000001") "," ROW(
		"one", "b",
		"000000002") "," ROW("one", "a",
				     "000000003") "," ROW("one", "c",
							  "000000001") "]}";

static char dir[] = "/tmp/cli_snapshot_test.XXXXXX";
static char sock[64], out[64], version[96];
static char asked[64]; /* there is one when acd is at work */

/* Has one snapshot, of the tag "two". */
static void on_acd(void *arg, const struct fake_request *rq,
		   struct fake_answer *ret)
{
	(void)arg;
	if (strcmp(rq->path, "/v1/version") == 0) {
		ret->body = version;
	} else if (strcmp(rq->method, "POST") == 0) {
		ret->kind = FAKE_HANG;
		file_replace(asked, "", 0, 0600);
	} else if (strcmp(rq->path, "/v1/snapshots") == 0) {
		ret->body = list;
	} else if (strcmp(rq->method, "DELETE") == 0 &&
		   strcmp(rq->path, "/v1/instances/one/snapshots?tag=two") ==
			   0) {
		ret->status = 204;
	} else {
		ret->status = 404;
		ret->body = "{\"error\":{\"code\":\"not_found\","
			    "\"message\":\"no such snapshot\"}}";
	}
}

static pid_t serve(void)
{
	struct loop *loop;
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	loop = loop_new();
	fake_engine_new(loop, sock, on_acd, NULL);
	_exit(loop_run(loop));
}

typedef int (*command)(const struct cli *cli, const struct args *a,
		       struct err *err);

/* Runs @cmd. Returns as it does; the caller frees *ret: its stdout. */
static int run_with(command cmd, const struct args *a, bool json, char **ret)
{
	char host[] = "h", volume[] = "h-docker";
	const struct cli cli = { .home = dir,
				 .host = host,
				 .volume = volume,
				 .sock = sock,
				 .json = json };
	struct err err = { 0 };
	int saved = fcntl(1, F_DUPFD_CLOEXEC, 3);
	SCOPED_FD o = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int rc;

	fflush(stdout);
	dup2(o, 1);
	rc = cmd(&cli, a, &err);
	fflush(stdout);
	dup2(saved, 1);
	close(saved);
	file_read(out, 4096, ret, NULL);
	return rc;
}

/* Removes @word. */
static int run(const char *word, bool json, char **ret)
{
	struct args a = { .given = ARG_SET(ARG_IN(REMOVE)), .n_words = 1 };

	a.words[0] = word;
	return run_with(cmd_snapshot, &a, json, ret);
}

/* Newest first, by more than the second. */
static void test_order(void)
{
	const struct args a = { 0 };
	SCOPED_STR text = NULL;
	const char *at;

	is_int(run_with(cmd_snapshots, &a, true, &text), 0, "a list");
	at = text ? strstr(text, "\"tag\":\"a\"") : NULL;
	at = at ? strstr(at, "\"tag\":\"b\"") : NULL;
	at = at ? strstr(at, "\"tag\":\"c\"") : NULL;
	ok(at && strstr(at, "\"instance\":\"two\""), "its order: %s",
	   text ? text : "");
}

/* Runs @cmd in a child, which is interrupted when acd is at work. Returns how it
 * ended; the caller frees *ret: its stderr. */
static int interrupt(command cmd, char **ret)
{
	struct args a = { .given = ARG_SET(ARG_IN(YES)), .n_words = 2 };
	char host[] = "h", volume[] = "h-docker";
	const struct cli cli = {
		.home = dir, .host = host, .volume = volume, .sock = sock
	};
	struct err err = { 0 };
	int status = 0;
	pid_t pid;

	a.words[0] = "one:two";
	a.words[1] = "three";
	a.n_words = cmd == cmd_fork ? 2 : 1;
	unlink(asked);
	pid = fork();
	if (pid == 0) {
		int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		dup2(fd, STDERR_FILENO);
		signal(SIGINT, SIG_DFL);
		_exit(cmd(&cli, &a, &err) < 0);
	}
	for (int i = 0; i < 5000 && access(asked, F_OK) < 0; i++)
		usleep(1000);
	kill(pid, SIGINT);
	waitpid(pid, &status, 0);
	file_read(out, 4096, ret, NULL);
	return status;
}

static void test_interrupt(void)
{
	static const struct {
		command cmd;
		const char *says;
	} rows[] = {
		{ cmd_snapshot, "ac: interrupted. Unless it was complete "
				"already, nothing of the snapshot is kept; "
				"what runs goes on.\n" },
		{ cmd_fork, "ac: interrupted. Unless they were complete "
			    "already, nothing of the forks is kept; what runs "
			    "goes on.\n" },
		{ cmd_restore,
		  "ac: interrupted. The instance keeps its files, unless the "
		  "restore had put others in place already: `ac snapshots` "
		  "shows a new before-restore then.\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SCOPED_STR text = NULL;
		int status = interrupt(rows[i].cmd, &text);

		ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT,
		   "it ends by the signal");
		is_str(text, rows[i].says, "and says what is kept");
	}
}

static void test_remove(void)
{
	static const struct {
		const char *word;
		bool json, fails;
		const char *out;
	} rows[] = {
		{ "one:two", true, false, "{\"removed\":[\"one:two\"]}\n" },
		{ "one:two", false, false, "" },
		{ "one:three", true, true, "" },
	};
	pid_t pid;

	if (!mkdtemp(dir))
		return;
	snprintf(sock, sizeof(sock), "%s/acd", dir);
	snprintf(out, sizeof(out), "%s/out", dir);
	snprintf(asked, sizeof(asked), "%s/asked", dir);
	/* Of our build: no other is started. */
	snprintf(version, sizeof(version), "{\"api\":%d,\"build\":\"%s\"}",
		 VERSION_API, version_build_id());
	pid = serve();
	if (ok(fake_engine_wait(sock), "a fake acd answers")) {
		test_order();
		test_interrupt();
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			SCOPED_STR text = NULL;
			int rc = run(rows[i].word, rows[i].json, &text);

			is_int(rc < 0, rows[i].fails, "%s is removed: %d",
			       rows[i].word, rc);
			is_str(text, rows[i].out, "what it prints");
		}
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	file_remove_tree(dir);
}

int main(void)
{
	test_words();
	setenv("PATH", "/nonexistent", 1); /* nothing is started from here */
	test_remove();
	return done_testing();
}
