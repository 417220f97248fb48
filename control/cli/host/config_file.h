/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_file.h - $AC_HOME/config.yaml: settings of this machine
 *
 * One table of keys drives reading, `ac config` and the man page's list. A key
 * is either passed as a variable to what starts ac-host, or is the default of
 * an option for new instances. A variable that is set overrides its key for
 * that call.
 */
#ifndef CONTROL_CLI_HOST_CONFIG_FILE_H
#define CONTROL_CLI_HOST_CONFIG_FILE_H

#include <stddef.h>

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

#define CONFIG_BYTES_MAX (64u * 1024)
#define CONFIG_KEYS 16u

enum config_kind {
	CONFIG_CA, /* a PEM file's path, or "none" */
	CONFIG_COUNT, /* of loop devices */
	CONFIG_GPUS, /* "all", or numbers separated by commas */
	CONFIG_URL, /* of a registry */
	CONFIG_OPTION, /* what the option takes */
};

struct config_key {
	const char *name; /* "gpus", "defaults.memory" */
	enum config_kind kind;
	enum arg_id option; /* ARG_MAX: none */
	const char *variable; /* it is passed as; NULL: it is an option */
	const char *help;
};

extern const struct config_key config_keys[CONFIG_KEYS];

struct config {
	char *path; /* of the file, which may not exist; heap */
	char *value[CONFIG_KEYS]; /* of config_keys[]; heap, NULL: not set */
};

/* Frees what @c holds and zeroes it. Accepts zeroed. */
void config_done(struct config *c);

/* Returns the key @name, an element of config_keys[]; or NULL, with -EINVAL and
 * a likely correction in @err. */
const struct config_key *config_find(const char *name, struct err *err);

/* Checks a value for @key; looks into the file of a CONFIG_CA. Returns 0, or
 * -EINVAL, or -ENOMEM; @err names no position. */
int config_check(const struct config_key *key, const char *value,
		 struct err *err);

/* Parses a text as the file @path, which is not read: messages have its name
 * and positions. Returns 0, and the caller releases @ret. Returns -EINVAL for
 * what is no YAML, unknown and repeated keys, and values that a key cannot
 * have; or -ENOMEM; with @ret unchanged. */
int config_parse(const char *path, const char *text, size_t len,
		 struct config *ret, struct err *err);
/* Reads the file in cli->home; without one nothing is set. Returns like
 * config_parse(), -EFBIG beyond CONFIG_BYTES_MAX, or the negative errno of the
 * read, with @err. */
int config_load(const struct cli *cli, struct config *ret, struct err *err);

/* Checks the variables of all keys in the environment. Returns 0, or -EINVAL if
 * one has a value that its key cannot have; empty ones are fine. */
int config_check_variables(struct err *err);

/* Sets, in the environment, the variable of each key that has a value, unless
 * the variable is there. Tells the user about variables with another value,
 * which override their key. Returns 0 or a negative errno with @err. */
int config_export(const struct cli *cli, const struct config *c,
		  struct err *err);

/*
 * Adds the options of `defaults` that @a lacks, as if they had been given with
 * the run that makes an instance, and tells the user which. @a is a plain copy
 * of the struct @parsed, with which it shares memory; what this adds to it is
 * freed by config_undefault(), also after a failure. Returns 0, -EINVAL or
 * -ENOMEM, with @err.
 */
int config_default(const struct cli *cli, const struct config *c,
		   struct args *a, struct err *err);
void config_undefault(struct args *a, const struct args *parsed);

/*
 * Sets *ret, which the caller frees, to @text with @key at @value (NULL:
 * without it) and every other byte unchanged. @path is for messages; no file is
 * written. Returns 0, and config_parse() accepts *ret; -ENOTSUP if the text has
 * a form that cannot be edited so; or like config_parse() if @text or @value is
 * invalid.
 */
int config_edit(const char *path, const char *text,
		const struct config_key *key, const char *value, char **ret,
		struct err *err);

#endif
