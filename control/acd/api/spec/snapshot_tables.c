/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_tables.c - calls about snapshots, restores and forks
 */
#include "control/acd/api/spec/calls.h"

#include "control/acd/api/spec/words.h"

#define TAG "[A-Za-z0-9][A-Za-z0-9_.-]{0,62}"

static const struct schema_key snapshot_keys[] = {
	{ "instance", &schema_text },
	{ "tag", FORM(TAG) },
	{ "created_at", COUNT(.about = "seconds since the epoch") },
	{ "created_ns", COUNT(.about = "nanoseconds since the epoch: the order "
				       "of two of one second") },
	{ "named", FLAG(.about = "the user chose the tag: it does not "
				 "expire") },
	{ "running", FLAG(.about = "it was made while the instance ran") },
	{ "memory", FLAG(.about = "it has the memory of its sandbox") },
	{ "blueprint", &schema_text },
	{ "workspace", TEXT(.null = true, .about = "null: a private one") },
	{ "workspace_mode", WORD(KEYS("copy", "live", "ro", "")) },
	{ "files", COUNT(.about = "directories and links included") },
	{ "bytes", COUNT(.about = "of their contents") },
};
static const struct schema snapshot_is = {
	SCHEMA_ROWS(snapshot_keys),
	.whole = true,
	.name = "Snapshot",
	.about = "the files of an instance as they were: home, private "
		 "workspace, changes in a copy of a directory",
};
static const struct schema_key snapshots_keys[] = {
	{ "snapshots", LIST(&snapshot_is) },
};
static const struct schema_key snapshot_body_keys[] = {
	{ "tag", FORM(TAG, .about = "absent or null: one by the time, which "
				    "expires") },
	{ "memory",
	  FLAG(.about = "what runs, too. not_running (409) if nothing "
			"does") },
};
static const struct schema snapshot_body = { BODY(snapshot_body_keys) };
static const struct schema_key restore_body_keys[] = {
	{ "tag", FORM(TAG, .about = "absent or null: the latest") },
	{ "memory",
	  FLAG(.about = "a run may go on from its memory (from_memory of "
			"run); 404 if it has none") },
};
static const struct schema restore_body = { BODY(restore_body_keys) };
static const struct schema_key remove_query_keys[] = {
	{ "tag", FORM(TAG) },
};
static const struct schema remove_query = {
	SCHEMA_ROWS(remove_query_keys),
	.whole = true,
};
static const struct schema_key fork_body_keys[] = {
	{ "names", LIST(FORM(INSTANCE_NAME), .max = SPEC_FORKS_MAX,
			.about = "of the new instances") },
	{ "tag", FORM(TAG, .about = "of a snapshot; absent or null: as it is "
				    "now") },
	{ "memory",
	  FLAG(.about = "the processes, too: a run of each goes on "
			"from them (from_memory of run), without its network "
			"connections. not_running (409) if nothing runs") },
};
static const struct schema fork_body = {
	BODY(fork_body_keys),
	.required = KEYS("names"),
};
static const struct schema_key instances_keys[] = {
	{ "instances", LIST(&instance_is) },
};

#define ENDS                                                               \
	"If the client leaves, it is canceled and nothing of it is left. " \
	"canceled (409): the instance is being removed. "
#define HELD                                                              \
	"A sandbox that runs is frozen while its files are copied. busy " \
	"(409): it starts, or its files are copied or removed; "          \
	"unsupported (501): they are in a disk.img. "

const struct http_call spec_snapshot_list = {
	.id = "snapshot_list",
	.summary = "Lists the snapshots of all instances",
	.answers = ANSWERS(JSON(
		200, "OK", MAP(SCHEMA_ROWS(snapshots_keys), .whole = true))),
	.fails = { 500 },
};

const struct http_call spec_instance_snapshots = {
	.id = "instance_snapshots",
	.summary = "Lists the snapshots of an instance",
	.path = &path_instance,
	.answers = ANSWERS(JSON(
		200, "OK", MAP(SCHEMA_ROWS(snapshots_keys), .whole = true))),
	.fails = { 404, 500 },
};

const struct http_call spec_instance_snapshot = {
	.id = "instance_snapshot",
	.summary = "Makes a snapshot of an instance's files",
	.about = HELD ENDS
	"too_many_snapshots (409): it has 64 with a tag. "
	"conflict (409): the tag is taken. Of those without a "
	"tag the last 5 are kept.",
	.path = &path_instance,
	.body = &snapshot_body,
	.answers = ANSWERS(JSON(201, "Made", &snapshot_is),
			   EMPTY("Made, and removed meanwhile")),
	.fails = { 404, 409, 413, 500, 501, 503 },
};

const struct http_call spec_instance_snapshot_remove = {
	.id = "instance_snapshot_remove",
	.summary = "Removes a snapshot",
	.path = &path_instance,
	.query = &remove_query,
	.answers = ANSWERS(EMPTY("Done")),
	.fails = { 404, 409, 500, 501 },
};

const struct http_call spec_instance_restore = {
	.id = "instance_restore",
	.summary = "Puts the files of a snapshot in the place of an instance's",
	.about = "What was there becomes the snapshot before-restore. " ENDS
		 "Once it puts files in place, it goes on. busy (409): it "
		 "runs, or its files are copied or removed. snapshot_damaged "
		 "(500): the files are not "
		 "those that were saved; nothing is changed.",
	.path = &path_instance,
	.body = &restore_body,
	.answers = ANSWERS(JSON(200, "Done", &instance_is),
			   EMPTY("Done, and the instance was removed "
				 "meanwhile")),
	.fails = { 404, 409, 413, 500, 501, 503 },
};

const struct http_call spec_instance_fork = {
	.id = "instance_fork",
	.summary = "Makes instances with a copy of an instance's files",
	.about = "With its options, but for published ports. " HELD ENDS
		 "conflict (409): a name is taken.",
	.path = &path_instance,
	.body = &fork_body,
	.answers = ANSWERS(JSON(
		201, "Made", MAP(SCHEMA_ROWS(instances_keys), .whole = true))),
	.fails = { 404, 409, 413, 500, 501, 503 },
};
