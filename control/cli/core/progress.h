/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.h - shows the progress of steps that take longer than a second
 *
 * On a terminal it is one line that is overwritten; elsewhere a line when the
 * text changes, and every 15 s. Shows nothing under --quiet.
 */
#ifndef CONTROL_CLI_CORE_PROGRESS_H
#define CONTROL_CLI_CORE_PROGRESS_H

#include <stdint.h>

#include "control/cli/core/cli.h"

struct progress {
	const char *what; /* kept by reference */
	char text[160], shown_text[160];
	uint64_t since_ms, shown_ms; /* shown_ms 0: nothing shown yet */
	bool tty, quiet;
};

/* Writes @text, escaped, to @out of @size bytes; cuts it between two words,
 * with "..." for the rest, if it is longer. Returns @out. */
char *progress_cut(char *out, size_t size, const char *text);

/* Begins the step @what, which must live until the step's end. Shows nothing
 * yet. */
void progress_begin(struct progress *p, const struct cli *cli,
		    const char *what);
/* Shows the step if it is time to. To be called often. @text: how far it is,
 * copied, may be ""; NULL: as before. */
void progress_tick(struct progress *p, const char *text);
/* Both end what is shown, and clear the line of a terminal. progress_end() is
 * for a step that is done: without a terminal it prints that, if the step was
 * shown. progress_stop() is for one that failed, or before other output; after
 * it, progress_tick() shows the step again. */
void progress_end(struct progress *p);
void progress_stop(struct progress *p);

#endif
