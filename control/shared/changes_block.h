/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes_block.h - what the writer and the reader of changes.h share: a block of
 * ustar (pax(1), "ustar Interchange Format"), and which paths are good
 */
#ifndef CONTROL_SHARED_CHANGES_BLOCK_H
#define CONTROL_SHARED_CHANGES_BLOCK_H

#include <assert.h>

#include "control/shared/changes.h"

#define CHANGES_BLOCK 512u
#define CHANGES_NAME_MAX 255u /* bytes of one part of a path */
#define EXT_MAX (16u * 1024) /* bytes of an extended header's records */
#define TAR_SIZE_MAX UINT64_C(077777777777) /* of the field in a block */

/* Where the fields of a block begin. */
enum {
	TAR_NAME = 0,
	TAR_MODE = 100,
	TAR_UID = 108,
	TAR_GID = 116,
	TAR_SIZE = 124,
	TAR_MTIME = 136,
	TAR_SUM = 148,
	TAR_TYPE = 156,
	TAR_MAGIC = 257,
	TAR_MAJOR = 329,
	TAR_MINOR = 337,
};

/* Returns the checksum of @block. */
unsigned changes_block_sum(const uint8_t block[CHANGES_BLOCK]);
/* Returns true for a target: not empty, not too long, without a NUL. */
bool changes_target_is_good(struct slice target);

#endif
