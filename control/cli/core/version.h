/* SPDX-License-Identifier: Apache-2.0 */
/*
 * version.h - which build this is
 */
#ifndef CONTROL_CLI_CORE_VERSION_H
#define CONTROL_CLI_CORE_VERSION_H

#define VERSION_API 1 /* of acd, that this program speaks */

const char *version_text(void); /* "0.1.0" */
/* Identity of the inputs of ac-host's image: acd of another one is replaced.
 * 12 hex digits, or "dev". */
const char *version_build_id(void);
const char *version_share_dir(void); /* where `make install` put images/ */

#endif
