/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.h - what PID 1 does for a living
 */
#ifndef INIT_GUARD_SERVE_H
#define INIT_GUARD_SERVE_H

/*
 * Serves the link (both descriptors are taken, non-blocking) to its end,
 * hardening this process when the host has assigned the sandbox. All other
 * processes are dead when it returns the exit code.
 */
int serve_run(int in_fd, int out_fd);
/* Tells the host, as far as it listens, why there will be no sandbox. */
void serve_refuse(int out_fd, int code, const char *why);

#endif
