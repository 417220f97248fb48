/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_test.c - the file server, as a process, over two pipes
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "init-guard/files/server.h"
#include "init-guard/filewire.h"
#include "lib/file.h"
#include "lib/str.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/ac-files.XXXXXX";

struct answer {
	int error; /* -1: it ended without one */
	bool more;
	unsigned entries;
	char names[256], data[256];
};

static void add(char *to, size_t size, struct slice s)
{
	size_t used = strlen(to);

	snprintf(to + used, size - used, "%.*s", (int)s.len,
		 (const char *)s.ptr);
}

/* Reads until DONE. */
static void answer_read(int fd, struct answer *ret)
{
	static struct filewire_reader r;
	uint8_t mem[512];
	ssize_t n;

	memset(&r, 0, sizeof(r));
	*ret = (struct answer){ .error = -1 };
	while ((n = read(fd, mem, sizeof(mem))) > 0) {
		struct slice in = slice_of(mem, (size_t)n);
		struct filewire_entry e;
		struct filewire_done d;
		struct filewire_msg m;

		while (filewire_next(&r, &in, &m) == 0) {
			if (m.type == FILEWIRE_DATA)
				add(ret->data, sizeof(ret->data), m.payload);
			if (filewire_get_entry(&m, &e) == 0) {
				ret->entries++;
				add(ret->names, sizeof(ret->names), e.name);
				add(ret->names, sizeof(ret->names),
				    slice_str(" "));
			}
			if (filewire_get_done(&m, &d) == 0) {
				ret->error = (int)d.error;
				ret->more = d.more;
				return;
			}
		}
	}
}

/* One request to a server of its own; @data NULL: no WRITE; @cut: the host
 * goes away before END. */
static struct answer ask(const struct filewire_request *rq, const char *data,
			 bool cut)
{
	uint8_t head[FILEWIRE_HEADER];
	struct answer a;
	int in[2], out[2];
	struct buf b;
	pid_t pid;

	buf_init(&b, 64 * 1024);
	if (filewire_put_request(&b, rq) < 0 || pipe2(in, O_CLOEXEC) < 0 ||
	    pipe2(out, O_CLOEXEC) < 0)
		abort();
	if (data) {
		filewire_put_header(head, FILEWIRE_DATA, strlen(data));
		if (buf_append(&b, head, sizeof(head)) < 0 ||
		    buf_append(&b, data, strlen(data)) < 0)
			abort();
		filewire_put_header(head, FILEWIRE_END, 0);
		if (!cut && buf_append(&b, head, sizeof(head)) < 0)
			abort();
	}
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		if (chdir(dir) < 0)
			_exit(9);
		_exit(files_run());
	}
	close(in[0]);
	close(out[1]);
	fd_write_all(in[1], buf_slice(&b).ptr, buf_len(&b));
	close(in[1]);
	answer_read(out[0], &a);
	close(out[0]);
	waitpid(pid, NULL, 0);
	buf_done(&b);
	return a;
}

static struct answer simple(enum filewire_type type, uint32_t flags,
			    const char *path, const char *other)
{
	const struct filewire_request rq = {
		.type = type,
		.flags = flags,
		.path = slice_str(path),
		.other = slice_str(other),
		.length = type == FILEWIRE_LIST ? 2 : 0,
	};

	return ask(&rq, NULL, false);
}

static struct answer store(const char *path, uint32_t flags, const char *data,
			   bool cut)
{
	const struct filewire_request rq = {
		.type = FILEWIRE_WRITE,
		.flags = flags,
		.path = slice_str(path),
		.mtime = 1000,
	};

	return ask(&rq, data, cut);
}

static void test_write(void)
{
	SCOPED_STR path = str_printf("%s/a", dir);
	struct stat st = { 0 };

	is_int(store("a", FILEWIRE_ATOMIC, "one", false).error, 0,
	       "a file is written");
	ok(stat(path, &st) == 0 && st.st_mtime == 1000 &&
		   (st.st_mode & 0777) == 0644,
	   "with its time and a usual mode");
	is_str(simple(FILEWIRE_READ, 0, "a", "").data, "one", "and read");
	is_int(store("a", FILEWIRE_ATOMIC, "half", true).error, -1,
	       "a host that goes away gets no answer");
	is_str(simple(FILEWIRE_READ, 0, "a", "").data, "one",
	       "and has changed nothing");
	is_str(simple(FILEWIRE_LIST, 0, ".", "").names, "a ",
	       "nor left anything");
	is_int(store("a", FILEWIRE_ATOMIC | FILEWIRE_EXCLUSIVE, "x", false)
		       .error,
	       EEXIST, "nothing is replaced unless asked for");
	is_int(store("no/b", FILEWIRE_ATOMIC, "x", false).error, ENOENT,
	       "a directory that is missing");
	is_int(store("yes/b", FILEWIRE_ATOMIC | FILEWIRE_PARENTS, "x", false)
		       .error,
	       0, "and one that is made");
	is_int(store("yes", FILEWIRE_ATOMIC, "x", false).error, EISDIR,
	       "a directory is no file");
}

static mode_t mode_of(const char *name)
{
	SCOPED_STR path = str_printf("%s/%s", dir, name);
	struct stat st;

	return stat(path, &st) < 0 ? 01000 : st.st_mode & 07777;
}

static void test_mode(void)
{
	struct filewire_request rq = { .type = FILEWIRE_WRITE,
				       .flags = FILEWIRE_ATOMIC | FILEWIRE_MODE,
				       .path = slice_str("yes/m") };

	is_int(ask(&rq, "x", false).error, 0, "a mode of 0 is one");
	is_int(mode_of("yes/m"), 0, "and is given");
	rq.flags = FILEWIRE_ATOMIC;
	is_int(ask(&rq, "y", false).error, 0, "the next without a mode");
	is_int(mode_of("yes/m"), 0, "opens it to nobody");
	rq.mode = 0600;
	is_int(ask(&rq, "z", false).error, -1, "a mode without its flag");
	rq.flags |= FILEWIRE_MODE;
	is_int(ask(&rq, "z", false).error, 0, "and with it");
	is_int(mode_of("yes/m"), 0600, "holds");
}

static bool is_temp(const char *name)
{
	return strncmp(name, ".ac-", 4) == 0;
}

/* Of a write that is under way. */
static bool temp_is_there(void)
{
	SCOPED_DIR d = opendir(dir);
	struct dirent *de;

	while (d && (de = readdir(d)))
		if (is_temp(de->d_name))
			return true;
	return false;
}

/* What every process gets when the sandbox is stopped. */
static void test_term(void)
{
	const struct filewire_request rq = { .type = FILEWIRE_WRITE,
					     .flags = FILEWIRE_ATOMIC,
					     .path = slice_str("t") };
	int in[2], status = 0, i;
	struct buf b;
	pid_t pid;

	buf_init(&b, 1024);
	if (filewire_put_request(&b, &rq) < 0 || pipe2(in, O_CLOEXEC) < 0)
		abort();
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		dup2(in[0], 0);
		close(in[1]);
		_exit(chdir(dir) < 0 ? 9 : files_run());
	}
	close(in[0]);
	fd_write_all(in[1], buf_slice(&b).ptr, buf_len(&b));
	for (i = 0; i < 2000 && !temp_is_there(); i++)
		usleep(1000);
	ok(temp_is_there(), "a write that is under way");
	kill(pid, SIGTERM);
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGTERM &&
		   !temp_is_there(),
	   "leaves nothing when the sandbox is stopped");
	close(in[1]);
	buf_done(&b);
}

static void test_names(void)
{
	struct answer a;

	is_int(store("b", 0, "x", false).error, 0, "in place");
	a = simple(FILEWIRE_LIST, 0, ".", "");
	ok(strcmp(a.names, "a b ") == 0 && a.more, "a page of a list");
	a = simple(FILEWIRE_LIST, 0, ".", "b");
	ok(strcmp(a.names, "yes ") == 0 && !a.more, "and the next");
	is_int(simple(FILEWIRE_RENAME, FILEWIRE_EXCLUSIVE, "a", "b").error,
	       EEXIST, "a rename replaces nothing");
	is_int(simple(FILEWIRE_RENAME, FILEWIRE_EXCLUSIVE, "a", "c").error, 0,
	       "but renames");
	is_int(simple(FILEWIRE_REMOVE, 0, "yes", "").error, ENOTEMPTY,
	       "a directory with something in it stays");
	is_int(simple(FILEWIRE_REMOVE, FILEWIRE_RECURSIVE, "yes", "").error, 0,
	       "unless asked otherwise");
	is_int(simple(FILEWIRE_MKDIR, FILEWIRE_PARENTS, "p/q/r", "").error, 0,
	       "directories are made");
	is_int(simple(FILEWIRE_STAT, 0, "p/q/r", "").entries, 1, "and seen");
	is_int(simple(FILEWIRE_READ, 0, "p", "").error, EISDIR,
	       "a directory is not read");
	is_int(simple(FILEWIRE_READ, 0, "/dev/zero", "").error, EINVAL,
	       "nor a device");
}

int main(void)
{
	if (!ok(mkdtemp(dir), "a directory"))
		return done_testing();
	test_write();
	test_mode();
	test_term();
	test_names();
	file_remove_tree(dir);
	return done_testing();
}
