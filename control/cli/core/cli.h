/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli.h - what every command knows: where things are, how to talk
 */
#ifndef CONTROL_CLI_CORE_CLI_H
#define CONTROL_CLI_CORE_CLI_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/err.h"

/* Exit codes that are not a command's own. */
#define CLI_EXIT_FAIL 1 /* our failure */
#define CLI_EXIT_USAGE 2
#define CLI_EXIT_DOWN 3 /* `ac status`: ac-host does not run */
#define CLI_EXIT_INTERRUPTED 130 /* Ctrl-C at a question */
#define CLI_EXIT_RUN 125 /* our failure where a command's code is expected */

struct cli {
	char *home; /* $AC_HOME, absolute */
	char *host; /* name of the outer container */
	char *volume; /* of the nested engine's images */
	char *share; /* folder that holds images/ and blueprints/ */
	char *sock; /* of acd */
	char *mount_sock; /* for workspaces */
	bool json, quiet; /* --json, --quiet */
	bool whole; /* --no-trunc: nothing is cut to the terminal's width */
	bool out_tty, err_tty;
	bool colour; /* stdout is a terminal and NO_COLOR is not set */
};

/* Fills @cli from the environment: AC_HOME, XDG_DATA_HOME, HOME, AC_HOST,
 * AC_ROOT, NO_COLOR. Makes nothing. Release with cli_done(). */
int cli_init(struct cli *cli, struct err *err);
void cli_done(struct cli *cli); /* accepts zeroed */

/* Copies what is printable in the user's locale, the rest as \xNN; cut to
 * @size, always ended. Returns @out. */
char *cli_clean(char *out, size_t size, const char *in);

/* Talk on stderr, "ac: " first; control bytes are escaped. say_info() is
 * silent under --quiet. */
void say_info(const struct cli *cli, const char *fmt, ...) ATTR_PRINTF(2, 3);
void say_error(const char *fmt, ...) ATTR_PRINTF(1, 2);
/* Each of the "warnings" of an answer of acd; none: nothing. */
void say_warnings(const json_t *answer);

/* The failure in @err, at the end of a command: say_error(), or with --json
 * {"error": {"code", "message"}} on one line of stderr. The code is that of
 * acd where it refused, else a word for @err->code; "usage" when @usage. */
void cli_fail(const struct cli *cli, const struct err *err, bool usage);

/* @in with the paths of ac-host's state as they are on this machine; cut to
 * @size. Returns @out. Pure. */
char *cli_user_paths(const struct cli *cli, char *out, size_t size,
		     const char *in);

/* Says @text (at most 200 bytes) when Ctrl-C ends the program from here on: what
 * is kept, and how to go on. NULL: it ends silently again. */
void cli_on_interrupt(const struct cli *cli, const char *text);

/*
 * Asks on the terminal and reads y or yes. 0: go on (also with @yes, without
 * a question); else the code to exit with: the user said no, or there is no
 * terminal to ask on, which it tells.
 */
int cli_confirm(const struct cli *cli, bool yes, const char *fmt, ...)
	ATTR_PRINTF(3, 4);

/* Says in @err why stdout does not take what was written; errno tells. */
int cli_stdout_failed(struct err *err);

/* What a command returns when @err is about the words it was given, and its
 * --help is to be named: no exit code, as 2 may be that of what it ran. */
#define CLI_USAGE 1000
/* Returns CLI_USAGE for -EINVAL in @err; failures of another kind stay what they
 * are. */
int cli_usage(const struct err *err);

/* One line of JSON on stdout (several, indented, when @pretty). */
int cli_print_json(const json_t *value, bool pretty, struct err *err);

/* Member of an object for people and for comparisons: "" or 0 when it is
 * missing or of another type. */
const char *json_text(const json_t *obj, const char *key);
long long json_count(const json_t *obj, const char *key);

#endif
