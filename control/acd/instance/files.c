/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files.c - one request to the file server of a running sandbox
 *
 * Theory of operation: each request is an exec of its own. So it has the flow
 * control, the accounting and the end of one, and no request waits for another.
 * The agent can replace the server at any time. So a strict codec parses the
 * answer, which may be ahead of the client by at most one window and must have
 * the order
 *
 *	STAT  ENTRY DONE        LIST  ENTRY* DONE
 *	READ  ENTRY DATA* DONE  others  DONE
 *
 * DONE with an error may come anywhere. DONE of a WRITE without an error may
 * come only after END, for as many bytes as were sent. Anything else ends the
 * request with -EPROTO.
 *
 * The agent may also stop the server. While the server is waited for, something
 * must come within FILES_QUIET_MS; a byte on its standard error is enough,
 * which it sends during long work. It is not waited for while the client has to
 * take data or to send more, nor while the sandbox is frozen.
 */
#include "control/acd/instance/files.h"

#include <string.h>

#define WHERE "/workspace" /* base of relative paths */
#define CONTROL_MAX (16u * 1024)

struct files {
	struct run *run; /* NULL: over */
	struct run_watch *watch;
	struct loop_timer *quiet;
	size_t held; /* bytes of data that the client has not taken */
	enum filewire_type type;
	const struct files_ops *ops;
	void *arg;
	struct filewire_reader reader;
	struct buf control; /* request and END that the run has no room for */
	uint64_t entries, entries_max;
	uint64_t sent; /* bytes of a WRITE */
	bool ended; /* END was sent, or waits in control */
};

void files_free(struct files *f)
{
	if (!f)
		return;
	run_watch_free(f->watch);
	loop_timer_free(f->quiet);
	if (f->run)
		run_abandon(f->run);
	buf_done(&f->control);
	free(f);
}

static void files_finish(struct files *f, const struct filewire_done *d,
			 const struct err *err)
{
	f->ops->done(f->arg, d, err);
	files_free(f);
}

static void files_fail(struct files *f, int code, const char *what)
{
	const struct filewire_done none = { 0 };
	struct err err = { 0 };

	err_set(&err, code, "%s", what);
	files_finish(f, &none, &err);
}

/* ---- the time it may take ---- */

static unsigned quiet_ms = FILES_QUIET_MS;

void files_set_quiet(unsigned ms)
{
	quiet_ms = ms;
}

static bool is_waited_for(const struct files *f)
{
	if (f->type == FILEWIRE_WRITE)
		return f->ended || files_room(f) == 0;
	return f->held == 0;
}

/* Starts the timer again: something moved, or the other side is next. */
static void quiet_begin(struct files *f)
{
	loop_timer_set(f->quiet, quiet_ms);
}

static void on_quiet(void *arg)
{
	struct files *f = arg;
	const struct instance *in = run_instance(f->run);

	if (!is_waited_for(f) ||
	    instance_state_is_still(instance_record(in)->state))
		quiet_begin(f);
	else
		files_fail(f, -ETIMEDOUT,
			   "its file server has not answered for too long: "
			   "the agent may have stopped it");
}

/* ---- answers ---- */

static void files_done(struct files *f, const struct filewire_done *d)
{
	if (d->error)
		files_fail(f, -(int)d->error, err_text(-(int)d->error));
	else
		files_finish(f, d, NULL);
}

/* Returns true if @m may come now. */
static bool order_is_good(const struct files *f, const struct filewire_msg *m)
{
	const bool one = f->type == FILEWIRE_STAT || f->type == FILEWIRE_READ;
	struct filewire_done d;

	switch (m->type) {
	case FILEWIRE_ENTRY:
		return f->entries < f->entries_max;
	case FILEWIRE_DATA:
		return f->type == FILEWIRE_READ && f->entries == 1;
	case FILEWIRE_DONE:
		if (filewire_get_done(m, &d) < 0)
			return false;
		if (d.error)
			return true;
		if (f->type == FILEWIRE_WRITE)
			return f->ended && d.bytes == f->sent;
		return !one || f->entries == 1;
	default:
		return false;
	}
}

/* Returns 1 if the request is freed, 0, -EBADMSG, or what entry() returned. */
static int files_message(struct files *f, const struct filewire_msg *m)
{
	struct filewire_entry e;
	struct filewire_done d;

	if (!order_is_good(f, m))
		return -EBADMSG;
	if (m->type == FILEWIRE_DATA) {
		f->ops->data(f->arg, m->payload);
		return 0;
	}
	if (m->type == FILEWIRE_DONE) {
		if (filewire_get_done(m, &d) < 0)
			return -EBADMSG;
		files_done(f, &d);
		return 1;
	}
	/* Only entries of a list have names. */
	if (filewire_get_entry(m, &e) < 0 ||
	    (e.name.len > 0) != (f->type == FILEWIRE_LIST))
		return -EBADMSG;
	f->entries++;
	return f->ops->entry(f->arg, &e);
}

static void on_output(void *arg, enum link_type type, struct slice in)
{
	struct files *f = arg;
	size_t kept = 0, all = in.len;
	struct filewire_msg m;
	int rc = 0;

	quiet_begin(f);
	/* Standard error only counts as a sign of life. */
	while (type == LINK_STDOUT && rc == 0) {
		rc = filewire_next(&f->reader, &in, &m);
		if (rc == 0 && m.type == FILEWIRE_DATA) {
			kept += m.payload.len;
			f->held += m.payload.len;
		}
		if (rc == 0)
			rc = files_message(f, &m);
	}
	if (rc == 0 || rc == -EAGAIN)
		run_watch_credit(f->watch, (uint32_t)(all - kept));
	else if (rc == -EBADMSG)
		files_fail(f, -EPROTO, "the sandbox's answer makes no sense");
	else if (rc < 0)
		files_fail(f, rc, err_text(rc));
}

static void on_exited(void *arg, const struct link_exit *x)
{
	struct files *f = arg;

	f->run = NULL;
	if (x->kind == LINK_NOEXEC || x->kind == LINK_NOCWD)
		files_fail(f, -ECONNRESET,
			   x->value == EAGAIN ?
				   "no process can be started there: its "
				   "process limit is reached" :
				   err_text(-(int)x->value));
	else
		files_fail(f, -ECONNRESET, "it ended before the request did");
}

static void on_started(void *arg, uint32_t pid)
{
	(void)pid; /* only the answer counts */
	quiet_begin(arg);
}

/* ---- requests ---- */

/* Sends what waits, as far as there is room. */
static void control_flush(struct files *f)
{
	struct slice s = buf_slice(&f->control);
	size_t room = f->run ? run_stdin_room(f->run) : 0;

	if (s.len > room)
		s.len = room;
	if (s.len > 0 && run_stdin(f->run, s.ptr, s.len) == 0)
		buf_consume(&f->control, s.len);
}

/* The time before the freeze does not count. */
static void on_resumed(void *arg)
{
	quiet_begin(arg);
}

static void on_stdin_credit(void *arg)
{
	struct files *f = arg;

	quiet_begin(f);
	control_flush(f);
	if (files_room(f) > 0 && f->ops->room)
		f->ops->room(f->arg);
}

static const struct run_watch_ops watch_ops = {
	.started = on_started,
	.output = on_output,
	.stdin_credit = on_stdin_credit,
	.resumed = on_resumed,
	.exited = on_exited,
};

int files_begin(struct loop *loop, struct instance *in,
		const struct filewire_request *rq, const struct files_ops *ops,
		void *arg, struct files **ret, struct err *err)
{
	struct run_options run = {
		.files = true,
		.use_stdin = true,
		.cwd = strdup(WHERE),
	};
	struct files *f = calloc(1, sizeof(*f));
	int rc;

	if (!f || !run.cwd) {
		run_options_done(&run);
		free(f);
		return err_nomem(err);
	}
	f->type = rq->type;
	f->ops = ops;
	f->arg = arg;
	f->entries_max =
		rq->type == FILEWIRE_LIST ? rq->length :
		rq->type == FILEWIRE_STAT || rq->type == FILEWIRE_READ ? 1 :
									 0;
	buf_init(&f->control, CONTROL_MAX);
	f->quiet = loop_timer_new(loop, on_quiet, f);
	rc = f->quiet ? filewire_put_request(&f->control, rq) : -ENOMEM;
	if (rc < 0)
		err_set(err, rc, "the request is too long");
	else
		rc = instance_exec(in, &run, &f->run, err);
	run_options_done(&run);
	if (rc == 0) {
		f->watch = run_watch_add(f->run, &watch_ops, f);
		if (!f->watch)
			rc = err_nomem(err);
	}
	if (rc < 0) {
		files_free(f);
		return rc;
	}
	quiet_begin(f);
	control_flush(f);
	*ret = f;
	return 0;
}

void files_credit(struct files *f, size_t bytes)
{
	f->held -= bytes < f->held ? bytes : f->held;
	if (f->held == 0)
		quiet_begin(f);
	run_watch_credit(f->watch, (uint32_t)bytes);
}

size_t files_room(const struct files *f)
{
	size_t room;

	if (!f->run || buf_len(&f->control) > 0)
		return 0;
	room = run_stdin_room(f->run);
	if (room <= FILEWIRE_HEADER)
		return 0;
	room -= FILEWIRE_HEADER;
	return room < FILEWIRE_DATA_MAX ? room : FILEWIRE_DATA_MAX;
}

void files_write(struct files *f, struct slice data)
{
	/* acd has one thread, and the run copies the bytes. */
	static uint8_t mem[FILEWIRE_HEADER + FILEWIRE_DATA_MAX];

	if (data.len == 0 || data.len > files_room(f))
		return;
	quiet_begin(f);
	filewire_put_header(mem, FILEWIRE_DATA, data.len);
	memcpy(mem + FILEWIRE_HEADER, data.ptr, data.len);
	(void)run_stdin(f->run, mem, FILEWIRE_HEADER + data.len);
	f->sent += data.len;
}

void files_end(struct files *f)
{
	uint8_t mem[FILEWIRE_HEADER];

	quiet_begin(f);
	f->ended = true;
	filewire_put_header(mem, FILEWIRE_END, 0);
	if (buf_append(&f->control, mem, sizeof(mem)) == 0)
		control_flush(f);
}
