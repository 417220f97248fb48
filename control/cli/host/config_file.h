/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_file.h - $AC_HOME/config.yaml: what is true of this machine
 *
 * One table of keys drives reading, `ac config` and its man page's list. A key
 * is either handed on as a variable to what starts ac-host, or stands for an
 * option of the run that makes an instance. A variable that is set overrides its
 * key for that call.
 */
#ifndef CONTROL_CLI_HOST_CONFIG_FILE_H
#define CONTROL_CLI_HOST_CONFIG_FILE_H

#include <stddef.h>

#include "control/cli/core/args.h"
#include "control/cli/core/cli.h"

#define CONFIG_BYTES_MAX (64u * 1024)
#define CONFIG_KEYS 15u

enum config_kind {
	CONFIG_CA, /* a PEM file's path, or "none" */
	CONFIG_COUNT, /* of loop devices */
	CONFIG_GPUS, /* "all", or numbers by commas */
	CONFIG_URL, /* of a registry */
	CONFIG_OPTION, /* what the option takes */
};

struct config_key {
	const char *name; /* "gpus", "defaults.memory" */
	enum config_kind kind;
	enum arg_id option; /* ARG_MAX: none */
	const char *variable; /* that it is handed on as; NULL: an option */
	const char *help;
};

extern const struct config_key config_keys[CONFIG_KEYS];

struct config {
	char *path;
	char *value[CONFIG_KEYS]; /* NULL: not set */
};

void config_done(struct config *c); /* accepts zeroed */

/* The key called @name, or NULL with -EINVAL and what it may be a slip of. */
const struct config_key *config_find(const char *name, struct err *err);

/* Whether @key can have this value. -EINVAL, without a position. */
int config_check(const struct config_key *key, const char *value,
		 struct err *err);

/* Reads a text as the file @path, which messages name with line and column.
 * Unknown and repeated keys and values that a key cannot have are -EINVAL. */
int config_parse(const char *path, const char *text, size_t len,
		 struct config *ret, struct err *err);
/* The file of @cli; without one nothing is set. Release with config_done(). */
int config_load(const struct cli *cli, struct config *ret, struct err *err);

/* Refuses a variable that has a value which its key cannot have. */
int config_check_variables(struct err *err);

/* Sets each variable that has a key with a value and is not set; says which are
 * set to something else, and so hold for this call. */
int config_export(const struct cli *cli, const struct config *c,
		  struct err *err);

/*
 * Gives @a the options of `defaults` that it does not have, as if they had been
 * typed with the run that makes an instance; says which. @a is a copy of what
 * was parsed: config_undefault() frees what this added.
 */
int config_default(const struct cli *cli, const struct config *c,
		   struct args *a, struct err *err);
void config_undefault(struct args *a, const struct args *parsed);

/*
 * @text with @key at @value (NULL: without it), every other byte as it was: a
 * heap string. -ENOTSUP where it is written in a way that cannot be changed by
 * itself; the result always reads as config_parse() wants it.
 */
int config_edit(const char *path, const char *text,
		const struct config_key *key, const char *value, char **ret,
		struct err *err);

#endif
