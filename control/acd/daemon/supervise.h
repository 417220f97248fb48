/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervise.h - keeps a program running: the nested dockerd, the gateway
 *
 *	down ─start→ starting ─it answers→ up ─its end→ backoff ─wait→ starting
 *
 * Sandboxes survive the death of either: their guest links pass through
 * neither, and without the gateway nothing leaves them.
 */
#ifndef CONTROL_ACD_DAEMON_SUPERVISE_H
#define CONTROL_ACD_DAEMON_SUPERVISE_H

#include <stdbool.h>

#include "control/acd/daemon/children.h"
#include "lib/err.h"
#include "lib/loop.h"

#define SUPERVISE_BACKOFF_MIN_MS 200u
#define SUPERVISE_BACKOFF_MAX_MS 30000u

enum supervise_state {
	SUPERVISE_DOWN,
	SUPERVISE_STARTING,
	SUPERVISE_UP,
	SUPERVISE_BACKOFF,
};

struct supervise_status {
	enum supervise_state state;
	unsigned restarts;
	char version[32]; /* its own; "" before it was up */
	char last_error[512]; /* why it ended last, "" */
	int last_code; /* its exit code then, 128+n for signals; -1: none */
	char last_word[32]; /* of what kept it from starting (err.h), "" */
};

struct supervise;
typedef void (*supervise_fn)(void *arg);

/* Whoever was asked says whether it answered: its version, NULL: not yet. */
typedef void (*supervise_answer_fn)(void *arg, const char *version);

struct supervise_spec {
	const char *const *argv; /* what to run */
	const char *log_path; /* gets its output */
	bool stamp; /* with the time before each line: it writes none */
	const char *pid_file; /* removed before each start; NULL: none */
	const char *cwd; /* NULL: ours */
	/* Before each start; a failure counts as one of the program. NULL:
	 * nothing is to be done. */
	int (*prepare)(void *arg, struct err *err);
	/* Asks whether it answers: @fn once, or a negative errno. */
	int (*probe)(void *arg, supervise_answer_fn fn, void *fn_arg);
	void *arg; /* of both */
	/* Is this line of its output worth telling when it ends? NULL: each. */
	bool (*tells)(const char *line, size_t len);
};

/* What @spec points to is kept by reference. */
struct supervise *supervise_new(struct loop *loop, struct children *children,
				const struct supervise_spec *spec,
				struct err *err);
void supervise_free(struct supervise *s); /* no callback; NULL is fine */
/* Starts it; @up each time it has become ready. A failing start is retried
 * like a crash. */
void supervise_start(struct supervise *s, supervise_fn up, void *arg);
/* Do not wait any longer with the next try. */
void supervise_retry(struct supervise *s);
/* @fn each time it has ended, or could not start, unasked. */
void supervise_on_failure(struct supervise *s, supervise_fn fn, void *arg);
/* TERM, 10 s, KILL; @down when it has gone. No restart any more. */
void supervise_stop(struct supervise *s, supervise_fn down, void *arg);
struct supervise_status supervise_status(const struct supervise *s);
const char *supervise_state_name(enum supervise_state st);

/* The wait before start number @failures + 1 in a row. Pure. */
unsigned supervise_backoff_ms(unsigned failures);

#endif
