/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.h - the peer of a connection, as the kernel reports it
 */
#ifndef VAULT_PEER_H
#define VAULT_PEER_H

#include <sys/socket.h>

#include "lib/attr.h"

/* Gets the credentials that the peer had at the time of connect()
 * (SO_PEERCRED). Returns 0 or -errno. */
int peer_connected(int fd, struct ucred *ret) ATTR_WUR;
/*
 * Receives at most @len bytes and the credentials of their sender, without
 * waiting; closes descriptors that came with them. Returns the number of bytes;
 * 0 at the end of the stream, with *ret unchanged; -EAGAIN if nothing is there;
 * -EPROTO unless exactly one set of credentials came and nothing else beside
 * it; or another negative errno.
 */
ssize_t peer_receive(int fd, void *data, size_t len,
		     struct ucred *ret) ATTR_WUR;
/*
 * Checks that both are the same process, and one of our clients: the effective
 * ids of the connecting process are the vault's, and those of the sender the
 * vault's or the agent's (Linux reports real ids there, gVisor effective ones).
 * Returns 0 or -EACCES.
 */
int peer_agree(const struct ucred *connected,
	       const struct ucred *sent) ATTR_WUR;

#endif
