/* SPDX-License-Identifier: Apache-2.0 */
/*
 * home_write.h - writes files into a home that an agent owns
 */
#ifndef CONTROL_ACD_STORAGE_HOME_WRITE_H
#define CONTROL_ACD_STORAGE_HOME_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/err.h"

#define HOME_MERGE_MAX (1024u * 1024) /* bytes of what is merged into */
#define HOME_BROKEN ".ac-broken" /* the end of the name of what is kept */

struct home_file {
	const char *path; /* relative, without "..", "." and empty names */
	const char *text;
	bool is_json; /* written indented */
	bool merge; /* the object @text is merged into what is there */
	bool always; /* overwritten; without both: written if missing */
	bool link; /* a symbolic link to the path @text instead */
	mode_t mode;
};

/* Lines for the user, one for each file that was not as it should be. In memory
 * that the child and acd share. */
struct home_report {
	char lines[4096]; /* each with a newline; cut to fit */
};
/* Returns new shared memory, or NULL. */
struct home_report *home_report_new(void);
void home_report_free(struct home_report *r); /* NULL is fine */

struct home_spec {
	const char *home;
	const struct home_file *files;
	size_t n;
	struct home_report *report;
};

/*
 * Writes all files of @what, a struct home_spec. A treejob_work: it changes the
 * process to the owner of the home, for good.
 *
 * What is in the way (a link other than the one that is wanted, a directory, a
 * pipe; for a merge, what is no JSON object of at most HOME_MERGE_MAX) is renamed
 * to NAME.ac-broken, or to the first of NAME.ac-broken-2 to -9 that is free, and
 * reported. A directory on the way that its owner has closed to itself is opened
 * (u+rwx).
 * A file that cannot be written is reported, and the others are written. Returns
 * 0; fails only if the home cannot be used at all.
 */
int home_write(const void *what, struct err *err);

#endif
