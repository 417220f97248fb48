/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sock.h - unix sockets and descriptor passing
 *
 * Functions return a negative errno on failure. A returned descriptor is
 * CLOEXEC and the caller's.
 */
#ifndef LIB_SOCK_H
#define LIB_SOCK_H

#include <sys/types.h>

#include "lib/err.h"

/* Sets or clears O_NONBLOCK. Returns 0. */
int fd_nonblock(int fd, int on);
/* Listens at @path, a file of exactly @mode, replacing a socket that has no
 * listener. Returns a non-blocking descriptor; -EADDRINUSE if the socket has
 * one, -EEXIST if the file is not a socket. */
int sock_unix_listen(const char *path, mode_t mode, int backlog);
/* Connects, blocking. Returns the descriptor. */
int sock_unix_connect(const char *path);
/* Sends @len bytes, at least 1, with one descriptor, which stays open here; one
 * recv gets both. Returns 0. */
int sock_send_fd(int sock, int fd, const void *data, size_t len);
/* Receives up to @len bytes and at most one descriptor in *@ret_fd (-1: none);
 * further ones are closed. Returns the number of bytes, 0 at the end. */
ssize_t sock_recv_fd(int sock, int *ret_fd, void *data, size_t len);
/* Gets the peer's credentials at connect time (SO_PEERCRED); each result may be
 * NULL. Returns 0. */
int sock_peer(int sock, pid_t *ret_pid, uid_t *ret_uid, gid_t *ret_gid);

#endif
