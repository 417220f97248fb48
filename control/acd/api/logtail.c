/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logtail.c - sends a log file of acd's own to a client, and what is added
 *
 * At most two files are open: the rotated one until its end, then the current
 * one. At its end acd looks from time to time whether it has grown or another
 * file has its name.
 */
#include "control/acd/api/logtail.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/str.h"

#define LOOK_MS 300u
#define BLOCK 16384u

struct logtail {
	struct http_stream *stream;
	struct loop_timer *timer;
	char *path, *having;
	int fd[2]; /* rotated, current; -1: read to its end */
	off_t pos[2];
	bool follow;
};

static void logtail_free(struct logtail *t)
{
	if (!t)
		return;
	loop_timer_free(t->timer);
	fd_closep(&t->fd[0]);
	fd_closep(&t->fd[1]);
	free(t->having);
	free(t->path);
	free(t);
}

static int log_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

static bool is_wanted(const char *having, const char *line, size_t len)
{
	return !having || memmem(line, len, having, strlen(having));
}

/*
 * Returns where the last *lines wanted lines of the file begin, and sets *lines
 * to how many more are needed. A newline at the end of the file begins no line.
 * Of a line longer than a block only the beginning is examined.
 */
static off_t tail_find(int fd, const char *having, uint64_t *lines)
{
	char block[BLOCK];
	struct stat st;
	off_t end;

	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;
	for (end = *lines ? st.st_size : 0; end > 0;) {
		size_t want = end < (off_t)BLOCK ? (size_t)end : BLOCK;
		off_t from = end - (off_t)want;
		size_t to = want;

		if (pread(fd, block, want, from) != (ssize_t)want)
			return end;
		while (to > 0) {
			const char *nl = memrchr(block, '\n', to - 1);
			size_t begin = nl ? (size_t)(nl - block) + 1 : 0;

			if (!nl && from > 0)
				break; /* begins before this block */
			if (is_wanted(having, block + begin, to - begin) &&
			    --*lines == 0)
				return from + (off_t)begin;
			to = begin;
		}
		end = from + (to == want ? 0 : (off_t)to);
	}
	return *lines ? 0 : st.st_size;
}

/* Returns true if there is more to read: another file has the name, or the file
 * was truncated. */
static bool file_switch(struct logtail *t)
{
	SCOPED_FD fd = log_open(t->path);
	struct stat now, ours;

	if (fd < 0 || fstat(fd, &now) < 0 || fstat(t->fd[1], &ours) < 0)
		return false;
	if (now.st_ino == ours.st_ino && now.st_dev == ours.st_dev) {
		if (now.st_size >= t->pos[1])
			return false;
		t->pos[1] = 0; /* truncated in place */
		return true;
	}
	fd_closep(&t->fd[1]);
	t->fd[1] = fd_take(&fd);
	t->pos[1] = 0;
	return true;
}

/* Sends the wanted lines of @block, whole lines only. Returns how many bytes
 * are done. */
static size_t send_wanted(struct logtail *t, const char *block, size_t len)
{
	size_t at = 0;

	for (;;) {
		const char *line = block + at;
		const char *nl = memchr(line, '\n', len - at);
		size_t n = nl ? (size_t)(nl - line) + 1 : 0;

		if (!nl)
			return at == 0 && len == BLOCK ? len : at;
		/* There is room, as the pump checked; so the client has
		 * left. */
		if (is_wanted(t->having, line, n) &&
		    http_stream_write(t->stream, line, n) < 0)
			return len;
		at += n;
	}
}

/* Sends what the stream takes. Returns false if there is no more now. */
static bool send_some(struct logtail *t)
{
	int which = t->fd[0] >= 0 ? 0 : 1;
	char block[BLOCK];
	size_t room = http_stream_room(t->stream);
	ssize_t n;

	n = pread(t->fd[which], block, room < BLOCK ? room : BLOCK,
		  t->pos[which]);
	if (n > 0 && t->having)
		n = (ssize_t)send_wanted(t, block, (size_t)n);
	else if (n > 0 && http_stream_write(t->stream, block, (size_t)n) < 0)
		return false;
	if (n > 0) {
		t->pos[which] += n;
		return true;
	}
	if (which == 1)
		return t->follow && file_switch(t);
	fd_closep(&t->fd[0]);
	return true;
}

static void on_abort(void *arg)
{
	logtail_free(arg);
}

static void logtail_pump(void *arg)
{
	struct logtail *t = arg;
	size_t least = t->having ? BLOCK : 1; /* whole lines, or bytes */

	while (http_stream_room(t->stream) >= least) {
		if (send_some(t))
			continue;
		if (t->follow) {
			loop_timer_set(t->timer, LOOK_MS);
			return;
		}
		http_stream_end(t->stream);
		logtail_free(t);
		return;
	}
}

static struct logtail *
logtail_new(struct loop *loop, const struct logtail_spec *spec, struct err *err)
{
	struct logtail *t = calloc(1, sizeof(*t));
	SCOPED_STR old = str_printf("%s.1", spec->path);
	uint64_t lines = spec->lines;

	if (t) {
		t->fd[0] = t->fd[1] = -1;
		t->path = strdup(spec->path);
		t->having = spec->having ? strdup(spec->having) : NULL;
		t->timer = loop_timer_new(loop, logtail_pump, t);
		t->follow = spec->follow;
	}
	if (!t || !old || !t->path || (spec->having && !t->having) ||
	    !t->timer) {
		err_nomem(err);
		logtail_free(t);
		return NULL;
	}
	t->fd[1] = log_open(t->path);
	if (t->fd[1] < 0) {
		err_set(err, t->fd[1], "there is no such log yet (%s)",
			t->path);
		logtail_free(t);
		return NULL;
	}
	t->fd[0] = log_open(old);
	t->pos[1] = tail_find(t->fd[1], t->having, &lines);
	t->pos[0] = tail_find(t->fd[0], t->having, &lines);
	return t;
}

void logtail_reply(struct loop *loop, struct http_req *req,
		   const struct logtail_spec *spec)
{
	struct err err = { 0 };
	struct logtail *t = logtail_new(loop, spec, &err);

	if (!t) {
		http_reply_error(req, &err, NULL);
		return;
	}
	t->stream = http_reply_stream(req, "application/octet-stream",
				      logtail_pump, on_abort, t);
	if (t->stream)
		logtail_pump(t);
	else
		logtail_free(t);
}
