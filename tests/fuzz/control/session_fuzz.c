/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_fuzz.c - bytes of a guest against a live session
 *
 * The first byte says how far the session is when they arrive: 0 before its
 * HELLO, else ready with a few channels open.
 */
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "control/acd/guest/session.h"

struct fuzz {
	struct loop *loop;
	struct session *s;
	struct channel *c[3];
	struct loop_timer *end;
	int closed;
};

struct fuzz_proc {
	struct fuzz *f;
	int i;
	uint64_t unpaid;
};

static void on_hello(void *arg)
{
	static const char *const env[] = { "A=b", NULL };
	const struct link_prepare p = { .ca = "pem" };
	const struct link_assign a = { .name = "fuzz", .env = env };
	struct fuzz *f = arg;

	if (session_prepare(f->s, &p) != 0 || session_assign(f->s, &a) != 0)
		abort();
}

static void on_ready(void *arg)
{
	(void)arg;
}

static void on_closed(void *arg, const struct err *err)
{
	struct fuzz *f = arg;

	if (err->code >= 0 || !err->msg[0] || f->closed++)
		abort();
	loop_stop(f->loop, 0);
}

static void on_started(void *arg, uint32_t pid)
{
	(void)arg;
	(void)pid;
}

static void on_output(void *arg, enum link_type type, struct slice data)
{
	struct fuzz_proc *p = arg;

	if ((type != LINK_STDOUT && type != LINK_STDERR) || data.len == 0 ||
	    data.len > LINK_PAYLOAD_MAX)
		abort();
	p->unpaid += data.len;
	if (p->unpaid > LINK_WINDOW)
		abort();
	if (p->i == 1) {
		if (channel_credit(p->f->c[1], (uint32_t)data.len) != 0)
			abort();
		p->unpaid = 0;
	}
}

static void on_credit(void *arg)
{
	struct fuzz_proc *p = arg;

	if (channel_stdin_room(p->f->c[p->i]) > LINK_WINDOW)
		abort();
}

static void on_exited(void *arg, const struct link_exit *x)
{
	struct fuzz_proc *p = arg;

	if (!p->f->c[p->i] || x->kind == LINK_TIMEOUT || x->kind == LINK_OOM)
		abort();
	p->f->c[p->i] = NULL;
}

static const struct session_ops ops = {
	.hello = on_hello,
	.ready = on_ready,
	.closed = on_closed,
};
static const struct channel_ops chops = {
	.started = on_started,
	.output = on_output,
	.stdin_credit = on_credit,
	.exited = on_exited,
};

static void on_end(void *arg)
{
	loop_stop(arg, 0);
}

static void rounds(struct fuzz *f)
{
	loop_timer_set(f->end, 0);
	if (!f->closed)
		loop_run(f->loop);
}

static void make_ready(struct fuzz *f, int fd, struct fuzz_proc *p)
{
	static const char *const argv[] = { "cat", NULL };
	const struct link_exec x = {
		.flags = LINK_EXEC_STDIN,
		.cwd = "",
		.argv = argv,
	};
	struct buf b = { .max = 1024 };
	int i;

	if (link_put_hello(&b, 0) < 0 ||
	    send(fd, buf_slice(&b).ptr, buf_len(&b), MSG_NOSIGNAL) < 0)
		abort();
	while (!session_is_ready(f->s)) {
		rounds(f);
		buf_done(&b);
		b.max = 1024;
		if (link_put(&b, LINK_PREPARED, 0, NULL, 0) < 0 ||
		    link_put_ready(&b, NULL) < 0 ||
		    send(fd, buf_slice(&b).ptr, buf_len(&b), MSG_NOSIGNAL) < 0)
			abort();
		rounds(f);
	}
	buf_done(&b);
	for (i = 0; i < 3; i++) {
		p[i] = (struct fuzz_proc){ .f = f, .i = i };
		if (session_exec(f->s, &x, &chops, &p[i], &f->c[i]) != 0 ||
		    channel_stdin(f->c[i], "abc", 3) != 0)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = { .loop = loop_new() };
	struct fuzz_proc p[3];
	int fds[2];

	if (size < 1 || size > 65536 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
		       fds) < 0) {
		loop_free(f.loop);
		return 0;
	}
	f.end = loop_timer_new(f.loop, on_end, f.loop);
	f.s = session_new(f.loop, fds[0], &ops, &f);
	if (data[0] != 0)
		make_ready(&f, fds[1], p);
	if (size > 1 && send(fds[1], data + 1, size - 1, MSG_NOSIGNAL) < 0)
		abort();
	rounds(&f);
	if (data[0] & 1) {
		/* Half of a channel's life, then the end of the stream. */
		channel_close(f.c[2]);
		f.c[2] = NULL;
		close(fds[1]);
		fds[1] = -1;
		while (!f.closed)
			rounds(&f);
		if (f.c[0] || f.c[1])
			abort(); /* all owners must have heard of it */
	}
	session_free(f.s);
	loop_timer_free(f.end);
	loop_free(f.loop);
	if (fds[1] >= 0)
		close(fds[1]);
	return 0;
}
