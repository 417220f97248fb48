/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h - the file server: acd's file operations, done in the sandbox
 */
#ifndef INIT_GUARD_FILES_SERVER_H
#define INIT_GUARD_FILES_SERVER_H

/* Path at which the runtime mounts this program. */
#define FILES_PROGRAM "/usr/libexec/ac/init-guard"
#define FILES_OPTION "--files"

/* Serves standard input and output until the end of input, once for a process.
 * Returns the exit code: 0, or 1 after invalid input or if no one reads. */
int files_run(void);

#endif
