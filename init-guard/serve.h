/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.h - PID 1's main loop
 */
#ifndef INIT_GUARD_SERVE_H
#define INIT_GUARD_SERVE_H

/* Serves the link to its end, and hardens this process when acd has prepared
 * and assigned the sandbox. Takes ownership of both descriptors, which are
 * non-blocking. Once for a process. Returns the exit code; then PID 1 has
 * killed all other processes. */
int serve_run(int in_fd, int out_fd);
/* Logs why there will be no sandbox and sends it to acd, for which it waits
 * only a short time. @code is the exit code that follows; @out_fd stays
 * open. */
void serve_refuse(int out_fd, int code, const char *why);

#endif
