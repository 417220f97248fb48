/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - the file server: acd's file operations, done in the sandbox
 *
 * Theory of operation: `init-guard --files` is an ordinary program of the
 * agent, started by PID 1 (channel.c). It has the agent's ids, limits and
 * filter, and judges no path: the kernel refuses what the agent may not do. acd
 * cannot trust it either: the agent may stop it, or write into its memory.
 *
 *   idle --WRITE--> writing --END--> idle
 *     |                |
 *     +--other, answered at once
 *                      +--a failure: DONE at once; further data up to END is
 *                         dropped (skipping)
 *
 * It is a process of its own, so it may block: on a file, and on acd. It ends
 * with its input; an incomplete atomic write is then removed. A hang-up, which
 * PID 1 sends when acd closes the channel, is therefore ignored: it would leave
 * that file behind. During a long request, such as the removal of a large tree,
 * a byte on stderr tells acd every few seconds that it is still working.
 *
 * SIGTERM, which all processes get when the sandbox is stopped, ends it at
 * once, after removing that file.
 */
#include "init-guard/files/server.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "init-guard/files/impl.h"
#include "lib/file.h"

#define BEAT_S 5
#define IN_SIZE (256u * 1024)
#define OUT_MAX (64u * 1024)
#define OUT_MANY (OUT_MAX - FILEWIRE_HEADER - FILEWIRE_BODY_MAX)

static uint8_t in_mem[IN_SIZE];
static uint8_t data_mem[FILEWIRE_HEADER + FILEWIRE_DATA_MAX];
static struct buf out;

struct server {
	struct filewire_reader reader;
	struct files_write write;
	struct files_request request;
	bool writing, skipping; /* DATA and END will come */
};

/* ---- answers ---- */

static int out_flush(void)
{
	struct slice s = buf_slice(&out);
	int rc = fd_write_all(STDOUT_FILENO, s.ptr, s.len);

	buf_consume(&out, s.len);
	return rc;
}

int files_send_entry(const struct filewire_entry *e)
{
	int rc = filewire_put_entry(&out, e);

	return rc == 0 && buf_len(&out) >= OUT_MANY ? out_flush() : rc;
}

/* Queues DONE and sends everything queued. Same results. */
static int files_send_done(const struct filewire_done *d)
{
	int rc = filewire_put_done(&out, d);

	return rc == 0 ? out_flush() : rc;
}

/* Sends one DATA. @mem has room for the header and, after it, @len bytes. Same
 * results. */
static int files_send_data(uint8_t *mem, size_t len)
{
	int rc = out_flush();

	if (rc < 0)
		return rc;
	filewire_put_header(mem, FILEWIRE_DATA, len);
	return fd_write_all(STDOUT_FILENO, mem, FILEWIRE_HEADER + len);
}

static enum filewire_kind kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return FILEWIRE_FILE;
	case S_IFDIR:
		return FILEWIRE_DIR;
	case S_IFLNK:
		return FILEWIRE_SYMLINK;
	default:
		return FILEWIRE_SPECIAL;
	}
}

void files_entry(struct filewire_entry *ret, const struct stat *st, int dirfd,
		 const char *path, char *target)
{
	ssize_t n;

	*ret = (struct filewire_entry){
		.kind = kind_of(st->st_mode),
		.mode = st->st_mode & 07777,
		.size = st->st_size > 0 ? (uint64_t)st->st_size : 0,
		.mtime = st->st_mtime > 0 ? (uint64_t)st->st_mtime : 0,
	};
	if (ret->kind != FILEWIRE_SYMLINK)
		return;
	n = readlinkat(dirfd, path, target, FILEWIRE_PATH_MAX);
	if (n > 0)
		ret->target = slice_of(target, (size_t)n);
}

/* ---- progress ---- */

static void on_alarm(int signo)
{
	/* NOLINTNEXTLINE(bugprone-signal-handler,cert-sig30-c) */
	int saved = errno;

	(void)signo;
	/* Without a reader there is nothing to report. */
	(void)!write(STDERR_FILENO, ".", 1);
	/* NOLINTNEXTLINE(bugprone-signal-handler,cert-sig30-c) */
	errno = saved;
}

static void beat(bool on)
{
	const time_t s = on ? BEAT_S : 0;
	const struct itimerval every = { .it_interval.tv_sec = s,
					 .it_value.tv_sec = s };

	setitimer(ITIMER_REAL, &every, NULL);
}

/* ---- requests ---- */

static int serve_stat(const struct files_request *r)
{
	const int flags = r->rq.flags & FILEWIRE_FOLLOW ? 0 :
							  AT_SYMLINK_NOFOLLOW;
	char target[FILEWIRE_PATH_MAX];
	struct filewire_entry e;
	struct stat st;

	if (fstatat(AT_FDCWD, r->path, &st, flags) < 0)
		return -errno;
	files_entry(&e, &st, AT_FDCWD, r->path, target);
	return files_send_entry(&e);
}

/* Sends at most @left bytes, 0: everything. */
static int send_file(int fd, uint64_t at, uint64_t left, uint64_t *ret_bytes)
{
	const bool all = left == 0;

	for (;;) {
		size_t want = FILEWIRE_DATA_MAX;
		ssize_t n;
		int rc;

		if (!all && want > left)
			want = (size_t)left;
		if (want == 0)
			return 0;
		n = pread(fd, data_mem + FILEWIRE_HEADER, want, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		rc = files_send_data(data_mem, (size_t)n);
		if (rc < 0)
			return rc;
		at += (uint64_t)n;
		*ret_bytes += (uint64_t)n;
		left -= all ? 0 : (uint64_t)n;
	}
}

static int serve_read(const struct files_request *r, struct filewire_done *ret)
{
	/* O_NONBLOCK: a pipe without a writer must not block us. */
	SCOPED_FD fd =
		open(r->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct filewire_entry e;
	struct stat st;
	int rc;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	files_entry(&e, &st, fd, "", NULL);
	rc = files_send_entry(&e);
	return rc < 0 ? rc :
			send_file(fd, r->rq.offset, r->rq.length, &ret->bytes);
}

static int serve_any(const struct files_request *r, struct filewire_done *ret)
{
	switch (r->rq.type) {
	case FILEWIRE_STAT:
		return serve_stat(r);
	case FILEWIRE_LIST:
		return files_list(r, ret);
	case FILEWIRE_READ:
		return serve_read(r, ret);
	case FILEWIRE_MKDIR:
		return files_mkdir(r);
	case FILEWIRE_REMOVE:
		return files_remove(r);
	case FILEWIRE_RENAME:
		return files_rename(r);
	default:
		return -EBADMSG;
	}
}

static int serve_now(const struct files_request *r, struct filewire_done *ret)
{
	int rc;

	beat(true);
	rc = serve_any(r, ret);
	beat(false);
	return rc;
}

static int answer(int result, struct filewire_done *d)
{
	if (result < 0)
		d->error = (uint32_t)-result;
	return files_send_done(d);
}

static void copy_path(char *to, struct slice from)
{
	if (from.len > 0)
		memcpy(to, from.ptr, from.len);
	to[from.len] = '\0';
}

static int serve_request(struct server *s, const struct filewire_msg *m)
{
	struct files_request *r = &s->request;
	struct filewire_done d = { 0 };
	int rc = filewire_get_request(m, &r->rq);

	if (rc < 0)
		return rc;
	copy_path(r->path, r->rq.path);
	copy_path(r->other, r->rq.other);
	if (r->rq.type != FILEWIRE_WRITE)
		return answer(serve_now(r, &d), &d);
	rc = files_write_begin(&s->write, r);
	s->writing = rc == 0;
	s->skipping = rc < 0;
	return rc < 0 ? answer(rc, &d) : 0;
}

/* Handles DATA or END of a WRITE. */
static int serve_write(struct server *s, const struct filewire_msg *m)
{
	const bool end = m->type == FILEWIRE_END;
	struct filewire_done d = { 0 };
	int rc;

	if (!end && m->type != FILEWIRE_DATA)
		return -EBADMSG;
	if (s->skipping) {
		s->skipping = !end;
		return 0;
	}
	rc = end ? files_write_end(&s->write) :
		   files_write_data(&s->write, m->payload);
	if (rc == 0 && !end)
		return 0;
	s->writing = false;
	s->skipping = !end;
	d.bytes = rc < 0 ? 0 : s->write.bytes;
	files_write_abort(&s->write); /* no effect after a successful rename */
	return answer(rc, &d);
}

static int serve_input(struct server *s, struct slice in)
{
	struct filewire_msg m;
	int rc;

	for (;;) {
		rc = filewire_next(&s->reader, &in, &m);
		if (rc == -EAGAIN)
			return 0;
		if (rc < 0)
			return rc;
		if (s->writing || s->skipping)
			rc = serve_write(s, &m);
		else
			rc = serve_request(s, &m);
		if (rc < 0)
			return rc;
	}
}

static struct server the_server = { .write = { .fd = -1, .dir = -1 } };

/* System calls only. No effect if there is no temporary file. */
static void on_term(int signo)
{
	/* NOLINTNEXTLINE(bugprone-signal-handler,cert-sig30-c) */
	files_write_abort(&the_server.write);
	_exit(128 + signo);
}

int files_run(void)
{
	struct server *s = &the_server;
	ssize_t n;
	int rc = 0;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTERM, on_term);
	signal(SIGALRM, on_alarm); /* interrupts no call: SA_RESTART */
	buf_init(&out, OUT_MAX);
	while (rc == 0) {
		n = read(STDIN_FILENO, in_mem, sizeof(in_mem));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		rc = serve_input(s, slice_of(in_mem, (size_t)n));
	}
	files_write_abort(&s->write);
	buf_done(&out);
	return rc < 0;
}
