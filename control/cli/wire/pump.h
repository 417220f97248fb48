/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pump.h - the user's stdio and signals on one side, a link on the other
 */
#ifndef CONTROL_CLI_WIRE_PUMP_H
#define CONTROL_CLI_WIRE_PUMP_H

#include <stdbool.h>

#include "control/cli/core/term.h"
#include "init-guard/link.h"

struct pump_opts {
	int sock; /* the link; borrowed, made non-blocking */
	struct slice early; /* what came with the upgrade */
	int in, out, err; /* borrowed; in may be -1: no stdin at all */
	/* A pseudo-terminal runs there. When @in is a terminal it becomes raw
	 * and the detach keys work. */
	bool tty;
	/* @in is a terminal that is read for the detach keys alone: nothing of
	 * it is passed on. Without @tty. */
	bool keys_only;
	/* Others may be attached: leaving means to detach, not to end it. */
	bool shared;
	/* It ends when we leave. So who has not begun yet, as in a sandbox that
	 * stands still, needs no signal, and who asks to end gets away. */
	bool alone;
	bool quiet; /* no notices but warnings */
	struct detach detach;
	/* When set, takes stdout instead of @out; a negative result ends the
	 * run and becomes the pump's own. May block. */
	int (*sink)(void *arg, struct slice data);
	/* stderr is talk of ours with the user, not the program's own: control
	 * bytes in it are shown, not obeyed. */
	bool escape_err;
	/* When set, is told how much of @in was taken. */
	void (*on_stdin)(void *arg, size_t len);
	void *arg;
};

enum pump_end {
	PUMP_EXIT, /* the process ended; exit is set */
	PUMP_DETACHED, /* it goes on without us */
	PUMP_GIVEN_UP, /* by signals or because nobody reads; code is set */
};

struct pump_result {
	enum pump_end end;
	struct link_exit exit;
	int code; /* what to exit with */
	bool mid_line; /* what stderr shows last is no end of a line */
	bool noticed; /* acd has told the user something serious */
	int out_error; /* negative errno of a failed stdout, 0: none */
};

/*
 * Runs until the process ends or we leave it. SIGPIPE is ignored from then
 * on; the signal mask and the terminal are put back. -ECONNRESET: acd went
 * away first; -EPROTO: it sent what it must not.
 */
int pump_run(const struct pump_opts *opts, struct pump_result *ret,
	     struct err *err);

#endif
