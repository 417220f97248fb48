/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.h - vaultd's socket: connections, decisions, limits
 */
#ifndef VAULT_SERVE_H
#define VAULT_SERVE_H

#include "lib/loop.h"
#include "vault/grant.h"

#define SERVE_CONNS_MAX 64u /* the oldest one makes room */
#define SERVE_CONNS_PER_PID 4u
#define SERVE_DEADLINE_MS 500u /* from connect to request */
#define SERVE_FILES_MAX 256u /* descriptors; vaultd's limit */
#define SERVE_RATE 100u /* requests a second, in the long run */
#define SERVE_BURST 400u
/* A clock that runs ahead of the gateway's by no more than this mints nothing
 * that is not yet good there. Seconds. */
#define SERVE_SKEW 2

struct vault_serve;
/*
 * @listener: non-blocking, with SO_PASSCRED; @log_fd: a non-blocking pipe for
 * lines; @grant: all three borrowed for as long as it lives. -errno.
 */
int vault_serve_new(struct loop *l, int listener, int log_fd,
		    const struct grant *grant,
		    struct vault_serve **ret) ATTR_WUR;
void vault_serve_free(struct vault_serve *sv); /* NULL is fine */

#endif
