/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_test.c - `ac start` and `ac restart` beside acd and an engine that
 * are played, with scripts of set-up that do nothing
 */
#include "control/cli/cmd/up_down.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "control/cli/core/args.h"
#include "control/cli/core/version.h"
#include "lib/file.h"
#include "lib/loop.h"
#include "lib/str.h"
#include "tests/fake/engine.h"
#include "tests/unit/tap.h"

/* Shared with the process that plays acd and the engine. */
static struct script {
	bool running, stopping;
	int ends_after; /* so many looks at a container that stops */
	bool starting;
	int fails_after; /* so many looks at one that starts */
	int stops, creates, starts; /* calls */
} * script;

static char dir[] = "/tmp/cli_start_test.XXXXXX";
static char ours[512]; /* a container that is as it should be */
static char acd_sock[64], engine_sock[80], talk[64], answer[2][256];

static void on_acd(void *arg, const struct fake_request *rq,
		   struct fake_answer *ret)
{
	(void)arg;
	if (!script->running || script->starting)
		ret->kind = FAKE_CUT;
	else if (strcmp(rq->path, "/v1/version") == 0)
		ret->body = answer[script->stopping];
	else if (strcmp(rq->path, "/v1/status") == 0)
		ret->body = script->stopping ?
				    "{\"state\":\"stopping\",\"progress\":"
				    "\"stopping the engine\"}" :
				    "{\"state\":\"ready\"}";
	else if (strcmp(rq->path, "/v1/instances") == 0)
		ret->body = "{\"instances\":[]}";
	else
		ret->body = "{\"ok\":true,\"items\":[]}";
}

static const char *container(void)
{
	if (script->starting && script->fails_after-- <= 0) {
		script->running = false;
		return "{\"State\":{\"Running\":false,\"ExitCode\":3}}";
	}
	if (script->starting)
		return ours;
	if (script->stopping && script->ends_after-- <= 0)
		script->running = script->stopping = false;
	return script->running ? "{\"State\":{\"Running\":true}}" :
				 "{\"State\":{\"Running\":false}}";
}

static void on_engine(void *arg, const struct fake_request *rq,
		      struct fake_answer *ret)
{
	(void)arg;
	if (strcmp(rq->path, "/version") == 0) {
		ret->body = "{\"ApiVersion\":\"1.44\",\"Version\":\"27\","
			    "\"MinAPIVersion\":\"1.24\"}";
	} else if (strstr(rq->path, "/containers/h/json")) {
		ret->body = container();
	} else if (strstr(rq->path, "/stop")) {
		script->stops++;
		ret->status = 204;
	} else if (strstr(rq->path, "/create")) {
		script->creates++;
		ret->status = 201;
		ret->body = "{\"Id\":\"x\"}";
	} else if (strstr(rq->path, "/start")) {
		script->starts++;
		script->running = true;
		script->starting = false;
		ret->status = 204;
	} else {
		ret->body = "{}";
	}
}

static pid_t serve(void)
{
	struct loop *loop;
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	loop = loop_new();
	fake_engine_new(loop, acd_sock, on_acd, NULL);
	fake_engine_new(loop, engine_sock, on_engine, NULL);
	_exit(loop_run(loop));
}

/* A command with what it says on stderr. */
static int command(int (*run)(const struct cli *cli, const struct args *a,
			      struct err *err),
		   char **ret_said, struct err *err)
{
	char host[] = "h", volume[] = "h-docker";
	const struct cli cli = { .home = dir,
				 .share = dir,
				 .host = host,
				 .volume = volume,
				 .sock = acd_sock };
	struct args a = { 0 };
	SCOPED_FD saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	SCOPED_FD fd =
		open(talk, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int rc;

	dup2(fd, STDERR_FILENO);
	rc = run(&cli, &a, err);
	dup2(saved, STDERR_FILENO);
	file_read(talk, 4096, ret_said, NULL);
	return rc;
}

static void test_start_in_stop(void)
{
	SCOPED_STR said = NULL;
	struct err err = { 0 };

	*script = (struct script){ .running = true,
				   .stopping = true,
				   .ends_after = 7 };
	is_int(command(cmd_start, &said, &err), 0, "a start during a stop: %s",
	       err.msg);
	ok(script->running && !script->stopping, "the host is up behind it");
	is_int(script->stops, 0, "it waited for the stop");
	is_int(script->starts, 1, "and started it once");
	ok(said && strstr(said, "h is stopping: waiting") &&
		   strstr(said, "h is ready") && !strstr(said, "addresses"),
	   "said: %s", said);
}

static void test_start_again(void)
{
	SCOPED_STR said = NULL;
	struct err err = { 0 };

	*script = (struct script){ .running = true };
	is_int(command(cmd_start, &said, &err), 0, "one that runs: %s",
	       err.msg);
	is_int(script->creates, 0, "stays");
}

static const struct {
	const char *name, *value, *want;
} bad[] = {
	{ "AC_LOOP", "999", "`ac config get loop_devices`" },
	{ "AC_LOOP", "0", "`unset AC_LOOP`" },
	{ "AC_GPUS", "one", "'one' is neither all nor numbers" },
	{ "AC_EXTRA_CA", "/nonexistent.pem",
	  "AC_EXTRA_CA=/nonexistent.pem: No such file" },
	{ "AC_EXTRA_CA", "nonexistent.pem", "No such file" },
	{ "AC_REGISTRY_NPM", "npm.example.org", "is no address such as" },
	{ "AC_REGISTRY_PIP", "https://", "`ac config get registries.pip`" },
	{ "AC_REGISTRY_GO", "https://go.example.org,drect", "'drect' is no" },
	{ "AC_REGISTRY_GO", "https://go.example.org,", "'' is no address" },
	{ "AC_RUNTIME", "runc", "is neither runsc nor docker" },
	{ "RUNSC", "/nonexistent", "RUNSC=/nonexistent is no file" },
};

static void test_restart_refused(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		SCOPED_STR said = NULL;
		struct err err = { 0 };

		*script = (struct script){ .running = true };
		setenv(bad[i].name, bad[i].value, 1);
		ok(command(cmd_restart, &said, &err) < 0 &&
			   strstr(err.msg, bad[i].want),
		   "%s=%s: %s", bad[i].name, bad[i].value, err.msg);
		is_int(script->stops, 0, "and nothing is stopped");
		unsetenv(bad[i].name);
	}
}

static void test_restart_go(void)
{
	static const char *const good[] = { "https://go.example.org,direct",
					    "https://a.example|off", "direct",
					    "" };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		SCOPED_STR said = NULL;
		struct err err = { 0 };

		*script = (struct script){ .running = false };
		setenv("AC_REGISTRY_GO", good[i], 1);
		is_int(command(cmd_restart, &said, &err), 0,
		       "AC_REGISTRY_GO=%s: %s", good[i], err.msg);
	}
	unsetenv("AC_REGISTRY_GO");
}

/* acd in a container that was there fails: the next one gets its chance, and
 * what the first one said is not lost. */
static void test_start_crashed(void)
{
	SCOPED_STR said = NULL;
	struct err err = { 0 };

	*script = (struct script){ .running = true,
				   .starting = true,
				   .fails_after = 2 };
	is_int(command(cmd_start, &said, &err), 0, "a start beside a crash: %s",
	       err.msg);
	is_int(script->starts, 1, "a new one is started");
	ok(said && strstr(said, "h ended with code 3: ") &&
		   strstr(said, "starting it again"),
	   "said: %s", said);
}

static void test_restart_config(void)
{
	SCOPED_STR path = str_printf("%s/config.yaml", dir);
	SCOPED_STR said = NULL;
	struct err err = { 0 };

	*script = (struct script){ .running = true };
	file_write_atomic(path, "loop_devices: 999\n", 18, 0600);
	ok(command(cmd_restart, &said, &err) < 0 &&
		   strstr(err.msg, "config.yaml:1:"),
	   "a bad config.yaml: %s", err.msg);
	is_int(script->stops, 0, "and nothing is stopped");
	unlink(path);
}

static void write_script(const char *name, const char *text)
{
	SCOPED_STR path = str_printf("%s/images/%s", dir, name);

	file_write_atomic(path, text, strlen(text), 0700);
}

int main(void)
{
	SCOPED_STR setup = NULL;
	pid_t pid;

	unsetenv("RUNSC");
	unsetenv("AC_RUNTIME");
	unsetenv("AC_GPUS");
	unsetenv("AC_LOOP");
	unsetenv("AC_EXTRA_CA");
	unsetenv("AC_REGISTRY_NPM");
	unsetenv("AC_REGISTRY_PIP");
	unsetenv("AC_REGISTRY_GO");
	script = mmap(NULL, sizeof(*script), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!mkdtemp(dir) || script == MAP_FAILED)
		return 1;
	setup = str_printf("%s/images/setup", dir);
	file_mkdir_p(setup, 0700);
	write_script("setup/packages.sh", "#!/bin/sh\n");
	write_script("setup/engine.sh", "#!/bin/sh\n");
	write_script("setup/build-env.sh", "#!/bin/sh\n");
	write_script("build.sh", "#!/bin/sh\n[ \"$1\" != tag ] || echo t\n");
	for (int i = 0; i < 2; i++)
		snprintf(answer[i], sizeof(answer[i]),
			 "{\"api\":%d,\"build\":\"%s\",\"stopping\":%s}",
			 VERSION_API, version_build_id(), i ? "true" : "false");
	snprintf(ours, sizeof(ours),
		 "{\"State\":{\"Running\":true},\"Config\":{\"Image\":"
		 "\"ac/host:t\",\"Labels\":{\"ac.build\":\"%s\",\"ac.home\":"
		 "\"%s\"}}}",
		 version_build_id(), dir);
	snprintf(acd_sock, sizeof(acd_sock), "%s/acd", dir);
	snprintf(talk, sizeof(talk), "%s/talk", dir);
	snprintf(engine_sock, sizeof(engine_sock), "unix://%s/engine", dir);
	setenv("DOCKER_HOST", engine_sock, 1);
	snprintf(engine_sock, sizeof(engine_sock), "%s/engine", dir);
	pid = serve();
	fake_engine_wait(engine_sock);
	test_start_in_stop();
	test_start_again();
	test_restart_refused();
	test_restart_go();
	test_start_crashed();
	test_restart_config();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	file_remove_tree(dir);
	return done_testing();
}
