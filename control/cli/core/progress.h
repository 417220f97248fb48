/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.h - a sign of life for steps that take longer than a second
 *
 * On a terminal one line that is written over, elsewhere a plain line when
 * the text changes and every 15 s. Nothing under --quiet.
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

/* @text as it is shown in @size bytes: cut between two words, with "..." for
 * what is left out. Returns @out. Pure. */
char *progress_cut(char *out, size_t size, const char *text);

void progress_begin(struct progress *p, const struct cli *cli,
		    const char *what);
/* Call it often. @text: how far, may be ""; NULL: as before. */
void progress_tick(struct progress *p, const char *text);
void progress_end(struct progress *p); /* leaves a clean line */
void progress_stop(struct progress *p); /* the same, and it is not done */

#endif
