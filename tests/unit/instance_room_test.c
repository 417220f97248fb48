/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance_room_test.c - when a disk is low, and when it is full
 */
#include "control/acd/instance_room.h"

#include "lib/attr.h"
#include "tests/unit/tap.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (MIB << 10)
#define MANY UINT64_MAX

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
	is_int(room_wrote(ROOM_LOW, 100, 150), 50, "it wrote 50");
	is_int(room_wrote(ROOM_LOW, 0, 150), 0, "it may have, long ago");
	is_int(room_wrote(ROOM_LOW, 100, 90), 0, "others were counted");
	is_int(room_wrote(ROOM_FULL, 100, 90), 90, "full: all that is known");
	is_int(room_wrote(ROOM_FULL, 100, 150), 50, "full: the difference");
	return done_testing();
}
