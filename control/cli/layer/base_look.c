/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base_look.c - asks git, beside a start, what a layer begins with
 *
 * Theory of operation: a start does not wait for git. The look is a process of its
 * own, which may outlive `ac run -d`: it asks git for the commit, says so, compares
 * the work tree with it, and then waits for the instance's name and layer, or for
 * our end. Only a layer that was begun after the commit was known gets it: else the
 * user could have committed what the sandbox never saw.
 *
 * A file that the user changes while git looks either differs, and has no base, or
 * was as in the commit at that time, too.
 *
 * To compare, git reads files again whose times it does not know, through the
 * filters of the repository's configuration, which an agent may have written (live).
 * So the comparison is made in a repository of ours, without objects and with an
 * empty configuration; index and objects are the user's. Nothing is written to
 * them: git diff would put a refreshed index in the place of the user's, through a
 * link too, and whatever GIT_OPTIONAL_LOCKS says; so it is told not to refresh. Then
 * it takes a file for changed whose times alone have changed. So it counts lines,
 * and leaves a file without any out; one that it calls binary stays in.
 */
#include "control/cli/layer/base_look.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "control/cli/core/dirwalk.h"
#include "control/cli/core/git_run.h"
#include "control/shared/paths.h"
#include "lib/file.h"
#include "lib/proc.h"

#define GIT_MS 2000u /* for each of two calls */
#define WORK_SECONDS 10u /* for all of it, however slow the disk is */
#define KNOWN_MS 250 /* that a start waits at most; it is known in some 5 */
/* An image may be built between the look and the start. */
#define OLDEST_NS (INT64_C(60) * 1000000000)
#define ANSWER_MAX (4u * PATH_MAX)
#define DIRTY_TEXT_MAX (1024u * 1024)
#define FDS_FROM 100 /* descriptors of the process that looks */

/* ---- the look ---- */

/* What rev-parse tells. */
struct places {
	char *format, *objects, *index, *top, *prefix, *commit; /* in @text */
	char *text; /* owned */
};

static char *line_take(char **at)
{
	char *line = *at, *end = line ? strchr(line, '\n') : NULL;

	if (!end)
		return NULL;
	*end = '\0';
	*at = end + 1;
	return line;
}

/* A line too many: a path has a newline in it. */
static int places_read(struct places *p)
{
	char *at = p->text;

	p->format = line_take(&at);
	p->objects = line_take(&at);
	p->index = line_take(&at);
	p->top = line_take(&at);
	p->prefix = line_take(&at);
	p->commit = line_take(&at);
	return p->commit && *at == '\0' && p->objects[0] == '/' &&
			       p->index[0] == '/' && p->top[0] == '/' &&
			       base_is_oid(p->commit) ?
		       0 :
		       -EBADMSG;
}

static int run(const struct git_call *call, struct git_said *ret)
{
	int rc = git_run(call, ret, NULL);

	if (rc == 0 && ret->code != 0) {
		free(ptr_take(&ret->out));
		rc = -ENOENT;
	}
	return rc;
}

static int places_get(int dir, struct places *ret)
{
	static const char *const args[] = { "rev-parse",
					    "--show-object-format",
					    "--path-format=absolute",
					    "--git-path",
					    "objects",
					    "--git-path",
					    "index",
					    "--show-toplevel",
					    "--show-prefix",
					    "--verify",
					    "HEAD^{commit}",
					    NULL };
	const struct git_call call = { .dir = dir,
				       .args = args,
				       .in = -1,
				       .timeout_ms = GIT_MS,
				       .out_max = ANSWER_MAX };
	struct git_said said;
	int rc = run(&call, &said);

	ret->text = said.out;
	return rc < 0 ? rc : places_read(ret);
}

/* Sets *ret to a repository of ours without anything in it, which is made if a part
 * of it is missing. The caller frees it. */
static int empty_repository(const char *home, const char *format, char **ret)
{
	static const char sha1[] = "[core]\n\trepositoryformatversion = 0\n"
				   "\tbare = false\n";
	static const char sha256[] = "[core]\n\trepositoryformatversion = 1\n"
				     "\tbare = false\n[extensions]\n"
				     "\tobjectFormat = sha256\n";
	static const char head[] = "ref: refs/heads/none\n";
	bool is_256 = strcmp(format, "sha256") == 0;
	const char *config = is_256 ? sha256 : sha1;
	SCOPED_STR dir = str_printf("%s/git/%s", home, is_256 ? "256" : "1");
	SCOPED_STR refs = dir ? str_printf("%s/refs", dir) : NULL;
	SCOPED_STR head_at = dir ? str_printf("%s/HEAD", dir) : NULL;
	SCOPED_STR config_at = dir ? str_printf("%s/config", dir) : NULL;
	int rc = 0;

	if (!refs || !head_at || !config_at)
		return -ENOMEM;
	if (access(config_at, R_OK) < 0 || access(head_at, R_OK) < 0 ||
	    access(refs, X_OK) < 0) {
		rc = file_mkdir_p(refs, 0755);
		if (rc == 0)
			rc = file_replace(head_at, head, strlen(head), 0644);
		if (rc == 0)
			rc = file_replace(config_at, config, strlen(config),
					  0644);
	}
	if (rc == 0)
		*ret = ptr_take(&dir);
	return rc;
}

/* Leaves the names of "ADDED<TAB>DELETED<TAB>NAME<NUL>". Returns 0 or -EBADMSG. */
static int names_keep(struct git_said *said)
{
	char *to = said->out, *at = said->out, *end = at + said->out_len;

	while (at < end) {
		char *next = memchr(at, '\0', (size_t)(end - at));
		char *name = next ? strchr(at, '\t') : NULL;
		size_t len;

		name = name ? strchr(name + 1, '\t') : NULL;
		if (!name)
			return -EBADMSG;
		len = (size_t)(next - name); /* with the NUL, not the tab */
		memmove(to, name + 1, len);
		to += len;
		at = next + 1;
	}
	said->out_len = (size_t)(to - said->out);
	return 0;
}

static int compare(const char *home, int dir, const struct places *p,
		   struct git_said *ret)
{
	const char *const args[] = { "-c",
				     "diff.autoRefreshIndex=false",
				     "diff",
				     "--numstat",
				     "-z",
				     "--no-renames",
				     "--no-ext-diff",
				     "--no-textconv",
				     "--ignore-submodules=all",
				     "--relative",
				     p->commit,
				     "--",
				     ".",
				     NULL };
	struct git_call call = { .dir = dir,
				 .args = args,
				 .in = -1,
				 .alone = true,
				 .raw = true,
				 .timeout_ms = GIT_MS,
				 .out_max = DIRTY_TEXT_MAX };
	SCOPED_STR ours = NULL;
	int rc = empty_repository(home, p->format, &ours);
	SCOPED_STR repo = ours ? str_printf("GIT_DIR=%s", ours) : NULL;
	SCOPED_STR tree = str_printf("GIT_WORK_TREE=%s", p->top);
	SCOPED_STR index = str_printf("GIT_INDEX_FILE=%s", p->index);
	SCOPED_STR objects = str_printf("GIT_OBJECT_DIRECTORY=%s", p->objects);
	const char *const env[] = { repo, tree, index, objects, NULL };

	if (rc < 0 || !repo || !tree || !index || !objects)
		return rc < 0 ? rc : -ENOMEM;
	call.env = env;
	rc = run(&call, ret);
	return rc < 0 ? rc : names_keep(ret);
}

int base_look_now(const char *home, int dir, void (*known)(void *arg),
		  void *arg, struct base *ret)
{
	struct places p = { .text = NULL };
	struct git_said said = { .out = NULL };
	int rc = places_get(dir, &p);

	memset(ret, 0, sizeof(*ret));
	if (rc == 0 && known)
		known(arg);
	if (rc == 0)
		rc = compare(home, dir, &p, &said);
	if (rc == 0)
		rc = base_set_dirty(ret, slice_of(said.out, said.out_len));
	if (rc == 0) {
		ret->prefix = strdup(p.prefix);
		rc = ret->prefix ? 0 : -ENOMEM;
	}
	if (rc == 0)
		str_copy(ret->commit, sizeof(ret->commit), p.commit);
	free(said.out);
	free(p.text);
	return rc;
}

/* ---- the process ---- */

/* What it is told at last. */
struct told {
	char name[AC_NAME_MAX + 1];
	struct layer_key key;
};

struct looker {
	const char *home;
	int dir;
	int ready; /* a pipe: the commit is known */
	int told; /* a socket: struct told */
	int64_t known; /* when, in ns since the epoch */
};

static int64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void on_known(void *arg)
{
	struct looker *l = arg;

	l->known = wall_ns();
	fd_closep(&l->ready);
}

/* Makes nothing but the directory apply: an instance that was removed stays so. */
static void keep(const struct looker *l, const struct base *b,
		 const struct told *told)
{
	SCOPED_STR path = str_printf("%s/instances/%s", l->home, told->name);
	SCOPED_FD dir = -1;
	SCOPED_FD apply = -1;

	if (!path)
		return;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || (mkdirat(dir, "apply", 0700) < 0 && errno != EEXIST))
		return;
	apply = openat(dir, "apply",
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (apply >= 0)
		(void)!base_save(b, apply, &told->key);
}

/* Closes what the program had open: a reader of its output waits for the end of
 * that. */
static int descriptors(struct looker *l)
{
	int *const keep[] = { &l->dir, &l->ready, &l->told };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (size_t i = 0; i < ARRAY_SIZE(keep); i++) {
		*keep[i] = fcntl(*keep[i], F_DUPFD_CLOEXEC, FDS_FROM);
		if (*keep[i] < 0)
			return -errno;
	}
	for (int i = 0; i < 3; i++)
		if (dup2(null, i) < 0)
			return -errno;
	for (int i = 3; i < FDS_FROM; i++)
		close(i);
	return 0;
}

static ATTR_NORETURN void look(struct looker *l)
{
	SCOPED_BASE b = { .prefix = NULL };
	struct told told;

	setsid();
	proc_signals_default();
	alarm(WORK_SECONDS);
	if (descriptors(l) < 0 ||
	    base_look_now(l->home, l->dir, on_known, l, &b) < 0)
		_exit(0);
	alarm(0);
	/* Without an answer the program, or the start, has ended. */
	if (recv(l->told, &told, sizeof(told), 0) != sizeof(told) ||
	    told.key.since <= l->known || told.key.since - l->known > OLDEST_NS)
		_exit(0);
	alarm(WORK_SECONDS);
	keep(l, &b, &told);
	_exit(0);
}

/* Begins the process, as a child of init's: nothing has to wait for it. */
static void look_spawn(struct looker *l)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (fork() == 0)
			look(l);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}

/* Returns true if there is a .git in the directory or above it: elsewhere a start
 * does not wait for git to say no. */
static bool may_know(int dir)
{
	SCOPED_STR path = NULL;
	char *slash;

	if (dirwalk_name(dir, &path) < 0 || !path)
		return false;
	do {
		SCOPED_STR git = str_printf("%s/.git", path);

		if (git && access(git, F_OK) == 0)
			return true;
		slash = strrchr(path, '/');
		if (slash)
			*slash = '\0';
	} while (slash);
	return false;
}

void base_look_begin(const struct cli *cli, int dir, struct base_look *ret)
{
	struct looker l = { .home = cli->home, .dir = dir };
	struct pollfd p = { .events = POLLIN };
	int ready[2], told[2];

	ret->fd = -1;
	if (!may_know(dir) || pipe2(ready, O_CLOEXEC) < 0)
		return;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, told) < 0) {
		close(ready[0]);
		close(ready[1]);
		return;
	}
	l.ready = ready[1];
	l.told = told[1];
	look_spawn(&l);
	close(ready[1]);
	close(told[1]);
	ret->fd = told[0];
	/* Until the commit is known, or the process has ended. */
	p.fd = ready[0];
	(void)poll(&p, 1, KNOWN_MS);
	close(ready[0]);
}

void base_look_keep(struct base_look *look, const char *name,
		    const struct layer_key *key)
{
	struct told told;

	memset(&told, 0, sizeof(told));
	str_copy(told.name, sizeof(told.name), name);
	told.key = *key;
	if (look->fd >= 0)
		(void)send(look->fd, &told, sizeof(told),
			   MSG_NOSIGNAL | MSG_DONTWAIT);
	base_look_done(look);
}

void base_look_done(struct base_look *look)
{
	fd_closep(&look->fd);
}
