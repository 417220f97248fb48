/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_room.c - messages about a full disk of $AC_HOME
 */
#include "control/cli/host/disk_room.h"

#include <string.h>

#include "control/shared/json.h"
#include "lib/str.h"

int room_text(char *out, size_t size, const json_t *status)
{
	const json_t *disk = json_object_get(status, "disk");
	char left[32], total[32];

	if (!*json_text(disk, "state"))
		return -ENODATA;
	str_format_size(left, sizeof(left), (uint64_t)json_count(disk, "left"));
	str_format_size(total, sizeof(total),
			(uint64_t)json_count(disk, "total"));
	snprintf(out, size, "%s: %s of %s left", json_text(disk, "state"), left,
		 total);
	return 0;
}

bool room_is_fine(const json_t *status)
{
	const char *state = json_text(json_object_get(status, "disk"), "state");

	return !*state || strcmp(state, "fine") == 0;
}

void room_tell(const struct cli *cli, struct client *c)
{
	SCOPED_JSON s = NULL;
	struct err ignored = { 0 };
	const json_t *gate;
	char text[96];

	if (client_call(c, "GET", "/v1/status", NULL, &s, &ignored) < 0)
		return;
	gate = json_object_get(s, "gateway");
	if (strcmp(json_text(gate, "audit"), "full") == 0)
		say_info(cli, "the gateway denies everything: %s",
			 json_text(gate, "last_error"));
	if (room_text(text, sizeof(text), s) == 0 && !room_is_fine(s))
		say_info(cli,
			 "the disk of $AC_HOME is %s; `ac space` shows what "
			 "takes room",
			 text);
}
