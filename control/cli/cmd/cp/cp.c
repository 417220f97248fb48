/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cp.c - files into and out of a running sandbox
 *
 * All access in the sandbox is with the agent's rights, so a copy reads and
 * writes only what the agent could. A regular file goes through the file API
 * (cp_file.c). Trees, links and streams are a tar stream through an exec: one
 * process for thousands of files.
 *
 * In: tar here packs, a short sh script in the sandbox unpacks. Out: tar in the
 * sandbox packs. Its output is hostile: untar.c checks it, and the system's tar
 * unpacks it in a new directory beside the destination. Only the one expected
 * entry is then moved to the destination.
 */
#include "control/cli/cmd/cp/cp.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "control/cli/cmd/cp/cp_dest.h"
#include "control/cli/cmd/cp/cp_file.h"
#include "control/cli/host/host.h"
#include "control/shared/infer.h"
#include "control/cli/host/launch.h"
#include "control/cli/core/progress.h"
#include "control/cli/wire/untar.h"
#include "control/shared/json.h"
#include "lib/file.h"
#include "lib/proc.h"
#include "lib/str.h"

/* $1 is the destination, $2 the entry's name. An existing directory $1 gets the
 * entry under its own name. If $2 is "" (a stream), $1 is a directory and is
 * made if missing. The exit codes are CP_THERE_*. */
static const char UNPACK[] = "set -e; umask 022\n"
			     "if [ -z \"$2\" ]; then\n"
			     "p=$1; while [ ! -e \"$p\" ]\n"
			     "do p=$(dirname -- \"$p\"); done\n"
			     "[ -d \"$p\" ] || exit 82\n"
			     "[ -w \"$p\" ] || exit 81\n"
			     "mkdir -p -- \"$1\"; fi\n"
			     "if [ -d \"$1\" ]; then\n"
			     "[ -w \"$1\" ] || exit 81\n"
			     "exec tar --no-same-owner -xf - -C \"$1\"; fi\n"
			     "p=$(dirname -- \"$1\")\n"
			     "[ -e \"$p\" ] || exit 80\n"
			     "[ -d \"$p\" ] || exit 82\n"
			     "[ -w \"$p\" ] || exit 81\n"
			     "t=$(mktemp -d \"$p/.ac-cp.XXXXXX\")\n"
			     "trap 'rm -rf -- \"$t\"' EXIT\n"
			     "tar --no-same-owner -xf - -C \"$t\"\n"
			     "mv -T -- \"$t/$2\" \"$1\"\n";

/* $1 is the directory, $2 the entry in it. A link is packed as a link. */
static const char PACK[] = "[ -e \"$1\" ] || exit 80\n"
			   "[ -d \"$1\" ] || exit 82\n"
			   "[ -x \"$1\" ] || exit 81\n"
			   "[ -L \"$1/$2\" ] || {\n"
			   "[ -e \"$1/$2\" ] || exit 80\n"
			   "[ -r \"$1/$2\" ] || exit 81; }\n"
			   "exec tar --format=gnu -cf - -C \"$1\" -- \"$2\"\n";

int cp_side_parse(const char *word, struct cp_side *ret, struct err *err)
{
	const char *colon = strchr(word, ':');
	const char *slash = strchr(word, '/');
	char name[AC_NAME_MAX + 2];
	size_t len;

	memset(ret, 0, sizeof(*ret));
	ret->path = word;
	if (strcmp(word, "-") == 0) {
		ret->stream = true;
		return 0;
	}
	if (!colon || (slash && slash < colon))
		return *word ? 0 : err_set(err, -EINVAL, "a path is empty");
	len = (size_t)(colon - word);
	if (len > AC_NAME_MAX)
		len = AC_NAME_MAX + 1; /* so infer_instance() refuses it */
	memcpy(name, word, len);
	name[len] = '\0';
	ret->remote = true;
	ret->path = colon + 1;
	if (*ret->path == '\0')
		ret->path = "/workspace";
	return infer_instance(name, ret->name, err);
}

/* A copy in progress. Its exec never prints JSON: its exit code is not a result
 * for the user. */
struct copy {
	struct cli plain;
	struct launch launch;
	char base[NAME_MAX + 1]; /* name of the entry in the archive */
	const char *there; /* the path there, for messages */
	bool to_stdout; /* SIGPIPE there is no failure */
	struct progress progress;
	uint64_t moved; /* bytes of the archive so far */
};

static void copy_moved(struct copy *cp, size_t len)
{
	char text[32];

	cp->moved += len;
	str_format_size(text, sizeof(text), cp->moved);
	if (cp->progress.tty)
		progress_tick(&cp->progress, text);
}

static void on_stdin(void *arg, size_t len)
{
	copy_moved(arg, len);
}

static void copy_init(struct copy *cp, const struct cli *cli, struct client *c,
		      const char *name)
{
	memset(cp, 0, sizeof(*cp));
	cp->plain = *cli;
	cp->plain.json = false;
	cp->launch = (struct launch){
		.cli = &cp->plain,
		.client = c,
		.verb = "exec",
		.what = "tar",
		.escape_err = true,
	};
	snprintf(cp->launch.name, sizeof(cp->launch.name), "%s", name);
}

int cp_there_error(int code, const char *name, const char *path,
		   struct err *err)
{
	const char *why = code == CP_THERE_ENOENT ?
				  "no such file or directory" :
			  code == CP_THERE_EACCES  ? "permission denied" :
			  code == CP_THERE_ENOTDIR ? "not a directory" :
						     NULL;

	if (why)
		return err_set(err, -EIO, "%s:%s: %s", name, path, why);
	return err_set(err, -EIO, "%s:%s: not all of it could be copied", name,
		       path);
}

static int copy_exec(struct copy *cp, char *const *cmd, size_t n,
		     struct err *err)
{
	SCOPED_JSON body = launch_body(&cp->launch, cmd, n, err);
	int rc = body ? launch_go(&cp->launch, body, err) : err->code;

	if (rc <= 0 || (cp->to_stdout && rc == 128 + SIGPIPE))
		return rc;
	return cp_there_error(rc, cp->launch.name, cp->there, err);
}

static struct cp_file copy_file(struct copy *cp)
{
	return (struct cp_file){
		.client = cp->launch.client,
		.name = cp->launch.name,
		.moved = on_stdin,
		.arg = cp,
	};
}

/* Starts a local tar that reads from @in or writes to @out. The caller waits
 * for *ret_pid by tar_wait(). */
static int tar_spawn(const char *const *argv, int in, int out, pid_t *ret_pid,
		     struct err *err)
{
	const struct proc_opts opts = { .argv = argv,
					.fd = { in, out, STDERR_FILENO },
					.die_with_parent = 1 };

	return proc_spawn(&opts, ret_pid, err);
}

static int tar_wait(pid_t pid, struct err *err)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(err, "wait for tar");
	if (proc_code(status) != 0)
		return err_set(err, -EIO, "tar ended with code %d",
			       proc_code(status));
	return 0;
}

static int unpack_there(struct copy *cp, const char *dst, int from,
			struct err *err)
{
	SCOPED_STR script = str_printf("%s", UNPACK);
	SCOPED_STR where = str_printf("%s", dst);
	char sh[] = "sh", dash_c[] = "-c", self[] = "ac-cp";
	char *const cmd[] = { sh, dash_c, script, self, where, cp->base };

	if (!script || !where)
		return err_nomem(err);
	cp->launch.use_stdin = true;
	cp->launch.in = from;
	cp->launch.on_stdin = on_stdin;
	cp->launch.arg = cp;
	return copy_exec(cp, cmd, ARRAY_SIZE(cmd), err);
}

/* Returns the directory part of @path, "." if there is none; the caller frees
 * it. NULL: out of memory. */
static char *parent_of(const char *path)
{
	size_t len = strlen(path);

	while (len > 0 && path[len - 1] == '/')
		len--;
	while (len > 0 && path[len - 1] != '/')
		len--;
	return len ? str_printf("%.*s", (int)len, path) : str_printf(".");
}

static int upload_tree(struct copy *cp, const char *src, const char *dst,
		       struct err *err)
{
	SCOPED_STR dir = parent_of(src);
	SCOPED_FD from = -1;
	SCOPED_FD to = -1;
	int fds[2], rc, ended;
	pid_t pid;

	const char *const argv[] = { "tar", "--format=gnu", "-cf",    "-", "-C",
				     dir,   "--",           cp->base, NULL };

	if (!dir)
		return err_nomem(err);
	if (access(src, F_OK) < 0)
		return err_sys(err, "%s", src);
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	from = fds[0];
	to = fds[1];
	rc = tar_spawn(argv, -1, to, &pid, err);
	if (rc < 0)
		return rc;
	fd_closep(&to);
	rc = unpack_there(cp, dst, from, err);
	/* Closed before the wait: if the other side failed, tar must not block
	 * on the pipe. */
	fd_closep(&from);
	ended = tar_wait(pid, rc < 0 ? NULL : err);
	return rc < 0 ? rc : ended;
}

static int upload(struct copy *cp, const char *src, const char *dst,
		  struct err *err)
{
	const struct cp_file file = copy_file(cp);
	char real[PATH_MAX];
	int rc;

	/* "." and ".." are copied under the directory's real name. */
	if (cp_base_name(src, cp->base, sizeof(cp->base)) < 0) {
		src = realpath(src, real);
		if (!src || cp_base_name(src, cp->base, sizeof(cp->base)) < 0)
			return err_set(err, -EINVAL,
				       "that has no name to copy "
				       "it by");
	}
	rc = cp_file_in(&file, src, dst, cp->base, err);
	return rc == CP_FILE_NOT ? upload_tree(cp, src, dst, err) : rc;
}

static int pack_there(struct copy *cp, const char *src, struct err *err)
{
	SCOPED_STR script = str_printf("%s", PACK);
	SCOPED_STR parent = parent_of(src);
	char sh[] = "sh", dash_c[] = "-c", self[] = "ac-cp";
	char *const cmd[] = { sh, dash_c, script, self, parent, cp->base };

	if (!script || !parent)
		return err_nomem(err);
	return copy_exec(cp, cmd, ARRAY_SIZE(cmd), err);
}

/* Passes the archive to the local tar. tar is started by the first block, since
 * it complains about an empty archive. */
struct sink {
	struct untar untar;
	struct copy *copy;
	const char *dir; /* to unpack in */
	struct err *err;
	int fd; /* to tar, -1: not started */
	pid_t pid;
};

static int sink_start(struct sink *s)
{
	const char *const argv[] = { "tar",
				     "--no-same-owner",
				     "--no-same-permissions",
				     "--delay-directory-restore",
				     "-xf",
				     "-",
				     "-C",
				     s->dir,
				     NULL };
	SCOPED_FD from = -1;
	SCOPED_FD to = -1;
	int fds[2], rc;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(s->err, "pipe");
	from = fds[0];
	to = fds[1];
	rc = tar_spawn(argv, from, -1, &s->pid, s->err);
	if (rc == 0)
		s->fd = fd_take(&to);
	return rc;
}

static int sink_write(void *arg, const void *data, size_t len)
{
	struct sink *s = arg;
	int rc = s->fd < 0 ? sink_start(s) : 0;

	return rc < 0 ? rc : fd_write_all(s->fd, data, len);
}

static int sink_feed(void *arg, struct slice data)
{
	struct sink *s = arg;

	copy_moved(s->copy, data.len);
	return untar_feed(&s->untar, data.ptr, data.len);
}

/* Runs tar in the sandbox, checks its output and unpacks it into @tmp. */
static int unpack_here(struct copy *cp, const char *src, const char *tmp,
		       struct err *err)
{
	struct sink sink = { .copy = cp, .dir = tmp, .err = err, .fd = -1 };
	int rc, ended = 0;

	untar_init(&sink.untar, cp->base, sink_write, &sink);
	cp->launch.sink = sink_feed;
	cp->launch.arg = &sink;
	rc = pack_there(cp, src, err);
	cp->launch.sink = NULL;
	cp->launch.arg = NULL;
	if (rc == 0)
		rc = untar_finish(&sink.untar);
	if (sink.untar.why)
		rc = err_set(err, -EBADMSG,
			     "the archive from %s is refused: it has %s",
			     cp->launch.name, sink.untar.why);
	else if (rc == -EPIPE)
		err_set(err, rc, "tar did not take the whole archive");
	if (sink.fd >= 0) {
		fd_closep(&sink.fd);
		ended = tar_wait(sink.pid, rc < 0 ? NULL : err);
	}
	return rc < 0 ? rc : ended;
}

/* Refuses a link at the top with -ELOOP: the next copy to the same name would
 * follow it, and so write where the agent pointed it to. */
static int link_refuse(int dir, const char *name, const char *src,
		       struct err *err)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(err, "%s", src);
	if (S_ISLNK(st.st_mode))
		return err_set(err, -ELOOP,
			       "%s is a symbolic link; copy what it points to",
			       src);
	return 0;
}

/* Unpacks @src into @fd, a new directory beside the destination, and moves the
 * entry from there. tar inherits no descriptor, so it opens @fd through our
 * /proc. */
static int tree_put(struct copy *cp, const char *src,
		    const struct cp_dest *dest, int fd, struct err *err)
{
	char dir[64];
	int rc;

	snprintf(dir, sizeof(dir), "/proc/%d/fd/%d", (int)getpid(), fd);
	rc = unpack_here(cp, src, dir, err);
	if (rc == 0)
		rc = link_refuse(fd, cp->base, src, err);
	if (rc == 0 && renameat(fd, cp->base, dest->dir, dest->name) < 0)
		rc = err_sys(err, "%s", dest->shown);
	return rc;
}

static int download_tree(struct copy *cp, const char *src,
			 const struct cp_dest *dest, struct err *err)
{
	int rc = cp_dest_kind(dest, err);
	SCOPED_STR whole = NULL;
	char temp[CP_DEST_TEMP];
	SCOPED_FD fd = -1;

	if (rc < 0)
		return rc;
	if (rc == CP_DEST_WRITE)
		return err_set(err, -EEXIST,
			       "%s is no regular file: only the bytes of one "
			       "can go there",
			       dest->shown);
	rc = cp_dest_temp(temp);
	if (rc < 0)
		return err_set(err, rc, "a random name: %s", err_text(rc));
	whole = str_printf("/proc/self/fd/%d/%s", dest->dir, temp);
	if (!whole)
		return err_nomem(err);
	/* Beside the destination, so that a rename suffices. */
	if (mkdirat(dest->dir, temp, 0700) < 0)
		return err_sys(err, "%s", dest->shown);
	fd = openat(dest->dir, temp,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	rc = fd < 0 ? err_sys(err, "%s", dest->shown) :
		      tree_put(cp, src, dest, fd, err);
	file_remove_tree(whole);
	return rc;
}

static int download(struct copy *cp, const char *src, const char *dst,
		    struct err *err)
{
	const struct cp_file file = copy_file(cp);
	SCOPED_CP_DEST dest = CP_DEST_INIT;
	int rc = cp_dest_open(dst, cp->base, &dest, err);

	if (rc < 0)
		return rc;
	rc = cp_file_out(&file, src, &dest, err);
	return rc == CP_FILE_NOT ? download_tree(cp, src, &dest, err) : rc;
}

static int copy_any(struct copy *cp, const struct cp_side *src,
		    const struct cp_side *dst, struct err *err)
{
	if (dst->remote && src->stream)
		return unpack_there(cp, dst->path, STDIN_FILENO, err);
	if (dst->remote)
		return upload(cp, src->path, dst->path, err);
	if (cp_base_name(src->path, cp->base, sizeof(cp->base)) < 0)
		return err_set(err, -EINVAL,
			       "'%s' names nothing to copy: give "
			       "a file or a directory",
			       src->path);
	cp->to_stdout = dst->stream;
	if (dst->stream)
		return pack_there(cp, src->path, err);
	return download(cp, src->path, dst->path, err);
}

static int copy(const struct cli *cli, struct client *c,
		const struct cp_side *src, const struct cp_side *dst,
		struct err *err)
{
	struct copy cp;
	int rc;

	copy_init(&cp, cli, c, src->remote ? src->name : dst->name);
	cp.there = src->remote ? src->path : dst->path;
	progress_begin(&cp.progress, cli, "copying");
	rc = copy_any(&cp, src, dst, err);
	progress_end(&cp.progress);
	return rc;
}

int cmd_cp(const struct cli *cli, const struct args *a, struct err *err)
{
	SCOPED_CLIENT c = NULL;
	struct cp_side src = { .path = "" }, dst = { .path = "" };
	int rc = cp_side_parse(a->words[0], &src, err);

	if (rc == 0)
		rc = cp_side_parse(a->words[1], &dst, err);
	if (rc == 0 && src.remote == dst.remote)
		rc = err_set(err, -EINVAL,
			     "one side must be NAME:PATH, the "
			     "other a path here or -");
	if (rc == 0 && ((src.stream && isatty(STDIN_FILENO) == 1) ||
			(dst.stream && cli->out_tty)))
		rc = err_set(err, -EINVAL,
			     "- is a tar archive, and that is not for a "
			     "terminal: redirect %s",
			     src.stream ? "stdin" : "stdout");
	if (rc < 0)
		return cli_usage(err);
	rc = host_client(cli, false, &c, err);
	return rc < 0 ? rc : copy(cli, c, &src, &dst, err);
}
