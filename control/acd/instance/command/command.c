/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.c - an exec whose output acd keeps, for clients that speak plain HTTP
 *
 * Theory of operation: a command is a watcher of its run, beside whatever else
 * watches that. FIRST and LAST take all output at once, and keep a bounded part.
 * PASS gives credit for what its reader has taken; so the sandbox is at most one
 * window ahead, which the ring holds. LAST that is paced does the same for the
 * slowest of its readers, and as the others do if it has none.
 *
 * Readers are called from a timer, when no callback of the run is under way. So
 * a reader may remove its command, and what comes in one turn of the loop is one
 * call.
 */
#include "control/acd/instance/command/command.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "control/acd/instance/instance_impl.h"

struct command {
	TAILQ_ENTRY(command) link; /* in->commands */
	struct command_view view;
	struct instance *in;
	struct run *run; /* NULL: ended */
	struct run_watch *watch;
	uint64_t began_ms;
	struct buf input; /* what the run has no room for */
	struct buf first[OUTPUT_STREAMS]; /* FIRST */
	struct output out; /* PASS, LAST */
	size_t reserved; /* of is->command_bytes */
	bool paced;
	uint64_t paid; /* position up to which the run has credit, if paced */
	LIST_HEAD(command_readers, command_reader) readers;
	unsigned n_readers;
	struct loop_timer *wake;
	bool waking; /* readers are being called */
	bool doomed; /* and it is to be freed afterwards */
};

struct command_reader {
	LIST_ENTRY(command_reader) link;
	struct command *command; /* NULL: removed */
	struct output_mark mark;
	void (*fn)(void *arg);
	void *arg;
	bool due; /* to be called */
};

/* ---- readers ---- */

static struct command_reader *reader_due(struct command *c)
{
	struct command_reader *r;

	LIST_FOREACH (r, &c->readers, link) {
		if (r->due)
			return r;
	}
	return NULL;
}

static void command_wake(void *arg)
{
	struct command *c = arg;
	struct command_reader *r;

	LIST_FOREACH (r, &c->readers, link) {
		r->due = true;
	}
	c->waking = true;
	/* One that was removed has none. */
	while ((r = reader_due(c))) {
		r->due = false;
		r->fn(r->arg);
	}
	c->waking = false;
	if (c->doomed)
		free(c);
}

struct command_reader *command_reader_new(struct command *c,
					  void (*fn)(void *arg), void *arg)
{
	struct command_reader *r;

	if (c->n_readers >= COMMAND_READERS_MAX) {
		errno = EMFILE;
		return NULL;
	}
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->command = c;
	r->fn = fn;
	r->arg = arg;
	output_oldest(&c->out, &r->mark);
	LIST_INSERT_HEAD(&c->readers, r, link);
	c->n_readers++;
	return r;
}

/* Gives credit for what no reader has to take any more. */
static void pace(struct command *c)
{
	const struct command_reader *r;
	uint64_t pos = c->out.end;

	if (!c->paced || !c->watch)
		return;
	LIST_FOREACH (r, &c->readers, link) {
		pos = r->mark.pos < pos ? r->mark.pos : pos;
	}
	if (pos <= c->paid)
		return;
	run_watch_credit(c->watch, (uint32_t)(pos - c->paid));
	c->paid = pos;
}

void command_reader_free(struct command_reader *r)
{
	struct command *c = r ? r->command : NULL;

	if (c) {
		LIST_REMOVE(r, link);
		c->n_readers--;
		pace(c);
	}
	free(r);
}

struct command *command_reader_of(const struct command_reader *r)
{
	return r->command;
}

int command_reader_seek(struct command_reader *r, uint64_t pos)
{
	return r->command ? output_seek(&r->command->out, pos, &r->mark) : 0;
}

void command_reader_skip_all(struct command_reader *r)
{
	if (!r->command)
		return;
	output_seek(&r->command->out, r->command->out.end, &r->mark);
	pace(r->command);
}

uint64_t command_reader_pos(const struct command_reader *r)
{
	return r->mark.pos;
}

/* A reader of PASS is done with so much. */
static void reader_credit(struct command *c, uint64_t len)
{
	if (c->view.keep == COMMAND_PASS && c->watch && len > 0)
		run_watch_credit(c->watch, (uint32_t)len);
}

size_t command_reader_peek(struct command_reader *r, void *data, size_t len,
			   struct output_piece *ret)
{
	size_t n;

	*ret = (struct output_piece){ 0 };
	if (!r->command)
		return 0;
	n = output_peek(&r->command->out, &r->mark, data, len, ret);
	reader_credit(r->command, ret->lost);
	pace(r->command);
	return n;
}

void command_reader_take(struct command_reader *r, size_t len)
{
	if (!r->command || len == 0)
		return;
	output_skip(&r->command->out, &r->mark, len);
	reader_credit(r->command, len);
	pace(r->command);
}

/* ---- input ---- */

static void input_pass(struct command *c)
{
	struct slice data = buf_slice(&c->input);
	size_t room;

	if (!c->run)
		return;
	room = run_stdin_room(c->run);
	if (data.len > room)
		data.len = room;
	/* If the link breaks, the command ends. */
	if (data.len > 0 && run_stdin(c->run, data.ptr, data.len) < 0)
		return;
	buf_consume(&c->input, data.len);
	if (!c->view.input_open && buf_len(&c->input) == 0)
		run_stdin_eof(c->run);
}

int command_input(struct command *c, struct slice data, bool close)
{
	int rc;

	if (!c->run || !c->view.input_open)
		return -EPIPE;
	rc = buf_append(&c->input, data.ptr, data.len);
	if (rc < 0)
		return rc;
	c->view.input_open = !close;
	input_pass(c);
	return 0;
}

int command_signal(struct command *c, uint32_t signo)
{
	return c->run ? run_signal(c->run, signo) : -EPIPE;
}

int command_resize(struct command *c, uint16_t rows, uint16_t cols)
{
	return c->run ? run_resize(c->run, rows, cols) : -EPIPE;
}

/* ---- the run ---- */

static void command_started(void *arg, uint32_t pid)
{
	struct command *c = arg;

	c->view.pid = pid;
	loop_timer_set(c->wake, 0);
}

static void keep_first(struct buf *first, struct slice data)
{
	if (data.len > buf_room(first))
		data.len = buf_room(first);
	/* Without memory there is a gap, so nothing may follow. */
	if (data.len > 0 && buf_append(first, data.ptr, data.len) < 0)
		first->max = buf_len(first);
}

static void command_output(void *arg, enum link_type type, struct slice data)
{
	struct command *c = arg;
	enum output_stream s = type == LINK_STDERR ? OUTPUT_STDERR :
						     OUTPUT_STDOUT;

	c->view.total[s] += data.len;
	if (c->view.keep == COMMAND_FIRST) {
		keep_first(&c->first[s], data);
	} else {
		output_put(&c->out, s, data);
		loop_timer_set(c->wake, 0);
	}
	if (c->paced)
		pace(c);
	else if (c->view.keep != COMMAND_PASS)
		run_watch_credit(c->watch, (uint32_t)data.len);
}

static void command_stdin_credit(void *arg)
{
	struct command *c = arg;

	if (buf_len(&c->input) > 0)
		input_pass(c);
}

static bool exit_is_of_sandbox(const struct run *r, const struct link_exit *x)
{
	if (x->kind == LINK_LOST || x->kind == LINK_OOM)
		return true;
	return x->kind == LINK_SIGNALED && !instance_is_up(run_instance(r));
}

static void command_exited(void *arg, const struct link_exit *x)
{
	struct command *c = arg;

	c->view.duration_ms = x->wall_ns ? x->wall_ns / 1000000 :
					   clock_ms() - c->began_ms;
	c->view.ended = true;
	c->view.exit = *x;
	c->view.sandbox_ended = exit_is_of_sandbox(c->run, x);
	c->view.input_open = false;
	c->run = NULL;
	run_watch_free(c->watch);
	c->watch = NULL;
	buf_done(&c->input);
	loop_timer_set(c->wake, 0);
}

static const struct run_watch_ops command_watch_ops = {
	.started = command_started,
	.output = command_output,
	.stdin_credit = command_stdin_credit,
	.exited = command_exited,
};

/* ---- its life ---- */

static void command_free(struct command *c)
{
	struct command_reader *r;

	c->in->is->command_bytes -= c->reserved;
	while ((r = LIST_FIRST(&c->readers))) {
		LIST_REMOVE(r, link);
		r->command = NULL;
		r->fn(r->arg);
	}
	loop_timer_free(c->wake);
	buf_done(&c->input);
	for (size_t s = 0; s < OUTPUT_STREAMS; s++)
		buf_done(&c->first[s]);
	output_done(&c->out);
	strv_done(&c->view.argv);
	c->doomed = true;
	if (!c->waking)
		free(c);
}

void command_remove(struct command *c)
{
	struct run *r = c ? c->run : NULL;

	if (!c)
		return;
	TAILQ_REMOVE(&c->in->commands, c, link);
	/* First: the end of an exec would call the watcher. */
	run_watch_free(c->watch);
	c->watch = NULL;
	c->run = NULL;
	if (r)
		run_abandon(r);
	command_free(c);
}

void commands_free(struct instance *in)
{
	struct command *c;

	while ((c = TAILQ_FIRST(&in->commands)))
		command_remove(c);
}

static uint64_t end_ms(const struct command *c)
{
	return c->began_ms + c->view.duration_ms;
}

/* Returns the one that ended first of those that can be forgotten. */
static struct command *first_ended(struct instance *in)
{
	struct command *first = NULL, *c;

	TAILQ_FOREACH (c, &in->commands, link) {
		if (c->view.keep == COMMAND_LAST && c->view.ended &&
		    c->n_readers == 0 && (!first || end_ms(c) < end_ms(first)))
			first = c;
	}
	return first;
}

static struct command *first_ended_of_all(struct instances *is)
{
	struct command *first = NULL, *c;
	struct instance *in;

	TAILQ_FOREACH (in, &is->all, link) {
		c = first_ended(in);
		if (c && (!first || end_ms(c) < end_ms(first)))
			first = c;
	}
	return first;
}

/* Forgets ended commands, if necessary, for one more that keeps @bytes. */
static int command_room(struct instance *in, size_t bytes, struct err *err)
{
	struct instances *is = in->is;
	struct command *c, *old;
	unsigned n = 0;

	TAILQ_FOREACH (c, &in->commands, link) {
		n += c->view.keep == COMMAND_LAST;
	}
	if (n >= COMMANDS_MAX) {
		old = first_ended(in);
		if (!old)
			return err_set(err, -EMFILE,
				       "%u detached commands run there already",
				       COMMANDS_MAX);
		command_remove(old);
	}
	while (is->command_bytes + bytes > COMMANDS_OUTPUT_MAX) {
		old = first_ended_of_all(is);
		if (!old)
			return err_set(err, -EAGAIN,
				       "detached commands that run keep all "
				       "output that there is memory for");
		command_remove(old);
	}
	return 0;
}

static int command_init(struct command *c, struct instance *in,
			const struct command_ask *ask)
{
	uint8_t id[COMMAND_ID_MAX / 2];
	bool last = ask->keep == COMMAND_LAST;

	randombytes_buf(id, sizeof(id));
	sodium_bin2hex(c->view.id, sizeof(c->view.id), id, sizeof(id));
	c->in = in;
	c->view.keep = ask->keep;
	c->view.input_open = ask->input_open;
	c->view.tty = ask->options.tty;
	c->paced = ask->paced && last;
	c->view.started_at = (uint64_t)time(NULL);
	c->began_ms = clock_ms();
	LIST_INIT(&c->readers);
	buf_init(&c->input, COMMAND_INPUT_MAX);
	buf_secret(&c->input);
	for (size_t s = 0; s < OUTPUT_STREAMS; s++)
		buf_init(&c->first[s], ask->max);
	/* Of PASS all that the window allows, if need be byte by byte; and of
	 * what is paced, whose readers are to miss nothing. */
	output_init(&c->out, last ? ask->max : LINK_WINDOW,
		    last && !c->paced ? COMMAND_PARTS_MAX : LINK_WINDOW);
	for (size_t i = 0; i < ask->options.argv.n; i++) {
		if (strv_push(&c->view.argv, ask->options.argv.v[i]) < 0)
			return -ENOMEM;
	}
	c->wake = loop_timer_new(in->is->loop, command_wake, c);
	if (!c->wake || buf_append(&c->input, ask->input.ptr, ask->input.len))
		return -ENOMEM;
	return 0;
}

static int command_exec(struct command *c, struct instance *in,
			const struct command_ask *ask, struct err *err)
{
	struct run_options o = ask->options; /* borrows what that has */
	int rc;

	o.use_stdin = ask->input_open || ask->input.len > 0;
	rc = instance_exec(in, &o, &c->run, err);
	if (rc < 0)
		return rc;
	c->watch = run_watch_add(c->run, &command_watch_ops, c);
	if (c->watch)
		return 0;
	run_abandon(c->run);
	c->run = NULL;
	return err_nomem(err);
}

int command_start(struct instance *in, const struct command_ask *ask,
		  struct command **ret, struct err *err)
{
	size_t reserved = ask->keep == COMMAND_LAST ? ask->max : 0;
	struct command *c = calloc(1, sizeof(*c));
	int rc = 0;

	if (!c)
		return err_nomem(err);
	/* For one that will be refused nothing is forgotten. */
	if (reserved > 0 && instance_is_up(in) &&
	    in->rec.state != INSTANCE_PAUSED)
		rc = command_room(in, reserved, err);
	if (rc < 0) {
		free(c);
		return rc;
	}
	rc = command_init(c, in, ask) < 0 ? err_nomem(err) :
					    command_exec(c, in, ask, err);
	if (rc < 0) {
		command_free(c);
		return rc;
	}
	c->reserved = reserved;
	in->is->command_bytes += reserved;
	TAILQ_INSERT_TAIL(&in->commands, c, link);
	if (ask->input_open || ask->input.len > 0)
		input_pass(c);
	*ret = c;
	return 0;
}

/* ---- looking at it ---- */

struct command *command_by_id(struct instance *in, const char *id)
{
	struct command *c;

	TAILQ_FOREACH (c, &in->commands, link) {
		if (strcmp(c->view.id, id) == 0)
			return c;
	}
	return NULL;
}

struct command *command_next(struct instance *in, const struct command *c)
{
	return c ? TAILQ_NEXT(c, link) : TAILQ_FIRST(&in->commands);
}

const struct command_view *command_view(const struct command *c)
{
	return &c->view;
}

uint64_t command_duration(const struct command *c)
{
	return c->view.ended ? c->view.duration_ms : clock_ms() - c->began_ms;
}

static int64_t ring_kept(const struct output *o, enum output_stream stream,
			 struct buf *to)
{
	struct output_mark m;
	struct output_piece p;
	uint8_t data[16384];
	size_t n;
	int rc;

	output_oldest(o, &m);
	while ((n = output_peek(o, &m, data, sizeof(data), &p)) > 0) {
		rc = p.stream == stream ? buf_append(to, data, n) : 0;
		if (rc < 0)
			return rc;
		output_skip(o, &m, n);
	}
	return (int64_t)o->offset[stream];
}

int64_t command_kept(const struct command *c, enum output_stream stream,
		     struct buf *to)
{
	struct slice first = buf_slice(&c->first[stream]);

	if (c->view.keep != COMMAND_FIRST)
		return ring_kept(&c->out, stream, to);
	return buf_append(to, first.ptr, first.len);
}
