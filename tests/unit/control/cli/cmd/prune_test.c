/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prune_test.c - which instances `ac prune` takes, and which stay; which
 * `ac ls --running` shows
 */
#include "control/cli/cmd/prune.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "control/cli/cmd/instance.h"
#include "control/cli/core/version.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/loop.h"
#include "lib/str.h"
#include "tests/fake/engine.h"
#include "tests/unit/tap.h"

#define DAY_MS (UINT64_C(24) * 3600 * 1000)
#define NOW 2000000000

static char dir[] = "/tmp/cli_prune_test.XXXXXX";
static char sock[64], talk[64], out[64];
static char version[96], all[1024], old_rec[128], again_rec[128];

static void test_takes(void)
{
	static const struct {
		const char *state;
		int64_t finished_at;
		uint64_t older_ms;
		bool taken;
	} rows[] = {
		{ "stopped", NOW - 10, 0, true },
		{ "failed", NOW - 10, 0, true },
		{ "expired", NOW - 10, 0, true },
		{ "stopped", NOW, 0, true },
		{ "stopped", NOW - 86401, DAY_MS, true },
		{ "stopped", NOW - 86400, DAY_MS, true },
		{ "stopped", NOW - 86399, DAY_MS, false },
		{ "stopped", NOW - 86401, UINT64_MAX, false },
		{ "stopped", NOW + 100, 0, false }, /* the clock was set */
		{ "stopped", NOW + 100, DAY_MS, false },
		{ "created", 0, 0, false },
		{ "running", 0, 0, false },
		{ "running", NOW - 86401, DAY_MS, false },
		{ "paused", NOW - 86401, 0, false },
		{ "starting", NOW - 86401, 0, false },
		{ "stopping", NOW - 86401, 0, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SCOPED_JSON rec = json_pack("{s:s, s:I}", "state",
					    rows[i].state, "finished_at",
					    (json_int_t)rows[i].finished_at);

		is_int(prune_takes(rec, NOW, rows[i].older_ms), rows[i].taken,
		       "row %zu: %s", i, rows[i].state);
	}
}

/* A question threatens nothing that stays. */
static void test_fate(void)
{
	static const struct {
		const char *list;
		bool live, deleted, kept;
	} rows[] = {
		{ "[{}]", false, true, false },
		{ "[{\"workspace\":null}]", false, true, false },
		{ "[{\"workspace\":\"/src\"}]", false, false, true },
		{ "[{\"workspace\":\"/src\"},{}]", false, true, true },
		{ "[{\"workspace\":\"/src\"},{\"state\":\"running\"}]", false,
		  false, true },
		{ "[{\"workspace\":\"/src\"},{\"state\":\"running\"}]", true,
		  true, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SCOPED_JSON list = json_loads(rows[i].list, 0, NULL);
		const char *fate = instance_fate(list, rows[i].live);

		is_int(strstr(fate, "workspaces will be deleted") != NULL,
		       rows[i].deleted, "%zu: %s", i, fate);
		is_int(strstr(fate, "given with --workspace") != NULL,
		       rows[i].kept, "%zu: what is kept", i);
	}
}

/* "again" has run between the list and its turn; "stuck" cannot be destroyed. */
static void on_acd(void *arg, const struct fake_request *rq,
		   struct fake_answer *ret)
{
	(void)arg;
	if (strcmp(rq->path, "/v1/version") == 0) {
		ret->body = version;
	} else if (strcmp(rq->path, "/v1/instances") == 0) {
		ret->body = all;
	} else if (strcmp(rq->method, "DELETE") == 0 &&
		   strstr(rq->path, "/stuck")) {
		ret->status = 500;
		ret->body = "{\"error\":{\"code\":\"internal\","
			    "\"message\":\"it is stuck\"}}";
	} else if (strcmp(rq->method, "DELETE") == 0) {
		dprintf(*(const int *)arg, "%s\n", rq->path);
		ret->status = 204;
	} else {
		ret->body = strstr(rq->path, "/again") ? again_rec : old_rec;
	}
}

static pid_t serve(int *deleted)
{
	struct loop *loop;
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	loop = loop_new();
	fake_engine_new(loop, sock, on_acd, deleted);
	_exit(loop_run(loop));
}

static void make_records(void)
{
	long long now = (long long)time(NULL);

	/* Of our build: no other is started. */
	snprintf(version, sizeof(version), "{\"api\":%d,\"build\":\"%s\"}",
		 VERSION_API, version_build_id());
	snprintf(old_rec, sizeof(old_rec),
		 "{\"name\":\"old\",\"state\":\"stopped\","
		 "\"finished_at\":%lld}",
		 now - 90000);
	snprintf(again_rec, sizeof(again_rec),
		 "{\"name\":\"again\",\"state\":\"stopped\","
		 "\"finished_at\":%lld}",
		 now);
	snprintf(all, sizeof(all),
		 "{\"instances\":[{\"name\":\"stuck\",\"state\":\"stopped\","
		 "\"finished_at\":1},%s,{\"name\":\"again\",\"state\":"
		 "\"stopped\",\"finished_at\":%lld},{\"name\":\"young\","
		 "\"state\":\"stopped\",\"finished_at\":%lld},{\"name\":"
		 "\"runs\",\"state\":\"running\",\"finished_at\":0}]}",
		 old_rec, now - 90000, now - 10);
}

/* What the command printed, in files: stdout and stderr. */
static int run(int (*cmd)(const struct cli *, const struct args *,
			  struct err *),
	       struct args *a, char **ret_out, char **ret_talk)
{
	char host[] = "h", volume[] = "h-docker";
	const struct cli cli = { .home = dir,
				 .host = host,
				 .volume = volume,
				 .sock = sock,
				 .json = args_has(a, ARG_JSON),
				 .quiet = args_has(a, ARG_QUIET) };
	struct err err = { 0 };
	int saved[2] = { fcntl(1, F_DUPFD_CLOEXEC, 3),
			 fcntl(2, F_DUPFD_CLOEXEC, 3) };
	SCOPED_FD o = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	SCOPED_FD t =
		open(talk, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int rc;

	fflush(stdout);
	dup2(o, 1);
	dup2(t, 2);
	rc = cmd(&cli, a, &err);
	fflush(stdout);
	for (int i = 0; i < 2; i++) {
		dup2(saved[i], i + 1);
		close(saved[i]);
	}
	file_read(out, 4096, ret_out, NULL);
	file_read(talk, 4096, ret_talk, NULL);
	return rc;
}

static void test_command(int deleted)
{
	struct args dry = { .given = ARG_SET(ARG_IN(DRY_RUN), ARG_IN(QUIET),
					     ARG_IN(OLDER)),
			    .older_ms = DAY_MS };
	struct args not_asked = { .older_ms = DAY_MS };
	struct args yes = { .given = ARG_SET(ARG_IN(YES)), .older_ms = DAY_MS };
	struct args json = { .given = ARG_SET(ARG_IN(YES), ARG_IN(JSON)),
			     .older_ms = DAY_MS };
	SCOPED_STR o1 = NULL;
	SCOPED_STR o2 = NULL;
	SCOPED_STR o3 = NULL;
	SCOPED_STR t1 = NULL;
	SCOPED_STR t2 = NULL;
	SCOPED_STR t3 = NULL;
	SCOPED_STR o5 = NULL;
	SCOPED_STR t5 = NULL;
	SCOPED_STR o4 = NULL;
	SCOPED_STR t4 = NULL;
	struct args ls = { .given = ARG_SET(ARG_IN(RUNNING), ARG_IN(QUIET)) };
	char paths[256] = "";

	is_int(run(cmd_prune, &dry, &o1, &t1), 0, "--dry-run");
	is_str(o1, "stuck\nold\nagain\n", "names what is old");
	is_int(run(cmd_prune, &not_asked, &o2, &t2), CLI_EXIT_USAGE,
	       "without a terminal it asks for --yes");
	ok(t2 && strstr(t2, "3 instances (stuck, old, again)"),
	   "and names all: %s", t2);
	is_int(lseek(deleted, 0, SEEK_END), 0, "nothing was removed");
	ok(run(cmd_prune, &yes, &o3, &t3) < 0, "one cannot be destroyed");
	ok(t3 && strstr(t3, "old is destroyed"), "what else is old goes");
	ok(t3 && strstr(t3, "again has run in the meantime"),
	   "what ran since the list was made stays");
	ok(pread(deleted, paths, sizeof(paths) - 1, 0) > 0, "asked of acd");
	is_str(paths, "/v1/instances/old\n", "one was removed");
	ok(run(cmd_prune, &json, &o5, &t5) < 0, "and with --json");
	ok(o5 && strstr(o5, "old") && !strstr(o5, "stuck"),
	   "what is gone is printed: %s", o5);
	is_int(run(cmd_ls, &ls, &o4, &t4), 0, "ls --running");
	is_str(o4, "runs\n", "shows what runs alone");
}

int main(void)
{
	pid_t pid;
	int deleted;

	test_takes();
	test_fate();
	if (!mkdtemp(dir))
		return 1;
	snprintf(sock, sizeof(sock), "%s/acd", dir);
	snprintf(talk, sizeof(talk), "%s/talk", dir);
	snprintf(out, sizeof(out), "%s/out", dir);
	deleted = open(dir, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	make_records();
	pid = serve(&deleted);
	fake_engine_wait(sock);
	unsetenv("RUNSC");
	setenv("PATH", "/nonexistent", 1); /* nothing is started from here */
	if (freopen("/dev/null", "r", stdin) &&
	    ok(access(sock, F_OK) == 0, "a fake acd answers"))
		test_command(deleted);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(deleted);
	file_remove_tree(dir);
	return done_testing();
}
