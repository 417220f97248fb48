/* SPDX-License-Identifier: Apache-2.0 */
/*
 * room_test.c - when a disk is low, and when it is full
 */
#include "control/acd/instance/limit/room.h"

#include <string.h>
#include <sys/statvfs.h>

#include "control/acd/instance/instance_impl.h"
#include "lib/attr.h"
#include "tests/unit/tap.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (MIB << 10)
#define MANY UINT64_MAX

static void test_wrote(void)
{
	static const struct {
		const char *name;
		struct cgroup_writers before, now;
		int64_t low, full;
	} rows[] = {
		{ "it wrote 50",
		  { { { 7, 100 } }, 1 },
		  { { { 7, 150 } }, 1 },
		  50,
		  50 },
		{ "the first look", { .n = 0 }, { { { 7, 150 } }, 1 }, 0, 150 },
		{ "none is left of those that were counted",
		  { { { 7, 100 } }, 1 },
		  { { { 8, 150 } }, 1 },
		  0,
		  150 },
		{ "an older one takes the place of one that ended",
		  { { { 7, 100 }, { 8, 10 } }, 2 },
		  { { { 8, 15 }, { 9, 1 << 30 } }, 2 },
		  5,
		  5 },
		{ "and one that wrote much has ended",
		  { { { 7, 1 << 30 }, { 8, 10 } }, 2 },
		  { { { 8, 30 }, { 9, 4 } }, 2 },
		  20,
		  20 },
		{ "a number that came round",
		  { { { 7, 100 }, { 8, 1 } }, 2 },
		  { { { 7, 90 }, { 8, 3 } }, 2 },
		  2,
		  2 },
		{ "nobody", { .n = 0 }, { .n = 0 }, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		is_int(room_wrote(ROOM_LOW, &rows[i].before, &rows[i].now),
		       rows[i].low, "low: %s", rows[i].name);
		is_int(room_wrote(ROOM_FULL, &rows[i].before, &rows[i].now),
		       rows[i].full, "full: %s", rows[i].name);
	}
}

/* Only two looks in succession tell what is being written now. */
static void test_pause(void)
{
	struct room r = { .state = ROOM_LOW, .left = GIB, .total = 1000 * GIB };

	ok(room_must_pause(&r, true, 500 * MIB), "counted twice, low");
	ok(!room_must_pause(&r, true, MIB), "it writes little");
	ok(!room_must_pause(&r, false, 500 * MIB), "only counted now");
	r.state = ROOM_FULL;
	ok(room_must_pause(&r, false, 2 * MIB), "full waits for nothing");
	r.state = ROOM_FINE;
	ok(!room_must_pause(&r, true, 500 * MIB), "there is room");
}

/* ---- a look at a full disk ---- */

static pid_t counted; /* whose writes were asked for last; -1: no call */

int statvfs(const char *file, struct statvfs *buf)
{
	(void)file;
	*buf = (struct statvfs){ .f_frsize = 1, .f_blocks = 100 * MIB };
	return 0;
}

void cgroup_written(const char *id, pid_t writer, struct cgroup_writers *ret)
{
	is_str(id, "box", "the sandbox that runs");
	counted = writer;
	ret->n = 0;
}

static pid_t writer(struct runtime *rt, const char *id)
{
	(void)rt;
	return strcmp(id, "box") == 0 ? 4711 : -1;
}

static void test_writer(pid_t (*fn)(struct runtime *rt, const char *id),
			pid_t want, const char *what)
{
	const struct runtime_ops ops = { .writer = fn };
	struct runtime rt = { .ops = &ops };
	struct instances is = { .loop = loop_new(), .dir = "/", .rt = &rt };
	struct instance in = { .rec.state = INSTANCE_RUNNING };
	char id[] = "box";

	in.rec.container_id = id;
	TAILQ_INIT(&is.all);
	TAILQ_INSERT_TAIL(&is.all, &in, link);
	counted = -1;
	is_int(instances_room_begin(&is, NULL), 0, "it looks");
	is_int(counted, want, "%s", what);
	loop_timer_free(is.room_timer);
	loop_free(is.loop);
}

int main(void)
{
	static const struct {
		uint64_t left, total, files;
		enum room_state want;
	} rows[] = {
		{ 900 * GIB, 1000 * GIB, MANY, ROOM_FINE },
		{ GIB, 1000 * GIB, MANY, ROOM_FINE },
		{ GIB - 1, 1000 * GIB, MANY, ROOM_LOW },
		{ 128 * MIB, 1000 * GIB, MANY, ROOM_LOW },
		{ 128 * MIB - 1, 1000 * GIB, MANY, ROOM_FULL },
		{ 0, 1000 * GIB, MANY, ROOM_FULL },
		{ 300 * MIB, GIB, MANY, ROOM_FINE },
		{ 100 * MIB, GIB, MANY, ROOM_LOW },
		{ 20 * MIB, GIB, MANY, ROOM_FULL },
		/* Without inodes the room is of no use. */
		{ 900 * GIB, 1000 * GIB, 1000, ROOM_LOW },
		{ 900 * GIB, 1000 * GIB, 0, ROOM_FULL },
		/* A file system that says nothing is not full. */
		{ 0, 0, MANY, ROOM_FINE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		is_str(room_state_name(room_judge(rows[i].left, rows[i].total,
						  rows[i].files)),
		       room_state_name(rows[i].want), "%zu", i);
	ok(!room_must_stop(GIB, 1000 * GIB, 0), "who writes nothing");
	ok(!room_must_stop(GIB, 1000 * GIB, 400 * MIB), "there is time");
	ok(room_must_stop(GIB, 1000 * GIB, 500 * MIB), "there is none");
	ok(room_must_stop(100 * MIB, 1000 * GIB, 0), "it is full");
	ok(room_must_stop(130 * MIB, 1000 * GIB, 2 * MIB), "nearly");
	test_wrote();
	test_pause();
	test_writer(writer, 4711, "the process that the runtime names");
	test_writer(NULL, 0, "a runtime that names none");
	return done_testing();
}
