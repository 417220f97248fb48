/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch_test.c - the command, with a sandbox whose git may be anything
 *
 * acd is the functions below: launch_go() runs what is for the sandbox here, with
 * a PATH of its own.
 */
#include "control/cli/cmd/fetch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/cli/cmd/fetch_into.h"
#include "control/cli/cmd/instance.h"
#include "control/cli/host/host.h"
#include "control/cli/host/launch.h"
#include "control/cli/host/self_addresses.h"
#include "control/cli/host/stopped.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/proc.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/ac-fetch.XXXXXX";
static const char *state = "running";
static unsigned runs, stops;
static const char *guarded; /* what an instance writes in; NULL: nothing */
static bool hostile; /* git in the sandbox is dir/bin/git */

/* ---- acd ---- */

void client_free(struct client *c)
{
	(void)c;
}

int host_client_after(const struct cli *cli, host_first_fn first,
		      const struct args *a, struct client **ret,
		      struct err *err)
{
	(void)cli;
	(void)first;
	(void)a;
	(void)err;
	*ret = NULL;
	return 0;
}

int client_call(struct client *c, const char *method, const char *path,
		const json_t *body, json_t **ret, struct err *err)
{
	(void)c;
	(void)method;
	(void)path;
	(void)body;
	(void)err;
	*ret = json_pack("{s:[]}", "instances");
	return 0;
}

int instance_call(struct client *c, const char *method, const char *word,
		  const char *rest, const json_t *body, json_t **ret,
		  struct err *err)
{
	(void)c;
	(void)body;
	(void)err;
	stops += strcmp(method, "POST") == 0 && strcmp(rest, "/stop") == 0;
	if (ret)
		*ret = json_pack("{s:s, s:s}", "name", word, "state", state);
	return 0;
}

int stopped_check(const struct cli *cli, const struct args *a, struct err *err)
{
	(void)cli;
	(void)a;
	(void)err;
	return 0;
}

int addresses_tell(const struct cli *cli, struct client *c, struct err *err)
{
	(void)cli;
	(void)c;
	(void)err;
	return 0;
}

int fetch_into_open(const struct cli *cli, const json_t *rec, const char *into,
		    const json_t *instances, struct workspace *ret,
		    struct err *err)
{
	(void)cli;
	(void)rec;
	(void)instances;
	(void)err;
	*ret = (struct workspace)WORKSPACE_NONE;
	ret->path = strdup(into);
	return dirwalk_open(into, DIRWALK_FOLLOW, &ret->walk);
}

int fetch_into_check(int fd, const char *path, const json_t *instances,
		     struct err *err)
{
	(void)fd;
	(void)instances;
	if (!guarded || !strstr(path, guarded))
		return 0;
	return err_set(err, -EPERM, "%s is guarded", path);
}

void workspace_done(struct workspace *ws)
{
	dirwalk_done(&ws->walk);
	free(ws->path);
}

json_t *launch_body(const struct launch *l, char *const *cmd, size_t n_cmd,
		    struct err *err)
{
	(void)err;
	json_t *words = json_array();

	(void)l;
	for (size_t i = 0; i < n_cmd; i++)
		json_array_append_new(words, json_string(cmd[i]));
	return json_pack("{s:o}", "cmd", words);
}

/* Reads a pipe of the program to its end, or until it is refused. */
static int pass(const struct launch *l, int fd, bool is_err)
{
	uint8_t block[4000];
	ssize_t n;
	int rc = 0;

	while (rc == 0 && (n = read(fd, block, sizeof(block))) > 0)
		if (is_err)
			l->err_sink(l->arg, slice_of(block, (size_t)n));
		else
			rc = l->sink(l->arg, slice_of(block, (size_t)n));
	return rc;
}

static int run_here(const struct launch *l, const json_t *cmd, struct err *err)
{
	SCOPED_STR path = str_printf("PATH=%s/bin:%s", dir, getenv("PATH"));
	SCOPED_STR home = str_printf("HOME=%s", dir);
	SCOPED_FD out = -1;
	SCOPED_FD wr = -1;
	SCOPED_FD errs = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	const char *argv[8] = { NULL };
	SCOPED_STR own = str_printf("PATH=%s", getenv("PATH"));
	const char *const env[] = { hostile ? path : own, home, NULL };
	struct proc_opts opts = {
		.argv = argv, .env = env, .cwd = "/", .die_with_parent = 1
	};
	int fds[2], status, rc;
	pid_t pid;

	for (size_t i = 0; i < json_array_size(cmd) && i < 7; i++)
		argv[i] = json_string_value(json_array_get(cmd, i));
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	out = fds[0];
	wr = fds[1];
	opts.fd[0] = l->use_stdin ? l->in : -1;
	opts.fd[1] = wr;
	opts.fd[2] = errs;
	if (proc_spawn(&opts, &pid, err) < 0)
		return err->code;
	fd_closep(&wr);
	rc = pass(l, out, false);
	fd_closep(&out);
	while (waitpid(pid, &status, 0) < 0)
		;
	lseek(errs, 0, SEEK_SET);
	pass(l, errs, true);
	return rc < 0 ? rc : proc_code(status);
}

int launch_go(struct launch *l, json_t *body, struct err *err)
{
	if (strcmp(l->verb, "exec") == 0) {
		l->ended = true;
		return run_here(l, json_object_get(body, "cmd"), err);
	}
	runs++;
	l->on_begun(l, l->begun_arg);
	l->ended = true;
	return 143;
}

/* ---- the command ---- */

static int sh(const char *script)
{
	SCOPED_STR all = str_printf("set -e; exec >>'%s/log' 2>&1; cd '%s'\n%s",
				    dir, dir, script);

	return all ? system(all) : -1;
}

/* Runs `ac fetch job`; what it prints goes to *ret, which the caller frees. */
static int fetch(struct args *a, bool json, char **ret, struct err *err)
{
	SCOPED_STR home = str_printf("%s/home", dir);
	SCOPED_STR into = str_printf("%s/user", dir);
	SCOPED_STR where = str_printf("%s/job", dir);
	struct cli cli = { .home = home, .json = json, .quiet = true };
	SCOPED_FD out = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	SCOPED_FD was = dup(STDOUT_FILENO);
	struct stat st;
	int rc;

	a->words[0] = "job";
	a->n_words = 1;
	a->into = into;
	if (!a->workdir)
		a->workdir = where;
	*err = (struct err){ 0 };
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	rc = cmd_fetch(&cli, a, err);
	fflush(stdout);
	dup2(was, STDOUT_FILENO);
	*ret = fstat(out, &st) == 0 ? calloc(1, (size_t)st.st_size + 1) : NULL;
	if (*ret && pread(out, *ret, (size_t)st.st_size, 0) < 0)
		**ret = '\0';
	a->workdir = NULL;
	return rc;
}

static void good(const char *want, const char *what)
{
	struct args a = { 0 };
	SCOPED_STR out = NULL;
	struct err err;

	is_int(fetch(&a, false, &out, &err), 0, "%s %s", what, err.msg);
	ok(out && strstr(out, want), "prints '%s': %s", want, out);
	ok(sh("[ -z \"$(ls home/fetch)\" ]") == 0, "and leaves no file");
}

static void refused(const char *want, const char *what)
{
	struct args a = { .limit = 1 << 20 };
	SCOPED_STR out = NULL;
	struct err err;

	ok(fetch(&a, false, &out, &err) < 0, "%s: %s", what, err.msg);
	ok(strstr(err.msg, want), "the message says '%s'", want);
	ok(!strchr(err.msg, '\033'), "and nothing to the terminal");
	ok(sh("[ -z \"$(ls home/fetch)\" ]; "
	      "! git -C user for-each-ref | grep refs/remotes/ac") == 0,
	   "nothing is left");
}

static void pair(void)
{
	ok(sh("rm -rf user job; git init -q user; cd user; echo 1 >a\n"
	      "git add a; git commit -qm one; git clone -q . ../job\n"
	      "cd ../job; git checkout -qB main; echo 2 >a\n"
	      "git commit -qam two") == 0,
	   "a repository, and one in a sandbox");
}

static void test_good(void)
{
	struct args a = { 0 };
	SCOPED_STR out = NULL;
	SCOPED_JSON got = NULL;
	struct err err;

	pair();
	a.given.has[ARG_ONLY_SHOW] = true;
	is_int(fetch(&a, true, &out, &err), 0, "a dry run %s", err.msg);
	if (!out)
		return;
	is_int(jsonx_parse(out, strlen(out), &got, &err), 0, "in JSON: %s",
	       out);
	is_str(json_text(json_array_get(json_object_get(got, "refs"), 0),
			 "ref"),
	       "refs/remotes/ac/job/main", "names the branch");
	ok(sh("! git -C user rev-parse -q --verify ac/job/main") == 0,
	   "and makes none");
	good("ac/job/main  1 new commit (new branch, ", "a fetch");
	good("nothing new", "the next");
	ok(sh("cd job; echo 3 >a; git commit -qam three; echo 4 >a; "
	      "git commit -qam four; git checkout -q --detach HEAD~1") == 0,
	   "more commits");
	good("ac/job/main  2 new commits (", "the next");
	ok(sh("cd user; [ $(git rev-parse ac/job/main) = "
	      "$(git -C ../job rev-parse main) ]; "
	      "[ $(git rev-parse refs/remotes/ac/job/HEAD) = "
	      "$(git -C ../job rev-parse HEAD) ]") == 0,
	   "they are the agent's");
}

static void test_started(void)
{
	struct args a = { 0 };
	SCOPED_STR out = NULL;
	struct err err;

	pair();
	is_int(runs, 0, "what runs is not started");
	state = "exited";
	good("ac/job/main  1 new commit", "a sandbox that does not run");
	is_int(runs, 1, "is started");
	is_int(stops, 1, "and stopped");
	state = "paused";
	ok(fetch(&a, false, &out, &err) < 0 && strstr(err.msg, "ac resume"),
	   "one that is paused: %s", err.msg);
	state = "running";
}

static void test_none(void)
{
	struct args a = { .workdir = "/proc" };
	struct args b = { .workdir = "/no/such" };
	SCOPED_STR out = NULL;
	SCOPED_STR none = NULL;
	struct err err;

	ok(fetch(&a, false, &out, &err) < 0 && strstr(err.msg, "say -w DIR"),
	   "no repository: %s", err.msg);
	ok(fetch(&b, false, &none, &err) < 0 &&
		   strstr(err.msg, "job:/no/such: no such directory"),
	   "no directory: %s", err.msg);
}

static void test_elsewhere(void)
{
	pair();
	ok(sh("mv user was; git -C was worktree add -q ../user -b w") == 0,
	   "a worktree of a repository elsewhere");
	guarded = "/was/.git";
	refused("is guarded", "which an instance writes in");
	guarded = NULL;
	sh("rm -rf was");
}

/* Each is a git in the sandbox; `real` is the machine's. */
static void test_hostile(void)
{
	static const struct {
		const char *what, *script, *want;
	} rows[] = {
		{ "garbage", "head -c 5000 /dev/urandom", "not what git" },
		{ "nothing", "exit 0", "not what git" },
		{ "no repository", "exit 128", "no git repository" },
		{ "an error that is not for a terminal",
		  "case $* in *pack-objects*) printf '\\033[31mred\\n' >&2; "
		  "exit 3;; esac; real \"$@\"",
		  "\\x1b[31mred" },
		{ "a list without end",
		  "case $* in *for-each-ref*) yes;; esac; real \"$@\"",
		  "more than a list" },
		{ "a pack without end",
		  "case $* in *pack-objects*) printf PACK; cat /dev/zero;; "
		  "esac; real \"$@\"",
		  "more than 1.0 MiB: --limit" },
		{ "a pack that is none",
		  "case $* in *pack-objects*) yes;; esac; real \"$@\"",
		  "no pack of git's" },
		{ "no pack",
		  "case $* in *pack-objects*) exit 0;; esac; real \"$@\"",
		  "sent no commits" },
		{ "another branch than the list's",
		  "case $* in *for-each-ref*) o=$(real rev-parse HEAD); "
		  "echo $o refs/heads/main; echo $o refs/remotes/x;; "
		  "*) real \"$@\";; esac",
		  "not what git" },
	};

	hostile = true;
	sh("mkdir -p bin");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SCOPED_STR path = str_printf("%s/bin/git", dir);
		SCOPED_STR text =
			str_printf("#!/bin/sh\nPATH=%s\n"
				   "real() { exec git \"$@\"; }\n%s\n",
				   getenv("PATH"), rows[i].script);

		pair();
		if (!path || !text ||
		    file_write_atomic(path, text, strlen(text), 0755) < 0)
			return;
		refused(rows[i].want, rows[i].what);
	}
	hostile = false;
}

int main(void)
{
	if (system("git --version >/dev/null 2>&1") != 0) {
		skip("git is not installed");
		return done_testing();
	}
	if (!mkdtemp(dir))
		return 1;
	setenv("HOME", dir, 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("GIT_CONFIG_GLOBAL");
	sh("git config --global user.name a; git config --global user.email b; "
	   "git config --global init.defaultBranch main; mkdir home");
	test_good();
	test_started();
	test_none();
	test_elsewhere();
	test_hostile();
	file_remove_tree(dir);
	return done_testing();
}
