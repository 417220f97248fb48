/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume_tables.c - calls about volumes
 */
#include "control/acd/api/spec/calls.h"

#include "control/acd/api/spec/words.h"

static const struct schema path_volume = {
	.kind = SCHEMA_FORM,
	.pattern = INSTANCE_NAME,
};
static const struct schema_key user_keys[] = {
	{ "instance", &schema_text },
	{ "mode", WORD(KEYS("ro", "rw")) },
	{ "running", FLAG(.about = "its sandbox has the volume now") },
};
static const struct schema_key volume_keys[] = {
	{ "name", &schema_text },
	{ "bytes",
	  COUNT(.null = true,
		.about = "disk space of its files; null: unknown, because "
			 "counting took too long") },
	{ "created_at", COUNT(.about = "seconds since the epoch; 0: unknown") },
	{ "used_by",
	  LIST(MAP(SCHEMA_ROWS(user_keys), .whole = true),
	       .about = "instances that have it, by their options or their "
			"blueprint; one of them may write at a time") },
};
static const struct schema volume_is = {
	SCHEMA_ROWS(volume_keys),
	.whole = true,
	.name = "Volume",
	.about = "a directory that instances share",
};
static const struct schema_key volumes_keys[] = {
	{ "volumes", LIST(&volume_is) },
};
static const struct schema_key create_keys[] = {
	{ "name", FORM(INSTANCE_NAME) },
};
static const struct schema create_body = {
	BODY(create_keys),
	.required = KEYS("name"),
	.name = "VolumeRequest",
};
static const struct schema_key delete_keys[] = {
	{ "force", SWITCH("1: also when instances that do not run have it") },
};
static const struct schema delete_query = { SCHEMA_ROWS(delete_keys) };

const struct http_call spec_volume_list = {
	.id = "volume_list",
	.summary = "Lists the volumes",
	.answers = ANSWERS(
		JSON(200, "OK", MAP(SCHEMA_ROWS(volumes_keys), .whole = true))),
	.fails = { 500 },
};

const struct http_call spec_volume_get = {
	.id = "volume_get",
	.summary = "Returns a volume",
	.about = "volume_missing (404).",
	.path = &path_volume,
	.answers = ANSWERS(JSON(200, "OK", &volume_is)),
	.fails = { 404, 500 },
};

const struct http_call spec_volume_create = {
	.id = "volume_create",
	.summary = "Makes an empty volume",
	.about = "conflict (409): there is one of that name; case does not "
		 "count.",
	.body = &create_body,
	.answers = ANSWERS(JSON(201, "Made", &volume_is)),
	.fails = { 409, 413, 500, 503 },
};

const struct http_call spec_volume_delete = {
	.id = "volume_delete",
	.summary = "Removes a volume with all that is in it",
	.about = "volume_missing (404). volume_in_use (409): an instance that "
		 "runs has it, or, unless force is given, one that does not. "
		 "force takes it from the options of those; the next run of "
		 "one whose blueprint has it is refused.",
	.path = &path_volume,
	.query = &delete_query,
	.answers = ANSWERS(EMPTY("Done")),
	.fails = { 404, 409, 500 },
};
