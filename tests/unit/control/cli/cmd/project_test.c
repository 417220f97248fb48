/* SPDX-License-Identifier: Apache-2.0 */
/*
 * project_test.c - what a user is shown of a project's own blueprint, and what is
 * approved then, against an acd that answers from a script
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/cli/commands.h"
#include "control/cli/core/version.h"
#include "control/cli/dispatch.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/loop.h"
#include "lib/str.h"
#include "tests/fake/engine.h"
#include "tests/unit/tap.h"

static char top[] = "/tmp/cli_project_test.XXXXXX";
static char home[64], project[64], sock[64], said_file[64], out_file[64];
static char version[128];
static char host[] = "h", share[] = ".";
static char *said, *out; /* of the last command */

#define ANSWER(hash, approved, resolved, before)                             \
	"{\"ok\":true,\"errors\":[],\"more\":false,\"keys\":[\"run.env\","   \
	"\"resources.memory\"],\"blueprint\":\"base\",\"hash\":" hash        \
	",\"approved\":" approved ",\"parent\":\"version: 2\\nresources:\\n" \
	"  cpus: 2\\n  memory: 4g\\n\",\"resolved\":\"" resolved             \
	"\",\"before\":" before "}"
#define NOW                                                              \
	"version: 2\\nresources:\\n  cpus: 2\\n  memory: 1g\\nrun:\\n  " \
	"env:\\n"                                                        \
	"    A: \\u001b[2J\\u202ea\\\\tb\\n"

static const char *checked(const char *body)
{
	if (strstr(body, "bad"))
		return "{\"ok\":false,\"errors\":[{\"message\":\".ac/blueprint"
		       ".yaml:1:1: \\u001b[2J\"}]}";
	if (strstr(body, "known"))
		return ANSWER("\"h1\"", "true", NOW, "\"x\\n\"");
	if (strstr(body, "changed"))
		return ANSWER("\"h2\"", "false", NOW,
			      "\"version: 2\\nresources:\\n  cpus: 2\\n"
			      "  memory: 1g\\negress:\\n  deny: [a]\\n\"");
	return ANSWER("\"h3\"", "false", NOW, "null");
}

static void on_acd(void *arg, const struct fake_request *rq,
		   struct fake_answer *ret)
{
	(void)arg;
	if (strcmp(rq->path, "/v1/version") == 0) {
		ret->body = version;
	} else if (strcmp(rq->path, "/v1/projects/check") == 0) {
		ret->body = checked(rq->body);
	} else if (strcmp(rq->path, "/v1/projects") == 0 &&
		   strstr(rq->body, "\"hash\":\"h")) {
		ret->body = "{\"dir\":\"/p\",\"blueprint\":\"base\",\"hash\":"
			    "\"h3\",\"approved_at\":1}";
	} else if (strcmp(rq->path, "/v1/projects/forget") == 0 &&
		   strstr(rq->body, "{\"dir\":\"/gone\"}")) {
		ret->status = 204;
	} else {
		ret->status = 404;
		ret->body = "{\"error\":{\"code\":\"not_found\",\"message\":"
			    "\"no blueprint of it is approved\"}}";
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

static int into(const char *path, int fd)
{
	SCOPED_FD to =
		open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int saved = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	dup2(to, fd);
	return saved;
}

/* `ac blueprint VERB DIR [OPTION]`: its exit code, @said and @out. */
static int ac(const char *verb, const char *dir, const char *option)
{
	struct cli cli = {
		.home = home, .host = host, .share = share, .sock = sock
	};
	SCOPED_STR words = str_printf("h blueprint %s %s %s", verb, dir,
				      option ? option : "");
	char *argv[8], *rest;
	int argc = 0, rc, saved_out, saved_err;

	for (char *w = strtok_r(words, " ", &rest); w && argc < 7;
	     w = strtok_r(NULL, " ", &rest))
		argv[argc++] = w;
	argv[argc] = NULL;
	fflush(stdout);
	saved_err = into(said_file, STDERR_FILENO);
	saved_out = into(out_file, STDOUT_FILENO);
	rc = command_dispatch(&cli, argc, argv);
	fflush(stdout);
	dup2(saved_out, STDOUT_FILENO);
	dup2(saved_err, STDERR_FILENO);
	close(saved_out);
	close(saved_err);
	free(said);
	free(out);
	said = out = NULL;
	file_read(said_file, 65536, &said, NULL);
	file_read(out_file, 65536, &out, NULL);
	return rc;
}

static void put(const char *text)
{
	SCOPED_STR path = str_printf("%s/.ac/blueprint.yaml", project);

	file_write_atomic(path, text, strlen(text), 0600);
}

static void has(const char *part)
{
	if (!ok(said && strstr(said, part), "it says '%.*s'",
		(int)strcspn(part, "\n"), part))
		printf("# %s\n", said);
}

static void test_approve(void)
{
	is_int(ac("approve", project, NULL), 1, "no file");
	has("has no .ac/blueprint.yaml");
	put("new\n");
	is_int(ac("approve", project, NULL), 2, "without a terminal");
	has("is this project's own blueprint. It extends 'base'");
	has("    resources:\n  -   memory: 4g\n  +   memory: 1g\n  + run:\n");
	has("  +     A: \\x1b[2J\\xe2\\x80\\xaea\\x5ctb\n");
	has("ac: the file sets: run.env, resources.memory\n");
	has("say --yes");
	ok(said && !strchr(said, '\033') && !strstr(said, "cpus"),
	   "nothing moves the cursor, and what is the same is left out");
	is_int(ac("approve", project, "--yes"), 0, "with --yes");
	has("approved: ");
	is_int(ac("approve", project, "--yes --json"), 0, "for programs");
	ok(out && strstr(out, "\"hash\":\"h3\""), "%s", out);
	put("known\n");
	is_int(ac("approve", project, NULL), 0, "one that is approved");
	has("is approved as it is");
	put("changed\n");
	is_int(ac("approve", project, "--yes"), 0, "one that was");
	has("has changed since it was approved");
	has("  - egress:\n  -   deny: [a]\n");
	ok(said && !strstr(said, "memory: 4g"),
	   "compared with what was approved");
	put("bad\n");
	is_int(ac("approve", project, "--yes"), 1, "one that is none");
	has(".ac/blueprint.yaml:1:1: \\x1b[2J");
}

static void test_forget(void)
{
	is_int(ac("forget", "/gone", NULL), 0, "a directory that is gone");
	has("the next run in /gone asks again");
	is_int(ac("forget", project, NULL), 1, "one that is not approved");
	has("no blueprint of it is approved");
	is_int(ac("forget", "nowhere", NULL), 1, "a relative one that is gone");
	has("nowhere");
}

int main(void)
{
	SCOPED_STR folder = NULL;
	pid_t pid;

	if (!mkdtemp(top))
		return 1;
	snprintf(home, sizeof(home), "%s/home", top);
	snprintf(project, sizeof(project), "%s/project", top);
	snprintf(sock, sizeof(sock), "%s/acd", top);
	snprintf(said_file, sizeof(said_file), "%s/said", top);
	snprintf(out_file, sizeof(out_file), "%s/out", top);
	snprintf(version, sizeof(version), "{\"api\":%d,\"build\":\"%s\"}",
		 VERSION_API, version_build_id());
	folder = str_printf("%s/.ac", project);
	file_mkdir_p(home, 0700);
	file_mkdir_p(folder, 0700);
	pid = serve();
	fake_engine_wait(sock);
	test_approve();
	test_forget();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	free(said);
	free(out);
	file_remove_tree(top);
	return done_testing();
}
