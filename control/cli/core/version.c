/* SPDX-License-Identifier: Apache-2.0 */
/*
 * version.c - identity of this build; only this file depends on it
 */
#include "control/cli/core/version.h"

#ifndef AC_BUILD_ID
#define AC_BUILD_ID "dev"
#endif
#ifndef AC_SHARE_DIR
#define AC_SHARE_DIR "/usr/local/share/ac"
#endif

const char *version_text(void)
{
	return "0.1.0";
}

const char *version_build_id(void)
{
	return AC_BUILD_ID;
}

const char *version_share_dir(void)
{
	return AC_SHARE_DIR;
}
