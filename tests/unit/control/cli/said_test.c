/* SPDX-License-Identifier: Apache-2.0 */
/*
 * said_test.c - what a user is told: failures, whole commands against an
 * acd that answers from a script
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "control/cli/wire/client.h"
#include "control/cli/commands.h"
#include "control/cli/dispatch.h"
#include "control/cli/host/launch.h"
#include "control/cli/core/version.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/loop.h"
#include "tests/fake/engine.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/cli_said_test.XXXXXX";
static char sock[64], said_file[64], out_file[64], version[128];
static char host[] = "h", share[] = "."; /* this tree */
static char *said, *out; /* of the last command */

#define BROKEN                                            \
	"/var/lib/ac/blueprints/bad/blueprint.yaml:3:5: " \
	"unknown key 'x'"

#define AT(text, file, line, value, inside)                       \
	"{\"text\":\"" text "\",\"file\":" file ",\"line\":" line \
	",\"value\":" value ",\"inside\":" inside "}"
#define OWN "\"/var/lib/ac/blueprints/good/blueprint.yaml\""
#define SHIPPED "\"/usr/share/ac/blueprints/base/blueprint.yaml\""
#define FIRST AT("version: 2", "null", "null", "false", "false")
#define LINES                                                                   \
	FIRST "," AT("image: /var/lib/ac/x", OWN, "3", "true", "false") "," AT( \
		"run:", "null", "null", "false",                                \
		"false") "," AT("  a: b", SHIPPED, "4", "true",                 \
				"false") "," AT("pool: 0", "null", "null",      \
						"true",                         \
						"false") "," AT("    text",     \
								OWN, "5",       \
								"true",         \
								"true")

static const char *checked(const char *body)
{
	if (strstr(body, "extends: "))
		return "{\"ok\":true,\"errors\":[],\"extends\":null,"
		       "\"lines\":[" FIRST
		       "," AT("image: y", SHIPPED, "1", "true", "false") "]}";
	if (strstr(body, "good"))
		return "{\"ok\":true,\"errors\":[],\"extends\":\"base\","
		       "\"lines\":[" LINES "]}";
	return "{\"ok\":false,\"more\":true,\"errors\":[{\"message\":\"" BROKEN
	       "\"},{\"message\":\"f:4:1: two\"}]}";
}

static void on_acd(void *arg, const struct fake_request *rq,
		   struct fake_answer *ret)
{
	bool post = strcmp(rq->method, "POST") == 0;

	(void)arg;
	if (strcmp(rq->path, "/v1/version") == 0) {
		ret->body = version;
	} else if (strcmp(rq->path, "/v1/blueprints") == 0) {
		ret->body =
			"{\"blueprints\":[{\"name\":\"bad\",\"error\":\"" BROKEN
			"\"}]}";
	} else if (strcmp(rq->path, "/v1/blueprints/good") == 0) {
		ret->body = "{\"name\":\"good\",\"text\":\"version: 2\\n"
			    "extends: base\\n\",\"resolved\":\"x\","
			    "\"egress\":{\"presets\":[\"aa\",\"bb\"]},"
			    "\"lines\":[" LINES "]}";
	} else if (strcmp(rq->path, "/v1/policy/presets") == 0) {
		ret->body = "{\"presets\":[{\"name\":\"aa\",\"names\":["
			    "\"a.test\",\".b.test\"]}]}";
	} else if (strcmp(rq->path, "/v1/blueprints/check") == 0) {
		ret->body = checked(rq->body);
	} else if (strcmp(rq->path, "/v1/instances") == 0 && !post) {
		ret->body = "{\"instances\":[{\"name\":\"one\",\"state\":"
			    "\"running\"},{\"name\":\"two\",\"state\":"
			    "\"stopped\"}]}";
	} else {
		ret->status = 400;
		ret->body = "{\"error\":{\"code\":\"odd\",\"message\":\"" BROKEN
			    "\"}}";
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

/* `ac <words>`: its exit code, @said and @out. */
static int ac(const char *words)
{
	struct cli cli = {
		.home = dir, .host = host, .share = share, .sock = sock
	};
	char text[128], *argv[16], *rest;
	int argc = 1, rc, saved_out, saved_err;

	argv[0] = host;
	snprintf(text, sizeof(text), "%s", words);
	for (char *w = strtok_r(text, " ", &rest); w && argc < 15;
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
	file_read(said_file, 4096, &said, NULL);
	file_read(out_file, 4096, &out, NULL);
	return rc;
}

/* Of one line of stderr, with --json. */
static void is_error(const char *code, const char *part)
{
	SCOPED_JSON line = said ? json_loads(said, 0, NULL) : NULL;
	const json_t *e = json_object_get(line, "error");

	is_str(json_text(e, "code"), code, "the code");
	ok(strstr(json_text(e, "message"), part) != NULL, "%s",
	   json_text(e, "message"));
}

static void test_blueprint(void)
{
	char want[320], file[96], words[160];

	is_int(ac("blueprint show good"), 0, "a blueprint");
	is_str(out, "version: 2\nextends: base\n", "as it is written");
	is_int(ac("blueprint show good --resolved"), 0, "or resolved");
	snprintf(want, sizeof(want),
		 "version: 2\n"
		 "image: /var/lib/ac/x  # %s/blueprints/good/blueprint.yaml:3\n"
		 "run:\n  a: b  # %s/blueprints/base/blueprint.yaml:4\n"
		 "pool: 0  # by default\n    text\n"
		 "# egress preset aa:\n#   a.test, .b.test\n"
		 "# egress preset bb, which there is not:\n",
		 dir, share);
	is_str(out, want, "with what each line is from, on this machine");
	is_int(ac("blueprint show good --json"), 0, "for programs");
	ok(out && strstr(out, "\"resolved\""), "all of it");

	is_int(ac("blueprint check good"), 0, "a good one, by its name");
	is_int(ac("blueprint check bad"), 1, "a bad one");
	snprintf(want, sizeof(want),
		 "%s/blueprints/bad/blueprint.yaml:3:5: unknown key 'x'\n"
		 "f:4:1: two\nthere are more mistakes than are shown here\n",
		 dir);
	is_str(out, want, "and all that is wrong");
	is_int(ac("blueprint check bad --json"), 1, "for programs");
	ok(out && strstr(out, "{\"ok\":false"), "the answer");

	snprintf(file, sizeof(file), "%s/good", dir);
	mkdir(file, 0700);
	snprintf(words, sizeof(words), "blueprint check %s", file);
	is_int(ac(words), 1, "a directory without a file");
	ok(said && strstr(said, "good/blueprint.yaml: No such file"), "%s",
	   said);
	snprintf(file, sizeof(file), "%s/good/blueprint.yaml", dir);
	file_write_atomic(file, "version: 2\n", 11, 0600);
	is_int(ac(words), 0, "and with one");
	file_write_atomic(file, "version: \0 2\n", 13, 0600);
	is_int(ac(words), 1, "a NUL");
	ok(said && strstr(said, "there is a NUL in it, byte 10"), "%s", said);
	file_write_atomic(file, "a: \xff\n", 5, 0600);
	is_int(ac(words), 1, "no UTF-8");
	ok(said && strstr(said, "is no UTF-8 text"), "%s", said);
	is_int(ac("blueprint xx"), 2, "a verb that there is not");
}

static void test_diff(void)
{
	char want[256];

	is_int(ac("blueprint diff good"), 0, "with the parent");
	snprintf(want, sizeof(want),
		 "--- base (parent)\n+++ good\n version: 2\n"
		 "-image: y  # %s/blueprints/base/blueprint.yaml:1\n"
		 "+image: /var/lib/ac/x  # ",
		 share);
	ok(out && str_starts(out, want), "%s", out);
	is_int(ac("blueprint diff good good"), 0, "with itself");
	is_str(out, "", "nothing differs");
	is_int(ac("blueprint diff good --json"), 0, "for programs");
	ok(out && strstr(out, "{\"op\":\"-\",\"text\":\"image: y\""), "%s",
	   out);
	is_int(ac("blueprint diff good bad"), 1, "with a broken one");
	ok(said && strstr(said, "bad/blueprint.yaml:3:5: unknown key"), "%s",
	   said);
}

static void test_new(void)
{
	SCOPED_STR text = NULL;
	char path[96];

	snprintf(path, sizeof(path), "%s/blueprints/mine/blueprint.yaml", dir);
	is_int(ac("blueprint new mine"), 0, "a new one");
	ok(out && strncmp(out, path, strlen(path)) == 0, "its path");
	is_int(file_read(path, 4096, &text, NULL), 0, "is there");
	ok(text && strstr(text, "\nextends: base\n"), "of base");
	is_int(ac("blueprint new mine"), 1, "not a second time");
	ok(said && strstr(said, "stays as it is"), "%s", said);
	is_int(ac("blueprint new claude --json"), 0, "of a shipped name");
	ok(out && strstr(out, "\"extends\":\"claude\""), "extends that");
	is_int(ac("blueprint new other --from mine --json"), 0, "of one's own");
	ok(out && strstr(out, "\"extends\":\"mine\""), "extends that");
	is_int(ac("blueprint new x2 --from nix"), 1, "of none");
	ok(said && strstr(said, "there is no blueprint 'nix'"), "%s", said);
	is_int(ac("blueprint new Mine"), 2, "a name that is none");
	is_int(ac("blueprint new ../x"), 2, "nor is a path");
}

static void test_failures(void)
{
	char want[128];

	snprintf(want, sizeof(want), "%s/blueprints/bad/blueprint.yaml:3:5",
		 dir);
	is_int(ac("build bad"), 1, "a blueprint that is broken");
	ok(said && strstr(said, want), "the user's own path");
	is_int(ac("build bad --json"), 1, "for programs");
	is_error("odd", want);
	is_int(ac("ls --bogus --json"), 2, "an option that there is not");
	is_error("usage", "--bogus");
	is_int(ac("--json lss"), 2, "a command that there is not");
	is_error("usage", "did you mean");
	is_int(ac("policy xx --json"), 2, "a verb that there is not");
	is_error("usage", "policy xx");
	is_int(ac("kill one -s NOSUCH"), 2, "a signal that there is not");
	is_int(ac("kill one 1"), 2, "a process that is not to be had");
	is_int(ac("build No!"), 2, "a blueprint's name that is none");
	is_int(ac("logs a/b"), 2, "an instance's");
	is_int(ac("run base x --detach-keys bad,keys"), 125,
	       "keys that there are not");
	ok(said && strstr(said, "is no list of keys"), "are told");
}

static void test_commands(void)
{
	is_int(ac("list"), 0, "list");
	ok(out && strstr(out, "bad") &&
		   strstr(out, "broken: blueprint.yaml:3:5: unknown key"),
	   "a broken blueprint has a row");
	is_int(ac("logs"), 2, "logs of nobody");
	ok(said && strstr(said, "instance: one, two"), "names them");
	is_int(ac("ls --no-trunc"), 0, "an option of ls");
}

static void test_paths(void)
{
	const struct cli cli = { .home = dir };
	char text[64], small[16];

	is_str(cli_user_paths(&cli, text, sizeof(text), "/var/lib/acx"),
	       "/var/lib/acx", "another path");
	is_str(cli_user_paths(&cli, text, sizeof(text), ""), "", "nothing");
	ok(strlen(cli_user_paths(&cli, small, sizeof(small), BROKEN)) <
		   sizeof(small),
	   "cut to its room");
}

static void test_keys(void)
{
	struct launch l = { .cli = NULL };
	struct err err = { 0 };

	unsetenv("AC_DETACH_KEYS");
	is_int(launch_set_keys(&l, NULL, &err), 0, "the usual keys");
	is_int((int)l.detach.n, 2, "two");
	is_int(launch_set_keys(&l, "", &err), 0, "none");
	is_int((int)l.detach.n, 0, "indeed");
	setenv("AC_DETACH_KEYS", "ctrl-", 1);
	is_int(launch_set_keys(&l, NULL, &err), -EINVAL, "%s", err.msg);
	is_int(launch_set_keys(&l, "ctrl-a,d", &err), 0, "the option wins");
	unsetenv("AC_DETACH_KEYS");
}

int main(void)
{
	pid_t pid;

	if (!mkdtemp(dir))
		return 1;
	snprintf(sock, sizeof(sock), "%s/acd", dir);
	snprintf(said_file, sizeof(said_file), "%s/said", dir);
	snprintf(out_file, sizeof(out_file), "%s/out", dir);
	snprintf(version, sizeof(version), "{\"api\":%d,\"build\":\"%s\"}",
		 VERSION_API, version_build_id());
	pid = serve();
	fake_engine_wait(sock);
	test_failures();
	test_blueprint();
	test_diff();
	test_new();
	test_commands();
	test_paths();
	test_keys();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	free(said);
	free(out);
	file_remove_tree(dir);
	return done_testing();
}
