/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.h - finds the packages in the files of an image
 */
#ifndef CONTROL_SBOM_TREE_H
#define CONTROL_SBOM_TREE_H

#include "control/sbom/packages.h"

#define TREE_DEPTH_MAX 64u /* directories below each other */
#define TREE_ENTRIES_MAX (4u << 20)
#define TREE_STATUS_MAX (32u << 20) /* bytes of dpkg's status file */
#define TREE_LOCK_MAX (16u << 20) /* of a lock file of npm */
#define TREE_FILE_MAX (1u << 20) /* of another file */
#define TREE_LOCKED_MAX 65536u /* checksums of lock files */

/*
 * Reads all packages of the tree below the open directory @root, which nothing
 * may change meanwhile, into an empty @s, sorted. Follows no link in its walk;
 * for known files links are followed, so the process should have @root as its
 * root. The caller calls sbom_done(). Returns 0; -EBADMSG if dpkg's status file
 * is none; -E2BIG beyond a limit; -ENOMEM; or an errno of reading.
 */
int tree_read(int root, struct sbom *s);

#endif
