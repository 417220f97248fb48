/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_test.c - requests to a file server that keeps to the order, and to
 * one that does not
 *
 * The functions of run.c that files.c calls are defined here: they write down
 * what was asked of the run.
 */
#include "control/acd/instance/files.h"

#include "tests/unit/tap.h"

struct run {
	const struct run_watch_ops *ops; /* NULL: nobody watches */
	void *arg;
	size_t room, got, credited;
	int abandoned;
};

struct run_watch {
	int unused;
};

static struct run the_run;
static struct run_watch the_watch;
static struct loop *the_loop;
static struct instance_record the_record = { .state = INSTANCE_RUNNING };

struct instance *run_instance(const struct run *r)
{
	(void)r;
	return NULL;
}

const struct instance_record *instance_record(const struct instance *in)
{
	(void)in;
	return &the_record;
}

int instance_exec(struct instance *in, const struct run_options *o,
		  struct run **ret, struct err *err)
{
	(void)in;
	(void)err;
	the_run = (struct run){ .room = 1024 * 1024 };
	*ret = &the_run;
	return o->files && o->use_stdin ? 0 : -EINVAL;
}

struct run_watch *run_watch_add(struct run *r, const struct run_watch_ops *ops,
				void *arg)
{
	r->ops = ops;
	r->arg = arg;
	return &the_watch;
}

void run_watch_credit(struct run_watch *w, uint32_t bytes)
{
	(void)w;
	the_run.credited += bytes;
}

void run_watch_free(struct run_watch *w)
{
	if (w)
		the_run.ops = NULL;
}

size_t run_stdin_room(const struct run *r)
{
	return r->room;
}

int run_stdin(struct run *r, const void *data, size_t len)
{
	(void)data;
	r->room -= len;
	r->got += len;
	return 0;
}

void run_abandon(struct run *r)
{
	r->abandoned++;
}

/* ---- what the request came to ---- */

static struct {
	unsigned entries, dones;
	size_t data;
	int code;
	bool stop; /* the loop, when it is done */
} seen;

static int on_entry(void *arg, const struct filewire_entry *e)
{
	(void)arg;
	(void)e;
	seen.entries++;
	return 0;
}

static void on_data(void *arg, struct slice data)
{
	(void)arg;
	seen.data += data.len;
}

static void on_done(void *arg, const struct filewire_done *d,
		    const struct err *err)
{
	(void)arg;
	(void)d;
	seen.dones++;
	seen.code = err ? err->code : 0;
	if (seen.stop)
		loop_stop(the_loop, 0);
}

static const struct files_ops ops = {
	.entry = on_entry,
	.data = on_data,
	.done = on_done,
};

/* The server's answer, a letter a message: e entry, n entry with a name, d
 * data, D done, X done with an error, q a request. */
static void answer(struct buf *b, const char *text)
{
	const struct filewire_request rq = { .type = FILEWIRE_STAT,
					     .path = slice_str("x") };
	struct filewire_entry e = { .kind = FILEWIRE_FILE };
	struct filewire_done d = { 0 };
	uint8_t head[FILEWIRE_HEADER];
	int rc = 0;

	for (; *text && rc == 0; text++) {
		e.name = slice_str(*text == 'n' ? "name" : "");
		d.error = *text == 'X' ? ENOSPC : 0;
		filewire_put_header(head, FILEWIRE_DATA, 3);
		if (*text == 'e' || *text == 'n')
			rc = filewire_put_entry(b, &e);
		else if (*text == 'q')
			rc = filewire_put_request(b, &rq);
		else if (*text != 'd')
			rc = filewire_put_done(b, &d);
		else if ((rc = buf_append(b, head, sizeof(head))) == 0)
			rc = buf_append(b, "abc", 3);
	}
	if (rc < 0)
		abort();
}

static void test_order(void)
{
	static const struct {
		const char *text;
		enum filewire_type type;
		int code;
	} cases[] = {
		{ "eD", FILEWIRE_STAT, 0 },
		{ "X", FILEWIRE_STAT, -ENOSPC },
		{ "D", FILEWIRE_STAT, -EPROTO },
		{ "eeD", FILEWIRE_STAT, -EPROTO },
		{ "nD", FILEWIRE_STAT, -EPROTO },
		{ "edD", FILEWIRE_STAT, -EPROTO },
		{ "D", FILEWIRE_LIST, 0 },
		{ "nnD", FILEWIRE_LIST, 0 },
		{ "nnnD", FILEWIRE_LIST, -EPROTO },
		{ "eD", FILEWIRE_LIST, -EPROTO },
		{ "eddD", FILEWIRE_READ, 0 },
		{ "edX", FILEWIRE_READ, -ENOSPC },
		{ "dD", FILEWIRE_READ, -EPROTO },
		{ "deD", FILEWIRE_READ, -EPROTO },
		{ "D", FILEWIRE_WRITE, -EPROTO },
		{ "X", FILEWIRE_WRITE, -ENOSPC },
		{ "eD", FILEWIRE_WRITE, -EPROTO },
		{ "q", FILEWIRE_REMOVE, -EPROTO },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct filewire_request rq = {
			.type = cases[i].type,
			.path = slice_str("x"),
			.length = cases[i].type == FILEWIRE_LIST ? 2 : 0,
		};
		struct err err = { 0 };
		struct files *f = NULL;
		struct slice s, piece;
		struct buf b;

		memset(&seen, 0, sizeof(seen));
		buf_init(&b, 64 * 1024);
		answer(&b, cases[i].text);
		if (files_begin(the_loop, NULL, &rq, &ops, NULL, &f, &err) < 0)
			abort();
		/* In pieces; what comes behind the end has no receiver. */
		s = buf_slice(&b);
		while (s.len > 0 && the_run.ops) {
			size_t n = s.len < 7 ? s.len : 7;

			if (slice_take(&s, n, &piece) == 0)
				the_run.ops->output(the_run.arg, LINK_STDOUT,
						    piece);
		}
		ok(seen.dones == 1 && seen.code == cases[i].code &&
			   the_run.abandoned == 1,
		   "request %d answered by %s", (int)cases[i].type,
		   cases[i].text);
		buf_done(&b);
	}
}

static void test_end(void)
{
	const struct link_exit x = { .kind = LINK_SIGNALED, .value = 9 };
	const struct filewire_request rq = { .type = FILEWIRE_WRITE,
					     .path = slice_str("x") };
	struct err err = { 0 };
	struct files *f = NULL;
	size_t before;

	memset(&seen, 0, sizeof(seen));
	if (files_begin(the_loop, NULL, &rq, &ops, NULL, &f, &err) < 0)
		abort();
	before = the_run.got;
	files_write(f, slice_str("abc"));
	is_int(the_run.got - before, FILEWIRE_HEADER + 3, "data goes out");
	the_run.room = 3;
	is_int(files_room(f), 0, "no room for a header is no room");
	files_end(f);
	before = the_run.got;
	the_run.room = 100;
	the_run.ops->stdin_credit(the_run.arg);
	is_int(the_run.got - before, FILEWIRE_HEADER - 3,
	       "an end that had no room goes out later");
	the_run.ops->exited(the_run.arg, &x);
	ok(seen.dones == 1 && seen.code == -ECONNRESET && !the_run.abandoned,
	   "a server that was killed");
}

/* A write is not done before all of it was sent, nor as something else. */
static void test_write_done(void)
{
	static const struct {
		const char *what;
		uint64_t bytes;
		bool ended;
		int code;
	} cases[] = {
		{ "early", 3, false, -EPROTO },
		{ "as it was sent", 3, true, 0 },
		{ "of more than was sent", 4, true, -EPROTO },
		{ "of less than was sent", 0, true, -EPROTO },
	};
	const struct filewire_request rq = { .type = FILEWIRE_WRITE,
					     .path = slice_str("x") };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct filewire_done d = { .bytes = cases[i].bytes };
		struct err err = { 0 };
		struct files *f = NULL;
		struct buf b;

		memset(&seen, 0, sizeof(seen));
		buf_init(&b, 1024);
		if (files_begin(the_loop, NULL, &rq, &ops, NULL, &f, &err) <
			    0 ||
		    filewire_put_done(&b, &d) < 0)
			abort();
		files_write(f, slice_str("abc"));
		if (cases[i].ended)
			files_end(f);
		the_run.ops->output(the_run.arg, LINK_STDOUT, buf_slice(&b));
		ok(seen.dones == 1 && seen.code == cases[i].code,
		   "a write that is done: %s", cases[i].what);
		buf_done(&b);
	}
}

/* ---- one that says nothing ---- */

#define QUIET_MS 40u

enum then { NOTHING, BYTES_ON_STDERR, PAUSED, RESUMED, HELD, BODY_TO_COME };

struct after {
	struct files *f;
	enum then then;
	unsigned turns;
	struct loop_timer *timer;
};

/* What makes it wait on, a few times as long; then that ends. */
static void on_turn(void *arg)
{
	struct after *a = arg;

	if (++a->turns < 8) {
		if (a->then == BYTES_ON_STDERR)
			the_run.ops->output(the_run.arg, LINK_STDERR,
					    slice_str("."));
		/* Frozen and gone on, each time before anybody looked. */
		if (a->then == RESUMED)
			the_run.ops->resumed(the_run.arg);
		loop_timer_set(a->timer, QUIET_MS / 2);
		return;
	}
	the_record.state = INSTANCE_RUNNING;
	if (a->then == HELD)
		files_credit(a->f, 3);
	if (a->then == BODY_TO_COME)
		files_end(a->f);
}

static void quiet_one(enum then then, const char *what)
{
	const struct filewire_request rq = { .type = then == BODY_TO_COME ?
							     FILEWIRE_WRITE :
							     FILEWIRE_READ,
					     .path = slice_str("x") };
	struct after a = { .then = then };
	struct err err = { 0 };
	struct buf b;

	memset(&seen, 0, sizeof(seen));
	seen.stop = true;
	buf_init(&b, 1024);
	if (files_begin(the_loop, NULL, &rq, &ops, NULL, &a.f, &err) < 0)
		abort();
	if (then == HELD) {
		answer(&b, "ed");
		the_run.ops->output(the_run.arg, LINK_STDOUT, buf_slice(&b));
	}
	if (then == PAUSED)
		the_record.state = INSTANCE_PAUSED;
	a.timer = loop_timer_new(the_loop, on_turn, &a);
	if (then != NOTHING)
		loop_timer_set(a.timer, QUIET_MS / 2);
	loop_run(the_loop);
	ok(seen.dones == 1 && seen.code == -ETIMEDOUT && the_run.abandoned == 1,
	   "%s: given up", what);
	ok(then == NOTHING || a.turns == 8, "and not before");
	loop_timer_free(a.timer);
	buf_done(&b);
}

static void test_quiet(void)
{
	files_set_quiet(QUIET_MS);
	quiet_one(NOTHING, "a server that was stopped");
	quiet_one(BYTES_ON_STDERR, "one that works, then stops");
	quiet_one(PAUSED, "one that was frozen");
	quiet_one(RESUMED, "one that was frozen for moments");
	quiet_one(HELD, "one whose client does not read");
	quiet_one(BODY_TO_COME, "one whose client does not write");
	files_set_quiet(FILES_QUIET_MS);
}

int main(void)
{
	the_loop = loop_new();
	test_order();
	test_write_done();
	test_end();
	test_quiet();
	loop_free(the_loop);
	return done_testing();
}
