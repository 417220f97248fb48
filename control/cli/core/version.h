/* SPDX-License-Identifier: Apache-2.0 */
/*
 * version.h - identity of this build
 */
#ifndef CONTROL_CLI_CORE_VERSION_H
#define CONTROL_CLI_CORE_VERSION_H

#define VERSION_API 1 /* version of acd's API that this program uses */

/* All return constants. */

const char *version_text(void); /* "0.1.0" */
/* Identity of the inputs of ac-host's image: 12 hex digits, or "dev". An acd
 * with another one is replaced. */
const char *version_build_id(void);
const char *version_share_dir(void); /* where `make install` put images/ */

#endif
