/* SPDX-License-Identifier: Apache-2.0 */
/*
 * room_test.c - what an apply needs, and whether a disk has it
 */
#include "control/cli/layer/room.h"

#include "tests/unit/control/cli/layer/world.h"

static void test_fits(void)
{
	static const struct {
		uint64_t bytes, inodes;
		fsblkcnt_t blocks;
		fsfilcnt_t all, left;
		bool fits;
	} rows[] = {
		{ 0, 1, 0, 10, 1, true },
		{ 4096, 1, 2, 10, 1, true },
		{ 4097, 1, 1, 10, 1, false },
		{ 409600, 1, 100, 10, 1, false }, /* without the spare */
		{ 409600, 1, 105, 10, 1, true },
		{ 1, 2, 100, 10, 1, false },
		{ 1, 2, 100, 0, 0, true }, /* no limit of inodes */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct room_need need = { rows[i].bytes, rows[i].inodes };
		const struct statvfs fs = { .f_frsize = 4096,
					    .f_bavail = rows[i].blocks,
					    .f_files = rows[i].all,
					    .f_favail = rows[i].left };

		is_int(room_fits(&need, &fs), rows[i].fits, "row %zu", i);
	}
}

static void test_need(void)
{
	static char big[100001];
	SCOPED_STEPS steps = { 0 };
	struct room_need need = { 0 };
	struct err err = { 0 };
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	memset(big, 'x', sizeof(big) - 1);
	world_write(&w, "same", big, 0644);
	world_write(&w, "gone", big, 0644);
	world_since(&w);
	big[0] = 'y';
	world_file(&w, "same", big);
	world_file(&w, "dir/new", big);
	world_gone(&w, "gone");
	is_int(world_plan(&w, false, &err), 0, "a plan");
	is_int(steps_make(&w.input, &w.plan, &w.stage, "bob", &steps, &err), 0,
	       "steps");
	is_int(room_need(&steps, w.stage.dir, &need), 0, "what they need");
	ok(need.bytes >= 200000 && need.bytes < 300000,
	   "a new file, and one while it is replaced: %llu",
	   (unsigned long long)need.bytes);
	is_int(need.inodes, 3, "a directory, a file, and the temporary one");
	is_int(room_check(&steps, w.stage.dir, w.root, w.user, &err), 0,
	       "there is room: %s", err.msg);
	world_end(&w);
}

/* Nothing is there beside a file that replaces none. */
static void test_new(void)
{
	static char big[100001];
	SCOPED_STEPS steps = { 0 };
	struct room_need need = { 0 };
	struct err err = { 0 };
	struct world w;

	if (!ok(world_begin(&w), "a directory"))
		return;
	memset(big, 'x', sizeof(big) - 1);
	world_since(&w);
	world_file(&w, "new", big);
	is_int(world_plan(&w, false, &err), 0, "a plan");
	is_int(steps_make(&w.input, &w.plan, &w.stage, "bob", &steps, &err), 0,
	       "steps");
	is_int(room_need(&steps, w.stage.dir, &need), 0, "what they need");
	ok(need.bytes >= 100000 && need.bytes < 150000,
	   "a new file, once: %llu", (unsigned long long)need.bytes);
	world_end(&w);
}

int main(void)
{
	test_fits();
	test_need();
	test_new();
	return done_testing();
}
