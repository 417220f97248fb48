/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_run.c - runs the user's git, so that nothing runs but git itself
 *
 * Theory of operation: what git starts besides itself is named by configuration
 * and environment, which may be a repository's that somebody else wrote. Of the
 * commands that we use (rev-parse, for-each-ref, cat-file, init, index-pack,
 * update-ref, rev-list, merge-base, fetch, ls-tree, ls-files, check-attr, diff,
 * merge-file) that is:
 *
 *	hooks (reference-transaction, post-index-change)    core.hooksPath
 *	core.fsmonitor                                      off
 *	core.alternateRefsCommand                           ":"
 *	transports: ssh, ext::, remote helpers, http        GIT_ALLOW_PROTOCOL,
 *	  also by url.*.insteadOf and lazy fetches of a     which beats
 *	  partial clone                                     protocol.*.allow
 *	uploadpack of a promisor remote that is a path      GIT_NO_LAZY_FETCH
 *	credential helpers, askpass                         off, no prompt
 *	automatic gc and maintenance                        off
 *	pagers, editors, aliases, filters, diff drivers,    not used by these
 *	  signing programs, submodules
 *
 * A diff with the work tree would run filters, and write the index again although
 * optional locks are off: base_look.c gives it a repository of ours, whose
 * configuration names none, and forbids the refresh.
 *
 * GIT_ALLOW_PROTOCOL has no protocol in it, or "file" for the one fetch from a
 * repository of ours. Every variable of git's in the caller's environment is left
 * out: GIT_DIR would name another repository, GIT_CONFIG_PARAMETERS undo what is
 * above, GIT_TRACE write files.
 */
#include "control/cli/core/git_run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "lib/buf.h"
#include "lib/file.h"
#include "lib/loop.h"
#include "lib/proc.h"
#include "lib/str.h"

#define TICK_MS 200
/* Of git itself, not of files that it maps. An object of a few KiB can claim to
 * be terabytes, and is inflated in memory. */
#define GIT_MEMORY_MAX (UINT64_C(4) << 30)

/* What fsck may find without a refusal: old tools wrote it, and it is
 * harmless. */
static const char *const mild[] = { "zeroPaddedFilemode", "badTimezone",
				    "missingSpaceBeforeDate", "missingEmail",
				    "missingNameBeforeEmail" };
/* Errors by default, or warnings that a user may have set otherwise. A file .git
 * in a tree, or a url of a submodule that is an option, would run code later. */
static const char *const severe[] = { "hasDot",           "hasDotdot",
				      "hasDotgit",        "fullPathname",
				      "emptyName",        "nullSha1",
				      "duplicateEntries", "treeNotSorted",
				      "gitmodulesUrl",    "gitmodulesPath",
				      "gitmodulesName",   "gitmodulesBlob",
				      "gitmodulesLarge",  "gitmodulesSymlink",
				      "gitmodulesUpdate", "gitmodulesParse" };

static const char *const config[] = {
	"core.hooksPath=/dev/null",
	"core.fsmonitor=false",
	"core.askPass=",
	"credential.helper=",
	"protocol.allow=never",
	"submodule.recurse=false",
	"fetch.recurseSubmodules=false",
	"fetch.writeCommitGraph=false",
	"fetch.fsckObjects=true",
	"transfer.fsckObjects=true",
	"gc.auto=0",
	"maintenance.auto=false",
	/* Larger blobs are checked as they come, not in memory. */
	"core.bigFileThreshold=64m",
	"pack.threads=2",
};

int git_strict_option(char *out, size_t size)
{
	size_t used = (size_t)snprintf(out, size, "--strict=");

	for (size_t i = 0; i < ARRAY_SIZE(severe) && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s=error,",
					 severe[i]);
	for (size_t i = 0; i < ARRAY_SIZE(mild) && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s=warn",
					 i ? "," : "", mild[i]);
	return used < size ? 0 : -ENAMETOOLONG;
}

/* ---- words and environment ---- */

static int push_config(struct strv *argv, const char *key, const char *value)
{
	if (strv_push(argv, "-c") < 0 ||
	    strv_pushf(argv, "%s=%s", key, value) < 0)
		return -ENOMEM;
	return 0;
}

static int push_fsck(struct strv *argv, const char *const *ids, size_t n,
		     const char *how)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		SCOPED_STR key = str_printf("fetch.fsck.%s", ids[i]);

		rc = key ? push_config(argv, key, how) : -ENOMEM;
	}
	return rc;
}

static int words_of(const struct git_call *call, struct strv *argv)
{
	int rc = strv_push(argv, "git");

	if (rc == 0)
		rc = strv_push(argv, "--no-pager");
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(config); i++) {
		rc = strv_push(argv, "-c");
		if (rc == 0)
			rc = strv_push(argv, config[i]);
	}
	/* In ours it has to be git's own, which finds what the user has. */
	if (rc == 0 && !call->alone)
		rc = push_config(argv, "core.alternateRefsCommand", ":");
	if (rc == 0 && call->from_path)
		rc = push_fsck(argv, severe, ARRAY_SIZE(severe), "error");
	if (rc == 0 && call->from_path)
		rc = push_fsck(argv, mild, ARRAY_SIZE(mild), "warn");
	for (size_t i = 0; rc == 0 && call->args[i]; i++)
		rc = strv_push(argv, call->args[i]);
	return rc;
}

static int env_of(const struct git_call *call, struct strv *env)
{
	static const char *const ours[] = { "LC_ALL=C",
					    "GIT_TERMINAL_PROMPT=0",
					    "GIT_NO_LAZY_FETCH=1",
					    "GIT_OPTIONAL_LOCKS=0",
					    "GIT_NO_REPLACE_OBJECTS=1",
					    "GIT_ADVICE=0" };
	static const char *const alone[] = { "GIT_CONFIG_GLOBAL=/dev/null",
					     "GIT_CONFIG_NOSYSTEM=1" };
	int rc = 0;

	for (char **e = environ; rc == 0 && *e; e++)
		if (!str_starts(*e, "GIT_") && !str_starts(*e, "LC_ALL=") &&
		    !str_starts(*e, "LANGUAGE=") &&
		    !str_starts(*e, "SSH_ASKPASS"))
			rc = strv_push(env, *e);
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(ours); i++)
		rc = strv_push(env, ours[i]);
	for (size_t i = 0; rc == 0 && call->alone && i < ARRAY_SIZE(alone); i++)
		rc = strv_push(env, alone[i]);
	for (size_t i = 0; rc == 0 && call->env && call->env[i]; i++)
		rc = strv_push(env, call->env[i]);
	if (rc == 0)
		rc = strv_pushf(env, "GIT_ALLOW_PROTOCOL=%s",
				call->from_path ? "file" : "none");
	return rc;
}

/* ---- signals ---- */

static const int caught_signals[] = { SIGINT, SIGTERM, SIGHUP };
static struct sigaction before_catch[ARRAY_SIZE(caught_signals)];
static volatile sig_atomic_t caught;

static void on_signal(int signo)
{
	caught = signo;
}

static void signals_catch(void)
{
	const struct sigaction act = { .sa_handler = on_signal };

	caught = 0;
	for (size_t i = 0; i < ARRAY_SIZE(caught_signals); i++) {
		sigaction(caught_signals[i], NULL, &before_catch[i]);
		if (before_catch[i].sa_handler != SIG_IGN)
			sigaction(caught_signals[i], &act, NULL);
	}
}

static void signals_restore(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(caught_signals); i++)
		sigaction(caught_signals[i], &before_catch[i], NULL);
}

int git_caught(void)
{
	return caught;
}

/* ---- a run ---- */

struct run {
	const struct git_call *call;
	struct git_said *said;
	struct buf out;
	int fd[2]; /* of its stdout and stderr */
	pid_t pid;
	int rc; /* why it was ended, 0: it was not */
};

/* Keeps the last bytes: after warnings comes what git ended with. */
static void keep_errors(struct git_said *said, const char *text, size_t len)
{
	size_t have = strlen(said->errors), all;

	if (len > GIT_ERRORS_MAX) {
		text += len - GIT_ERRORS_MAX;
		len = GIT_ERRORS_MAX;
	}
	all = have + len;
	if (all > GIT_ERRORS_MAX) {
		size_t drop = all - GIT_ERRORS_MAX;

		memmove(said->errors, said->errors + drop, have - drop);
		have -= drop;
	}
	for (size_t i = 0; i < len; i++)
		said->errors[have + i] = text[i] ? text[i] : ' ';
	said->errors[have + len] = '\0';
}

static void end_git(struct run *r, int why)
{
	if (r->rc == 0)
		kill(r->pid, SIGTERM);
	r->rc = r->rc ? r->rc : why;
}

/* Reads from descriptor @i; closes it at its end. */
static void read_some(struct run *r, int i)
{
	char chunk[8192];
	ssize_t n = read(r->fd[i], chunk, sizeof(chunk));

	if (n < 0 && errno == EINTR)
		return;
	if (n <= 0)
		fd_closep(&r->fd[i]);
	else if (i == 1)
		keep_errors(r->said, chunk, (size_t)n);
	else if (buf_append(&r->out, chunk, (size_t)n) < 0)
		end_git(r, -EFBIG);
}

/* A process that git left behind with our pipes, which none should, holds us
 * until it ends. */
static void read_all(struct run *r)
{
	uint64_t since = clock_ms();

	while (r->fd[0] >= 0 || r->fd[1] >= 0) {
		struct pollfd p[2] = { { r->fd[0], POLLIN, 0 },
				       { r->fd[1], POLLIN, 0 } };

		if (caught)
			end_git(r, -EINTR);
		if (r->call->timeout_ms &&
		    clock_ms() - since > r->call->timeout_ms)
			end_git(r, -ETIMEDOUT);
		if (poll(p, 2, TICK_MS) >= 0)
			for (int i = 0; i < 2; i++)
				if (p[i].revents)
					read_some(r, i);
		if (r->call->tick)
			r->call->tick(r->call->arg);
	}
}

static int spawn(struct run *r, int in, struct err *err)
{
	char dir[64];
	struct strv argv = { 0 }, env = { 0 };
	SCOPED_FD out_wr = -1;
	SCOPED_FD err_wr = -1;
	int out[2], errs[2], rc;

	snprintf(dir, sizeof(dir), "/proc/self/fd/%d", r->call->dir);
	if (pipe2(out, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	r->fd[0] = out[0];
	out_wr = out[1];
	if (pipe2(errs, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	r->fd[1] = errs[0];
	err_wr = errs[1];
	if (words_of(r->call, &argv) < 0 || env_of(r->call, &env) < 0) {
		rc = err_nomem(err);
	} else {
		const struct proc_opts opts = {
			.argv = (const char *const *)argv.v,
			.env = (const char *const *)env.v,
			.cwd = dir,
			.fd = { in, out_wr, err_wr },
			.die_with_parent = 1,
		};

		rc = proc_spawn(&opts, &r->pid, err);
	}
	strv_done(&argv);
	strv_done(&env);
	return rc;
}

/* Returns a file in memory with @text at its beginning, or a negative errno. */
static int input_file(struct slice text)
{
	SCOPED_FD fd = memfd_create("git", MFD_CLOEXEC);
	int rc = fd < 0 ? -errno : fd_write_all(fd, text.ptr, text.len);

	if (rc == 0 && lseek(fd, 0, SEEK_SET) < 0)
		rc = -errno;
	return rc < 0 ? rc : fd_take(&fd);
}

static int go(struct run *r, int in, struct err *err)
{
	const struct rlimit most = { GIT_MEMORY_MAX, GIT_MEMORY_MAX };
	int status, rc = spawn(r, in, err);

	if (rc == -ENOENT)
		return err_set(err, rc,
			       "git is not installed here: apt install git");
	if (rc < 0)
		return rc;
	/* Where it is refused, a bomb meets the machine's own limit. */
	(void)prlimit(r->pid, RLIMIT_DATA, &most, NULL);
	read_all(r);
	while (waitpid(r->pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(err, "wait for git");
	if (r->rc == 0 && caught)
		r->rc = -EINTR;
	if (r->rc < 0)
		return err_set(err, r->rc, "git %s: %s", r->call->args[0],
			       r->rc == -EINTR     ? "interrupted" :
			       r->rc == -ETIMEDOUT ? "it takes too long" :
						     "its answer is too long");
	r->said->code = proc_code(status);
	return 0;
}

/* Sets the output of @r->said. */
static int answer_take(const struct run *r, struct err *err)
{
	struct slice out = buf_slice(&r->out);
	int rc = 0;

	if (!r->call->raw)
		rc = slice_dup_str(out, &r->said->out);
	else
		r->said->out = calloc(1, out.len + 1);
	if (rc == -EBADMSG)
		return err_set(err, rc, "git %s answered what is no text",
			       r->call->args[0]);
	if (rc < 0 || !r->said->out)
		return err_nomem(err);
	if (r->call->raw && out.len > 0)
		memcpy(r->said->out, out.ptr, out.len);
	r->said->out_len = out.len;
	return 0;
}

int git_run(const struct git_call *call, struct git_said *ret, struct err *err)
{
	struct run r = { .call = call, .said = ret, .fd = { -1, -1 } };
	SCOPED_FD file = -1;
	int rc = 0, in = call->in;

	memset(ret, 0, sizeof(*ret));
	buf_init(&r.out, call->out_max + 1);
	if (call->input.len > 0) {
		file = input_file(call->input);
		if (file < 0)
			return err_set(err, file, "input of git: %s",
				       err_text(file));
		in = file;
	}
	signals_catch();
	rc = go(&r, in, err);
	signals_restore();
	fd_closep(&r.fd[0]);
	fd_closep(&r.fd[1]);
	if (rc == 0)
		rc = answer_take(&r, err);
	buf_done(&r.out);
	return rc;
}

char *git_why(const struct git_said *said, char *out, size_t size)
{
	static const char *const marks[] = { "error: ", "fatal: ", "" };
	const char *at = said->errors;

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		const char *found = strstr(said->errors, marks[i]);

		if (found && (found == said->errors || found[-1] == '\n')) {
			at = found + strlen(marks[i]);
			break;
		}
	}
	return str_escape_utf8(out, size, at, strcspn(at, "\n"));
}
