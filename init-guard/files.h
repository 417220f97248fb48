/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files.h - the file server: what acd does to files of a sandbox, done in it
 */
#ifndef INIT_GUARD_FILES_H
#define INIT_GUARD_FILES_H

/* Where the runtime has mounted this program. */
#define FILES_PROGRAM "/usr/libexec/ac/init-guard"
#define FILES_OPTION "--files"

/* Serves standard input and output until the end of input. The exit code. */
int files_run(void);

#endif
