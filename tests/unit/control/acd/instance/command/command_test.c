/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_test.c - commands of an instance: what is kept, who is told
 */
#include "control/acd/instance/command/command.h"

#include "tests/unit/control/acd/instance/instance_world.h"

struct told {
	struct command_reader *reader;
	int calls, gone;
	uint64_t bytes, lost;
	bool hold; /* takes nothing */
	bool removes; /* the command, once it has ended */
};

static void tell(void *arg)
{
	struct told *t = arg;
	struct command *c = command_reader_of(t->reader);
	struct output_piece p;
	uint8_t data[1000];
	size_t n;

	t->calls++;
	t->gone += !c;
	while (!t->hold && (n = command_reader_peek(t->reader, data,
						    sizeof(data), &p)) > 0) {
		t->bytes += n;
		t->lost += p.lost;
		command_reader_take(t->reader, n);
	}
	if (!c || (t->removes && command_view(c)->ended)) {
		command_reader_free(t->reader);
		t->reader = NULL;
		command_remove(c);
	}
}

static int start(struct instance *in, struct command_ask ask, const char *cmd,
		 const char *arg, struct command **ret)
{
	struct err err = { 0 };
	int rc;

	ask.options = run_of(cmd, arg);
	if (ask.max == 0)
		ask.max = COMMAND_OUTPUT_DEFAULT;
	rc = command_start(in, &ask, ret, &err);
	run_options_done(&ask.options);
	if (rc < 0)
		printf("# %s\n", err.msg);
	return rc;
}

#define FIRST ((struct command_ask){ .keep = COMMAND_FIRST, .max = 4096 })
#define PASS ((struct command_ask){ .keep = COMMAND_PASS })
#define LAST ((struct command_ask){ .keep = COMMAND_LAST })

static size_t kept(const struct command *c, int64_t *ret_before)
{
	struct buf b = { .max = COMMAND_OUTPUT_MAX };
	size_t n;

	*ret_before = command_kept(c, OUTPUT_STDOUT, &b);
	n = buf_len(&b);
	buf_done(&b);
	return n;
}

static void test_first(void)
{
	struct command_ask ask = FIRST;
	struct command *c = NULL;
	struct watcher v = { 0 };
	struct world w;
	struct instance *in = world_one(&w);
	int64_t before;

	is_int(start(in, FIRST, "true", NULL, &c), -ENOTCONN, "nothing runs");
	ok(!command_next(in, NULL), "so there is no command");
	run_up(&w, &v, in, "sleep", NULL);
	is_int(start(in, FIRST, "flood", "3000000", &c), 0, "much output");
	STEP_UNTIL(w.loop, command_view(c)->ended);
	ok(command_view(c)->total[OUTPUT_STDOUT] == 3000000 &&
		   kept(c, &before) == 4096 && before == 0,
	   "is counted, and its begin is kept");
	ok(command_by_id(in, command_view(c)->id) == c, "it has an id");
	command_remove(c);
	ask.input = slice_str("some words");
	is_int(start(in, ask, "cat", NULL, &c), 0, "one with input");
	STEP_UNTIL(w.loop, command_view(c)->ended);
	ok(kept(c, &before) == 10 && command_view(c)->pid == 42,
	   "gets it, and its end");
	is_int(command_input(c, slice_str("x"), false), -EPIPE, "no more");
	is_int(command_signal(c, SIGTERM), -EPIPE, "and no signal");
	is_int(start(in, FIRST, "sleep", NULL, &c), 0, "one that stays");
	world_done(&w); /* frees it and the one that has ended */
}

static void test_pass(void)
{
	struct told t = { .hold = true, .removes = true };
	struct command *c = NULL;
	struct watcher v = { 0 };
	struct world w;
	struct instance *in = world_one(&w);

	run_up(&w, &v, in, "sleep", NULL);
	is_int(start(in, PASS, "flood", "3000000", &c), 0, "much output");
	t.reader = command_reader_new(c, tell, &t);
	STEP_UNTIL(w.loop,
		   command_view(c)->total[OUTPUT_STDOUT] == LINK_WINDOW);
	step_for(w.loop, 50);
	ok(!command_view(c)->ended && t.calls > 0 &&
		   command_view(c)->total[OUTPUT_STDOUT] == LINK_WINDOW,
	   "a reader that takes nothing holds it up");
	t.hold = false;
	tell(&t);
	STEP_UNTIL(w.loop, !t.reader);
	ok(t.bytes == 3000000 && t.lost == 0, "one that reads gets all");
	ok(!command_next(in, NULL), "and removes it, when told of its end");
	world_done(&w);
}

static void test_last(void)
{
	struct told t = { 0 }, late = { 0 };
	struct command_ask ask = LAST;
	struct command *c = NULL, *first;
	struct watcher v = { 0 };
	struct world w;
	struct instance *in = world_one(&w);
	struct output_piece p;
	uint8_t data[16];
	int64_t before;

	run_up(&w, &v, in, "sleep", NULL);
	ask.max = 10000;
	is_int(start(in, ask, "flood", "3000000", &c), 0, "much output");
	t.reader = command_reader_new(c, tell, &t);
	STEP_UNTIL(w.loop, command_view(c)->ended);
	ok(kept(c, &before) == 10000 && before == 2990000, "its end is kept");
	STEP_UNTIL(w.loop, t.bytes + t.lost == 3000000);
	ok(t.gone == 0, "a reader knows what it has missed");
	late.reader = command_reader_new(c, tell, &late);
	is_int(command_reader_seek(late.reader, 5), 0, "a late one");
	is_int((long)command_reader_peek(late.reader, data, 16, &p), 16,
	       "reads");
	ok(p.lost == 2989995 && p.offset == 2990000, "what is there");
	is_int(command_reader_seek(late.reader, 3000001), -ERANGE,
	       "and no more");
	command_remove(c);
	ok(t.gone == 1 && late.gone == 1 && !t.reader && !late.reader,
	   "both learn that it was removed");

	is_int(start(in, LAST, "true", NULL, &first), 0, "many");
	STEP_UNTIL(w.loop, command_view(first)->ended);
	for (unsigned i = 1; i < COMMANDS_MAX; i++)
		start(in, LAST, "sleep", NULL, &c);
	ok(command_next(in, NULL) == first, "are kept");
	is_int(start(in, LAST, "sleep", NULL, &c), 0, "for one more");
	ok(command_next(in, NULL) != first, "the one that has ended goes");
	is_int(start(in, LAST, "sleep", NULL, &c), -EMFILE,
	       "or else it is refused");
	ok(in->is->command_bytes == COMMANDS_MAX * COMMAND_OUTPUT_DEFAULT,
	   "what they may keep is counted");
	commands_free(in);
	ok(in->is->command_bytes == 0 && !command_next(in, NULL),
	   "to the last one");
	world_done(&w);
}

static void test_paced(void)
{
	struct told t = { 0 }, still = { .hold = true };
	struct command_ask ask = LAST;
	struct command *c = NULL;
	struct watcher v = { 0 };
	struct world w;
	struct instance *in = world_one(&w);

	run_up(&w, &v, in, "sleep", NULL);
	ask.paced = true;
	is_int(start(in, ask, "flood", "3000000", &c), 0, "much output");
	t.reader = command_reader_new(c, tell, &t);
	still.reader = command_reader_new(c, tell, &still);
	STEP_UNTIL(w.loop, t.bytes == LINK_WINDOW);
	step_for(w.loop, 50);
	ok(!command_view(c)->ended &&
		   command_view(c)->total[OUTPUT_STDOUT] == LINK_WINDOW,
	   "the slowest of its readers holds it up");
	command_reader_skip_all(still.reader);
	STEP_UNTIL(w.loop, t.bytes == 2 * (uint64_t)LINK_WINDOW);
	command_reader_free(still.reader);
	STEP_UNTIL(w.loop, command_view(c)->ended && t.bytes == 3000000);
	ok(t.lost == 0, "the others miss nothing");
	command_reader_free(t.reader);
	is_int(start(in, ask, "flood", "3000000", &c), 0, "without readers");
	STEP_UNTIL(w.loop, command_view(c)->ended);
	ok(command_view(c)->total[OUTPUT_STDOUT] == 3000000,
	   "nothing holds it up");
	world_done(&w);
}

static void test_end(void)
{
	struct command_ask ask = { .keep = COMMAND_LAST, .input_open = true };
	struct command *a = NULL, *b = NULL, *c = NULL;
	struct outcome o = { 0 };
	struct watcher v = { 0 };
	struct told t = { 0 };
	struct world w;
	struct instance *in = world_one(&w);
	int64_t before;

	run_up(&w, &v, in, "sleep", NULL);
	is_int(start(in, ask, "cat", NULL, &a), 0, "one that reads");
	is_int(start(in, LAST, "sleep", NULL, &b), 0, "one that waits");
	is_int(start(in, LAST, "sleep", NULL, &c), 0, "and one more");
	is_int(command_input(a, slice_str("one"), false), 0, "input");
	is_int(command_input(a, slice_str("two"), true), 0, "and its end");
	STEP_UNTIL(w.loop, command_view(a)->ended);
	ok(kept(a, &before) == 6, "arrive");
	is_int(command_signal(b, SIGTERM), 0, "a signal");
	STEP_UNTIL(w.loop, command_view(b)->ended);
	ok(command_view(b)->exit.kind == LINK_SIGNALED &&
		   !command_view(b)->sandbox_ended,
	   "ends the command, and not the sandbox");
	t.reader = command_reader_new(c, tell, &t);
	instance_stop(in, 1000, note_outcome, &o);
	STEP_UNTIL(w.loop, t.calls > 0);
	ok(command_view(c)->ended && command_view(c)->sandbox_ended,
	   "the end of the sandbox is known as such");
	command_reader_free(t.reader);
	STEP_UNTIL(w.loop, o.calls);
	ok(command_by_id(in, command_view(c)->id) == c, "it stays");
	world_done(&w);
}

int main(void)
{
	test_first();
	test_pass();
	test_last();
	test_paced();
	test_end();
	return done_testing();
}
