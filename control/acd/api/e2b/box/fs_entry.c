/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fs_entry.c - a name in a sandbox, as E2B's SDKs read it
 */
#include "control/acd/api/e2b/box/fs_entry.h"

#include <string.h>

#include "control/acd/api/e2b/say.h"
#include "control/shared/json.h"

void fs_mode(const struct filewire_entry *e, char ret[11])
{
	static const char kinds[] = {
		[FILEWIRE_FILE] = '-',
		[FILEWIRE_DIR] = 'd',
		[FILEWIRE_SYMLINK] = 'l',
		[FILEWIRE_SPECIAL] = '?',
	};

	ret[0] = kinds[e->kind];
	for (unsigned i = 0; i < 9; i++)
		ret[1 + i] = e->mode & (0400u >> i) ? "rwx"[i % 3] : '-';
	ret[10] = '\0';
}

static const char *base_of(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && name[1] ? name + 1 : path;
}

json_t *fs_entry(const char *path, const struct filewire_entry *e)
{
	static const char *const types[] = {
		[FILEWIRE_FILE] = "FILE_TYPE_FILE",
		[FILEWIRE_DIR] = "FILE_TYPE_DIRECTORY",
		[FILEWIRE_SYMLINK] = "FILE_TYPE_SYMLINK",
		[FILEWIRE_SPECIAL] = "FILE_TYPE_UNSPECIFIED",
	};
	SCOPED_STR target = NULL;
	char time[SAY_TIME_MAX], mode[11];
	json_t *j;

	if (slice_dup_str(e->target, &target) < 0)
		return NULL;
	/* Beyond the year 9999 the format has no word for it. */
	say_time(e->mtime < 253402300800 ? (int64_t)e->mtime * 1000 : 0, time);
	fs_mode(e, mode);
	j = json_pack("{s:o, s:s, s:o, s:I, s:i, s:s, s:s}", "name",
		      jsonx_text(base_of(path)), "type", types[e->kind], "path",
		      jsonx_text(path), "size", (json_int_t)e->size, "mode",
		      (int)e->mode, "permissions", mode, "modifiedTime", time);
	if (j && e->kind == FILEWIRE_SYMLINK)
		json_object_set_new(j, "symlinkTarget", jsonx_text(target));
	return j;
}

json_t *fs_written(const char *path)
{
	return json_pack("{s:o, s:s, s:o}", "name", jsonx_text(base_of(path)),
			 "type", "file", "path", jsonx_text(path));
}
