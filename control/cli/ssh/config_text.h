/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_text.h - entries for instances in a configuration of ssh
 */
#ifndef CONTROL_CLI_SSH_CONFIG_TEXT_H
#define CONTROL_CLI_SSH_CONFIG_TEXT_H

#include "control/shared/paths.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/str.h"

#define CONFIG_TEXT_SUFFIX ".ac" /* "work.ac" is the instance "work" */
#define CONFIG_TEXT_MAX (1024u * 1024)

struct config_text {
	const char *home; /* $AC_HOME */
	const char *program; /* path of ac */
	const struct strv *names; /* instances */
	bool all; /* and every other one without a dot, by a pattern */
};

/* Appends the text for @ct. Fails with -EINVAL, with @err, if a path has a
 * character that ssh would read as another. Returns 0 or that. */
int config_text_put(const struct config_text *ct, struct buf *out,
		    struct err *err);

/* Copies the name of the instance that @host, with or without the suffix, means.
 * Returns 0, or -EINVAL with @err. */
int config_text_instance(const char *host, char ret[AC_NAME_MAX + 1],
			 struct err *err);

#endif
