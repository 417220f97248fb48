/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume.h - volumes of an instance as people write them: NAME:/mnt/PLACE[:MODE]
 */
#ifndef CONTROL_SHARED_VOLUME_H
#define CONTROL_SHARED_VOLUME_H

#include <stdbool.h>
#include <stddef.h>

#include "control/shared/names.h"
#include "control/shared/paths.h"
#include "lib/err.h"

#define VOLUME_USES_MAX 16u /* of an instance */
#define VOLUME_NO_USE "none" /* `--volume none` means no volume */
#define VOLUME_MISSING "volume_missing" /* words of refusals */
#define VOLUME_IN_USE "volume_in_use"
/* Of volume_text(), with a NUL: ":", ":" and "ro" beside both names. */
#define VOLUME_TEXT_MAX (AC_NAME_MAX + NAME_MOUNT_MAX + 5u)

/* One volume in one sandbox. */
struct volume_use {
	char name[AC_NAME_MAX + 1]; /* by name_check_volume() */
	char to[NAME_MOUNT_MAX + 1]; /* by name_is_mount() */
	bool ro;
};

/* Reads NAME:/mnt/PLACE[:ro|:rw]; without a mode it is rw. Returns 0, or -EINVAL
 * with @err, which quotes @text. */
int volume_parse(const char *text, struct volume_use *ret, struct err *err);
/* Writes NAME:/mnt/PLACE:MODE. */
void volume_text(const struct volume_use *u, char ret[VOLUME_TEXT_MAX]);

/*
 * Reads the stored list @json, an array of texts; NULL: none. Returns 0, -EINVAL
 * if it is none, is longer than VOLUME_USES_MAX or has a place twice, or -ENOMEM;
 * *ret_n is unchanged then.
 */
int volume_load(const char *json, struct volume_use ret[VOLUME_USES_MAX],
		size_t *ret_n, struct err *err);
/* Returns such a list, which the caller frees; NULL without memory. */
char *volume_store(const struct volume_use *v, size_t n);

#endif
