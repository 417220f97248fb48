/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pump.h - passes data between the user's stdio and a link, and the signals
 */
#ifndef CONTROL_CLI_WIRE_PUMP_H
#define CONTROL_CLI_WIRE_PUMP_H

#include <stdbool.h>

#include "control/cli/core/term.h"
#include "init-guard/link.h"

struct pump_opts {
	int sock; /* the link; borrowed, made non-blocking */
	struct slice early; /* what came with the answer to the upgrade: at most
			     * HTTP_HEAD_MAX bytes, the first of the link */
	int in, out, err; /* borrowed; in may be -1: no stdin */
	/* The process has a pseudo-terminal. If @in is a terminal, it becomes
	 * raw and the detach keys work. */
	bool tty;
	/* @in is a terminal that is read only for the detach keys; nothing of
	 * it is passed on. Without @tty. */
	bool keys_only;
	/* Others may be attached: leaving detaches, and does not end it. */
	bool shared;
	/* The process ends when our connection does. So one that has not begun
	 * yet, as in a frozen sandbox, needs no signal, and the user can leave
	 * at once. */
	bool alone;
	bool quiet; /* no notices except warnings */
	struct detach detach;
	/* If set, takes stdout in place of @out, with @arg; a negative result
	 * ends the pump, which returns it. May block. */
	int (*sink)(void *arg, struct slice data);
	/* If set, takes stderr in place of @err, with @arg. May block. */
	void (*err_sink)(void *arg, struct slice data);
	/* stderr is our own conversation with the user, not the program's:
	 * control bytes in it are escaped. */
	bool escape_err;
	/* If set, called with @arg and how many bytes of @in were taken. */
	void (*on_stdin)(void *arg, size_t len);
	void *arg;
};

enum pump_end {
	PUMP_EXIT, /* the process ended; `exit` says how */
	PUMP_DETACHED, /* the process goes on without us */
	PUMP_GIVEN_UP, /* the user, after signals, or the reader of stdout
			* left; the process may go on */
};

struct pump_result {
	enum pump_end end;
	struct link_exit exit; /* zero unless PUMP_EXIT */
	int code; /* exit code for ac, of each end */
	bool mid_line; /* the last output on stderr has no line end */
	bool noticed; /* acd has told the user something serious */
	int out_error; /* negative errno of a failed stdout, 0: none */
};

/*
 * Runs until the process ends or the user leaves. SIGPIPE is ignored
 * afterwards; signal mask and terminal are restored; no descriptor is closed.
 * Returns 0 with *ret, -ECONNRESET if acd has gone, -EPROTO if it sent
 * something invalid, or another negative errno, with @err. After a failure only
 * mid_line, noticed and out_error of *ret count.
 */
int pump_run(const struct pump_opts *opts, struct pump_result *ret,
	     struct err *err);

#endif
