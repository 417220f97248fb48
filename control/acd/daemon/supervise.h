/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervise.h - keeps a program running: the nested dockerd, the gateway
 *
 *	down ─start→ starting ─answers→ up ─ends→ backoff ─wait→ starting
 *
 * Sandboxes survive the death of either program: their guest links pass through
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
	unsigned restarts; /* starts after the first */
	char version[32]; /* of the program; "" before it was up */
	char last_error[512]; /* why it ended last, or "" */
	int last_code; /* its exit code then, 128+n for signals; -1: none */
	char last_word[32]; /* word of a failed start (err.h), or "" */
	char last_said[512]; /* its own "error" then, or "" */
};

struct supervise;
typedef void (*supervise_fn)(void *arg);

/* Result of a probe. @version: the program's, borrowed; NULL: it does not
 * answer yet. */
typedef void (*supervise_answer_fn)(void *arg, const char *version);

struct supervise_spec {
	const char *const *argv;
	const char *log_path; /* gets its output */
	bool stamp; /* write the time before each line of its output */
	/* Its stdout is no output: if it fails, it writes {"error": "why"}. */
	bool says;
	const char *pid_file; /* removed before each start; NULL: none */
	const char *cwd; /* NULL: acd's */
	/* Called before each start. Returns 0, or a negative errno with @err,
	 * which counts as a crash. May be NULL. */
	int (*prepare)(void *arg, struct err *err);
	/* Asks whether the program answers. Returns 0 and calls @fn once,
	 * later, and not after supervise_free(); or returns a negative errno,
	 * and is called again soon. */
	int (*probe)(void *arg, supervise_answer_fn fn, void *fn_arg);
	void *arg; /* of both */
	/* Returns true if this line of output may explain an end. NULL: every
	 * line. */
	bool (*tells)(const char *line, size_t len);
};

/* Makes a supervisor in the state down. Copies @spec, but keeps references to
 * what it points to. Returns NULL with @err on failure. */
struct supervise *supervise_new(struct loop *loop, struct children *children,
				const struct supervise_spec *spec,
				struct err *err);
/* Kills the program and frees @s; there are no callbacks. NULL is fine. */
void supervise_free(struct supervise *s);
/* Starts the program, once, and calls @up each time it has come up. A failed
 * start is retried like a crash; its callback (supervise_on_failure()) may come
 * before this returns. */
void supervise_start(struct supervise *s, supervise_fn up, void *arg);
/* If it waits for the next try, tries now. */
void supervise_retry(struct supervise *s);
/* Sets a callback for each end and each failed start that was not asked for. */
void supervise_on_failure(struct supervise *s, supervise_fn fn, void *arg);
/* Sends TERM, and KILL after 10 s; calls @down when it has ended, which is
 * before this returns if it does not run. It is not started again. */
void supervise_stop(struct supervise *s, supervise_fn down, void *arg);
/* Returns a copy of the current status. */
struct supervise_status supervise_status(const struct supervise *s);
/* Returns "down", "starting", "up" or "backoff"; a constant. */
const char *supervise_state_name(enum supervise_state st);

/* Returns the wait in ms before the next start after a failure, if @failures
 * others in a row came before it. */
unsigned supervise_backoff_ms(unsigned failures);

#endif
