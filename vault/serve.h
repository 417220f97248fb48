/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.h - vaultd's socket: connections, decisions, limits
 */
#ifndef VAULT_SERVE_H
#define VAULT_SERVE_H

#include "lib/loop.h"
#include "vault/grant.h"

#define SERVE_CONNS_MAX 64u /* beyond them the oldest is dropped */
#define SERVE_CONNS_PER_PID 4u
#define SERVE_DEADLINE_MS 500u /* from connect to request */
/* descriptors; the limit that vaultd sets itself */
#define SERVE_FILES_MAX 256u
#define SERVE_RATE 100u /* requests a second, in the long run */
#define SERVE_BURST 400u
/* Seconds subtracted from the clock: if it is ahead of the gateway's by no more
 * than this, no surrogate is minted that is not valid there yet. */
#define SERVE_SKEW 2

struct vault_serve;
/* Starts to serve, in the loop @l, on @listener, which is non-blocking and has
 * SO_PASSCRED; writes audit lines to the non-blocking pipe @log_fd. All these
 * are borrowed until vault_serve_free(). Returns 0 and *@ret, which the caller
 * frees, or -errno. */
int vault_serve_new(struct loop *l, int listener, int log_fd,
		    const struct grant *grant,
		    struct vault_serve **ret) ATTR_WUR;
/* Closes all connections, but not @listener and @log_fd, and frees @sv. NULL is
 * fine. */
void vault_serve_free(struct vault_serve *sv);

#endif
