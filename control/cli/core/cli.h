/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli.h - what every command needs: paths, messages, questions, JSON
 */
#ifndef CONTROL_CLI_CORE_CLI_H
#define CONTROL_CLI_CORE_CLI_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/err.h"

/* Exit codes that are not those of a command that was run. */
#define CLI_EXIT_FAIL 1 /* our failure */
#define CLI_EXIT_USAGE 2
#define CLI_EXIT_DOWN 3 /* `ac status`: ac-host does not run */
#define CLI_EXIT_INTERRUPTED 130 /* Ctrl-C at a question */
#define CLI_EXIT_RUN 125 /* our failure, where a command's code is expected */

struct cli {
	char *home; /* $AC_HOME, absolute */
	char *host; /* name of the outer container */
	char *volume; /* of the nested engine's images */
	char *share; /* folder with images/ and blueprints/ */
	char *sock; /* acd's */
	char *mount_sock; /* acd's, for workspaces */
	bool json, quiet; /* --json, --quiet */
	bool whole; /* --no-trunc: do not cut to the terminal's width */
	bool out_tty, err_tty;
	bool colour; /* stdout is a terminal and NO_COLOR is not set */
};

/* Fills @cli from the environment: AC_HOME, XDG_DATA_HOME, HOME, AC_HOST,
 * AC_ROOT, NO_COLOR. Makes no files. The caller calls cli_done(). Returns 0 or
 * a negative errno with @err. */
int cli_init(struct cli *cli, struct err *err);
void cli_done(struct cli *cli); /* accepts zeroed */

/* Copies @in, with \xNN for what is not printable in the user's locale; cut to
 * @size, always terminated. Returns @out. */
char *cli_clean(char *out, size_t size, const char *in);

/* Print a message on stderr, after "ac: "; control bytes are escaped.
 * say_info() prints nothing under --quiet. */
void say_info(const struct cli *cli, const char *fmt, ...) ATTR_PRINTF(2, 3);
void say_error(const char *fmt, ...) ATTR_PRINTF(1, 2);
/* Prints each of the "warnings" in an answer of acd, if there are any. */
void say_warnings(const json_t *answer);

/* Reports the failure @err at the end of a command: by say_error(), or with
 * --json as {"error": {"code", "message"}} on one line of stderr. The code is
 * acd's word if acd refused, else a word for @err->code; "usage" if @usage. */
void cli_fail(const struct cli *cli, const struct err *err, bool usage);

/* Copies @in with paths of ac-host's state replaced by those on this machine;
 * cut to @size. Returns @out. */
char *cli_user_paths(const struct cli *cli, char *out, size_t size,
		     const char *in);

/* Sets the message (at most 200 bytes) for an end by Ctrl-C: what is kept, and
 * how to go on. NULL: none. */
void cli_on_interrupt(const struct cli *cli, const char *text);

/*
 * Asks on the terminal and reads y or yes. Returns 0 to go on (with @yes
 * without a question), else the exit code: the user said no, or there is no
 * terminal, which it reports.
 */
int cli_confirm(const struct cli *cli, bool yes, const char *fmt, ...)
	ATTR_PRINTF(3, 4);

/* Sets @err to why stdout does not take output, by errno. Returns its code. */
int cli_stdout_failed(struct err *err);

/* Returned by a command if @err is about its words, so that --help is
 * mentioned. It is no exit code, since 2 may be that of the program which was
 * run. */
#define CLI_USAGE 1000
/* Returns CLI_USAGE if @err is -EINVAL, else its code. */
int cli_usage(const struct err *err);

/* Notes what one of several calls returned, with @why, in the result *@rc of all: a
 * failure does not stop the others. @err gets the first failure; later ones are
 * printed. *@rc becomes the last one's code. */
void cli_note(int code, const struct err *why, int *rc, struct err *err);

/* Prints JSON on stdout, on one line unless @pretty. Returns 0 or a negative
 * errno with @err. */
int cli_print_json(const json_t *value, bool pretty, struct err *err);

/* Return a member of an object, borrowed; "" or 0 if it is missing or of
 * another type. */
const char *json_text(const json_t *obj, const char *key);
long long json_count(const json_t *obj, const char *key);

#endif
