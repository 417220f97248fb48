/* SPDX-License-Identifier: Apache-2.0 */
/*
 * each_test.c - one command for several instances, of which some fail
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "control/cli/core/args.h"
#include "control/cli/cmd/instance.h"
#include "control/cli/cmd/life.h"
#include "lib/file.h"
#include "lib/loop.h"
#include "lib/str.h"
#include "tests/fake/engine.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/cli_each_test.XXXXXX";
static char sock[64], talk[64];

/* "gone" went with its run; there is no "none" and no "nobody". */
static void on_acd(void *arg, const struct fake_request *rq,
		   struct fake_answer *ret)
{
	(void)arg;
	if (strcmp(rq->path, "/v1/version") == 0) {
		ret->body = "{\"api\":1,\"build\":\"x\"}";
	} else if (strstr(rq->path, "/none/")) {
		ret->status = 404;
		ret->body = "{\"error\":{\"code\":\"not_found\","
			    "\"message\":\"there is no none\"}}";
	} else if (strstr(rq->path, "/nobody/")) {
		ret->status = 409;
		ret->body = "{\"error\":{\"code\":\"x\","
			    "\"message\":\"nobody is busy\"}}";
	} else if (strstr(rq->path, "/gone/")) {
		ret->status = 204;
	} else {
		ret->body = "{\"name\":\"here\"}";
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

static const char *was(const json_t *before, const json_t *after)
{
	return !after ? "has no record" : before ? "was there" : "is there";
}

int main(void)
{
	char host[] = "h", volume[] = "h-docker";
	const struct cli cli = {
		.home = dir, .host = host, .volume = volume, .sock = sock
	};
	struct args a = {
		.words = { "none", "gone", "nobody", "here" },
		.n_words = 4,
	};
	static const char *const rests[] = { "/resume", "/touch" };
	struct err err = { 0 }, ignored = { 0 };
	SCOPED_CLIENT c = NULL;
	SCOPED_STR said = NULL;
	int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3), fd, rc;
	pid_t pid;

	if (!mkdtemp(dir))
		return 1;
	snprintf(sock, sizeof(sock), "%s/acd", dir);
	snprintf(talk, sizeof(talk), "%s/talk", dir);
	pid = serve();
	fake_engine_wait(sock);
	fd = open(talk, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	dup2(fd, STDERR_FILENO);
	rc = cmd_stop_instance(&cli, &a, &err);
	a = (struct args){ .words = { "here" }, .n_words = 1 };
	c = client_new(sock, "acd");
	for (size_t i = 0; c && i < ARRAY_SIZE(rests); i++)
		(void)instance_post_each(&cli, c, &a, rests[i], NULL, was,
					 &ignored);
	dup2(saved, STDERR_FILENO);
	close(fd);
	close(saved);
	file_read(talk, 4096, &said, NULL);
	is_int(rc, -ENOENT, "the first failure counts");
	ok(said && strstr(said, "there is no none"), "it is told");
	ok(said && strstr(said, "gone is stopped"),
	   "one without a record has the name that the user gave");
	is_str(err.msg, "nobody is busy", "the last failure");
	ok(said && strstr(said, "here is stopped"), "none stops the others");
	ok(said && strstr(said, "here was there\n"),
	   "a resume is told by what was");
	ok(said && strstr(said, "here is there\n"), "others by what is");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	file_remove_tree(dir);
	return done_testing();
}
