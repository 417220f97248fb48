/* SPDX-License-Identifier: Apache-2.0 */
/*
 * down_test.c - `ac down` against acd and an engine in every condition
 */
#include "control/cli/cmd/up_down.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "control/cli/core/args.h"
#include "lib/file.h"
#include "lib/loop.h"
#include "lib/str.h"
#include "tests/fake/engine.h"
#include "tests/unit/tap.h"

/* Shared with the process that plays acd and the engine. */
static struct script {
	int prune_status;
	bool exists;
	int prunes, containers, volumes; /* calls; removals */
} * script;

static char dir[] = "/tmp/cli_down_test.XXXXXX";
static char acd_sock[64], engine_sock[64], talk[64];

static void on_acd(void *arg, const struct fake_request *rq,
		   struct fake_answer *ret)
{
	(void)arg;
	if (strcmp(rq->path, "/v1/version") == 0) {
		ret->body = "{\"api\":1,\"build\":\"x\"}";
	} else if (strcmp(rq->path, "/v1/status") == 0) {
		ret->body = "{\"instances\":{\"running\":0}}";
	} else if (strcmp(rq->path, "/v1/instances") == 0) {
		ret->body = "{\"instances\":[{\"name\":\"busy\","
			    "\"state\":\"running\"},{\"name\":\"idle\","
			    "\"state\":\"stopped\"}]}";
	} else {
		script->prunes++;
		ret->status = script->prune_status;
		if (ret->status >= 400)
			ret->body = "{\"error\":{\"code\":\"x\","
				    "\"message\":\"not now\"}}";
	}
}

static void on_engine(void *arg, const struct fake_request *rq,
		      struct fake_answer *ret)
{
	bool volume = strstr(rq->path, "/volumes/") != NULL;

	(void)arg;
	if (strcmp(rq->path, "/version") == 0) {
		ret->body = "{\"ApiVersion\":\"1.44\",\"Version\":\"27\","
			    "\"MinAPIVersion\":\"1.24\"}";
	} else if (strcmp(rq->method, "GET") == 0) {
		ret->status = script->exists ? 200 : 404;
		ret->body = script->exists ? "{\"State\":{\"Running\":false}}" :
					     "{\"message\":\"none\"}";
	} else {
		script->volumes += volume;
		script->containers += !volume;
		ret->status = 204;
	}
}

static pid_t serve(bool acd)
{
	struct loop *loop;
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	loop = loop_new();
	if (acd)
		fake_engine_new(loop, acd_sock, on_acd, NULL);
	fake_engine_new(loop, engine_sock, on_engine, NULL);
	_exit(loop_run(loop));
}

/* cmd_down() with what it says on stderr. */
static int down(bool images, char **ret_said)
{
	char host[] = "h", volume[] = "h-docker";
	const struct cli cli = {
		.home = dir, .host = host, .volume = volume, .sock = acd_sock
	};
	struct args a = { 0 };
	struct err err = { 0 };
	SCOPED_FD saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	SCOPED_FD fd =
		open(talk, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int rc;

	if (images)
		a.given.has[ARG_IMAGES] = true;
	dup2(fd, STDERR_FILENO);
	rc = cmd_down(&cli, &a, &err);
	dup2(saved, STDERR_FILENO);
	file_read(talk, 4096, ret_said, NULL);
	return rc;
}

/* All that is in the volume goes, or the user hears what stays. */
static const struct {
	const char *name;
	int prune_status, code, prunes, containers, volumes;
	bool acd, exists, images, told;
} cases[] = {
	{ "acd cleans up", 204, 0, 1, 1, 0, true, true, false, false },
	{ "the engine is down", 503, 0, 1, 1, 0, true, true, false, true },
	{ "it cannot", 500, 0, 1, 1, 0, true, true, false, true },
	{ "images go anyway", 503, 0, 1, 1, 1, true, true, true, false },
	{ "refused", 409, -EBUSY, 1, 0, 0, true, true, false, false },
	{ "no acd", 0, 0, 0, 1, 0, false, true, false, true },
	{ "no acd, images", 0, 0, 0, 1, 1, false, true, true, false },
	{ "nothing there", 0, 0, 0, 1, 0, false, false, false, false },
};

static void test_down(size_t i)
{
	SCOPED_STR said = NULL;
	pid_t pid;
	int rc;

	unlink(acd_sock);
	unlink(engine_sock);
	*script = (struct script){ .prune_status = cases[i].prune_status,
				   .exists = cases[i].exists };
	pid = serve(cases[i].acd);
	ok(fake_engine_wait(engine_sock), "the engine answers");
	rc = down(cases[i].images, &said);
	is_int(rc < 0, cases[i].code < 0, "%s: result", cases[i].name);
	is_int(script->prunes, cases[i].prunes, "%s: prunes", cases[i].name);
	is_int(script->containers, cases[i].containers, "%s: container",
	       cases[i].name);
	is_int(script->volumes, cases[i].volumes, "%s: volume", cases[i].name);
	is_int(said && strstr(said, "stay in the volume h-docker"),
	       cases[i].told, "%s: told what stays", cases[i].name);
	is_int(said && strstr(said, "busy is stopped"),
	       cases[i].prune_status == 204, "%s: who ended is named",
	       cases[i].name);
	ok(!said || !strstr(said, "idle is"), "%s: and nobody else",
	   cases[i].name);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	script = mmap(NULL, sizeof(*script), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!mkdtemp(dir) || script == MAP_FAILED)
		return 1;
	snprintf(acd_sock, sizeof(acd_sock), "%s/acd", dir);
	snprintf(talk, sizeof(talk), "%s/talk", dir);
	snprintf(engine_sock, sizeof(engine_sock), "unix://%s/engine", dir);
	setenv("DOCKER_HOST", engine_sock, 1);
	snprintf(engine_sock, sizeof(engine_sock), "%s/engine", dir);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		test_down(i);
	file_remove_tree(dir);
	return done_testing();
}
