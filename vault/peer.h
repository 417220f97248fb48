/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.h - the kernel's word on who is at the other end of a connection
 */
#ifndef VAULT_PEER_H
#define VAULT_PEER_H

#include <sys/socket.h>

#include "lib/attr.h"

/* SO_PEERCRED: who connected. 0 or -errno. */
int peer_connected(int fd, struct ucred *ret) ATTR_WUR;
/*
 * One recvmsg(2) of at most @len bytes with the credentials of who sent them.
 * Returns the bytes (0: the end); -EAGAIN; -EPROTO: no credentials, more than
 * one, cut, or anything else beside them. Descriptors that came along are
 * closed.
 */
ssize_t peer_receive(int fd, void *data, size_t len,
		     struct ucred *ret) ATTR_WUR;
/*
 * Do both name one process, and one of a client of ours: effective ids of the
 * vault for who connected, those or the agent's for who sent (Linux puts real
 * ids there, gVisor effective ones)? 0 or -EACCES.
 */
int peer_agree(const struct ucred *connected,
	       const struct ucred *sent) ATTR_WUR;

#endif
