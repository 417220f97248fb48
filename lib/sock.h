/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sock.h - unix sockets and descriptor passing
 */
#ifndef LIB_SOCK_H
#define LIB_SOCK_H

#include <sys/types.h>

#include "lib/err.h"

int fd_nonblock(int fd, int on);
/* Listens at @path with @mode, replacing a stale socket. CLOEXEC, non-
 * blocking. Returns the descriptor. */
int sock_unix_listen(const char *path, mode_t mode, int backlog);
/* Blocking connect, CLOEXEC. Returns the descriptor. */
int sock_unix_connect(const char *path);
/* Sends @len bytes with one descriptor; one recv takes both. */
int sock_send_fd(int sock, int fd, const void *data, size_t len);
/*
 * Receives up to @len bytes and at most one descriptor (*ret_fd = -1 when
 * none came; further ones are closed). Returns the bytes read.
 */
ssize_t sock_recv_fd(int sock, int *ret_fd, void *data, size_t len);
/* SO_PEERCRED. */
int sock_peer(int sock, pid_t *ret_pid, uid_t *ret_uid, gid_t *ret_gid);

#endif
